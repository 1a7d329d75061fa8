"""Texts of refusals."""

from __future__ import annotations

import pytest

from sim.core.model.refusals import cut


@pytest.mark.parametrize("length", [0, 1, 79, 80, 81, 5000])
def test_a_name_that_a_client_sent_is_repeated_up_to_eighty_characters(length: int) -> None:
    name = "".join(chr(97 + at % 26) for at in range(length))
    assert cut(name) == name[: min(length, 80)]
