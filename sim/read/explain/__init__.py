"""Why something is in its state: a refused call, an order, a stream, an account, an instrument, a
verification, a webhook, an injected fault.

An explanation is a dict for people and for tests: the subject, a summary sentence, and the chain of
causes, oldest first. Each cause has its virtual instant, journal position, rule and section, and
the assumptions, quirks and faults involved. Explanations read the journal of the current branch and
the state, and change neither. `text.py` writes an explanation as text,
`causes.py` has what the modules share.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from sim.kernel.work import Work
from sim.read.explain.accounts import explain_account
from sim.read.explain.faults import explain_fault
from sim.read.explain.instruments import explain_instrument
from sim.read.explain.orders import explain_order
from sim.read.explain.refusals import explain_refusal
from sim.read.explain.streams import explain_stream
from sim.read.explain.verifications import explain_verification
from sim.read.explain.webhooks import explain_delivery
from sim.read.line_search import prepare
from sim.run.simulation import Simulation

Explain = Callable[[Simulation, str], dict[str, Any] | None]
# Tried in this order for a name without a kind.
_EXPLAINERS: dict[str, Explain] = {
    "request": explain_refusal,
    "order": explain_order,
    "instrument": explain_instrument,
    "stream": explain_stream,
    "account": explain_account,
    "webhook": explain_delivery,
    "kyc": explain_verification,
    "fault": explain_fault,
}


def explain(sim: Simulation, subject: str) -> dict[str, Any] | None:
    """Explain a subject by its name; None if nothing has that name.

    A subject is the request id of a call (`x-request-id`), an order id, `stream/7` or `7`, an
    account or user (`firms/…`), a scripted participant, a symbol, the external id of a verification
    (`kyc/…`), the event id of a webhook (`webhook/…`) or the id of a fault (`fault/f1`). A kind as
    prefix makes the name unambiguous.
    """
    kind, _, name = subject.partition("/")
    if kind in _EXPLAINERS and name:
        return _EXPLAINERS[kind](sim, name)
    explanations = (explainer(sim, subject) for explainer in _EXPLAINERS.values())
    return next((explanation for explanation in explanations if explanation is not None), None)


def explain_in_steps(sim: Simulation, subject: str) -> Work[dict[str, Any] | None]:
    """Like `explain`, with the index of the journal, which takes longest, built in steps."""
    yield from prepare(sim.journal, sim.journal.branch)
    return explain(sim, subject)


__all__ = ["explain", "explain_in_steps"]
