"""What streams send and end with: each stream is compared with what its subscription covers.

While an input happens, every event adds rows to the streams that it concerns, and time adds
heartbeats and ends. Afterwards the frames that were sent have to be those rows, no more and no
less. Realises rules S1-S19, W3, W5, L28.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import chain, groupby

from sim.kernel.instants import Instant, parse_instant, seconds
from sim.oracle.answers.books import market_numbers
from sim.oracle.answers.history import NaiveHistory
from sim.oracle.answers.reading import words
from sim.oracle.hearing import Hearing
from sim.oracle.state import Document
from sim.oracle.streams import dialogue, frames
from sim.oracle.streams.frames import FrameRow
from sim.oracle.streams.resume import Replays
from sim.oracle.streams.sockets import Sockets
from sim.oracle.streams.subscriptions import (
    BOOK_STREAMS,
    HIDDEN,
    SILENT,
    SOCKETS,
    End,
    EventRows,
    OpenStream,
    subscription_of,
)
from sim.read.observed import ObservedInput

_POOL = 20  # streams of a firm (rule S7)
_POOL_SINCE = parse_instant("2026-05-01T04:00:00Z")  # dates.md
_SYMBOLS = 1_000  # of a market data subscription (rule S8)
_PERIODS = words(
    "stream.heartbeat md.refresh md.refresh_everything edge.idle_timeout edge.bidi_idle_timeout"
    " retail.debounce"
)
UNKNOWN = "frames that the law does not know"


class StreamRules:
    """The part of the law about streams."""

    def __init__(self, hearing: Hearing, history: NaiveHistory) -> None:
        self._hearing, self._exchange = hearing, hearing.exchange
        self._history, self._coverage = history, EventRows(hearing.exchange, history)
        self._replays = Replays(self._coverage, hearing.exchange.now)
        self._sockets = Sockets(hearing, self._coverage)
        self._touched = set(hearing.exchange.beginning.instruments)
        self._open: dict[int, OpenStream] = {}
        self._refresh: Instant = 0
        self._timers: dict[Instant, list[str]] = {}
        self._periods: list[object] = []

    # ---- while an input happens

    def before_input(self, observed: ObservedInput) -> None:
        """Note which timers fire at an instant, and in which order."""
        self._timers = {}
        for row in observed.out.get("fired", ()):
            self._timers.setdefault(row["at"], []).append(row["timer"])
        former, self._periods = self._periods, [self._exchange.assumed(name) for name in _PERIODS]
        for stream in self._open.values():
            if former != self._periods:
                stream.doubt = "a period that changed while a stream was open"
            self._await_engine(stream)

    def happened(self, event: Document) -> None:
        """Expect the rows of an event, after it happened."""
        now, kind = self._exchange.now, event["event"]
        if event["event"] == "Executed":
            self._touched.add(event["execution"]["order"]["symbol"])
        self._coverage.note(event)
        self._replays.add(event, self._instant(event))
        if kind == "FaultStruck" and event["plane"] == "stream":
            self._doubt(event.get("subject", ""))
        first = self._timers.get(now, [""])[0]
        self._pass(now if first.startswith("stream.") else now - 1)
        for stream in self._open.values():
            if stream.end is None:
                self._tell(stream, event, now)
        self._coverage.noted(event)

    def _tell(self, stream: OpenStream, event: Document, now: Instant) -> None:
        kind = event["event"]
        if kind == "MaintenanceChanged" and event["active"]:
            complete = self._exchange.assumed("maintenance.stream_end") == "ok"
            stream.end = (0, 1000, "W5") if complete else (14, 1001, "W5")
        elif kind == "ShelfMoved" and stream.operation in (*BOOK_STREAMS, frames.INSTRUMENTS):
            self._tell_others(stream, event)
        elif stream.operation in SOCKETS:
            stream.send(list(self._sockets.rows(stream, event, now)), now)
        elif stream.operation not in BOOK_STREAMS:
            position = self._replays.position
            rows = self._coverage.rows(stream, event)
            stream.send([row._replace(position=position) for row in rows], now)
        elif kind == "BookChanged" and stream.covers(event["symbol"]):
            self._show(stream, event["symbol"], now, frames.instant(now))
        elif kind == "InstrumentListed" and stream.symbols is None:
            self._show(stream, event["symbol"], now)

    def _tell_others(self, stream: OpenStream, event: Document) -> None:
        """Expect what maintenance changed at once: all that have no event of their own (W2)."""
        apart = {each["symbol"] for each in self._hearing.later if each["event"] == "StateChanged"}
        apart |= self._exchange.awake
        every = self._exchange.beginning.listed(), self._exchange.markets  # now, and at that time
        symbols = dict.fromkeys(chain(*every)) if stream.symbols is None else stream.symbols
        for symbol in symbols:
            market = self._exchange.market(symbol)
            if symbol in apart or market.state != event["state"]:
                continue
            if stream.operation == frames.INSTRUMENTS:
                stream.send([frames.instrument_row(market, "W2")], event["at"])
            else:
                self._show(stream, symbol, event["at"], frames.instant(event["at"]))

    def _instant(self, event: Document) -> Instant:
        """Return when an event happened; the clearing of a trade has no instant of its own."""
        if event["event"] != "Traded" or event["state"] != 2:
            return self._exchange.now
        trade = self._history.trades.get(event["id"])
        at = (trade.at if trade else 0) + int(self._exchange.assumed("clearing.delay"))
        return at if at in self._timers else max(self._timers, default=self._exchange.now)

    def _await_engine(self, stream: OpenStream) -> None:
        """Judge no stream whose orders may wait for the engine, unseen (rule M36)."""
        waits = self._exchange.assumed("engine.latency") or self._exchange.received
        if waits and stream.operation in (frames.ORDERS, frames.POSITIONS, frames.PRIVATE):
            stream.doubt = "orders that wait for the engine"

    def _doubt(self, subject: str) -> None:
        """Judge a stream no longer, once a fault has struck it."""
        for stream in self._open.values():
            if subject == f"stream/{stream.number}":
                stream.doubt = "an injected fault"

    def _show(
        self, stream: OpenStream, symbol: str, now: Instant, changed: str | None = None
    ) -> None:
        """Expect the book of an instrument on a stream, with the instant if it changed (S9)."""
        market = self._exchange.market(symbol)
        if market.state in SILENT and symbol not in stream.sent:
            return
        stream.sent[symbol] = row = self._book(stream, symbol)
        changes: Document = {}
        if changed:
            numbers = market_numbers(self._exchange, self._history, market).items()
            stats = {name: None if each is None else str(each) for name, each in numbers}
            changes = {"transactTime": changed, "stats": stats}
        stream.send([row._replace(document=row.document | changes)], now)
        if market.state in SILENT:
            del stream.sent[symbol]

    def _book(self, stream: OpenStream, symbol: str) -> FrameRow:
        market = self._exchange.market(symbol)
        document = frames.book_document(
            market, stream.depth, self._exchange.now, single=stream.single
        )
        if "bids" not in document:
            self._hearing.undecided(HIDDEN)
        return FrameRow(symbol, "update", document, "S9")

    def _show_all(self, stream: OpenStream, symbols: Iterable[str]) -> None:
        """Expect the books with which a subscription begins."""
        for symbol in symbols:
            if self._exchange.market(symbol).state not in SILENT:
                self._show(stream, symbol, self._exchange.now)

    # ---- time

    def _books(self) -> list[OpenStream]:
        streams = self._open.values()
        return [each for each in streams if each.operation in BOOK_STREAMS and each.end is None]

    def _pass(self, until: Instant) -> None:
        """Let time pass: all books are sent again once a minute, from the first stream on (S9),
        and updates that were merged when they are due (S16).
        """
        everything = self._exchange.assumed("md.refresh_everything")
        while self._refresh <= until and (books := self._books()):
            order = self._timers.get(self._refresh, [])
            both = [each for each in order if each in ("stream.refresh", "stream.idle")]
            for stream in books:
                self._beat(stream, self._refresh - (both == ["stream.refresh", "stream.idle"]))
                if stream.end is not None:
                    continue
                rows = [row for row in stream.sent.values() if not self._may_rest(stream, row)]
                if everything or stream.symbols is not None:
                    stream.send(rows, self._refresh)
            self._refresh += self._exchange.assumed("md.refresh")
        merged = self._sockets.due if 0 < self._sockets.due <= until else 0
        for stream in self._open.values():
            if merged and stream.subscriptions:
                self._beat(stream, merged)
                stream.send(self._sockets.merged(stream), merged)
            self._beat(stream, until)
        self._sockets.due -= merged

    def _may_rest(self, stream: OpenStream, row: FrameRow) -> bool:
        """Whether a book need not be sent (again): of all, one that had no orders (S9, S16)."""
        if stream.operation in SOCKETS:
            return self._sockets.is_spare(stream, row)
        return stream.symbols is None and row.tag == "update" and row.channel not in self._touched

    def _beat(self, stream: OpenStream, until: Instant) -> None:
        """Let time pass on a stream: heartbeats, and the end of a silent one (rules S5, S13)."""
        assumed = self._exchange.assumed
        while stream.end is None:
            end = -(-(stream.last_sent + assumed("edge.idle_timeout")) // seconds(1)) * seconds(1)
            if stream.operation == frames.TALK:
                end = min(end, stream.heard + assumed("edge.bidi_idle_timeout"))
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
        now, kind = observed.now, observed.input["type"]
        served = any(timer.startswith("stream.") for timer in self._timers.get(now, ()))
        self._pass(now if served else now - 1)
        if kind == "open":
            self._opening(observed)
        elif kind == "frame":
            self._heard(observed)
        elif kind == "hangup":
            self._open.pop(observed.input["stream"], None)
        sent: dict[int, list[Document]] = {number: [] for number in self._open}
        operations = {number: stream.operation for number, stream in self._open.items()}
        for number, frame in observed.frames(operations):
            sent[number].append(frame)
        for number, stream in self._open.items():
            if not stream.doubt:
                self._compare(stream, sent[number])
            if stream.doubt and (sent[number] or stream.expected):
                self._hearing.undecided(stream.doubt)
            stream.expected, stream.heartbeats = [], 0
        self._ends(observed)

    def _compare(self, stream: OpenStream, sent: list[Document]) -> None:
        """Compare the frames of a stream with the rows that it had to send (rules S1, S5)."""
        repeats = self._hearing.applied("stream_duplicates")
        rows: list[FrameRow] = []
        heartbeats = 0
        for frame in sent:
            some = frames.rows_of(stream.operation, frame)
            if some is None:
                stream.doubt = UNKNOWN
                return
            if rows[:1] == some[:1] == [FrameRow("", "snapshot", {})]:
                some = some[1:]  # a long snapshot comes in several frames
            heartbeats += not some
            rows += some
            if token := frame.get("resumeToken"):
                if delivered := stream.expected[: len(rows)]:
                    stream.position = delivered[-1].position
                self._replays.issued(stream, token, self._exchange.now)
        if heartbeats != stream.heartbeats and not repeats:
            self._disagree(stream, "S5", f"{stream.heartbeats} heartbeats", f"{heartbeats}")
        opened = self._hearing.observed.opened == stream.number
        if opened and self._replays.reaches_back(stream):
            rows = rows[max(0, len(rows) - len(stream.expected)) :]
        expected, observed = _channels(stream.expected), _channels(rows)
        for channel in {**expected, **observed}:
            due, some = expected.get(channel, []), observed.get(channel, [])
            if some and self._may_rest(stream, some[0]):
                changes = [row for row, _ in groupby(some)]
                some = changes[max(0, len(changes) - len(due)) :]
            if repeats:
                some = _once(due, some)
            self._compare_rows(stream, due, some)

    def _compare_rows(
        self, stream: OpenStream, expected: list[FrameRow], observed: list[FrameRow]
    ) -> None:
        for due, row in zip(expected, observed, strict=False):
            text = f"{row.tag}, not {due.tag}" if row.tag != due.tag else ""
            if text := text or frames.difference(due.document, row.document):
                pair = str(due.document), str(row.document)
                return self._disagree(stream, due.rule, *pair, text)
        counts = len(expected), len(observed)
        if counts[0] != counts[1]:
            row = (expected if counts[0] > counts[1] else observed)[min(counts)]
            text = f"{row.tag} {'is missing' if counts[0] > counts[1] else 'has no cause'}"
            text = f"{text}: {row.document}"
            self._disagree(stream, row.rule, f"{counts[0]} rows", f"{counts[1]} rows", text)
        return None

    def _disagree(
        self, stream: OpenStream, rule: str, expected: str, observed: str, text: str = ""
    ) -> None:
        name = f"{stream.operation.rpartition('.')[2]} {stream.number}"
        sentence = f"{name}: {text or f'{observed}, not {expected}'}"
        self._hearing.disagree(rule, expected, observed, sentence)

    def _ends(self, observed: ObservedInput) -> None:
        """Compare the ends of streams with their causes (rules S6, S11-S13, S15, W5)."""
        closed = {row["stream"]: row for row in observed.closed}
        for number, stream in list(self._open.items()):
            row = closed.get(number)
            if row is None and stream.end is None:
                continue
            del self._open[number]
            end = (row["code"], row["web_socket_code"], row.get("rule", "")) if row else None
            if end != stream.end and not stream.doubt and not self._is_accident(observed, end):
                rule = (stream.end or end or ("", "", "S1"))[2]
                self._disagree(stream, str(rule), f"the end {stream.end}", f"the end {end}")

    def _is_accident(self, observed: ObservedInput, end: End | None) -> bool:
        """Whether a stream ended by a tester, a fault, or a client that sends too much (S15)."""
        rule = end[2] if end else ""
        return rule in ("T1", "T2", "T5") or (rule == "S15" and observed.input["type"] == "frame")

    # ---- who may open a stream, and what it begins with

    def _opening(self, observed: ObservedInput) -> None:
        """Judge whether a stream may open, and expect what it begins with."""
        stream = subscription_of(self._exchange, self._history, observed)
        revokes = self._hearing.quirk("session_revocation")
        former = [
            each for each in self._open.values() if revokes and stream.session == each.session != ()
        ]
        refusals = self._refusals(stream, former)
        unknown = not self._replays.knows(stream)
        if not observed.opened:
            if observed.rule in ("S3", "S7", "S8") and not unknown:
                self._judge_opening(observed.rule, refusals, observed.code)
            return
        if not unknown and not self._judge_opening("S7", refusals, 0):
            return
        for each in former:
            each.end = 13, 1011, "S6"
        if not self._books():
            self._refresh = observed.now + self._exchange.assumed("md.refresh")
        self._open[stream.number] = stream
        self._await_engine(stream)
        for event in observed.events:
            if event["event"] == "FaultStruck":
                self._doubt(event.get("subject", ""))
        if unknown:
            stream.doubt = "a resume token that the law has not met"
        else:
            self._begin(stream)

    def _judge_opening(self, rule: str, refusals: list[int], code: int) -> bool:
        """Return whether a subscription may be answered with a code; 0 opens a stream."""
        if code in (refusals or [0]):
            return True
        operation = self._hearing.observed.operation
        sentence = f"{operation} is answered with code {code}, not {refusals or [0]}"
        self._hearing.disagree(rule, f"{refusals}", f"{code}", sentence)
        return False

    def _refusals(self, stream: OpenStream, former: list[OpenStream]) -> list[int]:
        """Return the codes with which a subscription is refused (rules S3, S7, S8)."""
        now, symbols = self._exchange.now, stream.request.get("symbols", ())
        codes: list[int] = []
        if self._replays.refuses(stream, self._exchange.assumed("stream.resume_token_ttl"), now):
            codes.append(3)
        if stream.operation in (*BOOK_STREAMS, frames.INSTRUMENTS):
            unknown = any(each not in self._exchange.beginning.instruments for each in symbols)
            codes += [5] * unknown
        too_many = stream.operation in BOOK_STREAMS and len(symbols) > _SYMBOLS
        if too_many or stream.depth < 0:
            codes.append(3)
        others = [
            each
            for each in self._open.values()
            if each.firm == stream.firm and each.operation not in SOCKETS and each not in former
        ]
        if stream.operation not in SOCKETS and now >= _POOL_SINCE and len(others) >= _POOL:
            codes.append(8)
        return codes

    def _begin(self, stream: OpenStream) -> None:
        """Expect the first rows of a stream (§6.2)."""
        stream.position = self._replays.position
        rows = self._replays.replay(stream) or self._coverage.snapshot(stream)
        stream.send(rows, self._exchange.now)
        if self._exchange.assumed("stream.position_change_snapshot"):
            stream.doubt = UNKNOWN if stream.operation == frames.CHANGES else stream.doubt
        if stream.operation == frames.BOOKS:
            every = self._exchange.beginning.listed() if stream.symbols is None else ()
            self._show_all(stream, stream.symbols or every)
        if stream.request.get("snapshotOnly"):
            stream.end = 0, 1000, "S11"

    def _heard(self, observed: ObservedInput) -> None:
        """Expect what a client's frame is answered with."""
        stream = self._open.get(observed.input["stream"])
        too_many = any(row.get("rule") == "S15" for row in observed.closed)
        if stream is None or stream.end is not None or too_many:
            return
        stream.heard = observed.now
        frame = observed.frame_in(stream.operation)
        if stream.operation == frames.TALK:
            rows, symbols, stream.end = dialogue.answer(self._exchange, stream, frame)
            stream.send(rows, observed.now)
            self._show_all(stream, symbols)
        elif stream.operation in SOCKETS:
            stream.send(self._sockets.answer(stream, frame), observed.now)
        else:
            stream.doubt = stream.doubt or "frames of a stream that takes none"


def _once(expected: list[FrameRow], observed: list[FrameRow]) -> list[FrameRow]:
    """Return the rows of frames of which some came twice, without what only repeats a row."""
    rows: list[FrameRow] = []
    for row in observed:
        due = expected[len(rows)] if len(rows) < len(expected) else None
        if row not in rows or (due and not frames.difference(due.document, row.document)):
            rows.append(row)
    return rows


def _channels(rows: list[FrameRow]) -> dict[str, list[FrameRow]]:
    """Return rows by channel. A snapshot has no order among its rows."""
    channels: dict[str, list[FrameRow]] = {}
    for row in rows:
        channels.setdefault(row.channel, []).append(row)
    for some in channels.values():
        if some[0].tag == "snapshot":
            some.sort(key=lambda row: (row.tag.count("."), _name(row)))
    return channels


def _name(row: FrameRow) -> str:
    return " ".join(str(row.document.get(name)) for name in ("id", "account", "symbol"))
