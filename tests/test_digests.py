"""Digests of the bundled scenarios: a change that is not meant to change behaviour keeps them.

`python -m tests.test_digests` renews `fixtures/digests.json` after a change that is meant to change
them; the changelog then says why.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from sim.cli.main import main
from sim.kernel.resources import bundled_scenarios

RECORDED = Path(__file__).parent.parent / "fixtures" / "digests.json"
SEEDS = (1, 7, 42)


def digests(scenario: str, folder: Path) -> dict[str, str]:
    """Digest of every run of a scenario by its title and seed, as `sim run` reports them."""
    found = {}
    for seed in SEEDS:
        results = folder / f"{scenario}-{seed}.ndjson"
        assert main(["run", scenario, "--seeds", str(seed), "--results", str(results)]) == 0
        for line in results.read_text().splitlines():
            run = json.loads(line)["report"]
            chosen = ",".join(f"{name}={value}" for name, value in run["params"].items())
            found[f"seed {seed}, {chosen}" if chosen else f"seed {seed}"] = run["digest"]
    return found


@pytest.mark.parametrize("scenario", bundled_scenarios())
def test_a_bundled_scenario_keeps_its_digest(scenario: str, tmp_path: Path) -> None:
    recorded = json.loads(RECORDED.read_text())
    assert digests(scenario, tmp_path) == recorded[scenario]


if __name__ == "__main__":
    import tempfile

    with tempfile.TemporaryDirectory() as name:
        made = {scenario: digests(scenario, Path(name)) for scenario in bundled_scenarios()}
    RECORDED.write_text(json.dumps(made, indent=1) + "\n")
