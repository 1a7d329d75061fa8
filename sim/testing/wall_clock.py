"""Detects what a frozen or shifted wall clock of this process would break, and warns of it."""

from __future__ import annotations

import gc
import sys
from typing import Any
from warnings import warn


def open_grpc_channels() -> int:
    """Number of open gRPC channels of this process."""
    grpc = sys.modules.get("grpc")
    if grpc is None:
        return 0
    kinds = (grpc.Channel, *((grpc.aio.Channel,) if "grpc.aio" in sys.modules else ()))
    return sum(1 for thing in gc.get_objects() if isinstance(thing, kinds) and _is_open(thing))


def _is_open(channel: Any) -> bool:
    native = getattr(channel, "_channel", None)
    if native is None:
        return True
    try:
        # 4 is SHUTDOWN; a closed channel may refuse the question instead.
        return int(native.check_connectivity_state(False)) != 4
    except Exception:
        return False


def warn_of_patched_time(*, by_fixture: bool = False) -> None:
    """Warn when a test library has stopped or shifted this process's clock.

    `by_fixture` says that the fixture itself froze it with freezegun.
    """
    freezegun, time_machine = sys.modules.get("freezegun.api"), sys.modules.get("time_machine")
    patched = ""
    if freezegun is not None and freezegun.freeze_factories and not by_fixture:
        patched = "freezegun"
    if time_machine is not None and time_machine.escape_hatch.is_travelling():
        patched = "time-machine"
    if patched:
        warn(
            f"{patched} holds this process's clock: gRPC deadlines fire at once or never, and"
            " tokens look stale. Move virtual time with exchange.clock, or let exchange.freeze()"
            " do it",
            stacklevel=4,
        )
