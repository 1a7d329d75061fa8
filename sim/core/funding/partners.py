"""Idempotent requests of partners: transfers and orders for participants (rules M25, P25, §9).

A transfer moves money between the partner's pool and the account of one of its participants.

One key has one effect. A repeated request with the same key and body gets the result of the first
one; with another body it is refused. A rejection is a result and is stored. A request refused with
an error is not stored, and may be sent again with the same key.
"""

from __future__ import annotations

from enum import IntEnum
from hashlib import blake2b

from msgspec import Struct, convert, field
from msgspec.structs import replace

from sim.core.accounts.ledger import CLEARING
from sim.core.funding.funding import Funding
from sim.core.identity.firms import Firm, Firms
from sim.core.model.commands import CancelOrder, PlaceOrder
from sim.core.model.context import Context
from sim.core.model.enums import LedgerEntryType, OrderState, Side
from sim.core.model.funding_records import FundingType
from sim.core.model.orders import Order
from sim.core.model.quantities import Cash, Price, Qty
from sim.core.model.refusals import AlreadyExists, Conflict, NotFound, PermissionDenied, cut
from sim.core.trading.trading import Trading
from sim.kernel.instants import Instant, eastern_date


class TransferReason(IntEnum):
    """The reason of a transfer (wire numbers).

    Only a deposit goes from the pool to the participant.
    """

    UNSPECIFIED = 0
    DEPOSIT = 1
    WITHDRAWAL = 2
    VENDOR_FEES = 3


class Movement(Struct, frozen=True, kw_only=True):
    """One transfer, which never changes.

    A rejected one has a reason in `rejection` and no `transfer_id`.
    """

    id: str
    firm: str
    key: str
    reason: TransferReason
    amount: Cash
    source: str
    destination: str
    at: Instant
    transfer_id: str = ""
    rejection: str = ""


class VendorOrder(Struct, frozen=True, kw_only=True):
    """One partner order, accepted or rejected.

    `order_id` is empty if the pool could not pay for a funded order.
    """

    id: str
    firm: str
    key: str
    order_id: str
    clord_id: str
    funded: bool = False


class UsedKey(Struct, frozen=True):
    """A key that was used: the hash of its body, and the id of the result."""

    body: str
    result: str


class PartnersState(Struct):
    """Movements and orders by id; keys by kind, firm and key, joined by `|`.

    `fee_dates` holds the Eastern date on which an account last paid vendor fees. `lent` holds
    (pool, amount) by order id: what is returned if the engine rejects a funded order in its queue.
    """

    movements: dict[str, Movement] = field(default_factory=dict)
    orders: dict[str, VendorOrder] = field(default_factory=dict)
    used_keys: dict[str, UsedKey] = field(default_factory=dict)
    fee_dates: dict[str, str] = field(default_factory=dict)
    lent: dict[str, tuple[str, Cash]] = field(default_factory=dict)


class PartnerFunding:
    """Transfers and partner orders of all firms."""

    def __init__(self, ctx: Context, firms: Firms, trading: Trading, funding: Funding) -> None:
        self._ctx = ctx
        self._firms = firms
        self._trading = trading
        self._funding = funding
        self._state = PartnersState()

    # ---- transfers

    def transfer(
        self,
        firm: Firm,
        key: str,
        body: bytes,
        *,
        reason: TransferReason,
        account: str,
        amount: Cash,
    ) -> Movement:
        """Move money between the firm's pool and a participant's account.

        Insufficient funds cause a rejected movement, not a refusal.
        """
        pool = self.pool(firm)
        result_id = self.earlier_result("transfer", firm.name, key, body)
        if result_id:
            return self._state.movements[result_id]
        self._check_account(firm, account)
        deposit = reason is TransferReason.DEPOSIT
        movement = Movement(
            id=self._ctx.ids.uuid("movement"),
            firm=firm.name,
            key=key,
            reason=reason,
            amount=amount,
            source=pool if deposit else account,
            destination=account if deposit else pool,
            at=self._ctx.now,
            rejection=self._rejection(reason, account, pool, amount),
        )
        if not movement.rejection:
            movement = replace(movement, transfer_id=self._ctx.ids.uuid("transfer"))
            self._post(movement)
        self._state.movements[movement.id] = movement
        self.remember("transfer", firm.name, key, body, movement.id)
        return movement

    def movement(self, firm: Firm, movement_id: str) -> Movement:
        """Return a movement of the firm. Refuses an unknown id as not found."""
        movement = self._state.movements.get(movement_id)
        if movement is None or movement.firm != firm.name:
            raise NotFound(f"unknown cash movement: {cut(movement_id)}", rule="P25")
        return movement

    def pool(self, firm: Firm) -> str:
        """Return the clearing account that pays the firm's deposits.

        Refused if the firm has none.
        """
        account = self._trading.ledger.get(firm.clearing_account)
        if account is None or account.kind != CLEARING:
            remedy = "this firm has no funding account; give it a clearing_account in the scenario"
            raise PermissionDenied(rule="P25", remedy=remedy)
        return account.name

    def _rejection(self, reason: TransferReason, account: str, pool: str, amount: Cash) -> str:
        paid_today = self._state.fee_dates.get(account) == self._today()
        if reason is TransferReason.VENDOR_FEES and paid_today:
            return "vendor fees are collected at most once a day per account"
        if reason is TransferReason.DEPOSIT:
            available = self._trading.ledger.balance(pool)
        else:
            available = self._trading.withdrawable(account)
        return "insufficient funds" if amount > available else ""

    def _post(self, movement: Movement) -> None:
        text = f"Transfer {movement.reason.name}"
        source, destination = movement.source, movement.destination
        self._transfer(source, destination, movement.amount, text, movement.transfer_id)
        if movement.reason is TransferReason.VENDOR_FEES:
            self._state.fee_dates[movement.source] = self._today()

    def _today(self) -> str:
        return eastern_date(self._ctx.now).isoformat()

    # ---- orders

    def order(self, firm: Firm, key: str, body: bytes, command: PlaceOrder) -> VendorOrder:
        """Place an order for the participant of `command.account`.

        A rejection by the exchange is a result, not a refusal.
        """
        result_id = self.earlier_result("order", firm.name, key, body)
        if result_id:
            return self._state.orders[result_id]
        self._check_account(firm, command.account)
        return self._record("order", firm, key, body, command, self._place(command))

    def funded_order(self, firm: Firm, key: str, body: bytes, command: PlaceOrder) -> VendorOrder:
        """Pay the cost of a limit order from the pool to the participant, then place it (§9).

        The money of a rejected order is returned. The operation was withdrawn on 2026-08-06.
        """
        pool = self.pool(firm)
        result_id = self.earlier_result("funded", firm.name, key, body)
        if result_id:
            return self._state.orders[result_id]
        self._check_account(firm, command.account)
        cost = self._cost(command)
        placed = None
        if cost <= self._trading.ledger.balance(pool):
            self._pay(pool, command.account, cost)
            placed = self._place(command)
            if placed.received:
                self._state.lent[placed.id] = pool, cost
            elif placed.state is OrderState.REJECTED:
                self._pay(command.account, pool, cost)
        return self._record("funded", firm, key, body, command, placed)

    def outcome(self, vendor_order: VendorOrder) -> OrderState:
        """Return the order's state: REJECTED, PENDING_NEW while queued, or a later one (M25)."""
        order = self._trading.orders.get(vendor_order.order_id)
        return OrderState.REJECTED if order is None else order.state

    def on_order_taken(self, order: Order) -> None:
        """Return the money of a funded order that the engine rejected from its queue."""
        lent = self._state.lent.pop(order.id, None)
        if lent is not None and order.state is OrderState.REJECTED:
            self._pay(order.account, *lent)

    def find_funded(self, firm: Firm, request_id: str) -> VendorOrder:
        """Return a funded order of the firm. Refuses an unknown id as not found."""
        vendor_order = self._state.orders.get(request_id)
        if vendor_order is None or not vendor_order.funded or vendor_order.firm != firm.name:
            raise NotFound(f"unknown funded order: {cut(request_id)}", rule="S9-4")
        return vendor_order

    def cancel_funded(self, firm: Firm, request_id: str) -> VendorOrder:
        """Cancel a working funded order and take back the money it did not spend."""
        vendor_order = self.find_funded(firm, request_id)
        order = self._trading.orders.require(vendor_order.order_id)
        account = order.account
        unspent = self._collateral(order.symbol, order.side, order.leaves_qty, order.price)
        self._trading.order_service.cancel(
            CancelOrder(accounts=(account,), participant=order.participant, order_id=order.id)
        )
        self._pay(account, self.pool(firm), min(unspent, self._trading.withdrawable(account)))
        return vendor_order

    def _place(self, command: PlaceOrder) -> Order:
        holder = self._firms.holder(command.account)
        participant = holder.name if holder else ""
        command = replace(command, participant=participant, deferred=True)
        return self._trading.order_service.enter(command)

    def _record(
        self,
        kind: str,
        firm: Firm,
        key: str,
        body: bytes,
        command: PlaceOrder,
        placed: Order | None,
    ) -> VendorOrder:
        order = VendorOrder(
            id=self._ctx.ids.uuid("vendor.order"),
            firm=firm.name,
            key=key,
            order_id=placed.id if placed else "",
            clord_id=command.clord_id,
            funded=kind == "funded",
        )
        self._state.orders[order.id] = order
        self.remember(kind, firm.name, key, body, order.id)
        return order

    def _cost(self, command: PlaceOrder) -> Cash:
        """Return the collateral and taker fee of a limit order that trades at its price."""
        instrument = self._trading.instruments.require(command.symbol)
        fee = self._trading.fees.quote(instrument, command.qty, command.price)
        return self._collateral(command.symbol, command.side, command.qty, command.price) + fee

    def _collateral(self, symbol: str, side: Side, qty: Qty, price: Price) -> Cash:
        instrument = self._trading.instruments.require(symbol)
        unit = price if side is Side.BUY else instrument.price_scale - price
        return unit * qty * instrument.cash_per_notional

    def _pay(self, source: str, destination: str, amount: Cash) -> None:
        """Transfer an amount, unless it is 0."""
        if amount > 0:
            reference = self._ctx.ids.uuid("transfer")
            self._transfer(source, destination, amount, "Order funding", reference)

    def _transfer(
        self, source: str, destination: str, amount: Cash, text: str, reference: str
    ) -> None:
        """Book a withdrawal from the source and a deposit to the destination."""
        move, type = self._funding.move, FundingType.TRANSFER
        withdrawal, deposit = LedgerEntryType.WITHDRAWAL, LedgerEntryType.DEPOSIT
        move(source, -amount, type, withdrawal, text, reference=reference)
        move(destination, amount, type, deposit, text, reference=reference)

    def _check_account(self, firm: Firm, account: str) -> None:
        """Refuse an account of another firm, and one whose relationship is not active."""
        if not self._firms.may_act_for(firm, account):
            remedy = "name the trading account of one of the firm's own participants"
            raise _unknown(account, "P25", remedy)
        holder = self._firms.holder(account)
        if holder is not None and not holder.transferable:
            remedy = "stop: the SSN of its holder maps to another account; use one SSN per user"
            raise _unknown(account, "K6", remedy)
        if holder is None or not holder.tradable:
            raise Conflict("relationship is not active", rule="P25", remedy="wait for kyc.approved")

    # ---- keys

    def earlier_result(
        self, kind: str, owner: str, key: str, body: bytes, rule: str = "P25"
    ) -> str:
        """Return the id of a key's earlier result; "" for a new key.

        `owner` is the firm or participant whose key it is. Refused as AlreadyExists if
        the key was used with another body.
        """
        used = self._state.used_keys.get(f"{kind}|{owner}|{key}")
        if used is None:
            return ""
        if used.body != _digest(body):
            raise AlreadyExists(
                "idempotency_key was used with another request",
                rule=rule,
                remedy="repeat the first request exactly, or use a new key",
            )
        return used.result

    def remember(self, kind: str, owner: str, key: str, body: bytes, result: str) -> None:
        """Note the result of a key."""
        self._state.used_keys[f"{kind}|{owner}|{key}"] = UsedKey(_digest(body), result)

    # ---- state

    def save(self) -> PartnersState:
        """Return the state itself."""
        return self._state

    def load(self, state: object) -> None:
        """Restore a saved state."""
        self._state = convert(state, PartnersState)


def _digest(body: bytes) -> str:
    return blake2b(body, digest_size=16).hexdigest()


def _unknown(account: str, rule: str, remedy: str) -> NotFound:
    return NotFound(f"unknown account: {cut(account)}", rule=rule, remedy=remedy)
