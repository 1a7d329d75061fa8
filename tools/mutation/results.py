"""The verdicts on the mutants of a sample. They are written line by line, so an interrupted run
keeps its results and can be continued.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

import yaml

from tools.mutation.areas import ROOT
from tools.mutation.operators import Mutant, mutants

KEPT = ROOT / "build" / "mutation"
EQUIVALENT = Path(__file__).parent / "equivalent.yaml"
AREA_LEAST, ALL_LEAST = 90, 95  # per cent
KILLED, SURVIVED, EQUAL, OPEN = "killed", "survived", "equivalent", "not tried"

Key = tuple[str, str, str, str]


def known_equivalents() -> set[Key]:
    """Return the keys of mutants whose change no client can see."""
    rows = yaml.safe_load(EQUIVALENT.read_text()) or []
    return {(row["file"], row["function"], row["before"], row["after"]) for row in rows}


class Row(NamedTuple):
    """A mutant, its area and its verdict; `by` is the test that failed."""

    area: str
    mutant: Mutant
    verdict: str
    by: str = ""


class Results:
    """The verdicts of a sample, by area and mutant; with `path` None they are not saved."""

    def __init__(self, drawn: dict[str, list[Mutant]], path: Path | None) -> None:
        self._path = path
        self._equal = known_equivalents()
        self.rows = {
            (area, mutant): Row(area, mutant, EQUAL if mutant.key in self._equal else OPEN)
            for area, of_area in drawn.items()
            for mutant in of_area
        }
        if path is not None:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.unlink(missing_ok=True)
            for row in self.rows.values():
                self._keep(row)

    @classmethod
    def resumed(cls, path: Path, again: bool) -> Results:
        """Return the sample of a file with its verdicts; `again` removes those of survivors.

        Mutants whose code is no longer there are dropped.
        """
        lines = [json.loads(line) for line in path.read_text().splitlines()]
        verdicts = {(line["area"], *line["key"]): line for line in lines}  # the last one counts
        present: dict[str, dict[Key, Mutant]] = {}
        drawn: dict[str, list[Mutant]] = {}
        gone = 0
        for area, *key in verdicts:
            file = key[0]
            if file not in present:
                text = (ROOT / file).read_text() if (ROOT / file).exists() else ""
                present[file] = {item.key: item for item in mutants(file, text)}
            mutant = present[file].get((key[0], key[1], key[2], key[3]))
            if mutant is None:
                gone += 1
            else:
                drawn.setdefault(area, []).append(mutant)
        if gone:
            print(f"{gone} mutants of this sample are of code that has changed: left out")
        result = cls(drawn, None)
        result._path = path
        for (area, mutant), row in result.rows.items():
            was = verdicts[area, *mutant.key]
            if row.verdict == OPEN and (was["verdict"] == KILLED or not again):
                kept = was["verdict"] if was["verdict"] in (KILLED, SURVIVED) else OPEN
                result.rows[area, mutant] = Row(area, mutant, kept, was["by"])
        return result

    def open(self, area: str) -> list[Mutant]:
        """Return the mutants of an area that have no verdict yet."""
        return [row.mutant for row in self._of(area) if row.verdict == OPEN]

    @property
    def areas(self) -> list[str]:
        """Return the areas, in the order of the sample."""
        return list(dict.fromkeys(area for area, _ in self.rows))

    def add(self, area: str, mutant: Mutant, by: str) -> None:
        """Record the test that failed, or "" for a survivor."""
        row = Row(area, mutant, KILLED if by else SURVIVED, by)
        self.rows[area, mutant] = row
        self._keep(row)

    def _keep(self, row: Row) -> None:
        if self._path is None:
            return
        kept = {
            "area": row.area,
            "line": row.mutant.line,
            "key": row.mutant.key,
            "verdict": row.verdict,
            "by": row.by,
        }
        with self._path.open("a") as file:
            file.write(json.dumps(kept) + "\n")

    def survivors(self, area: str) -> list[Mutant]:
        """Return the mutants of an area that no test detected."""
        return [row.mutant for row in self._of(area) if row.verdict == SURVIVED]

    def _of(self, area: str) -> Iterable[Row]:
        return [row for row in self.rows.values() if row.area == area]

    def table(self) -> tuple[list[str], bool]:
        """Return lines with the figures of each area, and whether all areas reach their minimum."""
        heads = ("mutants", "equivalent", "killed", "survived", "not tried")
        lines = [f"{'area':26} " + " ".join(f"{head:>10}" for head in heads) + f" {'%':>6}"]
        total: Counter[str] = Counter()
        reached = True
        for area in [*self.areas, "all"]:
            count = Counter(row.verdict for row in self._of(area)) if area != "all" else total
            if area != "all":
                total = total + count
            tried = count[KILLED] + count[SURVIVED]
            share = 100 * count[KILLED] / tried if tried else 100.0
            reached &= share >= (ALL_LEAST if area == "all" else AREA_LEAST) and not count[OPEN]
            figures = (sum(count.values()), count[EQUAL], count[KILLED], count[SURVIVED])
            displayed = " ".join(f"{figure:10}" for figure in (*figures, count[OPEN]))
            lines.append(f"{area:26} {displayed} {share:6.1f}")
        return lines, reached
