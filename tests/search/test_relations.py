"""Calls that must agree with each other: each relation sees the bug that it is for, and says
nothing of the same episodes without it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from sim.api.pipeline.pipeline import Pipeline
from sim.api.streams.drop_copy import DropCopyFeed
from sim.core.accounts.ledger import Ledger
from sim.core.identity.credentials import Credentials
from sim.core.model.quantities import DOLLAR
from sim.core.model.refusals import Unauthenticated
from sim.evidence.witness import Witness
from sim.kernel.instants import minutes
from sim.oracle.law import Law
from sim.search.hunt.agreement import QUESTIONS
from sim.search.hunt.episode import Episode
from sim.search.hunt.roots import roots_of, start_of
from sim.search.hunt.sequences import DrawnMove

ROOTS = roots_of()
EPISODES = 40
Plant = Callable[[pytest.MonkeyPatch], None]


def subjects(kind: str, *, first: bool = False) -> set[str]:
    """What the relations contradict in short episodes of one kind of move."""
    subjects_of: set[str] = set()
    for seed in range(EPISODES):
        moves = [DrawnMove(kind, seed + turn) for turn in range(3)]
        troubles = Episode(start_of(ROOTS[0], 1)).run(moves).troubles
        assert {trouble.kind for trouble in troubles} <= {"agreement"}, troubles
        subjects_of.update(trouble.subject for trouble in troubles)
        if first and subjects_of:
            break
    return subjects_of


def refusal_takes_money(monkeypatch: pytest.MonkeyPatch) -> None:
    right = Pipeline.rest

    def rest(self: Pipeline, call: Any) -> Any:
        reply = right(self, call)
        if reply.status >= 400:
            for account in self._services.exchange.trading.ledger._accounts.values():
                account.balance += DOLLAR
        return reply

    monkeypatch.setattr(Pipeline, "rest", rest)


def bust_keeps_the_fee(monkeypatch: pytest.MonkeyPatch) -> None:
    right = Ledger.reverse

    def reverse(self: Ledger, account: str, principal: int, commission: int, *rest: Any) -> None:
        right(self, account, principal, 0, *rest)

    monkeypatch.setattr(Ledger, "reverse", reverse)


def token_later(monkeypatch: pytest.MonkeyPatch) -> None:
    right = Credentials.authenticate

    def authenticate(self: Credentials, token: str, now: int) -> Any:
        issued = right(self, token, now)
        if issued.expires - now == minutes(3):
            raise Unauthenticated(rule="S5.1-4")
        return issued

    monkeypatch.setattr(Credentials, "authenticate", authenticate)


def replay_one_late(monkeypatch: pytest.MonkeyPatch) -> None:
    right = DropCopyFeed.point_at

    def point_at(self: DropCopyFeed, at: int) -> Any:
        point = right(self, at)
        return point._replace(seq=point.seq + 1)

    monkeypatch.setattr(DropCopyFeed, "point_at", point_at)


def later_trades_cost_more(monkeypatch: pytest.MonkeyPatch) -> None:
    right = Ledger.fill

    def fill(self: Ledger, account: str, principal: int, *rest: Any) -> None:
        rows = sum(len(self.entries(each.name)) for each in self)
        right(self, account, principal - rows % 4 * DOLLAR, *rest)

    monkeypatch.setattr(Ledger, "fill", fill)


@pytest.mark.parametrize(
    ("plant", "kind", "subject"),
    [
        (refusal_takes_money, "refused", "PositionAPI.GetAccountBalance again"),
        (bust_keeps_the_fee, "undo", "PositionAPI.GetAccountBalance undone"),
        (token_later, "new token", "new token"),
        (replay_one_late, "streams", "DropCopyAPI.CreateDropCopySubscription replayed"),
        (later_trades_cost_more, "order", "order of calls accounts"),
    ],
)
def test_a_relation_sees_its_bug(
    plant: Plant, kind: str, subject: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sim.search.hunt.oracles.violations", lambda *args: [])
    monkeypatch.setattr(Law, "judge", lambda *args: ())
    monkeypatch.setattr("sim.search.hunt.judges.judge", lambda rows: Witness({}))
    plant(monkeypatch)
    assert subjects(kind, first=True) == {subject}


@pytest.mark.parametrize("kind", QUESTIONS)
def test_relations_say_nothing_of_the_exchange_as_it_is(kind: str) -> None:
    assert not subjects(kind)
