"""Assumptions about what the APIs show: books, lists, retail answers and streams."""

from sim.core.catalogue.assumption import choice, flag, number, span

MID_PRICE_ROUNDING = choice(
    "book.mid_price_rounding", "exact", "down", "up", "even", source="§2.5: average"
).because(
    "midPrice is a text, so the mean of two prices an odd number of units apart is exact: 57.5. "
    "gRPC has a whole number, which is rounded down. Other values round it everywhere. spread and "
    "midPrice are 0 while a side is empty."
)
DEPTH_ABOVE_MAXIMUM = choice(
    "book.depth_above_maximum", "clamp", "refuse", source="§4.3, which does not name this case"
).because("A depth above 10 is answered with 10 levels. `refuse` answers an error.")
DEAD_BOOK = choice("book.pending_and_terminated", "not_found", "empty").because(
    "PENDING never appears in the book and TERMINATED is removed from it: the book of both answers "
    "404."
)
BROWSER_ORIGINS = choice(
    "surfaces.browser_origins", "any", "loopback", "none", source="answers vary by Origin"
).because(
    "Pages of every origin may read answers of the gateway and the retail API: they hold nothing "
    "that a page has not signed for. `loopback` accepts pages of this machine only; `none` sends "
    "no CORS headers and treats a preflight as any other OPTIONS."
)
GATEWAY_ORDER_BY = choice(
    "gateway.order_by", "refuse", "ignore", source="our choice: §4.1 names no orderBy"
).because(
    "A list of the gateway may be sorted by every field of its rows; a field without an order "
    "sorts nothing. Every other name is 400, because a misspelt one would give rows in an "
    "unexpected order. `ignore` accepts it without effect."
)
RETAIL_REJECTS = choice(
    "retail.sync_reject", "spec", "async", default="async", source="rule M7"
).because(
    "Retail order entry answers 200 with an id and rejects by an execution, as the public client "
    "expects."
)
OFF_TICK_PRICE = choice(
    "retail.off_tick", "in_favour", "refuse", "floor", source="§4.2, which does not say how"
).because(
    "Extra precision of a retail limit price is normalised in the client's favour: a buy down to "
    "the tick, a sell up to it, so that no order trades at a worse price than its limit. `refuse` "
    "answers 400. `floor` rounds both sides down, as this sandbox did before."
)
RETAIL_FUNDS = choice("retail.funds_refusal", "execution", "400", source="rule P4").because(
    "An order that the retail account cannot pay for is rejected by an execution, like any other. "
    "`400` refuses the call, as integrators report."
)
RETAIL_CHANGE_REJECTS = choice(
    "retail.change_rejects", "working", "told", "silent", source="§7.2, rules M33, M37"
).because(
    "A failed change or cancel has no frame of its own on the private socket: an execution of "
    "type REJECTED carries its text and the unchanged order, if that still works. For a finished "
    "order only the answer to the call reports it. `told` sends the execution then, too; `silent` "
    "never does."
)
PREVIEW_MARKET = choice(
    "retail.preview_market", "cash", "any", source="an imitation of the service by others"
).because(
    "A preview of a market order needs cashOrderQty and refuses a quantity alone. `any` previews "
    "every valid order."
)
RETAIL_CLOSED_NAME = choice(
    "retail.closed_state_name",
    "MARKET_STATE_CLOSED",
    "MARKET_STATE_SUSPENDED",
    "MARKET_STATE_EXPIRED",
    source="rule L15",
).because(
    "A closed market is MARKET_STATE_CLOSED on the retail API, although its published enumeration "
    "lacks the name: clients need a safe branch for unknown values (§9)."
)
RETAIL_POSITIONS_PAGING = flag("retail.positions_paging", True, source="rule R14").because(
    "Retail positions come in pages of a hundred, with nextCursor and eof. `false` answers all of "
    "them at once, as before paging was enabled."
)
BLOCK_TIME = span("retail.block_time", "10s", source="public API reference").because(
    "A synchronous order without maxBlockTime waits this long for its outcome. The edge ends every "
    "wait after 30 s."
)
SYNCHRONOUS_UNTIL = choice(
    "retail.synchronous_until", "first", "done", source="public API reference"
).because(
    "A synchronous order is answered at its first outcome, even if that is only NEW, as published "
    "answers within half a second show. `done` waits until the order is finished."
)
BATCH_SYNCHRONOUS = flag("retail.batch_synchronous", True).because(
    "synchronousExecution in one entry of a batch holds the batch's answer for the longest block "
    "time, although that answer has no executions."
)
READ_LAG = span("retail.read_lag", "0s", source="public API reference").because(
    "Retail reads of orders and positions show changes this late. Integrators report that an order "
    "can be missing for a moment after an asynchronous answer."
)
RETAIL_DEBOUNCE = span("retail.debounce", "0.25s", source="rule S16").because(
    "Updates that a WebSocket client allows to be merged are sent this long after the first of "
    "them. The real period is not published."
)
RETAIL_SOCKETS = number(
    "retail.sockets_per_key", 0, source="recordings: twelve sockets of one key were served at once"
).because(
    "A key may have this many open WebSockets, of both kinds together; 0 is no limit. An "
    "independent client met a limit of 5, which newer recordings do not show; §8 does not list it."
)
STREAM_HEARTBEAT = span("stream.heartbeat", "30s", source="rule S5").because(
    "Every stream sends a heartbeat this often; clients treat 75 s to 180 s of silence as dead. 0s "
    "sends none, and the edge ends idle streams."
)
MARKET_DATA_REFRESH = span("md.refresh", "1m", least="1s", source="rule S9").because(
    "A book that has not changed is sent again after this long."
)
MARKET_DATA_REFRESH_ALL = flag(
    "md.refresh_everything", True, source="rule S9, which does not distinguish streams"
).because(
    "A stream of every instrument gets unchanged books again too, as rule S9 says. `false` spares "
    "it thousands of messages a minute: only streams that name a book get it again."
)
POSITION_CHANGE_SNAPSHOT = flag("stream.position_change_snapshot", False, source="§6.2").because(
    "A stream of position changes that is opened without a resume field starts with the next "
    "change. `true` sends the present positions first."
)
RESUME_TOKEN_TTL = span("stream.resume_token_ttl", "7d", source="rule S3").because(
    "A resume token older than this does not resume anything. Executions are kept as long."
)
STREAM_BUFFER_MESSAGES = number(
    "stream.buffer_messages", 10000, least=1, source="rule S12"
).because(
    "A reader with more waiting messages than this is a slow consumer: its stream ends with code "
    "8, or skips messages if it asked for that."
)
REVOCATION_SCOPE = choice("stream.revocation_scope", "rpc", "identity", source="rule S6").because(
    "A subscription takes the session of another subscription of the same identity and rpc. With "
    "`identity`, any account-scoped stream takes it."
)
SYMBOLS_SPARE = choice(
    "stream.symbols_spare", "order_stream", "all", source="§6.2, rule S6"
).because(
    "An explicit list of markets keeps CreateOrderSubscription out of sessions; §6.2 says so of "
    "this stream only. `all` exempts every stream that takes a list."
)
