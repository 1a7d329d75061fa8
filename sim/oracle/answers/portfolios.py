"""Balances, positions, ledgers and activities in answers.

Realises rules L27, P2, P3, P6, P9, P10, P17-P20, P23, P24, R14 and S2.3-3, S2.8-3, S2.8-4, S4.2-5
to S4.2-7, S4.3-14, S4.3-17 to S4.3-20.
"""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise

from sim.kernel.instants import Instant, format_instant, parse_instant, same_trade_date, trade_date
from sim.oracle.answers.books import levels
from sim.oracle.answers.reading import Reading, bare, instant, listed, pairs, words
from sim.oracle.answers.reports import TRADE_STATES
from sim.oracle.money import buying_power, largest_reserve, margin, returns_collateral
from sim.oracle.state import BUY, CASH, OPEN, SELL, Document, NaiveAccount, NaivePosition

FLOOR: Instant = parse_instant("2026-05-01T00:00:00Z")
ENTRY_TYPES = words(
    "UNDEFINED DEPOSIT WITHDRAWAL ORDER_EXECUTION CORRECTION NETTING RESOLUTION MANUAL_ADJUSTMENT"
    " SECURITY_BALANCE_ADJUSTMENT SECURITY_MARK_TO_MARKET ACCOUNT_PROPERTY_ADJUSTMENT COMMISSION"
    " CONTRACT_EXPIRATION PENDING_CREDIT_ADJUSTMENT BEGINNING_OF_DAY SECURITY_WITHDRAWAL"
    " WITHDRAWAL_REJECTION MANUAL_TRANSFER AVERAGE_PRICE_TRANSFER GIVE_UP SYNCHRONIZATION INTEREST"
    " PENDING_WITHDRAWAL_CREATION SETTLEMENT_FEE"
)
SUPPRESSED = {ENTRY_TYPES[number] for number in (5, 8, 9, 12, 13, 14, 15, 18, 19, 20, 21, 23)}
_HELD = pairs("netPosition:net qtyBought:bought qtySold:sold cost:cost realized:realized")
_CHANGES = pairs(
    "quantityChange:qty_change costChange:cost_change realizedChange:realized_change"
    " netPosition:net cost:cost realized:realized"
)


def entry_types(request: Document) -> set[str]:
    """Return the types of entries that a ledger shows: those asked for, or all public ones (P18).

    One that is undefined asks for nothing.
    """
    types = {bare(each) for each in listed(request.get("entryTypes"))} - {"UNDEFINED"}
    return types or set(ENTRY_TYPES) - SUPPRESSED


class PortfolioRules(Reading):
    """The part of the law about money and positions that are read."""

    answers = pairs(
        "PositionAPI.GetAccountBalance:_balance PositionAPI.ListAccountBalances:_balances"
        " RetailAccountAPI.GetBalances:_balances PositionAPI.ListAccountPositions:_positions"
        " RetailPortfolioAPI.ListPositions:_retail_positions"
        " PositionAPI.GetPositionLedger:_position_ledger"
        " FundingAPI.GetAccountBalanceLedger:_cash_ledger"
        " RetailPortfolioAPI.ListActivities:_activities"
        " RetailIncentivesAPI.ListEarnings:_earnings IncentivesAPI.GetIncentiveEarnings:_earnings"
    )

    def _account(self) -> NaiveAccount:
        """Return the account that a read names, or else the caller's."""
        named = self._request.get("name") or self._request.get("account")
        return self._exchange.account(named or (*self._history.accounts_of(self._caller), "")[0])

    # ---- balances

    def _balances(self, answer: Document) -> None:
        """Judge a list of balances by currency. There is only one."""
        rows = answer["balances"]
        self._balance(rows["USD"] if isinstance(rows, dict) else rows[0])

    def _balance(self, answer: Document) -> None:
        """Judge a balance: cash, margin of shorts, buying power, open orders (rules P2, P3, P6).

        The retail API subtracts what open orders reserve from the buying power.
        """
        exchange, account, is_retail = self._exchange, self._account(), "currentBalance" in answer
        cash = Fraction(account.cash, CASH)
        expected: Document = {"currentBalance": cash, "balance": cash}
        if returns_collateral(exchange, account):
            self._hearing.undecided("margin with collateral return")
        else:
            needed = margin(exchange, account)
            reserved = Fraction(largest_reserve(exchange, account), CASH)
            free = Fraction(buying_power(exchange, account), CASH)
            net = is_retail or exchange.assumed("balances.buying_power_net")
            names = ("marginRequirement", "capitalRequirement", "alternateCapitalRequirement")
            expected |= dict.fromkeys(names, Fraction(needed, CASH))
            expected |= {"excessCapital": free, "openOrders": reserved}
            expected["buyingPower"] = free - (reserved if net else 0)
            expected["availableToWithdraw"] = cash - Fraction(needed, CASH)
            expected["displayedCash"] = free - reserved
        self._compare("P2", f"balance of {account.name}", expected, answer)

    # ---- positions

    def _held(self, account: NaiveAccount) -> dict[str, NaivePosition]:
        positions = account.positions.items()
        return {symbol: held for symbol, held in positions if held.bought or held.sold or held.net}

    def _bod(self, held: NaivePosition) -> int:
        """Return the position at the last 17:00 Eastern (rule P10)."""
        return held.bod if same_trade_date(held.changed, self._exchange.now) else held.net

    def _positions(self, answer: Document) -> None:
        """Judge positions: all that there are, in units of the instrument (P9, S4.3-14)."""
        request, account = self._request, self._account()
        if not {"asOfTime", "asOfDate", "activeOnly"}.isdisjoint(request):
            self._unknown_filter()
            return
        held = {
            symbol: each
            for symbol, each in self._held(account).items()
            if request.get("symbol", symbol) == symbol
            and (each.net or "nonZeroOnly" not in request)
        }
        is_part = bool(request.get("pageToken") or not answer["eof"])
        self._complete(account, list(held), [row["symbol"] for row in answer["positions"]], is_part)
        free = [
            str(self._free(account, row["symbol"], int(row["netPosition"])))
            for row in answer["positions"]
        ]
        self._agree("P3", f"availablePosition of {account.name}", free, answer["availablePosition"])
        for row in answer["positions"]:
            position = held.get(row["symbol"], NaivePosition())
            expected = {name: str(getattr(position, field)) for name, field in _HELD.items()}
            expected["bodPosition"] = str(self._bod(position))
            expected["updateTime"] = format_instant(position.changed)
            self._compare("P9", f"{account.name} in {row['symbol']}", expected, row)

    def _free(self, account: NaiveAccount, symbol: str, net: int) -> int:
        """Return how much of a position no open order would close (rule P3)."""
        orders = self._exchange.open_orders(account.name, symbol)
        working = sum(order.leaves_qty for order in orders if order.sign * net < 0)
        return max(net - working, 0) if net > 0 else min(net + working, 0)

    def _complete(
        self, account: NaiveAccount, due: list[str], answered: list[str], is_part: bool
    ) -> None:
        """Disagree about positions that a list lacks, or that it has twice or without reason."""
        due = [symbol for symbol in due if symbol in answered] if is_part else due
        self._agree("P9", f"positions of {account.name}", sorted(due), sorted(answered))

    def _retail_positions(self, answer: Document) -> None:
        """Judge positions in decimals, and in rounded integers (S2.8-3, R14)."""
        account, rows = self._account(), answer["positions"]
        positions = self._held(account)
        is_part = not answer.get("eof", True) or not self._request.keys() <= {"sortOrder"}
        due = [symbol for symbol, held in positions.items() if held.net or symbol in rows]
        self._complete(account, due, list(rows), is_part)
        for symbol, row in rows.items():
            market, held = self._exchange.market(symbol), positions.get(symbol, NaivePosition())
            scale, contracts = market.price_scale, market.qty_scale
            quantities = {"netPosition": held.net, "bodPosition": self._bod(held)}
            expected: Document = {"realized": Fraction(held.realized, scale * contracts)}
            if held.net:
                quantities |= {"qtyBought": held.bought, "qtySold": held.sold}
                base = held.cost + max(-held.net, 0) * scale
                expected["avgPx"] = Fraction(base, abs(held.net) * scale)
                expected["baseCost"] = Fraction(base, scale * contracts)
                expected["fees"] = Fraction(held.fees, scale * contracts)
                quantities["qtyAvailable"] = self._free(account, symbol, held.net)
                bids, offers = levels(market, BUY), levels(market, SELL)
                if bids and offers and market.state == OPEN:
                    price = (bids[0][0] + offers[0][0]) // 2
                    value = held.net * price + max(-held.net, 0) * scale
                    expected["cashValue"] = Fraction(value, scale * contracts)
            for name, qty in quantities.items():
                expected[name] = expected[f"{name}Decimal"] = Fraction(qty, contracts)
            self._compare("S2.8-3", f"{account.name} in {symbol}", expected, row)

    # ---- ledgers

    def _position_ledger(self, answer: Document) -> None:
        """Judge rows of the position ledger: changes, and the position after them (P23, P24)."""
        rows = self._history.entries("PositionChanged", self._account().name)
        due = {
            f"pl_{row['id']}": (row, {name: str(row[field]) for name, field in _CHANGES.items()})
            for row in rows
        }
        self._ledger("P23", answer["entries"], due)

    def _cash_ledger(self, answer: Document) -> None:
        """Judge rows of the cash ledger: public types, and balances that continue (P17-P20)."""
        entries, request = answer["entries"], self._request
        types = entry_types(request)
        due = {}
        for row in self._history.entries("CashMoved", self._account().name):
            kind, usd = ENTRY_TYPES[row["type"]], request.get("currency", "USD").upper() == "USD"
            if kind in types and usd and request.get("description", "") in row["description"]:
                before, after = Fraction(row["before"], CASH), Fraction(row["after"], CASH)
                document = {"beforeBalance": before, "afterBalance": after, "entryType": kind}
                due[f"bl_{row['id']}"] = row, document
        answered = [{**each, "entryType": bare(each["entryType"])} for each in entries]
        self._ledger("P20", answered, due)
        if {"entryTypes", "symbol", "description"}.isdisjoint(request):
            for first, second in pairwise(entries[::-1] if self._newest_first else entries):
                after, before = Fraction(first["afterBalance"]), second["beforeBalance"]
                self._agree("P20", f"{second['id']}: beforeBalance", after, before)

    def _ledger(
        self, rule: str, entries: list[Document], due: dict[str, tuple[Document, Document]]
    ) -> None:
        """Judge a page of a ledger: rows of the window, none before the floor (rule P24)."""
        symbol = self._request.get("symbol")
        expected = [
            id
            for id, (row, _) in due.items()
            if row["at"] >= FLOOR
            and self._in_window(row["at"])
            and symbol in (None, row.get("symbol"))
        ]
        expected = expected[::-1] if self._newest_first else expected
        answered = {entry["id"]: self._is_older(entry) for entry in entries}
        self._page(answered, expected, newest_first=self._newest_first)
        for entry in entries:
            row, document = due.get(entry["id"], (None, {}))
            if row is not None:
                names = ("account", "symbol", "description")
                document |= {name: row.get(name, "") for name in names}
                document["updateTime"] = format_instant(row["at"])
                document["updateBusinessDate"] = str(trade_date(row["at"]))
                self._compare(rule, f"entry {entry['id']}", document, entry)

    def _is_older(self, entry: Document) -> bool:
        at = instant(entry["updateTime"]) or 0
        return FLOOR <= at <= self._history.began and self._in_window(at)

    # ---- rewards

    def _earnings(self, answer: Document) -> None:
        """Judge earnings: one entry for all payouts of a market on a date (S2.3-3)."""
        if self._exchange.assumed("incentives.rows") == "program":
            return
        entries = [(row["date"], row["marketSlug"]) for row in answer["rewards"]]
        self._agree("S2.3-3", "entries of earnings", sorted(set(entries)), sorted(entries))

    # ---- activities

    def _activities(self, answer: Document) -> None:
        """Judge the trades among activities: own ones, state, price, decimal quantity (S2.8-4)."""
        account, ids = self._account().name, []
        for activity in answer["activities"]:
            document = activity.get("trade") or {}
            trade = self._history.trades.get(document.get("id", ""))
            if trade is None:
                continue
            ids.append(trade.id)
            self._agree(
                "R8", f"{account} has a side of {trade.id}", True, account in trade.accounts
            )
            market = self._exchange.market(trade.symbol)
            qty, price = Fraction(trade.qty, market.qty_scale), Fraction(trade.price)
            expected: Document = {"qty": qty, "qtyDecimal": qty, "marketSlug": trade.symbol}
            expected |= {
                "price": price / market.price_scale,
                "createTime": format_instant(trade.at),
            }
            expected["state"] = f"TRADE_STATE_{TRADE_STATES[trade.state]}"
            self._compare("S2.8-4", f"activity of trade {trade.id}", expected, document)
        if answer["eof"] and self._request.keys() <= {"limit", "sortOrder"}:
            own = [each.id for each in self._history.trades.values() if account in each.accounts]
            self._agree("S2.8-4", f"trades of {account}", sorted(own), sorted(ids))
            self._resolutions(account, answer["activities"])

    def _resolutions(self, account: str, activities: list[Document]) -> None:
        """Judge that every result that paid is an activity: a correction too (rules P22, L27)."""
        rows = self._history.entries("PositionChanged", account)
        due = [
            (row["symbol"], format_instant(row["at"]))
            for row in rows
            if row["settlement"] is not None and (row["qty_change"] or row["realized_change"])
        ]
        documents = [
            each["positionResolution"] for each in activities if "positionResolution" in each
        ]
        answered = [(each["marketSlug"], each["updateTime"]) for each in documents]
        answered = [
            each
            for each in answered
            if each in due or (instant(each[1]) or 0) > self._history.began
        ]
        self._agree("L27", f"resolutions of {account}", sorted(due), sorted(answered))
