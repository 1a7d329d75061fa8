"""Streams that can be resumed: drop copy, trade capture, position change (§6.2, rules S1-S4).

They send no snapshot. A `resume_token` asks for the rows after the token's point, a `resume_time`
for the rows from that instant on. The replay is complete before the first live row is sent; nothing
marks the transition. Every message carries the current token; a message without rows is a
heartbeat. Each row is encoded once per firm, however many of its streams follow.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Iterator
from functools import cached_property
from typing import ClassVar, Generic, TypeVar

from sim.api.pipeline.pipeline import AdmittedSubscription
from sim.api.streams.feed import Feed, FeedContext, FilteredStream, KeyedFeed, following
from sim.api.streams.limits import BATCH
from sim.api.streams.resume_tokens import ResumePoint, ResumeTokens, binding_of
from sim.api.streams.shared_frames import nesting
from sim.contract.messages import Message
from sim.core.catalogue.assumptions import RESUME_TOKEN_TTL
from sim.core.model.refusals import InvalidRequest, PermissionDenied
from sim.core.model.why import Why
from sim.kernel.instants import Instant

R = TypeVar("R")


_RESUMED = Why("S2")


class ReplayStream(FilteredStream):
    """A resumable subscription of a firm. The replay starts after `after`; None for no replay."""

    def __init__(self, feed: Feed[ReplayStream], admitted: AdmittedSubscription, firm: str) -> None:
        super().__init__(feed, admitted, [firm])
        self.firm = firm
        self.symbols = frozenset(admitted.request.symbols)
        self.binding = binding_of(self.rpc, firm, symbols=admitted.request.symbols)
        self.after: ResumePoint | None = None


class ReplayFeed(KeyedFeed[ReplayStream], Generic[R]):
    """One kind of resumable stream, of rows of type R.

    The rows are sent in the field `rows_field` of `response`.
    """

    response: ClassVar[type[Message]]
    rows_field: ClassVar[str]
    scoped = True

    def __init__(self, context: FeedContext) -> None:
        super().__init__(context)
        self._in_token = nesting(self.response, "resume_token")
        self._in_rows = nesting(self.response, self.rows_field)

    @cached_property
    def _tokens(self) -> ResumeTokens:
        return ResumeTokens(self.exchange.ctx.entropy.key("resume_token"))

    # ---- implemented by each kind of stream

    @abstractmethod
    def point(self) -> ResumePoint:
        """Return the current end of the record."""

    @abstractmethod
    def point_at(self, at: Instant) -> ResumePoint:
        """Return the point before the first row at or after an instant."""

    @abstractmethod
    def rows_after(self, firm: str, point: ResumePoint) -> Iterator[tuple[ResumePoint, R]]:
        """Yield the rows of a firm after a point, each with the point right after it."""

    @abstractmethod
    def symbol_of(self, row: R) -> str:
        """Return the symbol of a row."""

    @abstractmethod
    def encode(self, firm: str, row: R) -> bytes:
        """Encode a row as the firm sees it."""

    # ---- opening and ending

    def accept(self, admitted: AdmittedSubscription) -> ReplayStream:
        request = admitted.request
        stream = ReplayStream(self, admitted, _own_firm(admitted))
        if request.resume_token and request.resume_time is not None:
            raise InvalidRequest(
                "resume_token and resume_time are mutually exclusive",
                rule="S3",
                remedy="send one of them",
            )
        if request.resume_token:
            now, lifetime = self.context.now, self.context.period(RESUME_TOKEN_TTL)
            token, binding = request.resume_token, stream.binding
            stream.after = self._tokens.read(token, binding, now=now, lifetime=lifetime)
            if stream.after.seq > self.point().seq:
                raise InvalidRequest(
                    "invalid resume_token",
                    rule="S3",
                    remedy="the token is from a future that was rewound; start without a token",
                )
        elif request.resume_time is not None:
            stream.after = self.point_at(request.resume_time)
        return stream

    def begin(self, stream: ReplayStream) -> None:
        self.join(stream)
        if stream.after is not None:
            self.exchange.ctx.apply(_RESUMED, f"stream/{stream.id}")
            self.send_rows(stream, self.rows_after(stream.firm, stream.after), stream.after)

    def send_rows(
        self,
        stream: ReplayStream,
        rows: Iterator[tuple[ResumePoint, R]],
        point: ResumePoint | None = None,
    ) -> None:
        """Send recorded rows, which begin after `point`, in batches.

        Each batch carries the token of its own end, so a client whose stream
        breaks continues there.
        """
        point = point or self.point()
        batch: list[bytes] = []
        for after, row in rows:
            if stream.symbols and self.symbol_of(row) not in stream.symbols:
                continue
            if len(batch) == BATCH:
                self._send(stream, point, batch)
            batch.append(self._in_rows(self.encode(stream.firm, row)))
            point = after
        if batch:
            self._send(stream, self.point(), batch)

    def heartbeat(self, stream: ReplayStream) -> bytes:
        return self._token(stream, self.point())

    # ---- live

    def add_row(self, firm: str, row: R) -> None:
        """Add a new row of a firm, to be sent when all events of this input were read."""
        followers = self._followers.get(firm)
        if followers is None:
            return
        streams = following(followers.values(), self.symbol_of(row))
        if streams:
            self.gather(streams, self._in_rows(self.encode(firm, row)))

    def send_gathered(self, streams: Iterable[ReplayStream]) -> None:
        point = self.point()
        for stream in streams:
            self._send(stream, point, stream.pending)

    def _send(self, stream: ReplayStream, point: ResumePoint, rows: list[bytes]) -> None:
        self.outbox.send(stream, self._token(stream, point) + b"".join(rows))
        rows.clear()

    def _token(self, stream: ReplayStream, point: ResumePoint) -> bytes:
        return self._in_token(self._tokens.issue(stream.binding, point))

    @property
    def has_followers(self) -> bool:
        """Whether any stream of this feed is open."""
        return bool(self._followers)

    def firm_of(self, account: str) -> str | None:
        """Return the firm whose streams can see an account; None if there is none."""
        if not self._followers:
            return None
        firm = self.exchange.firms.firm_of(account)
        return firm.name if firm is not None else None

    def accounts_of(self, firm: str) -> tuple[str, ...]:
        """Return the accounts of a firm."""
        firms = self.exchange.firms
        return firms.accounts_of(firms.require(firm))


def _own_firm(admitted: AdmittedSubscription) -> str:
    """Return the caller's firm. Refuses a request that names another one.

    The request may name a firm as firms/<firm> or by the bare name.
    """
    firm = admitted.caller.firm
    if firm is None:
        raise PermissionDenied(rule="S6", remedy="open this stream with a firm's token")
    for name in admitted.request.firms:
        if name.removeprefix("firms/") != firm.removeprefix("firms/"):
            raise PermissionDenied(
                rule="S5.1-6", remedy="leave firms empty: a token can follow its own firm only"
            )
    return firm
