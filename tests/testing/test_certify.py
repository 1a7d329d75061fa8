"""`sim certify`: good clients pass, and each bug of the reference client costs exactly the item
that names it.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from xml.etree import ElementTree
from zipfile import ZipFile

import pytest
import yaml

from sim import Simulation
from sim.cli.main import main
from sim.read.conformance import rulebook
from sim.run.client.client import RpcError, connect
from sim.testing.certify import bundle, profile
from sim.testing.certify.judge import LegResult, judge, leg_of_simulation
from sim.testing.certify.profile import load_profile
from sim.testing.certify.report import lines
from tests.testing.reference import BUGS, GaveUp, ReferenceClient

PROFILE = load_profile()
LEGS = {leg.id: leg for leg in PROFILE.legs}
# The leg without trouble shows these items; every other needs the leg beside it. Both are run.
SHOWN_IN = {
    "survives-errors": "errors",
    "survives-limits": "limited",
    "survives-lost-answers": "lost",
    "survives-401": "unauthorized",
    "survives-streams": "streams",
    "survives-revocation": "revoked",
    "works-after-announced-dates": "announced",
    "backoff": "errors",
    "at-most-five-attempts": "outage",
    "idempotent-retry": "lost",
    "no-dead-token": "unauthorized",
    "market-state": "halted",
    "not-after-expiry": "halted",
    "streams-are-resumed": "streams",
    "no-revocation-storm": "revoked",
    "reconnect-backoff": "maintenance",
    "duplicates-acknowledged": "webhooks",
}
READER = """
import json, os, sys, urllib.request
for _ in range(2):
    with urllib.request.urlopen(os.environ["SIM_GATEWAY"] + "/v2/leagues") as answer:
        json.load(answer)
ready = json.load(open(os.environ["SIM_READY_FILE"]))
assert ready["gateway"] == os.environ["SIM_GATEWAY"]
"""
LEAGUES = """
import os, urllib.request

def test_leagues():
    for _ in range(2):
        try:
            urllib.request.urlopen(os.environ["SIM_GATEWAY"] + "/v2/leagues").close()
        except OSError:
            raise AssertionError("my secret") from None
"""


def run_leg(leg: str, bug: str = "") -> LegResult:
    """What the reference client leaves in a leg."""
    sim, code = Simulation(LEGS[leg].load()), 0
    try:
        ReferenceClient(connect(sim), bug).run()
    except (GaveUp, RpcError, AssertionError):
        code = 1
    return leg_of_simulation(LEGS[leg], sim, code)


def failed(legs: Sequence[LegResult]) -> list[str]:
    verdicts = judge(PROFILE, legs).verdicts
    return [entry.item.id for entry in verdicts if entry.verdict == "failed"]


@pytest.fixture(scope="module")
def good() -> list[LegResult]:
    """What the client without a bug leaves in every leg."""
    return [run_leg(leg) for leg in LEGS]


@pytest.mark.long
def test_a_good_client_passes_and_what_it_never_did_is_not_exercised(good: list[LegResult]) -> None:
    report = judge(PROFILE, good)
    assert report.ok and not failed(good)
    unexercised = [entry.item.id for entry in report.verdicts if entry.verdict == "not exercised"]
    assert unexercised == [
        "survives-retail-maintenance",
        "narrow-reports",
        "price-precision",
        "quotes-by-the-requester",
        "confirm-in-time",
    ]
    assert [entry.evidence for entry in report.verdicts if entry.verdict == "not exercised"][
        :4
    ] == [
        ("it needs CreateOrder and a call after it, which the tests did not make",),
        (
            "it applies to the next report query after the 504 of an unfiltered one, and there was"
            " no such case",
        ),
        ("it applies to a retail order with a price, and there was no such case",),
        ("it applies to a quote on a request, and there was no such case",),
    ]


@pytest.mark.parametrize(
    ("leg", "needs"),
    [
        (
            "limited",
            "two calls of gateway, two calls of retail, two calls of exchange or two calls of grpc",
        ),
        ("lost", "InsertOrder, CreateOrder or CancelOrder"),
        ("lost-then-error", "InsertOrder twice or CreateOrder twice"),
        ("streams", "two frames of a stream"),
        ("maintenance-retail", "CreateOrder and a call after it"),
    ],
)
def test_a_leg_says_which_calls_would_have_met_its_trouble(leg: str, needs: str) -> None:
    """The client only lists markets, once."""
    sim = Simulation(LEGS[leg].load())
    assert connect(sim).gateway.get("/v1/markets?limit=1").status == 200
    report = judge(PROFILE, [leg_of_simulation(LEGS[leg], sim, 0)])
    (verdict,) = (entry for entry in report.verdicts if entry.item.leg == leg)
    assert verdict.verdict == "not exercised"
    assert verdict.evidence == (f"it needs {needs}, which the tests did not make",)
    text = f"not exercised: {verdict.item.id}: it needs {needs}"
    assert text in " ".join(" ".join(lines(report)).split())


def test_every_item_and_leg_says_what_a_client_lacks() -> None:
    assert all(item.unmet for item in PROFILE.items if item.rule)
    assert all("needs " in leg.unmet for leg in PROFILE.legs)


@pytest.mark.parametrize("bug", BUGS)
def test_a_bug_costs_exactly_the_item_that_names_it(bug: str, good: list[LegResult]) -> None:
    item = BUGS[bug]
    again = {leg: run_leg(leg, bug) for leg in {"plain", SHOWN_IN.get(item, "plain")}}
    assert failed([again.get(leg.leg, leg) for leg in good]) == [item]


def test_every_rule_that_is_no_advice_is_an_item() -> None:
    binding = {rule.name for rule in rulebook().values() if not rule.advice}
    assert {item.rule for item in PROFILE.items if item.rule} == binding
    assert len({item.id for item in PROFILE.items}) == len(PROFILE.items)
    assert all(item.summary and item.why and item.section[0] == "§" for item in PROFILE.items)
    assert len(BUGS) >= 20 and set(BUGS.values()) <= {item.id for item in PROFILE.items}


def test_a_client_that_never_calls_shows_nothing() -> None:
    results = [leg_of_simulation(leg, Simulation(leg.load()), 0) for leg in PROFILE.legs[:2]]
    report = judge(PROFILE, results)
    assert not report.ok
    assert {item.verdict for item in report.verdicts} == {"not exercised"}
    reported = " ".join(" ".join(lines(report)).split())
    assert "They find it by SIM_READY_FILE" in reported and "fixture `exchange`" in reported


@pytest.fixture(scope="module")
def certified(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a client that reads the leagues, without ever trying again."""
    folder = tmp_path_factory.mktemp("certified")
    (folder / "reader.py").write_text(READER)
    command = ["--", sys.executable, str(folder / "reader.py")]
    out = folder / "out"
    assert main(["certify", "--clock", "manual", "--out", str(out), *command]) == 1
    return out


@pytest.mark.long
def test_a_command_finds_the_exchange_and_its_report_has_every_form(certified: Path) -> None:
    report = json.loads((certified / "report.json").read_text())
    verdicts = {item["id"]: item["verdict"] for item in report["items"]}
    assert verdicts["tests"] == "passed" and verdicts["survives-errors"] == "failed"
    assert verdicts["narrow-reports"] == "not exercised"
    assert "not the venue's certificate" in report["note"]
    assert [leg["code"] for leg in report["legs"] if leg["leg"] == "outage"] == [1]
    suite = ElementTree.parse(certified / "junit.xml").getroot()[0]
    assert suite.get("tests") == str(len(PROFILE.items))
    assert suite.get("skipped") == str(report["totals"]["not exercised"])
    page = (certified / "index.html").read_text()
    assert "not the venue" in page and PROFILE.digest in page
    assert page.rindex('class="failed"') < page.index('class="passed"')
    ElementTree.fromstring((certified / "badge.svg").read_text())


def test_a_bundle_replays_to_the_same_digests_and_holds_no_key(
    certified: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    bundle = certified / "bundle.zip"
    main(["certify", "--check", str(bundle)])
    assert "replay to the same digests and the same verdicts" in capsys.readouterr().out
    with ZipFile(bundle) as files:
        total = b"".join(files.read(name) for name in files.namelist())
    assert b"PRIVATE KEY" not in total and b'"secret_key"' not in total


def test_a_bundle_that_claims_more_than_its_journals_show_is_caught(
    certified: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    forged = tmp_path / "forged.zip"
    with ZipFile(certified / "bundle.zip") as files, ZipFile(forged, "w") as copy:
        for name in files.namelist():
            text = files.read(name)
            if name == "report.json":
                text = text.replace(b'"verdict": "not exercised"', b'"verdict": "passed"', 1)
            copy.writestr(name, text)
    assert main(["certify", "--check", str(forged)]) == 3
    assert "became not exercised" in capsys.readouterr().out


@pytest.fixture
def two_legs(monkeypatch: pytest.MonkeyPatch) -> None:
    """The profile has two of its legs, `plain` and `errors`, so that each test runs twice."""
    (name,) = (item for item in profile.profiles() if item.startswith(f"{profile.DEFAULT}-"))
    document = yaml.safe_load(profile.profiles()[name])
    kept = ("plain", "errors")
    document["legs"] = [leg for leg in document["legs"] if leg["id"] in kept]
    document["items"] = [item for item in document["items"] if item.get("leg", "plain") in kept]
    text = yaml.safe_dump(document).encode()
    for module in (profile, bundle):
        monkeypatch.setattr(module, "profiles", lambda: {name: text})


@pytest.mark.long
@pytest.mark.usefixtures("two_legs")
def test_what_failed_is_named_and_what_it_said_stays_with_who_ran_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "test_leagues.py").write_text(LEAGUES)
    (tmp_path / "pytest.ini").write_text("[pytest]\n")  # tests are named from here, wherever we run
    out = tmp_path / "out"
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", str(tmp_path)]
    assert main(["certify", "--clock", "manual", "--out", str(out), "--", *command]) == 1
    output = capsys.readouterr().out
    assert (
        "  errors: test_leagues::test_leagues failed\n      AssertionError: my secret\n" in output
    )
    assert "legs/LEG/output.txt" in output
    legs = {leg["leg"]: leg for leg in json.loads((out / "report.json").read_text())["legs"]}
    assert legs["errors"]["failing"] == ["test_leagues::test_leagues"]
    assert legs["plain"]["failing"] == []
    with ZipFile(out / "bundle.zip") as files:
        assert b"my secret" not in b"".join(files.read(name) for name in files.namelist())
    for name in ("report.json", "junit.xml", "index.html"):
        assert "my secret" not in (out / name).read_text()
    assert main(["certify", "--check", str(out / "bundle.zip")]) == 1
    checked = capsys.readouterr().out
    assert "errors: test_leagues::test_leagues failed" in checked and "my secret" not in checked
    assert "replay to the same digests and the same verdicts" in checked


def test_a_command_that_is_none_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["certify", "--out", str(tmp_path), "--", "no-such-command"]) == 2
    assert "cannot run 'no-such-command'" in capsys.readouterr().err
