"""`sim token` and `sim sign`: what they print is accepted as it stands, by every way to name an
exchange.
"""

from __future__ import annotations

import pytest

from sim.cli import running_exchange
from sim.cli.main import main
from tests.kit.http import call
from tests.kit.processes import serve


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    folder = tmp_path_factory.mktemp("served")
    with serve(folder, "--tls", str(folder)) as process:
        yield process


def printed(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    assert main(words) == 0, capsys.readouterr().err
    return capsys.readouterr().out


@pytest.mark.parametrize("clock", [(), ("--virtual",)])
def test_the_printed_token_is_the_firms(served, clock, capsys, monkeypatch):
    monkeypatch.setenv("SIM_READY_FILE", str(served.ready_file))
    for firm in served.ready["firms"]:
        names = [("--firm", firm["firm"]), ("--firm", firm["firm"].rpartition("/")[2])]
        names += [("--user", user.rpartition("/")[2]) for user in firm["users"][:1]]
        for words in (*names, ("--firm", firm["client_id"])):
            token = printed(capsys, "token", *words, *clock).strip()
            headers = {"Authorization": f"Bearer {token}"}
            if firm["users"]:
                headers["X-Participant-Id"] = firm["users"][0]
            url, ca = f"{served.ready['exchange']}/v1/whoami", served.ready["tls_ca"]
            answer = call(url, headers=headers, ca=ca)
            assert answer.status == 200 and firm["firm"].encode() in answer.body, answer


@pytest.mark.parametrize("clock", [(), ("--virtual",)])
def test_the_printed_headers_sign_the_call_of_each_key(served, clock, capsys):
    path = "/v1/account/balances"
    for n, key in enumerate(served.ready["api_keys"], 1):
        for name in (str(n), key["key_id"]):
            words = ("--key", name, "--ready-file", str(served.ready_file), *clock)
            lines = printed(capsys, "sign", "get", f"{path}?a=b", *words).splitlines()
            headers = dict(line.split(": ", 1) for line in lines)
            assert headers["X-PM-Access-Key"] == key["key_id"]
            for called, status in ((path, 200), ("/v1/orders/open", 401)):
                url, ca = f"{served.ready['retail']}{called}", served.ready["tls_ca"]
                assert call(url, headers=headers, ca=ca).status == status


def test_on_the_default_ports_the_scenario_says_the_credentials(served, tmp_path, monkeypatch):
    health = {"scenario": "halt-and-suspension", "seed": 3, "now": "2026-09-08T18:00:00Z"}
    monkeypatch.setattr(running_exchange, "ask", lambda *_: health)
    monkeypatch.delenv("SIM_READY_FILE", raising=False)
    import argparse

    facts = running_exchange.facts_of(argparse.Namespace(ready_file=None))
    assert facts["seed"] == 3 and facts["scenario"] == "halt-and-suspension"
    assert facts["retail"] == "http://127.0.0.1:18081"
    mine = {firm["client_id"]: firm["private_key_pem"] for firm in facts["firms"]}
    reference = {firm["client_id"]: firm["private_key_pem"] for firm in served.ready["firms"]}
    assert mine == reference


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (["token", "--firm", "rain"], "there is no firm or participant 'rain'; known: firms/atlas"),
        (["sign", "GET", "/v1/x", "--key", "99"], "there is no API key '99'; known: 1 "),
        (["sign", "G-T", "/v1/x"], "a verb such as GET, not 'G-T'"),
        (["sign", "GET", "v1/x"], "a path such as /v1/account/balances, not 'v1/x'"),
    ],
)
def test_what_cannot_be_meant_is_refused(served, words, text, capsys, monkeypatch):
    monkeypatch.setenv("SIM_READY_FILE", str(served.ready_file))
    try:
        code = main(words)
    except SystemExit as stop:
        code = stop.code
    assert code == 2
    assert text in " ".join(capsys.readouterr().err.split())


def test_a_file_that_says_nothing_and_an_exchange_that_is_not_there_are_refused(
    tmp_path, capsys, monkeypatch
):
    monkeypatch.delenv("SIM_READY_FILE", raising=False)
    empty = tmp_path / "ready.json"
    for text, message in (("{}", "lacks gateway"), ("[", "is not a ready file")):
        empty.write_text(text)
        assert main(["token", "--ready-file", str(empty)]) == 2
        assert message in capsys.readouterr().err
    monkeypatch.setattr(running_exchange, "DEFAULT_BASE", 1)  # nobody listens on these ports
    assert main(["token"]) == 2
    assert "no exchange answers at 127.0.0.1:6: start `sim serve`" in capsys.readouterr().err
