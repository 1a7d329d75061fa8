"""Which orders and changes a call asks for, by the contract's table of operations, and who calls.

Realises rules M7, M25, M38, §4.2, §4.3, §5.1, §5.2. An account may change its own orders only.
"""

from __future__ import annotations

from msgspec import json

from sim.oracle.changes import OrderChange
from sim.oracle.exchange import NaiveExchange
from sim.oracle.hearing import Hearing
from sim.oracle.order_requests import (
    OrderCaller,
    OrderRefusal,
    OrderRequest,
    change_problem,
    change_terms,
    closing_request,
    exchange_request,
    invalid,
    retail_request,
    vendor_problem,
)
from sim.oracle.state import Document
from sim.read.observed import ObservedInput

ENTRY, RETAIL_ORDERS = "OrderEntryAPI.", "RetailOrdersAPI."
CROSS = f"{ENTRY}InsertOrderCross"
PREVIEWS = (f"{ENTRY}PreviewOrder", f"{RETAIL_ORDERS}PreviewOrder")
# The field of a call that has its orders or changes; "" is the call itself.
ORDERS = {
    f"{ENTRY}InsertOrder": "",
    f"{ENTRY}InsertOrderList": "requests",
    CROSS: "requests",
    f"{RETAIL_ORDERS}CreateOrder": "",
    f"{RETAIL_ORDERS}CreateOrders": "orders",
    f"{RETAIL_ORDERS}ClosePosition": "",
    **dict.fromkeys(PREVIEWS, "request"),
}
CHANGES = {
    f"{ENTRY}CancelOrder": "",
    f"{ENTRY}CancelReplaceOrder": "",
    f"{ENTRY}CancelOrderList": "requests",
    f"{ENTRY}CancelReplaceOrderList": "requests",
    f"{RETAIL_ORDERS}CancelOrder": "",
    f"{RETAIL_ORDERS}ModifyOrder": "",
    f"{RETAIL_ORDERS}CancelOrders": "orders",
    f"{RETAIL_ORDERS}ModifyOrders": "orders",
}
INSERT = f"{ENTRY}InsertOrder"
VENDOR = "OrderFundingService.CreateVendorOrder"
CANCEL_ALL = f"{RETAIL_ORDERS}CancelOpenOrders"
LISTS = ("requests", "orders")
_CHANGED = {
    "order_qty": "qty",
    "time_in_force": "tif",
    "participate_dont_initiate": "post_only",
    "good_till_time": "good_till",
}
_CHANGED_SAME = (
    *("price", "stop_price", "min_qty", "all_or_none", "strict_limit", "best_limit"),
    "immediately_executable_limit",
)


class OrderCalls:
    """What the present input asks for. Whoever judges a part of it takes it out of the list."""

    def __init__(self, hearing: Hearing) -> None:
        self._hearing = hearing
        self._exchange: NaiveExchange = hearing.exchange
        beginning = hearing.exchange.beginning
        self._accounts: dict[str, str] = {
            user["name"]: user["account"] for firm in beginning.firms for user in firm["users"]
        }
        self._keys = {
            row["key_id"]: OrderCaller(row["participant"], row["account"])
            for row in beginning.api_keys
        }
        self._seq = -1
        # why what the input asked for had to be refused, if an event refused it
        self.refusal: OrderRefusal | None = None
        self.entered: list[str] = []  # orders that the input brought, in order
        self._requests: list[OrderRequest] = []
        self._changes: list[OrderChange] = []

    def learn(self, observed: ObservedInput) -> None:
        """Note the participants that verification opened accounts for."""
        for event in observed.events:
            if event["event"] == "KycDecided" and event["participant"]:
                self._accounts[event["participant"]] = event["account"]

    def caller(self, observed: ObservedInput) -> OrderCaller:
        """Return who calls: the participant of the header, or that of the API key."""
        key = observed.input.get("credential", {}).get("key", "")
        participant = observed.input.get("participant") or ""
        if participant in self._accounts:
            return OrderCaller(participant, self._accounts[participant])
        return self._keys.get(key, OrderCaller())

    def requests(self, observed: ObservedInput) -> list[OrderRequest]:
        """Return the orders that an input asks for, without those that were judged."""
        self._turn(observed)
        return self._requests

    def changes(self, observed: ObservedInput) -> list[OrderChange]:
        """Return the cancels and changes that an input asks for, without those judged."""
        self._turn(observed)
        return self._changes

    def deferred(self, observed: ObservedInput) -> bool:
        """Return whether a call is answered before it is known what becomes of it (rule M7)."""
        switch = {f"{ENTRY}InsertOrder": "orders", CROSS: "orders"}
        switch |= {f"{RETAIL_ORDERS}{name}": "retail" for name in ("CreateOrder", "ClosePosition")}
        plane = switch.get(observed.operation)
        return plane is None or self._exchange.assumed(f"{plane}.sync_reject") == "async"

    def disturbed(self, observed: ObservedInput) -> bool:
        """Return whether an injected fault struck the input."""
        return any(event["event"] == "FaultStruck" for event in observed.events)

    def _turn(self, observed: ObservedInput) -> None:
        if observed.seq == self._seq:
            return
        self._seq, self._requests, self._changes = observed.seq, [], []
        self.refusal, self.entered = None, []
        operation, message, caller = observed.operation, observed.message, self.caller(observed)
        if observed.input.get("action") == "order.cancel":
            self._canceled_by_operator(json.decode(observed.input["arguments"]))
        if message and operation == VENDOR and message["order"]:
            self._requests = [self._vendor(observed, message)]
        if not message or not caller.account:
            return
        name = ORDERS.get(operation) or CHANGES.get(operation, "")
        bodies = _bodies(message, name)
        if operation == CANCEL_ALL:
            self._changes = self._all(caller.account, message["slugs"])
        elif name in LISTS and operation != CROSS and not 1 <= len(bodies) <= 20:
            self._changes = [OrderChange(caller.account, problem=invalid("M38"))]
        elif operation in CHANGES:
            self._changes = [self._change(operation, body, caller) for body in bodies]
        elif name == "requests" and any(body.get("idempotency_key") for body in bodies):
            self._hearing.undecided("idempotency keys in a list")
        elif operation in ORDERS and any(body.get("session_id") for body in bodies):
            self._hearing.undecided("an order bound to a stream")
        elif operation in ORDERS and operation.startswith(ENTRY):
            self._requests = [exchange_request(body, *caller) for body in bodies]
            if operation == CROSS:
                self._as_cross(message["cross_prioritized_side"])
        elif operation in ORDERS:
            self._requests = [self._retail(body, caller) for body in bodies]

    def _vendor(self, observed: ObservedInput, message: Document) -> OrderRequest:
        """Return a partner's order, of the participant of its account (rule M25)."""
        firm = observed.out.get("caller", "")
        owned = {
            account: participant
            for participant, account in self._accounts.items()
            if participant.startswith(firm)
        }
        account = message["order"]["account"]
        request = exchange_request(message["order"], owned.get(account, ""), account)
        request.problem = vendor_problem(message)
        if account not in owned and not request.problem:
            request.problem = OrderRefusal("M25", "unknown", others=("P25", "R8", "M2"))
        return request

    def _as_cross(self, priority: int) -> None:
        """Put the side with priority first; each side is of the participant of its account."""
        owners = {account: participant for participant, account in self._accounts.items()}
        for request in self._requests:
            order = request.order
            order.participant = owners.get(order.account, order.participant)
        if priority:
            self._requests.sort(key=lambda request: request.order.side != priority)

    def _retail(self, body: Document, caller: OrderCaller) -> OrderRequest:
        market = self._exchange.listed(body["market_slug"])
        close = "intent" not in body
        make = closing_request if close else retail_request
        return make(self._exchange, body, market, caller)

    def _all(self, account: str, symbols: list[str]) -> list[OrderChange]:
        """Return the cancels of the open orders of an account, the oldest first."""
        orders = [*self._exchange.open_orders(account), *self._exchange.received.values()]
        orders = [order for order in orders if order.account == account]
        orders = [order for order in orders if not symbols or order.symbol in symbols]
        return [
            OrderChange(account, order.id) for order in sorted(orders, key=lambda each: each.seq)
        ]

    def _canceled_by_operator(self, arguments: Document) -> None:
        alias = arguments.get("as") or arguments.get("account") or "maker"
        symbols = [arguments["symbol"]] if arguments.get("symbol") else []
        for participant, account in self._accounts.items():
            if alias in (participant, account, participant.rpartition("/")[2]):
                self._changes = self._all(account, symbols)
                if not arguments.get("all"):
                    self._changes = [OrderChange(account, clord_id=arguments.get("order", ""))]

    def _change(self, operation: str, body: Document, caller: OrderCaller) -> OrderChange:
        """Return what a message asks to change."""
        change = OrderChange(caller.account, body["order_id"], body.get("clord_id", ""))
        if operation.startswith(RETAIL_ORDERS):
            change.symbol = body["market_slug"]
            market = self._exchange.listed(change.symbol)
            change.problem = change_problem(self._exchange, body, market)
            if "quantity" in body and market and not change.problem:
                change.terms = change_terms(self._exchange, body, market)
            return change
        change.symbol = body["symbol"]
        if "order_qty" in body:
            change.terms = {name: body[name] for name in _CHANGED_SAME if body[name]}
            change.terms |= {name: body[key] for key, name in _CHANGED.items() if body[key]}
        return change


def _bodies(message: Document, name: str) -> list[Document]:
    """Return the parts of a call: its list, the message in it, or the call itself."""
    part = message[name] if name else message
    return part if isinstance(part, list) else [part] if part else []
