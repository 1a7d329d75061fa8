"""A multi-armed bandit: chooses among ways to continue, and prefers those that recently brought the
most news for their work.

Every way keeps a minimum chance, because what can still be found changes during a hunt.
"""

from __future__ import annotations

from msgspec import Struct

from sim.kernel.entropy import RandomStream
from sim.search.hunt.corpus import weighted

_ODDS = 240  # chances shared in proportion to recent payoff
_LEAST = 12, 5  # each way has at least 12 chances; if there are many, a fifth is shared equally
_PRIOR_NEWS, _PRIOR_WORK = 40, 100  # an untried way counts as good
_KEPT = 31, 32  # part of a record that remains after each round


class _Payoff(Struct):
    """The recent news and work of one way, in thousandths."""

    news: int = _PRIOR_NEWS * 1_000
    work: int = _PRIOR_WORK * 1_000


class Bandit:
    """Records of `count` ways to continue, by number."""

    def __init__(self, count: int) -> None:
        self._records = [_Payoff() for _ in range(count)]

    def learn(self, number: int, news: int, work: int) -> None:
        """Add the news that a way brought, and the work that it took."""
        record = self._records[number]
        record.news += news * 1_000
        record.work += max(work, 1) * 1_000

    def fade(self) -> None:
        """Reduce the weight of old records."""
        kept, of = _KEPT
        for record in self._records:
            record.news = record.news * kept // of + 1
            record.work = record.work * kept // of + 1

    def choose(self, choices: RandomStream) -> int:
        """Choose a way. Twice the news for the same work makes a way four times as likely."""
        rates = [(record.news * 1_000 // record.work) ** 2 for record in self._records]
        least = min(_LEAST[0], _ODDS // (_LEAST[1] * len(rates)))
        odds = _ODDS - least * len(rates)
        whole = sum(rates) or 1
        return weighted(
            choices, [(number, least + odds * rate // whole) for number, rate in enumerate(rates)]
        )
