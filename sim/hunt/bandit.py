"""Which of some ways to go on bring the most news for their work: each has a record of what it
brought lately, and those that brought more are taken more often. None is ever given up, because
what is there to be found changes.
"""

from __future__ import annotations

from msgspec import Struct

from sim.hunt.corpus import weighted
from sim.kernel.entropy import Stream

_ODDS = 240  # shared by all as their records say
_LEAST = 12, 5  # of them, each has at least 12; where there are many, a fifth is shared evenly
_PRIOR_NEWS, _PRIOR_WORK = 40, 100  # what nobody tried yet counts as good
_KEPT = 31, 32  # of a record, each round


class _Payoff(Struct):
    """What one of them brought lately, and the work it took; in thousandths."""

    news: int = _PRIOR_NEWS * 1_000
    work: int = _PRIOR_WORK * 1_000


class Bandit:
    """Records of `count` ways to go on, by number."""

    def __init__(self, count: int) -> None:
        self._records = [_Payoff() for _ in range(count)]

    def learn(self, number: int, news: int, work: int) -> None:
        """Note what one brought, and the work that it took."""
        record = self._records[number]
        record.news += news * 1_000
        record.work += max(work, 1) * 1_000

    def fade(self) -> None:
        """Let old records count less."""
        kept, of = _KEPT
        for record in self._records:
            record.news = record.news * kept // of + 1
            record.work = record.work * kept // of + 1

    def choose(self, choices: Stream) -> int:
        """One of them: twice the news for the same work, four times as often."""
        rates = [(record.news * 1_000 // record.work) ** 2 for record in self._records]
        least = min(_LEAST[0], _ODDS // (_LEAST[1] * len(rates)))
        odds = _ODDS - least * len(rates)
        whole = sum(rates) or 1
        return weighted(
            choices, [(number, least + odds * rate // whole) for number, rate in enumerate(rates)]
        )
