"""Digests of the bundled scenarios: a change that is not meant to change behaviour keeps them.

`python -m tests.run.test_digests` renews `fixtures/digests.json` after a change that is meant to change
them; the changelog then says why.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import pytest

from sim.cli.main import main
from sim.kernel.resources import bundled_scenarios

RECORDED = Path(__file__).parents[2] / "fixtures" / "digests.json"
SEEDS = (1, 7, 42)


def digests(scenario: str, folder: Path, seeds: Sequence[int] = SEEDS) -> dict[str, str]:
    """Digest of every run of a scenario by its seed and parameters, as `sim run` reports them."""
    result = {}
    for seed in seeds:
        results = folder / f"{scenario}-{seed}.ndjson"
        assert main(["run", scenario, "--seeds", str(seed), "--results", str(results)]) == 0
        for line in results.read_text().splitlines():
            run = json.loads(line)["report"]
            chosen = ",".join(f"{name}={value}" for name, value in run["params"].items())
            result[f"seed {seed}, {chosen}" if chosen else f"seed {seed}"] = run["digest"]
    return result


# A test of its own for each seed, so that the slow scenarios share out among processes.
@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("scenario", bundled_scenarios())
def test_a_bundled_scenario_keeps_its_digest(scenario: str, seed: int, tmp_path: Path) -> None:
    assert digests(scenario, tmp_path, [seed]) == recorded_digests(scenario, seed)


def recorded_digests(scenario: str, seed: int) -> dict[str, str]:
    """The recorded digests of the runs with a seed."""
    runs = json.loads(RECORDED.read_text())[scenario]
    return {run: digest for run, digest in runs.items() if run.split(",")[0] == f"seed {seed}"}


def test_digests_are_recorded_for_every_scenario_and_seed_and_for_no_other() -> None:
    recorded = json.loads(RECORDED.read_text())
    assert tuple(recorded) == bundled_scenarios()
    for runs in recorded.values():
        assert {run.split(",")[0] for run in runs} == {f"seed {seed}" for seed in SEEDS}


if __name__ == "__main__":
    import tempfile

    with tempfile.TemporaryDirectory() as name:
        renewed = {scenario: digests(scenario, Path(name)) for scenario in bundled_scenarios()}
    RECORDED.write_text(json.dumps(renewed, indent=1) + "\n")
