"""Assumptions about what the APIs show: books, lists, retail answers and streams."""

from sim.core.catalogue.assumption import choice, flag, number, span

MID_PRICE_ROUNDING = choice(
    "book.mid_price_rounding",
    "down",
    ("down", "up", "even"),
    "midPrice is a scaled integer, so the mean of two prices an odd number of units apart is "
    "rounded. spread and midPrice are 0 while a side is empty.",
    "§2.5, which does not name this case",
)
DEPTH_ABOVE_MAXIMUM = choice(
    "book.depth_above_maximum",
    "clamp",
    ("clamp", "refuse"),
    "A depth above 10 is answered with 10 levels. `refuse` answers an error.",
    "§4.3, which does not name this case",
)
DEAD_BOOK = choice(
    "book.pending_and_terminated",
    "not_found",
    ("not_found", "empty"),
    "PENDING never appears in the book and TERMINATED is removed from it: the book of both "
    "answers 404.",
    "our choice: no document says",
)
GATEWAY_ORDER_BY = choice(
    "gateway.order_by",
    "refuse",
    ("refuse", "ignore"),
    "A list of the gateway may be sorted by every field of its rows; a field without an order "
    "sorts nothing. Every other name is 400, because a misspelt one would give rows in an "
    "unexpected order. `ignore` accepts it without effect.",
    "our choice: §4.1 names no orderBy",
)
RETAIL_REJECTS = choice(
    "retail.sync_reject",
    "async",
    ("spec", "async"),
    "Retail order entry answers 200 with an id and rejects by an execution, as the public client "
    "expects.",
    "rule M7",
)
RETAIL_FUNDS = choice(
    "retail.funds_refusal",
    "execution",
    ("execution", "400"),
    "An order that the retail account cannot pay for is rejected by an execution, like any other. "
    "`400` refuses the call, as integrators report.",
    "rule P4",
)
RETAIL_CHANGE_REJECTS = choice(
    "retail.change_rejects",
    "told",
    ("told", "silent"),
    "A failed change or cancel has no frame of its own on the private socket: an execution of "
    "type REJECTED carries its text and the unchanged order. `silent` sends nothing.",
    "§7.2, rules M33, M37",
)
RETAIL_CLOSED_NAME = choice(
    "retail.closed_state_name",
    "MARKET_STATE_CLOSED",
    ("MARKET_STATE_CLOSED", "MARKET_STATE_SUSPENDED", "MARKET_STATE_EXPIRED"),
    "A closed market is MARKET_STATE_CLOSED on the retail API, although its published enumeration "
    "lacks the name: clients need a safe branch for unknown values (§9).",
    "rule L15",
)
RETAIL_POSITIONS_PAGING = flag(
    "retail.positions_paging",
    True,
    "Retail positions come in pages of a hundred, with nextCursor and eof. `false` answers all of "
    "them at once, as before paging was enabled.",
    "rule R14",
)
BLOCK_TIME = span(
    "retail.block_time",
    "10s",
    "A synchronous order without maxBlockTime waits this long for its outcome. The edge ends "
    "every wait after 30 s.",
    "public API reference",
)
SYNCHRONOUS_UNTIL = choice(
    "retail.synchronous_until",
    "first",
    ("first", "done"),
    "A synchronous order is answered at its first outcome, even if that is only NEW, as published "
    "answers within half a second show. `done` waits until nothing of it works any more.",
    "public API reference",
)
BATCH_SYNCHRONOUS = flag(
    "retail.batch_synchronous",
    True,
    "synchronousExecution in one entry of a batch holds the batch's answer for the longest block "
    "time, although that answer has no executions.",
    "our choice: no document says",
)
READ_LAG = span(
    "retail.read_lag",
    "0s",
    "Retail reads of orders and positions show changes this late. Integrators report that an "
    "order can be missing for a moment after an asynchronous answer.",
    "public API reference",
)
RETAIL_DEBOUNCE = span(
    "retail.debounce",
    "0.25s",
    "Updates that a WebSocket client allows to be merged are sent this long after the first of "
    "them. The real period is not published.",
    "rule S16",
)
RETAIL_SOCKETS = number(
    "retail.sockets_per_key",
    5,
    "A key may have this many open WebSockets, of both kinds together, while `limits.extra` is "
    "on. An independent client met this limit; §8 does not list it.",
    "public API reference",
    least=1,
)
STREAM_HEARTBEAT = span(
    "stream.heartbeat",
    "30s",
    "Every stream sends a heartbeat this often; clients treat 75 s to 180 s of silence as dead. "
    "0s sends none, and the edge ends idle streams.",
    "rule S5",
)
MARKET_DATA_REFRESH = span(
    "md.refresh",
    "1m",
    "A book that has not changed is sent again after this long.",
    "rule S9",
    least="1s",
)
MARKET_DATA_REFRESH_ALL = flag(
    "md.refresh_everything",
    True,
    "A stream of every instrument gets unchanged books again too, as rule S9 says. `false` spares "
    "it thousands of messages a minute: only streams that name a book get it again.",
    "rule S9, which does not distinguish streams",
)
POSITION_CHANGE_SNAPSHOT = flag(
    "stream.position_change_snapshot",
    False,
    "A stream of position changes that is opened without a resume field starts with the next "
    "change. `true` sends the present positions first.",
    "§6.2",
)
RESUME_TOKEN_TTL = span(
    "stream.resume_token_ttl",
    "7d",
    "A resume token older than this does not resume anything. Executions are kept as long.",
    "rule S3",
)
STREAM_BUFFER_MESSAGES = number(
    "stream.buffer_messages",
    10000,
    "A reader with more waiting messages than this is a slow consumer: its stream ends with code "
    "8, or skips messages if it asked for that.",
    "rule S12",
    least=1,
)
REVOCATION_SCOPE = choice(
    "stream.revocation_scope",
    "rpc",
    ("rpc", "identity"),
    "A subscription takes the session of another subscription of the same identity and rpc. With "
    "`identity`, any account-scoped stream takes it.",
    "rule S6",
)
SYMBOLS_SPARE = choice(
    "stream.symbols_spare",
    "order_stream",
    ("order_stream", "all"),
    "An explicit list of markets keeps CreateOrderSubscription out of sessions; §6.2 says so of "
    "this stream only. `all` exempts every stream that takes a list.",
    "§6.2, rule S6",
)
