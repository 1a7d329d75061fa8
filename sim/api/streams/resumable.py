"""Streams that resume: drop copy, trade capture, position change (§6.2, rules S1-S4).

No snapshot. A resume_token replays what came after it, a resume_time what came from it on; the
replay always runs to now before anything live, and nothing marks where it ends. Every message
carries the current token, and a message without rows is a heartbeat. What a firm's streams share is
encoded once per firm.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from functools import cached_property
from typing import TYPE_CHECKING, ClassVar, Generic, TypeVar, cast

from sim.api.streams.feed import Feed, OrderService, Stream, Topics
from sim.api.streams.limits import BATCH
from sim.api.streams.resume_tokens import Place, ResumeTokens, binding_of
from sim.api.streams.shared_frames import nesting
from sim.core.catalogue.assumptions import RESUME_TOKEN_TTL
from sim.core.model.refusals import InvalidRequest, PermissionDenied
from sim.kernel.instants import Instant
from sim.messages import Message

if TYPE_CHECKING:
    from sim.api.pipeline.pipeline import Admitted

R = TypeVar("R")


class ReplayStream(Stream):
    """A resumable subscription of a firm. `after`: where the replay starts; None without a resume
    field, for nothing old at all.
    """

    __slots__ = ("after", "binding", "firm", "pending", "symbols")

    def __init__(self, feed: Feed, admitted: Admitted, firm: str) -> None:
        super().__init__(feed, admitted)
        self.firm = firm
        self.symbols = frozenset(admitted.request.symbols)
        self.binding = binding_of(self.rpc, firm, symbols=admitted.request.symbols)
        self.after: Place | None = None
        self.pending: list[bytes] = []


class ReplayFeed(Feed, Generic[R]):
    """One kind of resumable stream, of rows of type R. `response` and `rows_field` say where rows
    go.
    """

    response: ClassVar[type[Message]]
    rows_field: ClassVar[str]
    scoped = True

    def __init__(self, order_service: OrderService) -> None:
        super().__init__(order_service)
        self._topics: Topics[str, ReplayStream] = Topics()
        self._waiting: dict[int, ReplayStream] = {}
        self._in_token = nesting(self.response, "resume_token")
        self._in_rows = nesting(self.response, self.rows_field)

    @cached_property
    def _tokens(self) -> ResumeTokens:
        return ResumeTokens(self.order_service.exchange.ctx.entropy.key("resume_token"))

    # ---- what a kind of stream knows

    @abstractmethod
    def place(self) -> Place:
        """Where the record ends now."""

    @abstractmethod
    def place_at(self, at: Instant) -> Place:
        """The place before the first row of an instant."""

    @abstractmethod
    def rows_after(self, firm: str, place: Place) -> Iterator[tuple[Place, R]]:
        """Rows of a firm after a place, in order, each with the place right after it."""

    @abstractmethod
    def symbol_of(self, row: R) -> str:
        """Symbol of a row."""

    @abstractmethod
    def encode(self, firm: str, row: R) -> bytes:
        """The encoded message of a row as the firm sees it."""

    # ---- opening and ending

    def accept(self, admitted: Admitted) -> Stream:
        request = admitted.request
        stream = ReplayStream(self, admitted, _own_firm(admitted))
        if request.resume_token and request.resume_time is not None:
            raise InvalidRequest(
                "resume_token and resume_time exclude each other",
                rule="S3",
                remedy="send one of them",
            )
        if request.resume_token:
            stream.after = self._tokens.read(
                request.resume_token,
                stream.binding,
                now=self.order_service.now,
                lifetime=self.order_service.period(RESUME_TOKEN_TTL),
            )
            if stream.after.seq > self.place().seq:
                raise InvalidRequest(
                    "invalid resume_token",
                    rule="S3",
                    remedy="the token is from a future that was rewound; start afresh",
                )
        elif request.resume_time is not None:
            stream.after = self.place_at(request.resume_time)
        return stream

    def begin(self, stream: Stream) -> None:
        mine = cast(ReplayStream, stream)
        self._topics.join(mine.firm, mine)
        if mine.after is not None:
            self.send_rows(mine, self.rows_after(mine.firm, mine.after), mine.after)

    def send_rows(
        self, stream: ReplayStream, rows: Iterator[tuple[Place, R]], place: Place | None = None
    ) -> None:
        """Send old rows in batches, each with the token of its own end: who breaks off in the
        middle goes on from there. They begin after a place.
        """
        place = place or self.place()
        batch: list[bytes] = []
        for after, row in rows:
            if stream.symbols and self.symbol_of(row) not in stream.symbols:
                continue
            if len(batch) == BATCH:
                self._send(stream, place, batch)
            batch.append(self._in_rows(self.encode(stream.firm, row)))
            place = after
        if batch:
            self._send(stream, self.place(), batch)

    def forget(self, stream: Stream) -> None:
        mine = cast(ReplayStream, stream)
        self._topics.leave(mine.firm, mine)
        self._waiting.pop(mine.id, None)

    def heartbeat(self, stream: Stream) -> bytes:
        return self._token(cast(ReplayStream, stream), self.place())

    # ---- live

    def tell(self, firm: str, row: R) -> None:
        """A new row of a firm: gathered until the events of this input are read."""
        topic = self._topics.get(firm)
        if topic is None:
            return
        symbol = self.symbol_of(row)
        found = b""
        for stream in topic.values():
            if not stream.symbols or symbol in stream.symbols:
                found = found or self._in_rows(self.encode(firm, row))
                stream.pending.append(found)
                self._waiting[stream.id] = stream

    def flush(self) -> None:
        if not self._waiting:
            return
        waiting, self._waiting = self._waiting, {}
        place = self.place()
        for stream in waiting.values():
            self._send(stream, place, stream.pending)

    def _send(self, stream: ReplayStream, place: Place, rows: list[bytes]) -> None:
        self.order_service.outbox.send(stream, self._token(stream, place) + b"".join(rows))
        rows.clear()

    def _token(self, stream: ReplayStream, place: Place) -> bytes:
        return self._in_token(self._tokens.issue(stream.binding, place))

    @property
    def followed(self) -> bool:
        """Whether anybody listens."""
        return bool(self._topics)

    def firm_of(self, account: str) -> str | None:
        """The firm whose streams see an account; None when nobody listens or no firm has it."""
        if not self._topics:
            return None
        firm = self.order_service.exchange.firms.firm_of(account)
        return firm.name if firm is not None else None

    def accounts_of(self, firm: str) -> tuple[str, ...]:
        """Accounts of a firm."""
        firms = self.order_service.exchange.firms
        return firms.accounts_of(firms.require(firm))


def _own_firm(admitted: Admitted) -> str:
    """The caller's firm; PermissionDenied when the request names another one. Both firms/<firm> and
    the bare name are accepted.
    """
    firm = admitted.caller.firm
    if firm is None:
        raise PermissionDenied(rule="S6", remedy="open this stream with a firm's token")
    for asked in admitted.request.firms:
        if asked.removeprefix("firms/") != firm.removeprefix("firms/"):
            raise PermissionDenied(
                rule="S5.1-6", remedy="leave firms empty: only the token's own firm can be followed"
            )
    return firm
