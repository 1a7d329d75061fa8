"""State machines to subclass: your client and the exchange, under everything that other traders and
time may do. After every step the invariants are checked, and the law judges what the step did.

```python
class MyClientMachine(ExchangeMachine):
    def begin(self):  # once per example, with a fresh exchange behind self.world
        self.client = MyClient(self.world.retail(self.key))

    @rule(order=retail_orders(WHOLE))
    def buys(self, order):
        self.client.place(order)

    @invariant()
    def knows_its_open_orders(self):
        open_orders = self.truth.open_orders(self.key.account)
        assert self.client.open_ids() == [order["id"] for order in open_orders]


TestMyClient = MyClientMachine.TestCase
```

Built-in rules: others trade and cancel, markets halt and resume, time passes. In a
`FaultyExchangeMachine` faults are injected too. A failing example is saved as a scenario file and a
journal, for `sim timeline`, `sim replay --serve` and `sim shrink`.

An exchange over sockets is shared by the examples of one class, and reset before each.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from decimal import Decimal
from io import BytesIO
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, ClassVar

from hypothesis import currently_in_test_context
from hypothesis import strategies as st
from hypothesis.control import current_build_context
from hypothesis.errors import HypothesisException
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule
from msgspec import json

from sim.core.invariants import Violation, violations
from sim.core.model.refusals import Refusal
from sim.evidence.audit import Audit
from sim.read.commands import sim_command
from sim.read.export.journal_to_scenario import scenario_document
from sim.read.export.yaml_writer import as_yaml
from sim.run.actors.operator.views import view
from sim.run.client.client import connect
from sim.run.loader.load import load_scenario
from sim.run.simulation import Simulation
from sim.search.moves.view import Document, Terms
from sim.testing.clock import with_start
from sim.testing.strategies import clock_jumps, faults, order_steps
from sim.world.format.scenario import Scenario

if TYPE_CHECKING:
    from sim.core.identity.firms import ApiKey, Firm
    from sim.testing.exchange_fixture import ServedExchange

WHOLE = Terms("machine-whole")
FRACTIONAL = Terms(
    "machine-fractional", tick=25, price_scale=10_000, qty_scale=100, low=100, high=9_900
)
MARKETS = (WHOLE, FRACTIONAL)


def currently_final() -> bool:
    """Whether hypothesis runs the smallest failing example."""
    return currently_in_test_context() and current_build_context().is_final


class Truth:
    """The state of the exchange itself, to compare with what a client believes.

    Reading it is not a call: it is not logged, and neither limits nor faults apply.
    """

    def __init__(self, view: Callable[[str], list[Document]]) -> None:
        self._view = view

    def orders(self, account: str) -> list[Document]:
        """Every order of an account, oldest first.

        Keys: id, clord_id, symbol, side, price, qty, filled, leaves, state.
        """
        return [row for row in self._view("orders") if row["account"] == account]

    def open_orders(self, account: str) -> list[Document]:
        """Orders of an account that are still open."""
        return [row for row in self.orders(account) if Decimal(row["leaves"])]

    def balance(self, account: str) -> Decimal:
        """Cash in dollars."""
        return Decimal(self._account(account)["balance"])

    def position(self, account: str, symbol: str) -> Decimal:
        """Net contracts; negative is short."""
        positions = {row["symbol"]: row["net"] for row in self._account(account)["positions"]}
        return Decimal(positions.get(symbol, 0))

    def _account(self, account: str) -> Document:
        return next(row for row in self._view("accounts") if row["account"] == account)


class ExchangeMachine(RuleBasedStateMachine):
    """The exchange in this process, without sockets: `self.world` has clients of every plane.

    Every example begins at the start of the scenario. `extends` is the scenario to build on, a
    bundled name or a path; `seed` its seed; `kept` the folder for failing examples. A subclass
    creates its client in `begin`.
    """

    extends: ClassVar[str] = "quickstart"
    seed: ClassVar[int | None] = None
    kept: ClassVar[str] = "runs/machines"

    def __init__(self) -> None:
        super().__init__()
        self._connect()
        self.truth = Truth(lambda name: view(self.simulation.engine, name)[name])
        self.begin()

    def _connect(self) -> None:
        """Begin a run. From the third example on, it copies a start (`prepared_starts`)."""
        self._journal = BytesIO()
        self.simulation = Simulation(self._scenario(), seed=self.seed, journal=self._journal)
        self.world = connect(self.simulation)
        self._audit = Audit(self.simulation)

    @classmethod
    def _scenario(cls) -> Scenario:
        """The scenario that `extends` names, with two more markets."""
        markets = [terms.entry() for terms in MARKETS]
        document = {"name": "machine", "extends": [cls.extends], "world": {"instruments": markets}}
        return with_start(load_scenario(json.encode(document).decode() + "\n"))

    def begin(self) -> None:
        """Create the client under test. Nothing has happened yet."""

    # ---- who can call

    @property
    def key(self) -> ApiKey:
        """A retail API key of a funded account that nobody else trades with."""
        return self.simulation.exchange.firms.api_keys()[0]

    @property
    def firm(self) -> Firm:
        """A partner firm with all scopes."""
        return self.simulation.exchange.firms.require("firms/atlas")

    @property
    def participant(self) -> str:
        """A participant of that firm, funded."""
        return "firms/atlas/users/mara-voss"

    # ---- what others and time do

    @rule(order=st.one_of(*(order_steps(terms) for terms in MARKETS)))
    def others_trade(self, order: Document) -> None:
        """A scripted participant places an order."""
        self.tester("order.place", "", order)

    @rule(
        terms=st.sampled_from(MARKETS),
        state=st.sampled_from(("SUSPENDED", "HALTED", "OPEN", "OPEN", "CLOSED")),
    )
    def market_changes(self, terms: Terms, state: str) -> None:
        """A market changes its state; a change that the exchange does not allow is refused."""
        self.tester("instrument.state", terms.symbol, {"state": state})

    @rule(span=clock_jumps())
    def time_passes(self, span: str) -> None:
        """The clock moves and everything due happens."""
        self.world.advance(span)

    # ---- what must hold

    @invariant()
    def everything_adds_up(self) -> None:
        """Money, positions, orders and books (`sim.core.invariants`)."""
        broken = self._violations()
        assert not broken, "; ".join(map(str, broken))

    @invariant()
    def the_law_agrees(self) -> None:
        """Every decision so far was the one that the rules demand (`sim.oracle`)."""
        disagreements = self._audit.take()
        assert not disagreements, "; ".join(map(str, disagreements))

    # ---- plumbing

    def _violations(self) -> list[Violation]:
        return violations(self.simulation.exchange.trading)

    def tester(self, action: str, subject: str, body: Document) -> bool:
        """Run an action of the control plane by its name in the journal, such as "fault.add".

        Returns whether it was accepted. A refused one changes nothing.
        """
        try:
            self.world.absorb(self.simulation.control(action, subject, body))
        except Refusal:
            return False
        return True

    def teardown(self) -> None:
        """Save the example if it fails and is the smallest that hypothesis found."""
        problem = sys.exc_info()[1]
        if not isinstance(problem, Exception) or isinstance(problem, HypothesisException):
            return
        if currently_final():
            problem.add_note(self._save())

    def _recorded(self) -> bytes:
        return self._journal.getvalue()

    def _file(self, ending: str) -> Path:
        folder = Path(self.kept)
        folder.mkdir(parents=True, exist_ok=True)
        return folder / f"{type(self).__name__}{ending}"

    def _save(self) -> str:
        """Write the example's journal and scenario; a note for the failure that says where."""
        journal, path = self._file(".ndjson"), self._file(".yaml")
        journal.write_bytes(self._recorded())
        scenario = scenario_document(journal)
        comments = [
            f"The smallest failing example of {type(self).__name__}, as the exchange saw it",
            f"sim run {quote(str(path))}",
            *(f"left out: {count} {kind}" for kind, count in scenario.left_out.items()),
        ]
        path.write_text(as_yaml(scenario.document, comments))
        return (
            "sandbox exchange kept this example as a scenario and its journal:"
            f"\n  {sim_command('run', path)}\n  {sim_command('timeline', journal)}"
        )


class FaultyExchangeMachine(ExchangeMachine):
    """An ExchangeMachine in which faults affect calls and streams."""

    @rule(fault=faults(("retail", "exchange", "gateway", "stream", "webhook", "engine")))
    def trouble_begins(self, fault: Document) -> None:
        """A fault is added."""
        self.tester("fault.add", "", fault)

    @rule()
    def trouble_ends(self) -> None:
        """Every fault is removed."""
        for row in view(self.simulation.engine, "faults")["faults"]:
            if not row["over"]:
                self.tester("fault.remove", row["id"], {})


class ServedExchangeMachine(ExchangeMachine):
    """An ExchangeMachine over sockets: `self.exchange` is what the pytest fixture is.

    One exchange serves all examples and is reset before each. Close the client's connections in
    `teardown`, and call the inherited `teardown` too.
    """

    # of each class that has tests
    _served: ClassVar[ServedExchange | None] = None
    _served_audit: ClassVar[Audit]

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        cls._served = None

    def _connect(self) -> None:
        from sim.testing.exchange_fixture import ServedExchange

        cls = type(self)
        if cls._served is None:
            journal = self._file("-served.ndjson")
            journal.unlink(missing_ok=True)
            cls._served = ServedExchange(self._scenario(), seed=self.seed, journal=journal)
            running = cls._served.running
            cls._served_audit = running.call(lambda: Audit(running.simulation))
        self.exchange, self._audit = cls._served, cls._served_audit
        self.exchange.reset()
        self._audit.take()
        self.simulation = self.exchange.running.simulation

    @rule(span=clock_jumps())
    def time_passes(self, span: str) -> None:
        """The clock moves and everything due happens."""
        self.exchange.clock.advance(span)

    def _violations(self) -> list[Violation]:
        return self.exchange.running.call(super()._violations)

    def tester(self, action: str, subject: str, body: Document) -> bool:
        """Run an action of the control plane; returns whether it was accepted."""
        running = self.exchange.running
        try:
            running.run(running.host.control(action, subject, body))
        except Refusal:
            return False
        return True

    def _recorded(self) -> bytes:
        return self.exchange.journal.read_bytes()

    @classmethod
    def stop(cls) -> None:
        """Stop serving. Call it when the tests of the module are done (`teardown_module`)."""
        if cls._served is not None:
            cls._served.close()
            cls._served = None
