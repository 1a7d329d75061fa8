"""Why something is as it is: a refused call, an order, a stream, an account, an instrument, a
verification, a webhook.

Everything said here is read from the journal of the present branch and from the state; nothing is
remembered for it, so only asking costs. An explanation is a dict for people and for tests: what is
asked about, a sentence, and the chain of causes, oldest first, each with virtual time, journal
position, rule and section, and the assumptions, quirks and faults that had a say.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from sim.analysis.explain.accounts import explain_account
from sim.analysis.explain.instruments import explain_instrument
from sim.analysis.explain.orders import explain_order
from sim.analysis.explain.refusals import explain_refusal
from sim.analysis.explain.streams import explain_stream
from sim.analysis.explain.verifications import explain_verification
from sim.analysis.explain.webhooks import explain_delivery

if TYPE_CHECKING:
    from sim.simulation import Simulation

_REQUEST = re.compile(r"[0-9a-f]{16}", re.ASCII)
KINDS = ("request", "order", "stream", "account", "instrument", "kyc", "webhook")


def explain(sim: Simulation, subject: str) -> dict[str, Any] | None:
    """Explain a subject by its name; None when nothing is called that.

    A subject is the request id of a call (`x-request-id`), an order id, `stream/7` or `7`, an
    account or user (`firms/…`), a scripted participant, a symbol, the external id of a verification
    (`kyc/…`) or the event id of a webhook (`webhook/…`); a kind in front says which is meant.
    """
    kind, _, name = subject.partition("/")
    if kind not in KINDS or not name:
        kind, name = "", subject
    if (
        kind in ("", "request")
        and _REQUEST.fullmatch(name)
        and (found := explain_refusal(sim, name)) is not None
    ):
        return found
    if kind in ("", "order") and sim.exchange.trading.orders.get(name) is not None:
        return explain_order(sim, name)
    if kind in ("", "instrument") and name in sim.exchange.instruments:
        return explain_instrument(sim, name)
    if (
        kind in ("", "stream")
        and name.isascii()
        and name.isdecimal()
        and len(name) < 16
        and (found := explain_stream(sim, int(name))) is not None
    ):
        return found
    if kind in ("", "account") and (found := explain_account(sim, name)) is not None:
        return found
    if kind in ("", "webhook") and (found := explain_delivery(sim, name)) is not None:
        return found
    return explain_verification(sim, name) if kind in ("", "kyc") else None


__all__ = ["KINDS", "explain"]
