"""The naive twin: recomputes what follows from a run's fills, ledgers, tokens and dates, in the
slow and obvious way, with fractions and from complete histories.

It reads nothing that the exchange stores for speed, and calls none of the functions that it checks.
Where the naive way would need more information than it has, it reports nothing.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from typing import Any

from msgspec import DecodeError, json

from sim.api.pipeline.inputs import Input, Outcome, Reply, RestCall, RpcCall
from sim.api.pipeline.request_log import LoggedCall
from sim.contract.contract import load_contract
from sim.core.accounts.fee_schedule import THETA_SCALE
from sim.core.model.enums import ExecutionType
from sim.core.model.orders import Execution
from sim.core.model.quantities import DOLLAR
from sim.core.trading.engine_queue import ENGINE_TIMER
from sim.kernel.instants import format_instant
from sim.run.simulation import Simulation
from sim.search.hunt.troubles import Trouble

_SERVED = 300  # the first status that does not mean success
_LIMITED = (429, 8)  # as HTTP status and gRPC code


class Twin:
    """Checks one simulation after each input, from its current state on."""

    def __init__(self, simulation: Simulation) -> None:
        self._simulation = simulation
        self._executions = len(simulation.exchange.trading.executions)
        # The number of a refused call, and the usage of each limit after it.
        self._used: tuple[int, dict[tuple[str, str, str], int]] = 0, {}

    def after_input(self, input_: Input, outcome: Outcome) -> Iterator[Trouble]:
        """Yield the results on which the twin disagrees after an input."""
        rows = self._simulation.exchange.trading.executions.rows
        new, self._executions = rows[self._executions :], len(rows)
        for execution in new:
            if execution.last_qty:
                yield from self._average(execution)
                yield from self._fee(execution)
            elif execution.type is ExecutionType.NEW:
                yield from self._name(execution)
        reply = outcome.reply
        if isinstance(input_, RestCall | RpcCall) and reply is not None and not outcome.injections:
            entry = self._simulation.log.last(outcome.seq)
            if entry is not None and entry.seq == outcome.seq and not entry.fault:
                yield from self._call(input_, reply, entry)

    # ---- fills

    def _average(self, execution: Execution) -> Iterator[Trouble]:
        """Check that the average price is the amount paid over the quantity bought (§2.7)."""
        order = execution.order
        bought = sum(order.filled_at.values())
        if bought != order.cum_qty:
            return  # a trade was busted or the order reduced
        paid = sum(price * qty for price, qty in order.filled_at.items())
        average = round(Fraction(paid, bought))
        if average != order.avg_px:
            text = f"fills of {order.id} average {average}, and its report says {order.avg_px}"
            yield Trouble("law", "average price", text)

    def _fee(self, execution: Execution) -> Iterator[Trouble]:
        """Check the fee of an order's first fill against the formula (rules P11, P12)."""
        order, trading = execution.order, self._simulation.exchange.trading
        theta = trading.fees.theta(trading.instruments.require(order.symbol), execution.at)
        if order.cum_qty != execution.last_qty or theta.tail or theta.cap is not None:
            return
        scale, units = order.price_scale, order.price_scale * order.qty_scale
        if units % 100 or DOLLAR % units:
            return  # a cent is not a whole number of notional units
        price = Fraction(execution.last_px, scale)
        volume = Fraction(execution.last_qty, order.qty_scale) * price * (1 - price)
        cents = {
            round(100 * volume * Fraction(each, THETA_SCALE))
            for each in (theta.taker, -theta.maker)
        }
        if execution.commission not in {each * (units // 100) for each in cents} | {0}:
            charged = Fraction(100 * execution.commission, units)
            text = (
                f"the fee of {execution.id} is {float(charged)} cents, by formula {sorted(cents)}"
            )
            yield Trouble("law", "fee", text)

    def _name(self, execution: Execution) -> Iterator[Trouble]:
        """Check that a client order id belongs to one open order only (rule M6)."""
        order, orders = execution.order, self._simulation.exchange.trading.orders
        if not order.clord_id:
            return
        same = [
            other.id
            for other in orders.open_of((order.account,))
            if other.clord_id == order.clord_id and other.participant == order.participant
        ]
        if len(same) > 1:
            text = f"{order.clord_id} of {order.participant} names {' and '.join(same)}"
            yield Trouble("law", "client order id", text)

    # ---- calls

    def _call(self, call: RestCall | RpcCall, reply: Reply, entry: LoggedCall) -> Iterator[Trouble]:
        yield from self._expired(call, reply, entry)
        yield from self._removed(reply, entry)
        if isinstance(call, RestCall):
            yield from self._balance(call, reply, entry)
            yield from self._canceled(call, reply, entry)
        if reply.status == _LIMITED[0] or reply.code == _LIMITED[1]:
            yield from self._limited()

    def _expired(
        self, call: RestCall | RpcCall, reply: Reply, entry: LoggedCall
    ) -> Iterator[Trouble]:
        """Check that an expired token is refused (§5.1)."""
        credential, now = call.credential, self._simulation.now
        if credential.kind != "bearer" or not _succeeded(call, reply) or reply.pending_on:
            return
        issued = self._simulation.exchange.credentials.token(credential.key)
        if issued is not None and now >= issued.expires:
            text = f"{entry.operation} accepted a token at {format_instant(now)} that ended at "
            yield Trouble("law", "ended token", text + format_instant(issued.expires))

    def _removed(self, reply: Reply, entry: LoggedCall) -> Iterator[Trouble]:
        """Check that an operation removed on a date is not served from that date on (§9)."""
        now = self._simulation.now
        if not entry.operation or reply.status >= _SERVED or reply.code:
            return
        until = load_contract().by_name(entry.operation).until
        if until is not None and now >= until:
            text = f"{entry.operation} answers at {format_instant(now)}, removed on "
            yield Trouble("law", "removed operation", text + format_instant(until))

    def _balance(self, call: RestCall, reply: Reply, entry: LoggedCall) -> Iterator[Trouble]:
        """Check that the balance of a retail account is the sum of its movements (rule P17)."""
        if entry.operation != "RetailAccountAPI.GetBalances" or reply.status >= _SERVED:
            return
        key = self._simulation.exchange.firms.api_key(call.credential.key)
        if key is None or reply.pending_on:
            return
        rows = self._simulation.exchange.trading.ledger.entries(key.account)
        total = sum(moved.after - moved.before for moved in rows) + (rows[0].before if rows else 0)
        for row in _parsed(reply.body).get("balances", ()):
            balance = Fraction(str(row["currentBalance"]))
            if rows and abs(balance - Fraction(total, DOLLAR)) >= Fraction(1, 100):
                text = f"{key.account} shows {balance}, its movements sum to {total / DOLLAR}"
                yield Trouble("law", "retail balance", text)

    def _canceled(self, call: RestCall, reply: Reply, entry: LoggedCall) -> Iterator[Trouble]:
        """Check that an order whose cancel is acknowledged no longer works, unless queued (M34)."""
        if entry.operation != "OrderEntryAPI.CancelOrder" or reply.status >= _SERVED:
            return
        trading = self._simulation.exchange.trading
        order = trading.orders.get(str(_parsed(call.body.encode()).get("orderId", "")))
        if order is None or not order.live:
            return
        timers = self._simulation.exchange.ctx.timers.pending()
        if not any(timer.kind == ENGINE_TIMER for timer in timers):
            text = f"the cancel of {order.id} was answered {reply.status}, but it is open"
            yield Trouble("law", "cancel", text)

    def _limited(self) -> Iterator[Trouble]:
        """Check that a call refused by a limit costs nothing (rule R3).

        The second of two refused calls in a row must leave at most the usage that the first left.
        """
        now, seq = self._simulation.now, self._simulation.seq
        limits = self._simulation.exchange.rate_limits
        used = {(row.limit, row.method, row.subject): row.used for row in limits.usage()}
        before, usage = self._used
        self._used = seq, used
        if before != seq - 1:
            return
        for name, count in used.items():
            if count > usage.get(name, count):
                text = f"a refused call at {format_instant(now)} counts against {name[0]}: "
                yield Trouble("law", "refused call", f"{text}{usage[name]}, then {count}")


def _succeeded(call: RestCall | RpcCall, reply: Reply) -> bool:
    return reply.status < _SERVED if isinstance(call, RestCall) else reply.code == 0


def _parsed(body: bytes) -> dict[str, Any]:
    try:
        document = json.decode(body)
    except DecodeError:
        return {}
    return document if isinstance(document, dict) else {}
