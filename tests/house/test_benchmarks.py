"""The benchmarks judge what they measure: a verdict follows from the medians, and every area that
is offered exists.
"""

from __future__ import annotations

import importlib.util
import os
from collections import Counter
from pathlib import Path

import pytest

from benchmarks import crowd, soak
from benchmarks.__main__ import AREAS
from benchmarks.areas import pages
from benchmarks.before import _fresh, in_turns
from benchmarks.figures import Figure, Goal, summary, table
from benchmarks.plots import plot
from benchmarks.profiles import PATHS, report
from benchmarks.serving import served
from sim.kernel.instants import MINUTE


def figure(sandbox: list[float], floor: list[float], goal: Goal | None) -> Figure:
    return Figure("work", "ms", sandbox, floor, "ms floor", goal)


@pytest.mark.parametrize(
    ("goal", "verdict"),
    [
        (Goal(0.5), "reached"),
        (Goal(0.51), "missed"),
        (Goal(0.5, lower=True), "reached"),
        (Goal(0.49, lower=True), "missed"),
        (Goal(20, lower=True, absolute=True), "reached"),
        (Goal(19, lower=True, absolute=True), "missed"),
        (None, ""),
    ],
)
def test_a_verdict_compares_the_goal_with_the_median_ratio_or_the_median_itself(
    goal: Goal | None, verdict: str
) -> None:
    assert figure([10, 20, 90], [20, 40, 90], goal).verdict == verdict


def test_the_ratio_is_the_median_of_the_rounds_ratios_and_not_the_ratio_of_the_medians() -> None:
    assert figure([1, 10, 100], [10, 5, 1000], None).ratio == 0.1


def test_the_table_says_everything_of_each_figure_and_the_summary_counts_the_goals() -> None:
    rows = [
        figure([10.0], [20.0], Goal(0.5)),
        figure([10.0], [20.0], Goal(0.6)),
        Figure("work", "ms", [1234.5], [], ""),
    ]
    lines = table(rows).splitlines()
    assert lines[1].split() == [
        "work",
        "10",
        "ms",
        "20",
        "ms",
        "floor",
        "0.50",
        "≥",
        "0.50",
        "reached",
    ]
    assert lines[3].split() == ["work", "1,234", "ms"]
    assert summary(rows) == "1 of 2 goals reached"


def test_a_plot_shows_every_figure_that_has_a_floor() -> None:
    drawn = plot("area", [figure([10.0, 11.0], [20.0, 20.0], Goal(0.75)), figure([1.0], [], None)])
    assert drawn.count("<circle") == 2
    assert "missed" in drawn
    assert plot("area", [figure([1.0], [], None)]) == ""


@pytest.mark.parametrize("area", AREAS)
def test_every_area_is_a_module(area: str) -> None:
    assert importlib.util.find_spec(f"benchmarks.areas.{area}") is not None


@pytest.mark.long
def test_a_round_of_the_soak_makes_the_calls_it_counts_and_reads_the_memory() -> None:
    (result,) = soak.figures(0)
    assert result.note.startswith("1 rounds, 1,052 calls")
    assert result.sandbox[0] == result.floor[0] > 20


@pytest.mark.parametrize("path", ["gateway", "exchange", "order", "rpc"])
async def test_a_profiled_path_does_its_work_or_says_that_it_does_not(path: str) -> None:
    work = PATHS[path][1]()
    work()
    work()


def test_a_profile_shows_the_shares_of_functions_the_widest_first() -> None:
    displayed = report(
        "path", (12.34, 4, Counter(outer=4, inner=3), Counter(inner=3, outer=1))
    ).splitlines()
    assert displayed[2] == "12.3 µs a turn, 4 samples."
    assert displayed[6:] == ["| 100.0% | 25.0% | `outer` |", "| 75.0% | 75.0% | `inner` |"]


def test_an_earlier_commit_stands_beside_each_figure_that_it_has() -> None:
    faster = figure([20.0, 30.0], [20.0, 20.0], None)._replace(before=[10.0, 10.0])
    head, first, second = table([faster, figure([10.0], [20.0], None)]).splitlines()
    assert head.split() == [
        *("work", "before", "of", "before", "figure", "floor", "ratio", "goal", "verdict")
    ]
    assert first.split()[:6] == ["work", "10", "ms", "2.50", "25", "ms"]
    assert second.split()[:4] == ["work", "10", "ms", "20"]


def test_both_trees_are_measured_in_turns(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    turns: list[str] = []

    def before(area: str, tree: Path) -> dict[str, list[float]]:
        turns.append(f"{area} before")
        return {"work": [10.0]}

    def now(rounds: int) -> list[Figure]:
        turns.append(f"{rounds} now")
        return [figure([20.0], [5.0], None), Figure("new", "ms", [1.0], [], "")]

    monkeypatch.setattr("benchmarks.before._round", before)
    monkeypatch.setattr("benchmarks.before._fresh", lambda figures: figures(1))
    existing, new = in_turns("http", 2, tmp_path, now)
    assert turns == ["http before", "1 now"] * 2
    assert (existing.sandbox, existing.before) == ([20.0, 20.0], [10.0, 10.0])
    assert (new.sandbox, new.before) == ([1.0, 1.0], [])


def process(rounds: int) -> list[Figure]:
    return [figure([float(os.getpid())], [float(rounds)], None)]


def test_a_round_beside_an_earlier_commit_is_a_process_of_its_own() -> None:
    (result,) = _fresh(process)
    assert result.sandbox != [os.getpid()]
    assert result.floor == [1]


def test_a_kept_figure_names_its_rounds_as_every_commit_does() -> None:
    kept = figure([10.123456], [20.0], None)._replace(before=[5.0]).plain()
    assert kept["rounds"] == {"ours": [10.123], "floor": [20.0], "before": [5.0]}


def test_a_run_of_the_crowd_trades_the_same_for_every_worker_and_weighs_the_first_alone(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("benchmarks.crowd._BEGUN", [])
    first, second = crowd.run(MINUTE, 0), crowd.run(MINUTE, 1)
    assert first[:2] == second[:2]
    assert first.actions > crowd.EACH
    assert first.bytes_each is not None
    assert second.bytes_each is None
    output = crowd.report([first, second], 2, 10.0, MINUTE).splitlines()
    assert output[0] == "200 participants in 100 markets, 1 virtual minutes, 2 runs on 2 workers"
    assert output[2] == f"{first.actions / 10:,.0f} actions a second of a worker"


def test_the_control_room_is_fetched_with_every_file_that_a_browser_asks_for() -> None:
    with served("quickstart") as ready:
        paths = pages._with_its_files(ready["control"])
    room = Path(pages.__file__).parents[2] / "sim" / "server" / "room"
    scripts = {"/" + str(file.relative_to(room)) for file in room.rglob("*.js")}
    assert scripts - {*paths} <= {"/recorded.js"}
    assert "/style.css" in paths
