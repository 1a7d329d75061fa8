"""StreamRFQEvents: requests for quotes, the participant's own quotes, and fills of quotes.

The stream sends new events only and replays nothing. Each message holds exactly one event. The
published contract defines no heartbeat, so a message without an event keeps the connection open, at
the usual interval.

The private WebSocket sends the same frames: those about requests and fills to everybody, those
about quotes only to the requester and the maker.
"""

from __future__ import annotations

from sim.api.pipeline.pipeline import AdmittedSubscription
from sim.api.rfq.messages import quote_message, rfq_message, trade_message
from sim.api.streams.feed import EventReaders, KeyedFeed, KeyedStream
from sim.api.streams.shared_frames import encoded
from sim.contract.messages import exchange_v1 as wire
from sim.core.exchange import Exchange
from sim.core.model.enums import TradeState, TradeType
from sim.core.model.events import RfqChanged, Traded
from sim.core.model.rfq_records import Quote

_EVERYBODY = ""  # the key that all streams follow


class RfqFeed(KeyedFeed[KeyedStream]):
    """Streams of requests and quotes. All of them follow the same key."""

    def reads(self) -> EventReaders:
        return {RfqChanged: self._changed, Traded: self._traded}

    def accept(self, admitted: AdmittedSubscription) -> KeyedStream:
        return KeyedStream(self, admitted, (_EVERYBODY,))

    def begin(self, stream: KeyedStream) -> None:
        self.join(stream)

    def heartbeat(self, stream: KeyedStream) -> bytes:
        return encoded(wire.StreamRFQEventsResponse())

    def _changed(self, event: RfqChanged) -> None:
        for stream in self._followers.get(_EVERYBODY, {}).values():
            account = stream.caller.account
            if concerns(event, account):
                self.outbox.send(stream, encoded(change_frame(self.exchange, event, account)))

    def _traded(self, event: Traded) -> None:
        followers = self._followers.get(_EVERYBODY)
        frame = trade_frame(self.exchange, event) if followers else None
        if followers and frame is not None:
            self.outbox.send_all(followers.values(), encoded(frame))


def concerns(event: RfqChanged, account: str | None) -> bool:
    """Whether an account may receive a change."""
    quote = event.quote
    return quote is None or account in (event.rfq.account, quote.account)


def change_frame(
    exchange: Exchange, event: RfqChanged, account: str | None
) -> wire.StreamRFQEventsResponse:
    """Return a change in the form for an account."""
    if event.quote is not None:
        return _quote_frame(exchange, event.kind, event.quote, account)
    message = rfq_message(exchange, event.rfq)
    if event.kind == "rfq_created":
        return wire.StreamRFQEventsResponse(rfq_created=wire.RFQCreatedEvent(rfq=message))
    return wire.StreamRFQEventsResponse(rfq_closed=wire.RFQClosedEvent(rfq=message))


def trade_frame(exchange: Exchange, event: Traded) -> wire.StreamRFQEventsResponse | None:
    """Return a new fill of an order that came from a quote; None for anything else."""
    trade = event.trade
    if trade.type is not TradeType.REQUEST_FOR_QUOTE or event.state is not TradeState.NEW:
        return None
    message = trade_message(exchange, trade)
    return wire.StreamRFQEventsResponse(rfq_trade=wire.RFQTradeEvent(trade=message))


def _quote_frame(
    exchange: Exchange, kind: str, quote: Quote, account: str | None
) -> wire.StreamRFQEventsResponse:
    message, frame = quote_message(exchange, quote), wire.StreamRFQEventsResponse()
    match kind:
        case "quote_created":
            frame.quote_created = wire.QuoteCreatedEvent(quote=message)
        case "quote_accepted":
            frame.quote_accepted = wire.QuoteAcceptedEvent(
                quote=message, confirmation_deadline=quote.confirm_by
            )
        case "quote_confirmed":
            frame.quote_confirmed = wire.QuoteConfirmedEvent(
                quote=message, execution_deadline=quote.execute_by
            )
        case "quote_executed":
            own = quote.quote_order_id if account == quote.account else quote.rfq_order_id
            frame.quote_executed = wire.QuoteExecutedEvent(
                quote=message, order_id=own, executed_time=quote.executed_at
            )
        case _:
            frame.quote_deleted = wire.QuoteDeletedEvent(quote=message)
    return frame
