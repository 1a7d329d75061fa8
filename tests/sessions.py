"""The number of examples of a test against a model: a fifth of that of other properties, because
each example is a session of dozens of calls.
"""

from __future__ import annotations

from hypothesis import settings

SESSIONS = settings(max_examples=settings().max_examples // 5)
