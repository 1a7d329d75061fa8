"""`--exchange-coverage`, `sim run --coverage` and `sim coverage`: what tests met, and what not."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from sim.cli.main import main
from sim.core.catalogue import quirks

pytest_plugins = ["pytester"]

SUITE = """
    import json
    import urllib.error
    import urllib.request
    import pytest

    def get(url):
        try:
            with urllib.request.urlopen(url) as answer:
                return answer.status
        except urllib.error.HTTPError as error:
            return error.code

    def test_health(exchange):
        assert get(exchange.gateway + "/v1/health") == 200
        exchange.reset()
        assert get(exchange.gateway + "/v1/health") == 200

    def test_refused(exchange):
        assert get(exchange.retail + "/v1/orders/open") == 401

    def test_a_fork_counts_too(exchange):
        assert get(exchange.fork().gateway + "/v1/health") == 200

    def test_faulted(exchange):
        exchange.fault("GetGatewayHealth", status=503)
        assert get(exchange.gateway + "/v1/health") == 503
        assert get(exchange.gateway + "/nowhere") == 404

    @pytest.mark.scenario("later.yaml", steps="ignore")
    def test_later(exchange):
        exchange.clock.to("2027-01-01T00:00:00Z")
"""
# with few games: the clock goes over months
LATER = "name: later\nextends: webhook-trouble\nworld: {games: 4}\n"
HEALTH = "GatewayHealthAPI.GetGatewayHealth"


def suite(pytester: pytest.Pytester, *options: str) -> tuple[dict[str, Any], str]:
    pytester.makepyfile(SUITE)
    pytester.makefile(".yaml", later=LATER)
    result = pytester.runpytest_subprocess(
        "--exchange-coverage=met.json", "-p", "no:cacheprovider", "-q", *options
    )
    result.assert_outcomes(passed=5)
    return json.loads((pytester.path / "met.json").read_text()), result.stdout.str()


@pytest.mark.long
def test_a_suite_says_what_it_met_and_what_it_never_met(pytester):
    document, out = suite(pytester)
    assert (document["coverage"], document["runs"]) == (1, 5)
    health = document["operations"][HEALTH]
    assert (health["calls"], health["planes"]) == (4, {"gateway": 4, "retail": 0})
    assert health["answers"] == [
        {"plane": "gateway", "status": 200, "code": 0, "rule": "", "count": 3},
        {"plane": "gateway", "status": 503, "code": 14, "rule": "T2", "count": 1},
    ]
    (refused,) = document["operations"]["RetailOrdersAPI.ListOpenOrders"]["answers"]
    assert (refused["status"], refused["rule"]) == (401, "S5.2-1")
    assert document["operations"]["unknown path"]["answers"][0]["status"] == 404
    assert document["operations"]["OrderEntryAPI.InsertOrder"]["calls"] == 0
    assert document["faults"]["status"]["gateway"] == 1
    assert document["faults"]["hang"]["webhook"] == 1
    assert document["faults"]["hang"]["grpc"] == 0
    assert document["quirks"]["session_revocation"] == 0
    assert (document["first"], document["last"]) == ("2026-09-08T18:00:00Z", "2027-01-01T00:00:00Z")
    sides = {row["from"]: (row["before"], row["after"]) for row in document["dates"]}
    assert {at: pair for at, pair in sides.items() if at < document["first"]} == {
        at: (False, True) for at in sides if at < document["first"]
    }
    assert (True, True) in sides.values()
    assert "5 runs met" in out and "sim coverage" in out
    assert suite(pytester, "-n2")[0] == document  # workers hand their parts over


def test_a_file_that_cannot_be_written_is_refused_before_the_tests_run(pytester):
    pytester.makepyfile(SUITE)
    pytester.makefile(".yaml", later=LATER)
    (pytester.path / "folder").mkdir()
    result = pytester.runpytest_subprocess("--exchange-coverage=folder", "-q")
    result.stderr.fnmatch_lines(["*--exchange-coverage folder: Is a directory*"])
    assert result.ret == pytest.ExitCode.USAGE_ERROR


def test_runs_and_files_add_up(tmp_path, capsys):
    first, second, both = (str(tmp_path / name) for name in ("a.json", "b.json", "c.json"))
    assert main(["run", "webhook-trouble", "--coverage", first]) == 0
    assert main(["run", "kyc-approval-window", "--coverage", second]) == 0
    scenarios = ["webhook-trouble", "kyc-approval-window"]
    assert main(["run", *scenarios, "--jobs", "2", "--coverage", both]) == 0
    capsys.readouterr()
    assert main(["coverage", first, second, "--json"]) == 0
    together = json.loads(capsys.readouterr().out)
    assert together == json.loads(Path(both).read_text())
    assert together["operations"]["KYCAPI.StartKYCVerification"]["calls"] == 4
    assert together["quirks"]["empty_participant_window"] == 1
    assert main(["coverage", both]) == 0
    out = capsys.readouterr().out
    assert "    3  exchange  200\n" in out.replace("     3", "    3")
    assert f"{len(quirks.catalogue()) - 1} quirks never met" in out


@pytest.mark.parametrize("text", ["", "{}", '{"coverage": 2}', '{"coverage": 1, "runs": 1}', "[1]"])
def test_what_is_no_coverage_file_is_refused(text, tmp_path, capsys):
    file = tmp_path / "met.json"
    file.write_text(text)
    assert main(["coverage", str(file)]) == 2
    assert "is not a coverage file" in capsys.readouterr().err
