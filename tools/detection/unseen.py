"""Hunts for bugs that nobody who wrote a judge has seen: `python -m tools.detection.unseen FILE`.

FILE has the form of `exchange_bugs.yaml`. Write it from the specification, the page *Rules* and the
sources of the exchange alone, without a look at `sim/oracle`, `sim/search` or the tests, and run it
once. Afterwards its bugs are examples like others.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from time import process_time

import yaml

from sim.kernel.entropy import Entropy
from sim.search.hunt.episode import Episode
from sim.search.hunt.roots import roots_of, start_of
from sim.search.hunt.sequences import random_sequence
from sim.search.hunt.troubles import Trouble
from tools.detection.rewriting import Rewrite, planted

ROOTS = roots_of()


def episode(seed: int, number: int) -> list[Trouble]:
    """Return what is wrong in one random episode."""
    draws = Entropy(seed).stream(f"fresh {number}")
    return Episode(start_of(ROOTS[draws.below(len(ROOTS))], 1)).run(random_sequence(draws)).troubles


def find(bug: Rewrite, seed: int, seconds: float) -> str:
    """Return the first trouble that the same episode lacks without the bug; "" if there is none."""
    began, number = process_time(), 0
    while process_time() - began < seconds:
        with planted(bug):
            troubles = episode(seed, number)
        if troubles and not any(each.is_like(troubles[0]) for each in episode(seed, number)):
            return f"{process_time() - began:.1f} s: {troubles[0].kind}: {troubles[0].text}"
        number += 1
    return ""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("file", type=Path)
    parser.add_argument("--bug", action="append", default=[], help="only these bugs")
    parser.add_argument("--seconds", type=float, default=180, help="of processor time for each bug")
    parser.add_argument("--seed", type=int, default=20261129)
    args = parser.parse_args()
    bugs = yaml.safe_load(args.file.read_text())
    names = args.bug or list(bugs)
    count = 0
    for name in names:
        bug = bugs[name]
        text = find(Rewrite(bug["place"], bug["old"], bug["new"]), args.seed, args.seconds)
        count += bool(text)
        print(f"{name}: {text or 'missed'}", flush=True)
    print(f"{count} of {len(names)} found")


if __name__ == "__main__":
    main()
