"""Creates the event loop: uvloop if it is installed, which halves the cost of a request, else
asyncio's own. Virtual time does not depend on the loop.
"""

from __future__ import annotations

import asyncio


def new_event_loop() -> asyncio.AbstractEventLoop:
    """A new event loop."""
    try:
        import uvloop
    except ImportError:
        return asyncio.new_event_loop()
    return uvloop.new_event_loop()
