"""Balances, positions and both ledgers: whose they are, what they say, where they begin."""

from __future__ import annotations

import csv
import io

import pytest
from small_exchange import (
    ANN_ACCOUNT,
    BOB_ACCOUNT,
    EVE_ACCOUNT,
    FINE,
    NOW,
    POOL,
    WHOLE,
    advance,
    small_exchange,
)

from sim.api.exchange.ledgers import SUPPRESSED, download_ledger, get_ledger
from sim.api.exchange.positions import (
    get_account_balance,
    list_account_balances,
    list_account_positions,
)
from sim.contract.messages import exchange_v1 as wire
from sim.core.exchange import Exchange
from sim.core.model.enums import LedgerEntryType
from sim.core.model.quantities import DOLLAR
from sim.core.model.refusals import EntryTypeSuppressed, InvalidRequest, PermissionDenied
from sim.kernel.instants import hours, parse_instant, seconds


def balance(
    exchange: Exchange, name: str = ANN_ACCOUNT, currency: str = "USD"
) -> wire.GetAccountBalanceResponse:
    return exchange.ann.ask(get_account_balance, name=name, currency=currency)


def cash(
    exchange: Exchange, account: str = ANN_ACCOUNT, **asked: object
) -> list[wire.BalanceLedgerEntry]:
    request = wire.GetAccountBalanceLedgerRequest(account=account, **asked)
    return exchange.acme.send(get_ledger, request).entries


def moves(
    exchange: Exchange, account: str = ANN_ACCOUNT, **asked: object
) -> list[wire.PositionLedgerEntry]:
    return exchange.acme.send(
        get_ledger, wire.GetPositionLedgerRequest(account=account, **asked)
    ).entries


def positions(exchange: Exchange, name: str = ANN_ACCOUNT, **asked: object) -> list[wire.Position]:
    return exchange.ann.ask(list_account_positions, name=name, **asked).positions


def trade(exchange: Exchange, qty: int = 100, price: int = 60, symbol: str = WHOLE) -> None:
    """Ann buys from Eve."""
    exchange.eve.sell(price, qty, symbol)
    exchange.ann.buy(price, qty, symbol)


# ---- balances


def test_a_balance_counts_shorts_as_margin_and_open_orders_apart() -> None:
    exchange = small_exchange()
    exchange.ctx.assumptions.change("fees.taker_theta", 0)
    exchange.ctx.assumptions.change("fees.maker_theta", 0)
    exchange.ann.sell(60, 100)
    exchange.eve.buy(60, 100)
    exchange.ann.buy(300, 10_000, FINE)
    result = balance(exchange)
    assert (result.balance, result.margin_requirement, result.buying_power, result.open_orders) == (
        "1060",
        "100",
        "960",
        "30",
    )
    assert exchange.ann.ask(list_account_balances, name=ANN_ACCOUNT).balances == {"USD": result}
    exchange.ctx.assumptions.change("balances.buying_power_net", True)
    assert balance(exchange).buying_power == "930"


@pytest.mark.parametrize("name", [POOL, "", "firms/nobody/accounts/x"])
def test_a_clearing_account_or_one_that_does_not_exist_is_no_valid_account(name: str) -> None:
    """P26."""
    exchange = small_exchange()
    with pytest.raises(InvalidRequest):
        balance(exchange, name)
    with pytest.raises(InvalidRequest):
        positions(exchange, name)


def test_an_account_of_another_firm_is_forbidden_and_another_currency_invalid() -> None:
    exchange = small_exchange()
    with pytest.raises(PermissionDenied):
        balance(exchange, EVE_ACCOUNT)
    with pytest.raises(InvalidRequest):
        balance(exchange, currency="EUR")
    assert balance(exchange, BOB_ACCOUNT, currency="usd").balance == "1000"


# ---- positions


def test_positions_show_net_cost_and_what_open_orders_leave_available() -> None:
    exchange = small_exchange()
    trade(exchange, 50, 52)
    exchange.ann.sell(70, 20)
    answer = exchange.ann.ask(list_account_positions, name=ANN_ACCOUNT)
    (result,) = answer.positions
    assert (
        result.net_position,
        result.cost,
        result.qty_bought,
        result.qty_sold,
        result.bod_position,
    ) == (50, 2600, 50, 0, 0)
    assert answer.available_position == [30]


def test_positions_of_the_past_are_rebuilt_from_their_ledger() -> None:
    exchange = small_exchange()
    trade(exchange, 50, 52)
    advance(exchange, NOW + hours(5))
    trade(exchange, 10, 40)
    trade(exchange, 10, 400, FINE)
    assert [(p.symbol, p.net_position, p.qty_bought) for p in positions(exchange)] == [
        (WHOLE, 60, 60),
        (FINE, 10, 10),
    ]
    assert [
        (p.symbol, p.net_position, p.qty_bought)
        for p in positions(exchange, as_of_time=NOW + hours(1))
    ] == [(WHOLE, 50, 50)]
    assert [
        p.net_position for p in positions(exchange, as_of_date=wire.Date(year=2026, month=9, day=8))
    ] == [50]
    assert positions(exchange, as_of_date=wire.Date(year=2026, month=9, day=7)) == []
    with pytest.raises(InvalidRequest):
        positions(exchange, as_of_time=NOW, as_of_date=wire.Date(year=2026, month=9, day=7))
    with pytest.raises(InvalidRequest):
        positions(exchange, as_of_date=wire.Date(year=2026, month=2, day=30))


def test_flat_and_expired_positions_are_shown_unless_filtered() -> None:
    exchange = small_exchange()
    trade(exchange, 50, 52)
    traded = exchange.now
    assert [p.expired for p in positions(exchange, active_only=True)] == [False]
    advance(exchange, traded + 1_000_000_000)
    exchange.trading.listings.settle(WHOLE, 100)
    assert [(p.net_position, p.expired) for p in positions(exchange)] == [(0, True)]
    assert [p.expired for p in positions(exchange, as_of_time=traded)] == [False]
    advance(exchange, traded + 2_000_000_000)
    exchange.trading.listings.settle(WHOLE, 0)  # corrects what it paid
    advance(exchange, traded + 4_000_000_000)
    past = [positions(exchange, as_of_time=traded + s * 1_000_000_000) for s in range(4)]
    assert [p.expired for (p,) in past] == [False, True, True, True]
    assert positions(exchange, non_zero_only=True) == []
    assert positions(exchange, active_only=True) == []


def test_a_position_that_nobody_has_paid_expires_with_its_instrument() -> None:
    exchange = small_exchange()
    trade(exchange, 50, 52)
    traded = exchange.now
    advance(exchange, parse_instant("2026-09-29T00:00:00Z"))
    assert [p.expired for p in positions(exchange)] == [True]
    assert [p.expired for p in positions(exchange, as_of_time=traded)] == [False]
    assert positions(exchange, active_only=True) == []


# ---- ledgers


def test_each_cash_entry_starts_where_the_one_before_ended() -> None:
    exchange = small_exchange()
    trade(exchange, 100, 60)
    exchange.trading.listings.settle(WHOLE, 100)
    entries = cash(exchange)
    assert [entry.entry_type for entry in entries] == [
        LedgerEntryType.DEPOSIT,
        LedgerEntryType.ORDER_EXECUTION,
        LedgerEntryType.RESOLUTION,
    ]
    assert [entry.before_balance for entry in entries[1:]] == [
        entry.after_balance for entry in entries[:-1]
    ]
    assert float(entries[2].after_balance) - float(entries[2].before_balance) == 100
    assert entries[0].update_business_date == "2026-09-08"
    assert [entry.entry_type for entry in cash(exchange, newest_first=True)] == [
        entry.entry_type for entry in entries[::-1]
    ]
    assert len(cash(exchange, symbol=WHOLE)) == 2
    assert len(cash(exchange, entry_types=[LedgerEntryType.DEPOSIT])) == 1
    assert len(cash(exchange, description="Fill")) == 1
    assert cash(exchange, currency="EUR") == []


def test_position_entries_say_what_changed_and_what_was_right_after() -> None:
    exchange = small_exchange()
    trade(exchange, 50, 52)
    exchange.trading.listings.settle(WHOLE, 100)
    fill, expiry = moves(exchange)
    assert (fill.quantity_change, fill.cost_change, fill.net_position, fill.cost) == (
        50,
        2600,
        50,
        2600,
    )
    assert (expiry.quantity_change, expiry.net_position, expiry.cost, expiry.realized) == (
        -50,
        0,
        0,
        2400,
    )
    assert moves(exchange, symbol=FINE) == []


@pytest.mark.parametrize("number", sorted(SUPPRESSED))
def test_asking_for_an_internal_entry_type_is_aborted(number: LedgerEntryType) -> None:
    """P18."""
    exchange = small_exchange()
    with pytest.raises(EntryTypeSuppressed):
        cash(exchange, entry_types=[LedgerEntryType.DEPOSIT, number])


def test_internal_entries_are_never_shown() -> None:
    """P18."""
    assert len(SUPPRESSED) == 12
    exchange = small_exchange()
    exchange.trading.move_cash(ANN_ACCOUNT, DOLLAR, LedgerEntryType.INTEREST, "Interest")
    assert [entry.entry_type for entry in cash(exchange)] == [LedgerEntryType.DEPOSIT]


def test_history_begins_at_the_floor_whatever_start_is_asked_for() -> None:
    """P24."""
    exchange = small_exchange()
    exchange.ctx.now = parse_instant("2026-04-30T23:59:59Z")
    trade(exchange, 10, 50)
    exchange.ctx.now = parse_instant("2026-05-01T00:00:00Z")
    trade(exchange, 20, 50)
    assert [entry.quantity_change for entry in moves(exchange)] == [20]
    assert [entry.quantity_change for entry in moves(exchange, start_time=1)] == [20]
    assert [entry.symbol for entry in cash(exchange, start_time=1, end_time=NOW - 1)] == [WHOLE]


def test_ledgers_belong_to_the_firm_of_the_account_and_its_pool() -> None:
    """P24."""
    exchange = small_exchange()
    assert cash(exchange, BOB_ACCOUNT) and cash(exchange, POOL)
    for read in (cash, moves):
        with pytest.raises(InvalidRequest):
            read(exchange, "")
        for account in (EVE_ACCOUNT, "firms/nobody/accounts/x"):
            with pytest.raises(PermissionDenied):
                read(exchange, account)
        with pytest.raises(InvalidRequest):
            read(exchange, page_size=1001)
    with pytest.raises(InvalidRequest):
        cash(exchange, description="x" * 201)


def test_ledger_pages_follow_each_other_without_a_gap() -> None:
    """P24."""
    exchange = small_exchange()
    for _ in range(25):
        advance(exchange, exchange.now + seconds(1))
        trade(exchange, 1, 50)
    observed: list[str] = []
    token = ""
    while True:
        answer = exchange.bob.send(
            get_ledger,
            wire.GetPositionLedgerRequest(account=ANN_ACCOUNT, page_size=10, page_token=token),
        )
        observed += [entry.id for entry in answer.entries]
        token = answer.next_page_token
        if not token:
            break
        assert not answer.eof
    assert (
        answer.eof and observed == [entry.id for entry in moves(exchange)] and len(observed) == 25
    )


def test_the_csv_has_a_header_and_the_same_rows() -> None:
    """R12."""
    exchange = small_exchange()
    trade(exchange, 50, 52)
    chunks = exchange.acme.ask(download_ledger, account=ANN_ACCOUNT)
    rows = list(csv.DictReader(io.StringIO(b"".join(chunk.data for chunk in chunks).decode())))
    assert [(row["entry_type"], row["before_balance"], row["after_balance"]) for row in rows] == [
        (LedgerEntryType(entry.entry_type).name, entry.before_balance, entry.after_balance)
        for entry in cash(exchange)
    ]
    assert rows[0]["update_time"] == "2026-09-08T18:00:00.000000000Z"
    chunks = exchange.acme.send(
        download_ledger, wire.DownloadPositionLedgerRequest(account=ANN_ACCOUNT)
    )
    (row,) = csv.DictReader(io.StringIO(b"".join(chunk.data for chunk in chunks).decode()))
    assert (row["quantity_change"], row["net_position"], row["description"]) == ("50", "50", "Fill")


def test_a_ledger_csv_without_rows_is_empty() -> None:
    """P24."""
    exchange = small_exchange()
    request = wire.DownloadPositionLedgerRequest(account=ANN_ACCOUNT)
    assert list(exchange.acme.send(download_ledger, request)) == []
