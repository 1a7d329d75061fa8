"""The messages for more than 150 typical mistakes; `make outputs` renews the tables."""

from __future__ import annotations

import re

import pytest

from tests.mistakes.table import SURFACES, rows

TABLE = [(surface, row) for surface in SURFACES for row in rows(surface)]
# Words of the program's own inside, which a user cannot know.
PRIVATE = re.compile(r"Traceback|sim/\w+/\w+\.py|<class|object at 0x|NoneType|During handling")


def _name(value: object) -> str:
    return " ".join(str(value["mistake"]).split())[:60] if isinstance(value, dict) else str(value)


@pytest.mark.long
@pytest.mark.parametrize(("surface", "row"), TABLE, ids=_name)
def test_a_mistake_is_told_as_it_was_reviewed(surface, row):
    output = SURFACES[surface](str(row["mistake"]))
    assert output == row["says"], "`make outputs` renews the tables: read them as a newcomer would"
    assert not PRIVATE.search("\n".join(output))


def test_there_are_150_and_each_is_told():
    assert len(TABLE) >= 150
    assert not [row["mistake"] for _, row in TABLE if row["says"] == ["fine"]]
