"""Kill a server under load, repeatedly: `python -m tools.soak.kills --rounds 100` (`make soak`).

In a round three clients of one surface place orders until their server is killed, after a number of
answers that the seed determines. Then the journal must replay, line by line, to an exchange that
holds every order that was acknowledged (design D5). The surfaces take turns.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import NamedTuple

from tools.soak.load import SURFACES, Load, Server, lost_orders


class Round(NamedTuple):
    """The result of a round: acknowledged orders, those of them that are lost, and replayed
    inputs.
    """

    acknowledged: int
    lost: set[str]
    replayed: int


def kill_round(surface: str, folder: Path, answers: int) -> Round:
    """Kill a server after some answers. Raises Divergence if its journal does not replay."""
    server = Server(folder)
    load = Load(server, surface)
    try:
        assert load.wait(answers), f"{surface}: {len(load.acknowledged)} answers only"
    finally:
        server.process.kill()
        load.stop()
        server.process.communicate()
    return Round(len(load.acknowledged), *lost_orders(server.journal, load.acknowledged))


def main() -> int:
    """Run the rounds; return 1 if an acknowledged order is lost."""
    parser = argparse.ArgumentParser(prog="python -m tools.soak.kills", description=__doc__)
    parser.add_argument("--rounds", type=int, default=100)
    parser.add_argument("--seed", type=int, default=7)
    args = parser.parse_args()
    random, total, lost = Random(args.seed), 0, 0
    for number in range(args.rounds):
        surface = tuple(SURFACES)[number % len(SURFACES)]
        with TemporaryDirectory(prefix="sim-kill-") as folder:
            done = kill_round(surface, Path(folder), random.randint(1, 120))
        total, lost = total + done.acknowledged, lost + len(done.lost)
        print(
            f"round {number + 1}, {surface}: {done.acknowledged} acknowledged, {len(done.lost)}"
            f" lost, {done.replayed} inputs replayed",
            flush=True,
        )
    print(f"{args.rounds} kills, {total} acknowledged orders, {lost} lost")
    return 1 if lost else 0


if __name__ == "__main__":
    raise SystemExit(main())
