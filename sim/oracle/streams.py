"""What streams send and end with: each stream is compared with what its subscription covers.

While an input happens, every event adds rows to the streams that it concerns, and time adds
heartbeats and ends. Afterwards the frames that were sent have to be those rows, no more and no
less. Realises rules S1-S19, W3, W5, L28.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import groupby
from typing import Any

from sim.kernel.instants import Instant, parse_instant
from sim.oracle import dialogue, frames
from sim.oracle.frames import Row
from sim.oracle.hearing import Hearing
from sim.oracle.resume import History
from sim.oracle.sockets import Sockets
from sim.oracle.state import Document
from sim.oracle.subscriptions import SILENT, Coverage, OpenStream
from sim.read.observed import ObservedInput

SECOND = 1_000_000_000
POOL = 20  # streams of a firm (rule S7)
CLEARED = 2
_POOL_SINCE = parse_instant("2026-05-01T04:00:00Z")  # dates.md
SYMBOLS = 1_000  # of a market data subscription (rule S8)
SOCKETS = frames.MARKETS, frames.PRIVATE
BOOK_STREAMS = frames.BOOKS, frames.TALK
FREE = (*BOOK_STREAMS, frames.INSTRUMENTS, *SOCKETS)  # these take no session (rule S6)
LISTS = frames.ORDERS, frames.DROP_COPY, frames.TRADES, frames.CHANGES
UNKNOWN = "frames that the law does not know"
REVOKED = 13, 1011, "S6"


class StreamRules:
    """The part of the law about streams."""

    def __init__(self, hearing: Hearing) -> None:
        self._hearing = hearing
        self._exchange = hearing.exchange
        self._coverage = Coverage(hearing.exchange)
        self._history = History(self._coverage, hearing.exchange.now)
        self._open: dict[int, OpenStream] = {}
        self._sockets = Sockets(hearing.exchange, self._coverage)
        self._refresh: Instant = 0
        self._timed: ObservedInput | None = None
        self._first: dict[Instant, str] = {}

    # ---- while an input happens

    def happened(self, event: Document) -> None:
        """Expect the rows of an event, after it happened."""
        now, kind = self._exchange.now, event["event"]
        self._coverage.note(event)
        self._history.add(event, self._instant(event))
        self._pass(now if self._is_time_first(now) else now - 1)
        if kind == "FaultStruck" and event["plane"] == "stream":
            self._doubt(event["subject"], "an injected fault")
        position = self._history.length
        for stream in self._open.values():
            if stream.end is not None:
                continue
            if kind == "BookChanged" and stream.operation in BOOK_STREAMS:
                if stream.covers(event["symbol"]):
                    self._show(stream, event["symbol"], now, frames.instant(now))
            elif kind == "InstrumentListed" and stream.operation in BOOK_STREAMS:
                if stream.symbols is None:
                    self._show(stream, event["symbol"], now)
            elif kind == "MaintenanceChanged" and event["active"]:
                stream.end = 14, 1001, "W5"
            elif stream.operation in SOCKETS:
                stream.send(list(self._sockets.rows(stream, event, now)), now)
            else:
                rows = self._coverage.rows(stream, event)
                stream.send([row._replace(position=position) for row in rows], now)
        self._coverage.noted(event)

    def _is_time_first(self, now: Instant) -> bool:
        """Whether streams are served before anything else that is due at an instant."""
        if self._hearing.observed is not self._timed:
            self._timed, self._first = self._hearing.observed, {}
            for row in reversed(self._timed.out.get("fired", [])):
                self._first[row["at"]] = row["timer"]
        return self._first.get(now, "stream.").startswith("stream.")

    def _instant(self, event: Document) -> Instant:
        """Return when an event happened; a change of a trade's state has no instant of its own."""
        if event["event"] != "Traded" or event["state"] != CLEARED:
            return self._exchange.now
        traded = self._coverage.fills.get(event["id"], [{"at": 0}])[0]["at"]
        at: Instant = traded + self._exchange.assumed("clearing.delay")
        fired = [row["at"] for row in self._hearing.observed.out.get("fired", [])]
        return at if at in fired else max(fired, default=self._exchange.now)

    def _doubt(self, subject: str, kind: str) -> None:
        """Judge a stream no longer: something that the law cannot follow happened to it."""
        stream = self._open.get(int(subject.removeprefix("stream/") or 0))
        if stream is not None:
            stream.doubt = kind

    def _show(
        self, stream: OpenStream, symbol: str, now: Instant, changed: str | None = None
    ) -> None:
        """Expect the book of an instrument on a stream, with the instant if it changed (S9)."""
        market = self._exchange.market(symbol)
        if market.state in SILENT and symbol not in stream.sent:
            return
        document = frames.book_document(market, stream.depth, single=stream.single)
        if stream.scales:
            document["priceScale"] = str(market.price_scale)
            document["quantityScale"] = str(market.qty_scale)
        if changed:
            document["transactTime"] = changed
        row = Row(symbol, "update", document, "S9")
        stream.send([row], now)
        stream.sent[symbol] = row
        if market.state in SILENT:
            del stream.sent[symbol]

    def _show_all(self, stream: OpenStream, symbols: Iterable[str]) -> None:
        """Expect the books with which a subscription begins."""
        for symbol in symbols:
            if self._exchange.market(symbol).state not in SILENT:
                self._show(stream, symbol, self._exchange.now)

    # ---- time

    def _pass(self, until: Instant) -> None:
        """Let time pass: all books are sent again once a minute, from the first stream on (S9)."""
        everything = self._exchange.assumed("md.refresh_everything")
        books = [
            each
            for each in self._open.values()
            if each.operation in BOOK_STREAMS and each.end is None
        ]
        while books and self._refresh <= until:
            for stream in books:
                self._beat(stream, self._refresh)
                if everything or stream.symbols is not None:
                    stream.send(list(stream.sent.values()), self._refresh)
            self._refresh += self._exchange.assumed("md.refresh")
        for stream in self._open.values():
            if 0 < self._sockets.due <= until and stream.subscriptions:
                self._beat(stream, self._sockets.due)
                stream.send(self._sockets.merged(stream), self._sockets.due)
            self._beat(stream, until)
        if self._sockets.due <= until:
            self._sockets.due = 0

    def _beat(self, stream: OpenStream, until: Instant) -> None:
        """Let time pass on a stream: heartbeats, and the end of a silent one (rules S5, S13)."""
        idle = self._exchange.assumed("edge.idle_timeout")
        while stream.end is None:
            end = stream.last_sent + idle
            if stream.operation == frames.TALK:
                end = min(end, stream.heard + self._exchange.assumed("edge.bidi_idle_timeout"))
            end = -(-end // SECOND) * SECOND
            if min(end, stream.due or end) > until:
                return
            if end <= (stream.due or end):
                stream.end = 14, 1001, "S13"
                return
            stream.last_sent = stream.due
            stream.heartbeats += 1
            stream.due += stream.period

    # ---- after an input

    def after_input(self, observed: ObservedInput) -> None:
        """Judge the frames and ends of streams, and who may open one."""
        kind = observed.input.get("type")
        if kind == "open":
            self._opening(observed)
        elif kind == "frame":
            self._heard(observed)
        elif kind == "hangup":
            self._open.pop(observed.input["stream"], None)
        self._pass(observed.now)
        self._compare(observed)
        self._ends(observed)
        for stream in self._open.values():
            stream.expected, stream.heartbeats = [], 0

    def _compare(self, observed: ObservedInput) -> None:
        sent: dict[int, list[Document]] = {number: [] for number in self._open}
        operations = {number: stream.operation for number, stream in self._open.items()}
        for number, frame in observed.frames(operations):
            sent[number].append(frame)
        for number, shown in sent.items():
            stream = self._open[number]
            if not stream.doubt:
                self._compare_stream(stream, shown)
            if stream.doubt and (shown or stream.expected):
                self._hearing.undecided(stream.doubt)

    def _compare_stream(self, stream: OpenStream, shown: list[Document]) -> None:
        """Compare the frames of a stream with the rows that it had to send (rules S1, S5)."""
        if self._exchange.beginning.active("stream_duplicates"):
            shown = [frame for frame, _ in groupby(shown)]
        rows: list[Row] = []
        heartbeats = 0
        for frame in shown:
            some = frames.rows_of(stream.operation, frame)
            if some is None:
                stream.doubt = UNKNOWN
                return
            if some and some[0].tag == "snapshot" and rows and rows[0].tag == "snapshot":
                some = some[1:]
            heartbeats += not some
            rows += some
            if token := frame.get("resumeToken"):
                delivered = stream.expected[: len(rows)]
                stream.position = delivered[-1].position if delivered else stream.position
                self._history.issued(stream, token, self._exchange.now)
        if stream.period >= 0 and heartbeats != stream.heartbeats:
            if not self._exchange.beginning.active("stream_duplicates"):
                self._disagree(stream, "S5", f"{stream.heartbeats} heartbeats", f"{heartbeats}")
        if self._hearing.observed.opened == stream.number and stream.request.get("resumeTime"):
            rows = self._history.listened(stream, rows)
        self._compare_rows(stream, rows)

    def _compare_rows(self, stream: OpenStream, rows: list[Row]) -> None:
        expected, observed = _channels(stream.expected), _channels(rows)
        for channel in {**expected, **observed}:
            pair = expected.get(channel, []), observed.get(channel, [])
            for due, row in zip(*pair, strict=False):
                text = f"{row.tag}, not {due.tag}" if row.tag != due.tag else ""
                if text := text or frames.difference(due.document, row.document):
                    self._disagree(stream, due.rule, f"{due.document}", f"{row.document}", text)
                    return
            count = len(pair[0]), len(pair[1])
            if count[0] != count[1]:
                longer = pair[count[1] > count[0]][min(count)]
                text = f"{longer.tag} {'is missing' if count[0] > count[1] else 'has no cause'}"
                self._disagree(stream, longer.rule, *map(str, count), f"{text}: {longer.document}")
                return

    def _disagree(
        self, stream: OpenStream, rule: str, expected: str, observed: str, text: str = ""
    ) -> None:
        text = text or f"{observed}, not {expected}"
        name = stream.operation.rpartition(".")[2]
        self._hearing.disagree(rule, expected, observed, f"{name} {stream.number}: {text}")

    def _ends(self, observed: ObservedInput) -> None:
        """Compare the ends of streams with their causes (rules S6, S11-S13, S15, W5)."""
        closed = {end["stream"]: end for end in observed.closed}
        for number, stream in list(self._open.items()):
            end = closed.get(number)
            if end is None and stream.end is None:
                continue
            del self._open[number]
            shown = (end["code"], end["web_socket_code"], end.get("rule", "")) if end else None
            if shown != stream.end and not stream.doubt and not self._accident(observed, shown):
                rule = (stream.end or shown or ("", 0, "S13"))[2]
                self._disagree(stream, rule, f"end {stream.end}", f"end {shown}")

    def _accident(self, observed: ObservedInput, shown: tuple[int, int, str] | None) -> bool:
        """Whether a stream ended because of a tester, a fault, or a frame of its client."""
        rule = shown[2] if shown else ""
        return rule in ("T1", "T2", "T5") or (rule == "S15" and observed.input["type"] == "frame")

    # ---- opening

    def _opening(self, observed: ObservedInput) -> None:
        """Judge whether a stream may open, and expect what it begins with."""
        stream = self._new(observed)
        refusals = self._refusals(stream)
        if not observed.opened:
            if observed.rule in ("S3", "S7", "S8") and None not in refusals:
                if observed.code not in refusals:
                    text = f"{observed.operation} is refused with {observed.code}"
                    self._hearing.disagree(observed.rule, f"{refusals}", f"{observed.code}", text)
            return
        former = [each for each in self._open.values() if stream.session and each.session == stream.session]
        if self._exchange.beginning.active("session_revocation"):
            for each in former:
                each.end = REVOKED
        if set(refusals) - {None}:
            text = f"{observed.operation} is accepted, not refused with {refusals}"
            self._hearing.disagree("S7", f"{refusals}", "accepted", text)
        books = [each for each in self._open.values() if each.operation in BOOK_STREAMS]
        if not books:
            self._refresh = observed.now + self._exchange.assumed("md.refresh")
        self._open[stream.number] = stream
        if None in refusals:
            stream.doubt = "a resume token from before the law listened"
            return
        self._begin(stream)

    def _new(self, observed: ObservedInput) -> OpenStream:
        caller, now, request = observed.out.get("caller", ""), observed.now, observed.request
        stream = OpenStream(observed.opened, observed.operation, caller, now, request)
        stream.firm = self._accounts_of_firm(caller)
        stream.accounts = frozenset(self._own_accounts(stream, observed))
        if symbols := request.get("symbols"):
            stream.symbols = dict.fromkeys(symbols)
        elif stream.operation == frames.TALK:
            stream.symbols = {}
        stream.depth = request.get("depth") or 10
        stream.single = bool(request.get("unaggregated"))
        stream.scales = stream.symbols is None
        stream.session = self._session(stream)
        stream.last_sent = stream.heard = now
        stream.period = self._exchange.assumed("stream.heartbeat")
        if stream.period:
            stream.due = now + stream.period
            stream.due -= stream.due % SECOND if stream.period > SECOND else 0
        return stream

    def _session(self, stream: OpenStream) -> tuple[str, ...]:
        """Return the session that a stream takes; () of one that takes none (rule S6)."""
        spare = (frames.ORDERS,)
        if self._exchange.assumed("stream.symbols_spare") == "all":
            spare = LISTS
        if stream.operation in FREE or (stream.operation in spare and stream.symbols):
            return ()
        if self._exchange.assumed("stream.revocation_scope") == "identity":
            return (stream.caller,)
        return stream.caller, stream.operation

    def _refusals(self, stream: OpenStream) -> list[int | None]:
        """Return the codes with which a subscription is refused (rules S3, S7, S8)."""
        codes: list[int | None] = []
        ttl = self._exchange.assumed("stream.resume_token_ttl")
        if (text := self._history.refusal(stream, ttl, self._exchange.now)) != "":
            codes.append(None if text is None else 3)
        if stream.operation in BOOK_STREAMS and len(stream.request.get("symbols", ())) > SYMBOLS:
            codes.append(3)
        firm = [
            each
            for each in self._open.values()
            if each.firm == stream.firm and each.operation not in SOCKETS
            and not (stream.session and each.session == stream.session)
        ]
        limited = stream.operation not in SOCKETS and self._exchange.now >= _POOL_SINCE
        if limited and len(firm) >= POOL:
            codes.append(8)
        return codes

    def _begin(self, stream: OpenStream) -> None:
        """Expect the first rows of a stream (§6.2)."""
        now = self._exchange.now
        stream.position = self._history.length
        stream.send(self._history.replay(stream) or self._coverage.snapshot(stream), now)
        if stream.operation == frames.BOOKS:
            symbols = dict.fromkeys(stream.request.get("symbols", ()))
            self._show_all(stream, symbols or self._exchange.beginning.instruments)
        if stream.request.get("snapshotOnly"):
            stream.end = 0, 1000, "S11"

    def _accounts_of_firm(self, caller: str) -> frozenset[str]:
        name = "/".join(caller.split("/")[:2])
        firms = [firm for firm in self._exchange.beginning.firms if firm["name"] == name]
        return frozenset(user["account"] for firm in firms for user in firm["users"])

    def _own_accounts(self, stream: OpenStream, observed: ObservedInput) -> Iterable[str]:
        request, key = stream.request, observed.input.get("credential", {}).get("key")
        if stream.operation == frames.PRIVATE:
            keys = self._exchange.beginning.api_keys
            return [row["account"] for row in keys if row["key_id"] == key]
        if named := request.get("accounts") or request.get("account"):
            return [named] if isinstance(named, str) else named
        users = [user for firm in self._exchange.beginning.firms for user in firm["users"]]
        return [user["account"] for user in users if user["name"] == stream.caller]

    def _heard(self, observed: ObservedInput) -> None:
        """Judge the frame of a client."""
        stream = self._open.get(observed.input["stream"])
        if stream is None or stream.end is not None:
            return
        stream.heard = observed.now
        if stream.operation == frames.TALK:
            frame = observed.frame_in(stream.operation)
            rows, symbols, stream.end = dialogue.answer(self._exchange, stream, frame)
            stream.send(rows, observed.now)
            self._show_all(stream, symbols)
        elif stream.operation in SOCKETS:
            frame = observed.frame_in(stream.operation)
            stream.send(self._sockets.answer(stream, frame), observed.now)
        else:
            stream.doubt = UNKNOWN


def _channels(rows: list[Row]) -> dict[str, list[Row]]:
    channels: dict[str, list[Any]] = {}
    for row in rows:
        channels.setdefault(row.channel, []).append(row)
    for some in channels.values():
        if some[0].tag == "snapshot":
            some.sort(key=lambda row: (row.tag != "snapshot", str(row.document.get("id") or row.document.get("symbol"))))
    return channels
