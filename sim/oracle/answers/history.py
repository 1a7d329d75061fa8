"""What happened since the law began to listen, as lists: what a read can show of the past."""

from __future__ import annotations

from dataclasses import dataclass, field

from sim.kernel.instants import Instant, days, next_weekly, parse_instant
from sim.oracle.exchange import NaiveExchange
from sim.oracle.state import CLOSED, OPEN, PENDING, PREOPEN, Document

CLEARED, BUSTED = 2, 3
ORDERS_KEPT, MARKET_DATA_KEPT, EXECUTIONS_KEPT = 90, 45, 7  # days (rule R10)
_PURGES = parse_instant("2026-07-16T02:00:00-04:00")
_LATE_HOURS = parse_instant("2026-09-24T00:00:00-04:00")


@dataclass(slots=True)
class NaiveTrade:
    """A trade with its state, and the executions of its aggressor and of its passive side."""

    id: str
    symbol: str
    price: int
    qty: int
    state: int
    fills: list[Document]

    @property
    def at(self) -> Instant:
        """When it was made."""
        return int(self.fills[0]["at"])

    @property
    def accounts(self) -> set[str]:
        """The accounts of both sides."""
        return {str(fill["order"]["account"]) for fill in self.fills}


@dataclass(slots=True)
class TradingSession:
    """The trades of a trading session, and of the present state of the instrument.

    A session begins when an instrument becomes OPEN from PENDING, PREOPEN or CLOSED; the auction
    that opens it belongs to it (rule L21). `complete` if the law knows all of its trades.
    """

    trades: list[NaiveTrade] = field(default_factory=list)
    in_state: list[NaiveTrade] = field(default_factory=list)
    complete: bool = True


class NaiveHistory:
    """Orders as they are, and executions, trades and ledger rows in order of time.

    Rows from before `began` are unknown, except trades, which are kept for ever (rule R10).
    `members` has the accounts of participants, those who were enabled during the run too (S3.5-2).
    """

    def __init__(self, exchange: NaiveExchange) -> None:
        self._exchange, beginning = exchange, exchange.beginning
        self.began = exchange.now
        users = [user for firm in beginning.firms for user in firm["users"]]
        self.members = {user["name"]: user["account"] for user in users}
        self.members |= {key["participant"]: key["account"] for key in beginning.api_keys}
        self.orders: dict[str, Document] = {row["id"]: row for row in beginning.orders}
        self.inherited = set(self.orders)
        self.executions: dict[str, Document] = {}
        self.trades: dict[str, NaiveTrade] = {}
        self.settled: dict[str, Document] = {}
        self.sessions: dict[str, TradingSession] = {}
        self._rows: dict[tuple[str, str], list[Document]] = {}
        self._fills: dict[str, list[Document]] = {}
        for row in beginning.trades:
            self._fills[row["id"]] = [row["aggressor"], row["passive"]]
            self._traded({"state": 1, **row})
            self.sessions[row["symbol"]].complete = False

    def take(self, event: Document) -> None:
        """Remember an event."""
        match event["event"]:
            case "Executed":
                execution = event["execution"]
                self.orders[execution["order"]["id"]] = execution["order"]
                self.executions[execution["id"]] = execution
                if trade_id := execution.get("trade_id"):
                    fills = self._fills.setdefault(trade_id, [])
                    fills.insert(0 if execution.get("aggressor") else 1, execution)
            case "Traded":
                self._traded(event)
            case "StateChanged":
                self._state_changed(event)
            case "PositionChanged" | "CashMoved":
                self._rows.setdefault((event["event"], event["account"]), []).append(event)
            case "Settled":
                self.settled[event["symbol"]] = event
            case "KycDecided" if event["participant"]:
                self.members[event["participant"]] = event["account"]

    def _traded(self, event: Document) -> None:
        trade = self.trades.get(event["id"])
        if trade is not None:
            trade.state = event["state"]
        elif fills := self._fills.pop(event["id"], None):
            fields = {name: event[name] for name in ("id", "symbol", "price", "qty", "state")}
            trade = NaiveTrade(**fields, fills=fills)
            session = self.sessions.setdefault(trade.symbol, TradingSession())
            self.trades[trade.id] = trade
            session.trades.append(trade)
            session.in_state.append(trade)

    def _state_changed(self, event: Document) -> None:
        session = self.sessions.setdefault(event["symbol"], TradingSession())
        if event["state"] == OPEN and event["was"] in (PENDING, PREOPEN, CLOSED):
            session.trades = session.in_state  # those of the auction that opens it
            session.complete = True
        session.in_state = []

    # ---- what is shown of it

    def entries(self, event: str, account: str) -> list[Document]:
        """Return the rows of a ledger, oldest first."""
        return self._rows.get((event, account), [])

    def of_symbol(self, symbol: str) -> list[NaiveTrade]:
        """Return the trades of an instrument that count; a busted one never does (rule M42)."""
        trades = [trade for trade in self.trades.values() if trade.symbol == symbol]
        return [trade for trade in trades if trade.state != BUSTED]

    def accounts_of(self, caller: str) -> tuple[str, ...]:
        """Return the accounts of a participant or of a firm (S5.1-6, R8); () if it is unknown."""
        if "/users/" in caller:
            return (self.members[caller],) if caller in self.members else ()
        return self.accounts_of_firm(caller)

    def accounts_of_firm(self, caller: str) -> tuple[str, ...]:
        """Return the accounts of all participants of a caller's firm."""
        prefix = caller.partition("/users/")[0] + "/users/"
        return tuple(each for name, each in self.members.items() if name.startswith(prefix))

    def kept_since(self, kept: int) -> Instant:
        """Return the instant before which rows are gone: so many days before the last maintenance.

        Retention begins with the maintenance of 2026-07-16 (S8-7, rules R10, W1).
        """
        now = self._exchange.now
        late = self._exchange.assumed("maintenance.windows") == "docs" and now >= _LATE_HOURS
        last = next_weekly(now - days(8), 3, 6 if late else 2)
        while (following := next_weekly(last, 3, 6 if late else 2)) <= now:
            last = following
        return last - days(kept) if _PURGES <= last <= now else 0

    def is_retained(self, order: Document) -> bool:
        """Return whether an order is still shown: while it works, then 90 days (rule R10)."""
        return bool(order["leaves_qty"] or order.get("changed", 0) >= self.kept_since(ORDERS_KEPT))
