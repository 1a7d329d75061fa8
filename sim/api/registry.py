"""What serves each operation: handlers, feeds of streams, and finishers of deferred answers.

Every module of the packages in `HANDLER_PACKAGES` is searched for handlers, so a new one
needs no entry here. An operation of the contract without a handler or a feed answers 501
with an explanation.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from importlib import import_module
from pkgutil import iter_modules
from types import ModuleType

from sim.api import auth, exchange, gateway, retail, rfq
from sim.api.exchange.kyc import webhook_registration
from sim.api.pipeline.handler import AnyHandler, Finisher, collect
from sim.api.retail.orders import synchronous_answer

HANDLER_PACKAGES = (exchange, gateway, retail, rfq, auth)

# How the answer of a deferred call is built once it can be, by kind.
FINISHERS: dict[str, Finisher] = {
    "webhook registration": Finisher("exchange", webhook_registration),
    "synchronous order": Finisher("retail", synchronous_answer),
}


@cache
def handlers() -> dict[str, AnyHandler]:
    """Return the handlers by operation; their modules are imported on first use."""
    return collect(_modules())


def served() -> frozenset[str]:
    """Return the operations that have behaviour: those with a handler, and the streams."""
    from sim.api.streams.hub import FEEDS

    return frozenset((*handlers(), *FEEDS))


def _modules() -> Iterator[ModuleType]:
    for package in HANDLER_PACKAGES:
        for module in iter_modules(package.__path__, f"{package.__name__}."):
            yield import_module(module.name)
