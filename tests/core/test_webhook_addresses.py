"""The secret in a webhook's URL: the journal has the complete address, so that a restored run
reaches its receiver. Output and files that are meant to be shared do not have the secret.
"""

from __future__ import annotations

import json
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sim import load_scenario
from sim.cli.main import main
from sim.core.webhooks.payloads import shown_url
from sim.read.headless_run import run_scenario
from sim.read.replay import replay_file
from sim.run.actors.operator.views import VIEWS, view
from tests.core.test_webhook_trouble import START, call
from tests.kit import begin
from tests.report_file import ReportFile

SECRET = "hunter2-of-the-receiver"
URL = f"https://hooks.receiver.invalid/in?token={SECRET}&v=2"
SHOWN = "https://hooks.receiver.invalid/in?token=sealed&v=sealed"
_RECEIVER = {"name": "hooks", "url": URL, "answers": [{"status": 500}, {}]}
_REGISTER = call("post", "/v1/kyc/webhook", {"webhook_url": URL})
SCENARIO = {
    "name": "hooked",
    "extends": "quickstart",
    "world": {"games": 0, "receivers": [_RECEIVER]},
    "steps": [
        {"call": _REGISTER},
        {"call": _REGISTER},
        {"call": START},
        {"at": "+10m", "expect": {"webhook": {"type": "kyc.rejected", "outcome": "delivered"}}},
    ],
}


@pytest.fixture(scope="module")
def journal(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("run")
    report = run_scenario(load_scenario(json.dumps(SCENARIO, indent=1)), journals=folder)
    assert report.ok, list(report.failures())
    (path,) = folder.glob("*.ndjson")
    return path


def test_the_journal_has_the_address_and_replays(journal: Path) -> None:
    assert URL in journal.read_text()
    replay_file(journal)


@pytest.mark.parametrize(
    ("verb", "options", "displayed"),
    [
        ("timeline", [], False),
        ("timeline", ["--json"], False),
        ("conformance", [], False),
        ("conformance", ["--json"], False),
        ("explain", ["webhook/"], True),
        ("explain", ["webhook/", "--json"], True),
        ("replay", [], False),
    ],
)
def test_what_is_printed_of_a_run_hides_the_secret(
    journal: Path,
    verb: str,
    options: list[str],
    displayed: bool,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("COLUMNS", "300")
    with journal.open("rb") as file:
        event = next(line.split(b" ")[1] for line in file if b'"posts":["' in line).decode()
    main(
        [
            verb,
            str(journal),
            *(option.replace("webhook/", f"webhook/{event}") for option in options),
        ]
    )
    out = "".join(capsys.readouterr())
    assert out and SECRET not in out
    assert (SHOWN in out) >= displayed


def test_a_report_hides_the_secret_in_rows_records_and_states(
    journal: Path, tmp_path: Path
) -> None:
    assert main(["report", str(journal), "--out", str(tmp_path / "run.html")]) == 0
    report = ReportFile(tmp_path / "run.html")
    assert SHOWN in report.text
    assert [report.text[at - 200 : at + 60] for at in [report.text.find(SECRET)] if at >= 0] == []


def test_what_an_operator_reads_hides_the_secret() -> None:
    world = begin(json.dumps(SCENARIO, indent=1))
    world.advance("11m")
    observed = {
        name: json.dumps(view(world.simulation.engine, name), default=str) for name in VIEWS
    }
    assert SHOWN in observed["deliveries"]
    assert [name for name, text in observed.items() if SECRET in text] == []


def test_credentials_before_the_host_are_refused_and_not_journalled() -> None:
    world = begin()
    client = world.partner
    for body in (
        f'{{"webhook_url": "https://user:{SECRET}@127.0.0.1/"}}',
        f'{{"webhookUrl":"http:\\/\\/user:{SECRET}@127.0.0.1\\/"}}',
        f'{{"webhook_url":"https://user:{SECRET}@x:{SECRET}@127.0.0.1"}}',
    ):
        answer = client.post("/v1/kyc/webhook", body=body.encode())
        assert (answer.status, "credentials" in answer.json()["message"]) == (400, True)
        assert SECRET not in "".join(map(str, world.simulation.journal.lines(0)))


@given(path=st.text("abc/;&=@.%", max_size=8), query=st.text("ab=&;#?/@%", max_size=12))
def test_whatever_the_address_its_place_is_shown_and_nothing_of_its_query(
    path: str, query: str
) -> None:
    displayed = shown_url(f"https://receiver.test:8443/{path}?{query}")
    assert displayed.startswith(f"https://receiver.test:8443/{path}?")
    values = [item.partition("=")[2] or item for item in urlsplit(displayed).query.split("&")]
    assert all("sealed" in item or not item.strip("ab=;/@%?") for item in values)
    assert shown_url(f"https://receiver.test:8443/{path}") == f"https://receiver.test:8443/{path}"


@pytest.mark.parametrize(
    ("url", "displayed"),
    [
        ("https://a.test/in?token=x1&firm=atlas", "https://a.test/in?token=sealed&firm=sealed"),
        ("https://a.test/in?x1", "https://a.test/in?sealed"),
        ("https://a.test/in?empty=", "https://a.test/in?empty="),
        ("https://u:x1@a.test/in", "https://sealed@a.test/in"),
        ("https://u@x1@a.test?x1=y;z#frag", "https://sealed@a.test?x1=sealed;sealed#sealed"),
        ("https://a.test/@u", "https://a.test/@u"),
        ("", ""),
    ],
)
def test_how_an_address_is_shown(url: str, displayed: str) -> None:
    assert shown_url(url) == displayed
