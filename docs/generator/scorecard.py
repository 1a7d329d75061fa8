"""Blocks of the fidelity page: what is known of the service without one's own recordings."""

from __future__ import annotations

from functools import cache

from sim.evidence.scorecard import scorecard_page as page
from sim.evidence.scorecard.scorecard import Scorecard, scorecard
from sim.read.tables import as_markdown

LINK = page.in_documentation


@cache
def card() -> Scorecard:
    """The scorecard of this checkout."""
    return scorecard()


def summary() -> str:
    """What is known, in both readings."""
    return as_markdown(page.summary(card()))


def axes() -> str:
    """What is known on each axis of evidence, and how often the sandbox agrees."""
    return as_markdown(page.axes(card()))


def proofs() -> str:
    """How many operations are proven, not proven and unknown."""
    return as_markdown(page.proofs(card()))


def refusals() -> str:
    """Which kinds of refusals anybody ever saw."""
    return as_markdown(page.seen_refusals())


def operations() -> str:
    """Every operation and stream, by service."""
    parts = [
        f"### {service}\n\n{as_markdown(page.operations(scores, LINK))}"
        for service, scores in page.services(card())
    ]
    return _cards("operations", "\n\n".join(parts))


def loose_statements() -> str:
    """Statements about no single operation."""
    return as_markdown(page.loose_statements(card(), LINK))


def loose_observations() -> str:
    """Observations of the service as a whole."""
    return as_markdown(page.loose_observations(card(), LINK))


def switches() -> str:
    """Every assumption and quirk."""
    return _cards("switches", as_markdown(page.switches(card(), LINK)))


def _cards(kind: str, text: str) -> str:
    """Tables of which a narrow screen shows each row as lines (`assets/site.css`)."""
    return f'<div class="cards {kind}" markdown>\n\n{text}\n\n</div>'
