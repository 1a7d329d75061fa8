"""The judge over sockets: a partner's test asks it at the end, through the fixture or the control
plane.
"""

from __future__ import annotations

from xml.etree import ElementTree

import pytest

from sim.testing.control import ControlError
from tests.kit.http import call


def hasty(exchange) -> None:
    """A client that repeats a failing call at once."""
    with exchange.fault("ListLeagues", status=503):
        for _ in range(2):
            assert call(f"{exchange.gateway}/v2/leagues").status == 503


def test_the_fixture_judges_the_client_of_a_test(exchange):
    assert call(f"{exchange.gateway}/v2/leagues").status == 200
    assert exchange.conformance().ok
    hasty(exchange)
    report = exchange.conformance()
    assert report.broken() == ["backoff"], "\n".join(report.lines())
    assert exchange.conformance(rules=("retry-after",)).ok


def test_the_control_plane_judges_in_json_and_junit(exchange):
    hasty(exchange)
    result = exchange.control("GET", "/conformance?rules=backoff")
    assert result["ok"] is False and result["rules"][0]["findings"][0]["because_of"] == 2
    assert exchange.control("GET", "/conformance?caller=firms/nobody")["ok"]
    suite = ElementTree.fromstring(exchange.control("GET", "/conformance?form=junit"))[0]
    assert suite.get("failures") == "1"
    with pytest.raises(ControlError, match="unknown rule") as refused:
        exchange.control("GET", "/conformance?rules=nothing")
    assert refused.value.status == 404
