"""`sim hunt`: the same hunt again, what it reaches, what it leaves, and whether it would notice."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from sim.cli.main import main
from sim.read.decisions import RULES
from sim.read.features import FeatureReader, totals
from sim.run.loader.load import load_scenario
from sim.run.simulation import Simulation
from sim.search.fuzz import with_random_steps

BUDGET = "250"
RANDOM_INPUTS = 1_000


def hunt(folder: Path, *more: str) -> tuple[int, dict[str, Any]]:
    """Exit code and JSON of a hunt in the default world."""
    result = folder / "hunt.json"
    saved = ("--save-failures", str(folder / "found"))
    code = main(["hunt", "--json", str(result), *saved, *more])
    return code, json.loads(result.read_text())


def without_time(document: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in document.items() if name != "cpu_s"}


@pytest.mark.reading("documented")  # workers follow no patched simulation
@pytest.mark.long
def test_the_same_seed_and_budget_are_the_same_hunt(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    documents = []
    for jobs in ("1", "2"):
        options = ("--inputs", BUDGET, "--seed", "3", "--keep-going", "--jobs", jobs)
        documents.append(hunt(tmp_path / jobs, *options)[1])
        documents[-1]["found"] = [finding["says"] for finding in documents[-1]["found"]]
    assert without_time(documents[0]) == without_time(documents[1])
    assert documents[0]["inputs"] >= int(BUDGET)
    assert documents[0]["features"]["operations"] > 20


@pytest.mark.long
def test_a_hunt_meets_far_more_than_random_steps_of_as_many_inputs(tmp_path: Path) -> None:
    random: set[str] = set()
    inputs = 0
    while inputs < RANDOM_INPUTS:
        scenario = with_random_steps(load_scenario("quickstart"), inputs, 100)
        simulation = Simulation(scenario, seed=inputs)
        reader = FeatureReader(simulation)
        while not simulation.script.done and (due := simulation.next_due()) is not None:
            random.update(reader.after_input(simulation.advance_to(due)))
        inputs += simulation.seq
    hunted = hunt(tmp_path, "--inputs", str(RANDOM_INPUTS), "--keep-going")[1]
    features, rules = hunted["features"], hunted["rules"]
    assert len(rules) == features["rules"]
    assert hunted["never"]["rules"] == [rule for rule in RULES if rule not in rules]
    assert all(0 < row["inputs"] <= hunted["inputs"] for row in rules.values())
    met = totals(random)
    assert features["operations"] >= 2 * met["operations"]  # each episode ends with reads
    assert features["answers"] >= 2 * met["answers"]
    assert features["rules"] > met["rules"]


def test_a_hunt_repeats_its_corpus_and_goes_on_with_new_rounds(tmp_path: Path) -> None:
    corpus = ("--corpus", str(tmp_path / "corpus"), "--seed", "3", "--keep-going")
    _, first = hunt(tmp_path, "--inputs", "300", *corpus)
    kept = json.loads((tmp_path / "corpus" / "corpus.json").read_text())["sequences"]
    _, repeated = hunt(tmp_path, "--inputs", "1", *corpus)
    assert first["moments"] == repeated["moments"] == len(kept) > 0
    for group in ("operations", "edges"):
        assert repeated["features"][group] == first["features"][group]
    _, further = hunt(tmp_path, "--inputs", "3000", *corpus)
    assert further["moments"] > first["moments"]
    assert further["features"]["operations"] > first["features"]["operations"]


def test_a_corpus_of_another_seed_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    corpus = ("--corpus", str(tmp_path / "corpus"), "--inputs", "1")
    main(["hunt", *corpus, "--seed", "3", "--save-failures", str(tmp_path)])
    code = main(["hunt", *corpus, "--seed", "4", "--save-failures", str(tmp_path)])
    assert code == 2
    err = " ".join(capsys.readouterr().err.split())
    assert "belongs to another scenario, seed (3) or version" in err


@pytest.mark.reading("documented")  # workers follow no patched simulation
@pytest.mark.long
def test_a_cluster_of_two_workers_makes_the_same_hunt(tmp_path: Path) -> None:
    distributed = pytest.importorskip("distributed")
    options = ("--inputs", "60", "--seed", "3", "--keep-going")
    _, here = hunt(tmp_path, *options)
    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None
    ) as cluster:
        _, there = hunt(tmp_path, *options, "--cluster", cluster.scheduler_address)
    assert without_time(there) == without_time(here)


def test_junit_has_a_case_for_each_kind_of_trouble_and_the_canary(tmp_path: Path) -> None:
    file = tmp_path / "hunt.xml"
    _, document = hunt(tmp_path, "--inputs", "40", "--keep-going", "--junit", str(file))
    (suite,) = ElementTree.parse(file).getroot()
    cases = {case.attrib["name"]: case for case in suite.findall("testcase")}
    assert {"invariant", "contradiction", "replay", "canary"} <= set(cases)
    failed = {name for name, case in cases.items() if case.find("failure") is not None}
    assert failed == {finding["kind"] for finding in document["found"]} | (
        set() if document["canary"]["found"] else {"canary"}
    )


def test_a_find_leaves_a_journal_that_replays_and_a_scenario(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """With the canary in every episode it is no canary any more, but a find like any other."""
    from sim.search.hunt import campaign
    from sim.search.hunt.episode import Episode

    begin = Episode.__init__

    def planted(self: Episode, simulation: Simulation) -> None:
        campaign.plant_canary(simulation)
        begin(self, simulation)

    monkeypatch.setattr(Episode, "__init__", planted)
    monkeypatch.setattr(campaign, "CANARY_EVERY", 10_000)
    monkeypatch.setattr("sim.search.hunt.oracles.replays", lambda simulation: iter(()))
    scenario = tmp_path / "tiny.yaml"
    scenario.write_text("name: tiny\nextends: [quickstart]\nworld: {games: 0}\n")
    code, document = hunt(tmp_path, str(scenario), "--inputs", "20000", "--seed", "1")
    assert code == 1
    (finding,) = document["found"]
    assert finding["kind"] == "invariant"
    assert "orders" in finding["says"]
    journal = Path(finding["journal"])
    assert len(journal.read_bytes().splitlines()) < 40
    assert main(["replay", str(journal)]) == 0
    assert main(["check", finding["scenario"]]) == 0
    out = capsys.readouterr().out
    assert "FOUND invariant" in out
    assert "blind: the canary" in out


def test_a_hunt_that_was_interrupted_tells_what_it_has(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from sim.search.hunt.campaign import ROUND, Campaign

    def interrupted(self: Campaign) -> bool:
        if self.state.episodes >= ROUND:
            raise KeyboardInterrupt
        return False

    monkeypatch.setattr(Campaign, "_over", interrupted)
    code, document = hunt(tmp_path, "--inputs", "5000", "--keep-going")
    assert code == 130
    assert document["interrupted"]
    assert document["features"]["operations"] > 0
    assert "interrupted" in capsys.readouterr().err


@pytest.mark.parametrize("option", [("--inputs", "x"), ("--minutes", "-1"), ("--jobs", "0")])
def test_a_mistake_of_the_command_line_is_told(
    option: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["hunt", *option])
    assert ended.value.code == 2
    assert f"sim hunt: {option[0]}: " in capsys.readouterr().err


def test_a_scenario_that_does_not_exist_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["hunt", "nope.yaml"]) == 2
    assert "nope.yaml" in capsys.readouterr().err
