"""Shared by all tests: statement marks are checked against the ledger, and hypothesis runs the same
everywhere.
"""

from __future__ import annotations

import gc
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import HealthCheck, Phase, settings

from sim import Simulation, load_scenario
from sim.core.invariants import violations
from sim.core.model.instrument import Instrument
from sim.evidence.audit import Audit
from tests import reading
from tests.kit import Desk

# These start first: at the end of a run with two workers, one would wait for the other.
LONG = ("tests/house/test_docs_examples.py", "tests/search/", "tests/api/test_gateway_lists.py")

LEDGER = yaml.load((Path(__file__).parent / "ledger.yaml").read_text(), yaml.CSafeLoader)

settings.register_profile(
    "ci",
    deadline=None,
    derandomize=True,
    max_examples=60,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.register_profile(
    "deep", deadline=None, max_examples=2000, suppress_health_check=[HealthCheck.too_slow]
)
settings.register_profile(  # the example need not be minimal
    "mutation", settings.get_profile("ci"), phases=[Phase.explicit, Phase.generate]
)
settings.load_profile("ci")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--law", action="store_true", help="hold every run of a test against the law")


def pytest_configure() -> None:
    gc.disable()  # until collection is complete, which produces hardly any garbage
    reading.follow_the_environment()
    _let_children_hear()


def _let_children_hear() -> None:
    """Handle signals that `nohup` and background jobs ignore, so that child processes receive them.

    An ignored signal is ignored by children too, a handled one is not. `preexec_fn` would fork
    a process in which gRPC has threads; its handlers can break the child before it begins.
    """
    for number in (signal.SIGINT, signal.SIGHUP):
        if signal.getsignal(number) == signal.SIG_IGN:
            signal.signal(number, lambda *_: None)


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    reading.put_in_force(item)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    items.sort(key=lambda item: not item.nodeid.startswith(LONG))
    unknown = sorted(
        {
            str(name)
            for item in items
            for mark in item.iter_markers("spec")
            for name in mark.args
            if name not in LEDGER
        }
    )
    if unknown:
        raise pytest.UsageError(
            "tests are marked with statements that tests/ledger.yaml does not have:"
            f" {', '.join(unknown)}"
        )


def pytest_collection_finish() -> None:
    """Freeze the objects made during collection. Otherwise each full garbage collection examines
    all of them, which takes an eighth of the suite's processor time.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(20_000, 20, 50)  # as in a server: few reference cycles
    gc.enable()


@pytest.fixture
def quickstart() -> Simulation:
    """The bundled quickstart, in process."""
    return Simulation(load_scenario("quickstart"))


@pytest.fixture
def world(quickstart: Simulation) -> Iterator[Desk]:
    """The desk of the bundled quickstart; checks its invariants after the test."""
    yield Desk(quickstart)
    assert violations(quickstart.exchange.trading) == []


@pytest.fixture
def instrument(world: Desk) -> Instrument:
    """An open instrument whose book is empty."""
    return world.quiet()


@pytest.fixture(autouse=True)
def the_law_agrees(
    request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> Iterator[None]:
    """Hold every run of a test against the law, with `--law`: that takes nearly twice as long.

    A test that breaks the exchange on purpose is marked `unlawful`, with the reason.
    """
    if not request.config.getoption("--law") or request.node.get_closest_marker("unlawful"):
        yield
        return
    audits: list[Audit] = []
    construct = Simulation.__init__

    def followed(simulation: Simulation, *args: Any, **options: Any) -> None:
        construct(simulation, *args, **options)
        audits.append(Audit(simulation))

    monkeypatch.setattr(Simulation, "__init__", followed)
    yield
    assert [str(each) for audit in audits for each in audit.take()] == []
