"""Combos and requests for quotes on the retail API (implemented in `sim/api/rfq`)."""

from __future__ import annotations

from sim.api.pipeline.authentication import Caller
from sim.api.pipeline.handler import for_account, handles
from sim.api.retail.order_request import account_of
from sim.api.rfq import reads, writes
from sim.contract.messages import exchange_v1 as wire
from sim.contract.messages import retail_v1
from sim.core.exchange import Exchange
from sim.core.model.enums import Channel
from sim.core.rfq.rfqs import Party

create_combo = for_account("RetailCombosAPI.CreateCombo", account_of, reads.create_combo)
list_rfqs = for_account("RetailRfqsAPI.ListRfqs", account_of, reads.get_rfqs)
delete_rfq = for_account("RetailRfqsAPI.DeleteRfq", account_of, writes.delete_rfq)
list_quotes = for_account("RetailRfqsAPI.ListQuotes", account_of, reads.get_quotes)
delete_quote = for_account("RetailRfqsAPI.DeleteQuote", account_of, writes.delete_quote)
accept_quote = for_account("RetailRfqsAPI.AcceptQuote", account_of, writes.accept_quote)
confirm_quote = for_account("RetailRfqsAPI.ConfirmQuote", account_of, writes.confirm_quote)
list_rfq_trades = for_account("RetailRfqsAPI.ListRfqTrades", account_of, reads.get_rfq_trades)
get_rfq_user_id = for_account("RetailRfqsAPI.GetRfqUserId", account_of, reads.get_rfq_user_id)


@handles("RetailCombosAPI.ListCombos")
def list_combos(exchange: Exchange, request: wire.GetCombosRequest) -> wire.GetCombosResponse:
    """Return the combo with a given symbol."""
    return reads.get_combos(exchange, request)


@handles("RetailRfqsAPI.CreateRfq")
def create_rfq(
    exchange: Exchange, caller: Caller, request: retail_v1.CreateRfqRequest
) -> wire.CreateRFQResponse:
    """Request quotes on a combo."""
    return writes.create_rfq(exchange, _party(caller), request)


@handles("RetailRfqsAPI.CreateQuote")
def create_quote(
    exchange: Exchange, caller: Caller, request: retail_v1.CreateQuoteRequest
) -> wire.CreateQuoteResponse:
    """Quote on a request. A second quote replaces the first under a new id."""
    return writes.create_quote(exchange, _party(caller), request, keep_id=False)


def _party(caller: Caller) -> Party:
    return Party(account_of(caller), caller.participant or "", Channel.RETAIL)
