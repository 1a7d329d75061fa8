"""The commands of docs/search.md are commands: every option they show exists and fits together."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from sim.cli import parse

PAGE = Path(__file__).parent.parent.parent / "docs" / "search.md"
LINES = [line for block in re.findall(r"```sh\n(.*?)```", PAGE.read_text(), re.DOTALL) for line in block.splitlines()]


def test_the_page_shows_every_command_of_this_kind() -> None:
    assert {line.split()[1] for line in LINES} == {"sweep", "bisect", "shrink", "explore"}


@pytest.mark.parametrize("line", LINES)
def test_a_command_of_the_page_is_understood(line: str) -> None:
    given = parse(shlex.split(line, comments=True)[1:])
    assert callable(given.run)
    assert given.rest == (["-k", "orders"] if " -- " in line else [])
