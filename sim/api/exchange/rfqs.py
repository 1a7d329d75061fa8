"""Combos and requests for quotes on the exchange API (implemented in `sim/api/rfq`)."""

from __future__ import annotations

from sim.api.pipeline.account_access import trading_account
from sim.api.pipeline.authentication import Caller
from sim.api.pipeline.handler import for_account, handles, require
from sim.api.rfq import reads, writes
from sim.contract.messages import exchange_v1 as wire
from sim.core.exchange import Exchange
from sim.core.model.enums import Channel
from sim.core.rfq.rfqs import Party


def _account(caller: Caller) -> str:
    return trading_account(caller, "")


create_combo = for_account("ComboAPI.CreateCombo", _account, reads.create_combo)
get_rfqs = for_account("RFQAPI.GetRFQs", _account, reads.get_rfqs)
delete_rfq = for_account("RFQAPI.DeleteRFQ", _account, writes.delete_rfq)
get_quotes = for_account("RFQAPI.GetQuotes", _account, reads.get_quotes)
delete_quote = for_account("RFQAPI.DeleteQuote", _account, writes.delete_quote)
accept_quote = for_account("RFQAPI.AcceptQuote", _account, writes.accept_quote)
confirm_quote = for_account("RFQAPI.ConfirmQuote", _account, writes.confirm_quote)
get_rfq_trades = for_account("RFQAPI.GetRFQTrades", _account, reads.get_rfq_trades)
get_rfq_user_id = for_account("RFQAPI.GetRFQUserID", _account, reads.get_rfq_user_id)


@handles("ComboAPI.GetCombos")
def get_combos(exchange: Exchange, request: wire.GetCombosRequest) -> wire.GetCombosResponse:
    """Return the combo with a given symbol."""
    return reads.get_combos(exchange, request)


@handles("RFQAPI.CreateRFQ")
def create_rfq(
    exchange: Exchange, caller: Caller, request: wire.CreateRFQRequest
) -> wire.CreateRFQResponse:
    """Request quotes on a combo."""
    return writes.create_rfq(exchange, _party(caller, request.account), request)


@handles("RFQAPI.CreateQuote")
def create_quote(
    exchange: Exchange, caller: Caller, request: wire.CreateQuoteRequest
) -> wire.CreateQuoteResponse:
    """Quote on a request. A second quote replaces the first and keeps its id."""
    return writes.create_quote(exchange, _party(caller, request.account), request, keep_id=True)


def _party(caller: Caller, account: str) -> Party:
    """Return the requester or quoter of a call. Unlike elsewhere, `account` is required (§5.1)."""
    require(account, "account", rule="L13", remedy="send the participant's account")
    return Party(trading_account(caller, account), caller.participant or "", Channel.EXCHANGE)
