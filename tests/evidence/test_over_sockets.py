"""A session over real sockets, through `sim serve` and `sim record`, compared with the scenario."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.evidence import fresh_session as fresh
from tests.evidence.conftest import Compare, differences
from tests.evidence.over_sockets import planted_over_sockets

pytestmark = [pytest.mark.reading("documented"), pytest.mark.soak]


@pytest.mark.parametrize("number", [602, 702])
def test_nothing_differs(number: int, tmp_path: Path, compare: Compare) -> None:
    parts = (fresh.drawn(number),)
    file = planted_over_sockets(tmp_path, "served", {}, seed=number, parts=parts)
    for seed in (number, number + 900):
        options = ("--scenario", str(tmp_path / "small.yaml"), "--seed", str(seed))
        code, result = compare(file, *options)
        assert (code, differences(result)) == (0, [])
    assert result["totals"]["agree"] > 100
