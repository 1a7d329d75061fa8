"""The twenty bugs of the exchange, each a small replacement of its source.

They were written from `planted.py` alone, with `sim/core`, `sim/api` and `sim/kernel` open and
nothing else: no oracle, no invariant, no rule of the witness was looked at.
"""

from __future__ import annotations

from tools.detection.rewriting import Rewrite

_MATCHING = "sim.core.matching.matching:Matching"

EXCHANGE_BUGS: dict[str, tuple[Rewrite, ...]] = {
    "lost_cancel": (
        Rewrite(
            "sim.core.trading.cancel_replace:CancelReplace.cancel",
            "    self._matching.remove(",
            "    if order.seq % 3 == 0:\n        return order\n    self._matching.remove(",
        ),
    ),
    "fee_rounded_down": (
        Rewrite(
            "sim.core.accounts.fees:rounded",
            "return divide_half_even(fee * factor, scale) * step",
            "return (abs(fee) * factor // scale) * step * (1 if fee > 0 else -1)",
        ),
    ),
    "resume_off_by_one": (
        Rewrite(
            "sim.api.streams.resumable:ReplayFeed.begin",
            "self.rows_after(stream.firm, stream.after), stream.after",
            "iter(list(self.rows_after(stream.firm, stream.after))[1:]), stream.after",
        ),
    ),
    "reservation_kept": (
        Rewrite(
            f"{_MATCHING}.remove",
            "    self.withdraw(book, order)\n",
            "    self.withdraw(book, order)\n"
            "    if type is CANCELED:\n"
            "        self._risk.reserve(order, book.instrument, order.leaves_qty)\n",
        ),
    ),
    "timer_after_its_instant": (
        Rewrite("sim.kernel.timers:TimerQueue.schedule", "Timer(due,", "Timer(due + 1,"),
    ),
    "fill_after_cancel": (
        Rewrite(
            f"{_MATCHING}.remove",
            "    self.withdraw(book, order)\n",
            "    self.withdraw(book, order)\n"
            "    if type is CANCELED and order.type not in STOP_TYPES:\n"
            "        from msgspec.structs import replace\n"
            "        kept = replace(order)\n"
            "        book.ladder(order.side).add(kept)\n"
            "        self._risk.reserve(kept, book.instrument, kept.leaves_qty)\n",
        ),
    ),
    "time_priority_inverted": (
        Rewrite(
            "sim.core.matching.book:Ladder.add",
            "level.queue.append(order)",
            "level.queue.insert(level.head, order)",
        ),
    ),
    "report_with_other_content": (
        Rewrite(
            "sim.api.streams.drop_copy:DropCopyFeed._executed",
            "        self.add_row(firm, event.execution)\n",
            "        self.add_row(firm, event.execution)\n"
            "        if event.execution.last_qty and not event.execution.seq % 3:\n"
            "            from msgspec.structs import replace\n"
            "            more = event.execution.last_qty + 1\n"
            "            self.add_row(firm, replace(event.execution, last_qty=more))\n",
        ),
    ),
    "book_update_dropped": (
        Rewrite(
            "sim.api.streams.book_subscriptions:Books.publish",
            "    send_all = ",
            "    if self._version(symbol) % 4 == 0:\n        return\n    send_all = ",
        ),
    ),
    "position_sign": (
        Rewrite(
            "sim.core.accounts.positions:Positions.fill",
            "return self._move(position, qty,",
            "return self._move(position, qty if position.net + qty >= 0 else abs(qty),",
        ),
    ),
    "settled_twice": (
        Rewrite(
            "sim.core.lifecycle.settlement:Settlements._resolve",
            "self._ledger.pay_out(account, amount, LedgerEntryType.RESOLUTION, symbol)",
            "self._ledger.pay_out(account, amount, LedgerEntryType.RESOLUTION, symbol)\n"
            "            self._ledger.pay_out(account, amount, LedgerEntryType.RESOLUTION, symbol)",
        ),
    ),
    "limit_counts_refused": (
        Rewrite(
            "sim.core.service.rate_limits:RateLimits.check",
            "            text = self._ctx",
            "            counter.take(subject, now)\n            text = self._ctx",
        ),
    ),
    "session_revoked_late": (
        Rewrite(
            "sim.core.identity.credentials:Credentials.authenticate",
            "now < issued.expires:",
            "now < issued.expires + 300 * NS_PER_S:",
        ),
    ),
    "maintenance_in_standard_time": (
        Rewrite(
            "sim.core.service.maintenance_calendar:MaintenanceCalendar.weekly",
            "        change = rule",
            "        from sim.kernel.instants import EASTERN, to_datetime\n"
            "        begins += hours(1) if to_datetime(begins, EASTERN).dst() else 0\n"
            "        change = rule",
        ),
    ),
    "cursor_skips_a_row": (
        Rewrite(
            "sim.api.pipeline.paging:page_of",
            "start = offset_of(token)",
            "start = offset_of(token) + bool(token)",
        ),
    ),
    "stale_balance": (
        Rewrite(
            "sim.api.retail.balances:balance_message",
            "return _balance(exchange.trading.ledger.balance(account),",
            "rows = exchange.trading.ledger.entries(account)\n"
            "    traded = rows and rows[-1].type is LedgerEntryType.ORDER_EXECUTION\n"
            "    cash = rows[-1].before if traded else exchange.trading.ledger.balance(account)\n"
            "    return _balance(cash,",
        ),
    ),
    "verification_decided_twice": (
        Rewrite(
            "sim.core.identity.kyc:Kyc._provision",
            "    self._ctx.emit(decided)",
            "    self._ctx.emit(decided)\n    self._ctx.emit(decided)",
        ),
    ),
    "removal_a_day_late": (
        Rewrite(
            "sim.contract.contract:Operation.exists_at",
            "now < self.until",
            "now < self.until + 86_400_000_000_000",
        ),
    ),
    "duplicate_order_id": (
        Rewrite(
            "sim.core.trading.admission:OrderAdmission.check_clord_id",
            "if order.clord_id:",
            "if not order.clord_id:",
        ),
    ),
    "average_price_of_last": (
        Rewrite(
            "sim.core.matching.fills:Fills._fill",
            "order.avg_px = divide_half_even(order.filled_notional, order.cum_qty)",
            "order.avg_px = divide_half_even(order.avg_px + price, 2)",
        ),
    ),
}
