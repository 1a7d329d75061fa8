"""Lengths of time as text, in both forms that scenarios and calls may use."""

from __future__ import annotations

import pytest

from sim.kernel.instants import NS_PER_S, format_span, parse_span


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("P1W", 604_800),
        ("P2W", 1_209_600),
        ("P1D", 86_400),
        ("PT1H", 3_600),
        ("PT1M", 60),
        ("PT1S", 1),
        ("PT0.5S", 0.5),
        ("PT0.000000001S", 1e-9),
        ("P1W2DT3H4M5.25S", 604_800 + 2 * 86_400 + 3 * 3_600 + 4 * 60 + 5.25),
        ("1d", 86_400),
        ("1h", 3_600),
        ("1m", 60),
        ("1s", 1),
        ("1ms", 1e-3),
        ("1us", 1e-6),
        ("1ns", 1e-9),
        ("0.5d", 43_200),
        ("1d2h3m4s5ms", 86_400 + 2 * 3_600 + 3 * 60 + 4 + 5e-3),
    ],
)
def test_each_unit_of_a_span_counts(text: str, seconds: float) -> None:
    span = round(seconds * NS_PER_S)
    assert (parse_span(text), parse_span(f"-{text}"), parse_span(f"+{text}")) == (span, -span, span)
    assert parse_span(format_span(span)) == span
