"""Recorded reference data and games of the default world.

What a planned game ends with and what a market is called is fiction, but it must stay: clients name
it in their tests, and journals replay to it. Rules about it have tests of their own; a recording
holds the rest, in text that one can read. After a change on purpose run `RECORD=1 pytest FILE`, and
read the difference before it is committed. Tests of recordings are marked `recorded`: they fail on
every change, so they do not count when mutants ask what the other tests notice.
"""

from __future__ import annotations

import os
from pathlib import Path


def check_recorded(name: str, lines: list[str]) -> None:
    """Compare lines with those of a file of this folder, or write them with RECORD=1."""
    file = Path(__file__).parent / name
    if os.environ.get("RECORD"):
        file.write_text("".join(f"{line}\n" for line in lines))
    assert lines == file.read_text().splitlines()
