"""How often a test against a model draws: a fifth of other properties, because each draw is a session
of dozens of calls.
"""

from __future__ import annotations

from hypothesis import settings

SESSIONS = settings(max_examples=settings().max_examples // 5)
