"""State machines to subclass: your client and the exchange, under everything that others and time
may do. The invariants are checked after every step.

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

Rules that are built in: others trade and cancel, markets halt and resume, time passes; with
`FaultyExchangeMachine` faults strike too. A failing example is kept as a scenario file and a
journal, so that `sim timeline`, `sim replay --serve` and `sim shrink` can go on from it.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from decimal import Decimal
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from hypothesis import currently_in_test_context
from hypothesis import strategies as st
from hypothesis.control import current_build_context
from hypothesis.errors import HypothesisException
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from sim.actors.operator.views import view
from sim.analysis.search.generator import Document, Terms
from sim.analysis.search.journal_to_scenario import scenario_document
from sim.analysis.search.yaml_writer import as_yaml
from sim.core.invariants import broken
from sim.core.model.refusals import Refusal
from sim.loader.load import load_scenario
from sim.simulation import Simulation
from sim.testing.client import connect
from sim.testing.strategies import clock_jumps, faults, order_steps

if TYPE_CHECKING:
    from sim.core.identity.firms import ApiKey, Firm
    from sim.testing.exchange_fixture import ServedExchange

JOURNAL_MOST = 16 << 20  # bytes of examples after which a new exchange is made
WHOLE = Terms("machine-whole")
FRACTIONAL = Terms(
    "machine-fractional", tick=25, price_scale=10_000, qty_scale=100, low=100, high=9_900
)
MARKETS = (WHOLE, FRACTIONAL)

_SCENARIO = """
name: machine
extends: [%s]
world:
  instruments:
    - {symbol: machine-whole, tick_size: "0.01", state: OPEN}
    - {symbol: machine-fractional, tick_size: "0.0025", price_scale: 10000, fractional_qty_scale: 100, state: OPEN}
"""


def currently_final() -> bool:
    """Whether hypothesis is showing the smallest failing example."""
    return currently_in_test_context() and current_build_context().is_final


class Truth:
    """What the exchange itself holds to be so, for a client's belief to be compared with. Looking
    is no call: nothing is logged, limited or faulted.
    """

    def __init__(self, view: Callable[[str], list[Document]]) -> None:
        self._view = view

    def orders(self, account: str) -> list[Document]:
        """Every order of an account, oldest first: id, clord_id, symbol, side, price, qty, filled,
        leaves, state.
        """
        return [row for row in self._view("orders") if row["account"] == account]

    def open_orders(self, account: str) -> list[Document]:
        """Those that still work."""
        return [row for row in self.orders(account) if Decimal(row["leaves"])]

    def balance(self, account: str) -> Decimal:
        """Cash in dollars."""
        return Decimal(self._account(account)["balance"])

    def position(self, account: str, symbol: str) -> Decimal:
        """Net contracts; negative is short."""
        return next(
            (
                Decimal(row["net"])
                for row in self._account(account)["positions"]
                if row["symbol"] == symbol
            ),
            Decimal(0),
        )

    def _account(self, account: str) -> Document:
        return next(row for row in self._view("accounts") if row["account"] == account)


class ExchangeMachine(RuleBasedStateMachine):
    """The exchange in this process, without sockets: `self.world` has clients of every surface.
    Each example begins with a fresh one.

    `extends` is the scenario it stands on, a bundled name or a path; `kept` the folder for failing
    examples. `begin` is where a subclass makes its client.
    """

    extends: ClassVar[str] = "quickstart"
    seed: ClassVar[int | None] = None
    kept: ClassVar[str] = "runs/machines"
    _made: ClassVar[tuple[Simulation, BytesIO] | None] = None

    def __init__(self) -> None:
        super().__init__()
        self._connect()
        self.truth = Truth(lambda name: view(self.simulation.engine, name)[name])
        self.begin()

    def _connect(self) -> None:
        """The exchange at its start: one is set back for every example, and a fresh one made for
        the last, whose journal may be kept.
        """
        cls = type(self)
        made: tuple[Simulation, BytesIO] | None = cls.__dict__.get("_made")
        if made is None or made[1].tell() > JOURNAL_MOST or currently_final():
            journal = BytesIO()
            cls._made = made = (
                Simulation(
                    load_scenario(_SCENARIO % self.extends), seed=self.seed, journal=journal
                ),
                journal,
            )
        else:
            made[0].reset()
        self.simulation, self._journal = made
        self.world = connect(self.simulation)

    def begin(self) -> None:
        """Make the client under test. Nothing has happened yet."""

    # ---- who can call

    @property
    def key(self) -> ApiKey:
        """A retail API key of a funded account that nobody else trades."""
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
        """A market stops, or goes on; an edge that does not exist is not taken."""
        self.tester("instrument.state", terms.symbol, {"state": state})

    @rule(span=clock_jumps())
    def time_passes(self, span: str) -> None:
        """The clock moves and everything due happens."""
        self.world.advance(span)

    # ---- what must hold

    @invariant()
    def everything_adds_up(self) -> None:
        """Money, positions, orders and books (`sim.core.invariants`)."""
        found = broken(self.simulation.exchange.trading)
        assert not found, "; ".join(map(str, found))

    # ---- plumbing

    def tester(self, action: str, subject: str, body: Document) -> bool:
        """An action of the control plane by its name in the journal, such as "fault.add"; whether
        it was taken. A refused one changes nothing.
        """
        try:
            self.world.absorb(self.simulation.control(action, subject, body))
        except Refusal:
            return False
        return True

    def teardown(self) -> None:
        """Keep the example if it fails and is the smallest that hypothesis found."""
        problem = sys.exc_info()[1]
        if (
            currently_final()
            and isinstance(problem, Exception)
            and not isinstance(problem, HypothesisException)
        ):
            problem.add_note(self._keep())

    def _recorded(self) -> bytes:
        return self._journal.getvalue()

    def _keep(self) -> str:
        """Write the example; where it is, for the failure's message."""
        folder = Path(self.kept)
        folder.mkdir(parents=True, exist_ok=True)
        journal, path = (
            folder / f"{type(self).__name__}.ndjson",
            folder / f"{type(self).__name__}.yaml",
        )
        journal.write_bytes(self._recorded())
        found = scenario_document(journal)
        left = [f"left out: {count} {kind}" for kind, count in found.left_out.items()]
        path.write_text(
            as_yaml(
                found.document,
                [
                    (
                        f"The smallest failing example of {type(self).__name__}, as the exchange"
                        " saw it"
                    ),
                    f"sim run {path}",
                    *left,
                ],
            )
        )
        return (
            f"sandbox exchange: this example is {path} (sim run {path}); its journal is {journal}"
            f" (sim timeline {journal})"
        )


class FaultyExchangeMachine(ExchangeMachine):
    """The same, and faults strike calls and streams. A client that should survive them is tried
    with this.
    """

    @rule(fault=faults(("retail", "exchange", "gateway", "stream", "webhook", "engine")))
    def trouble_begins(self, fault: Document) -> None:
        """A fault is armed."""
        self.tester("fault.add", "", fault)

    @rule()
    def trouble_ends(self) -> None:
        """Every fault is gone."""
        for row in view(self.simulation.engine, "faults")["faults"]:
            if not row["over"]:
                self.tester("fault.remove", row["id"], {})


class ServedExchangeMachine(ExchangeMachine):
    """The same over sockets, for a client that cannot do without: `self.exchange` is what the
    pytest fixture is, one for all examples, set back for each.

    Close what the client holds open in `teardown`, and call the one here.
    """

    _served: ClassVar[ServedExchange | None] = None

    def _connect(self) -> None:
        from sim.testing.exchange_fixture import ServedExchange

        if type(self)._served is None:
            folder = Path(self.kept)
            folder.mkdir(parents=True, exist_ok=True)
            journal = folder / f"{type(self).__name__}-served.ndjson"
            type(self)._served = ServedExchange(
                load_scenario(_SCENARIO % self.extends), seed=self.seed, journal=journal
            )
        served = type(self)._served
        assert served is not None
        served.reset()
        self.exchange = served
        self.simulation = served.running.simulation

    @rule(span=clock_jumps())
    def time_passes(self, span: str) -> None:
        """The clock moves and everything due happens."""
        self.exchange.clock.advance(span)

    @invariant()
    def everything_adds_up(self) -> None:
        """Money, positions, orders and books (`sim.core.invariants`)."""
        found = self.exchange.running.call(lambda: broken(self.simulation.exchange.trading))
        assert not found, "; ".join(map(str, found))

    def tester(self, action: str, subject: str, body: Document) -> bool:
        """An action of the control plane by its name in the journal; whether it was taken."""
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
        """Stop serving; a test module calls it in the end (`teardown_module`)."""
        if cls._served is not None:
            cls._served.close()
            cls._served = None
