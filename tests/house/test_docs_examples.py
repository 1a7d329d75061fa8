"""Every scenario, test and script that README and docs show works, and so do the tutorials."""

from __future__ import annotations

import asyncio
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from aiohttp import ClientSession, test_utils
from generator.files_shown import MARKER

from sim.read.headless_run import run_scenario
from sim.run.loader.load import load_scenario, scenario_variants
from sim.testing.exchange_fixture import ServedExchange

ROOT = Path(__file__).parents[2]
CODE = ROOT / "docs" / "tutorials" / "code"
PAGES = {
    path.relative_to(ROOT).as_posix(): path.read_text()
    for path in [*sorted(ROOT.glob("*.md")), *sorted((ROOT / "docs").rglob("*.md"))]
}


def blocks(text: str, language: str) -> list[str]:
    """Fenced blocks of a language, without those that show a file."""
    own = re.sub(r"<!-- (file-[\w-]+): .*?<!-- /\1 -->", "", text, flags=re.DOTALL)
    return re.findall(rf"^```{language}\n(.*?)^```", own, re.DOTALL | re.MULTILINE)


# ---- scenarios


EXAMPLES = [(page, block) for page, text in PAGES.items() for block in blocks(text, "yaml")]


@pytest.mark.parametrize(
    ("page", "example"), EXAMPLES, ids=[f"{page}-{n}" for n, (page, _) in enumerate(EXAMPLES)]
)
def test_a_scenario_of_the_pages_runs_and_a_fragment_loads(
    page: str, example: str, tmp_path: Path
) -> None:
    total = re.match(r"(#.*\n)*name:", example) is not None
    text = example if total else f"name: example\nextends: quickstart\n{example}"
    file = tmp_path / "example.yaml"
    file.write_text(text)
    for params in scenario_variants(str(file)):
        scenario = load_scenario(str(file), params)
        if total:
            report = run_scenario(scenario)
            assert report.ok, "\n".join(report.lines())


# ---- Python


PYTHON = [(page, block) for page, text in PAGES.items() for block in blocks(text, "python")]
TESTS = [(page, block) for page, block in PYTHON if "def test_" in block]
SCRIPTS = [(page, block) for page, block in PYTHON if "def test_" not in block]


def test_the_readme_has_an_example() -> None:
    assert "README.md" in [page for page, _ in TESTS]


def run_pytest(folder: Path, *options: str) -> subprocess.CompletedProcess[str]:
    """What a reader sees who runs pytest in a folder."""
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *options]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)


@pytest.mark.long
def test_the_tests_of_the_pages_and_the_code_of_the_tutorials_pass(tmp_path: Path) -> None:
    # One run of pytest for all of them: to start it costs more than to run most of them.
    shutil.copytree(CODE, tmp_path, dirs_exist_ok=True)
    written = [path.relative_to(tmp_path).as_posix() for path in tmp_path.rglob("test_*.py")]
    for number, (page, example) in enumerate(TESTS):
        written.append(f"test_{re.sub('[^a-z]+', '_', page.lower())}_{number}.py")
        (tmp_path / written[-1]).write_text(example)
    done = run_pytest(tmp_path, "-rp")
    assert done.returncode == 0, done.stdout + done.stderr
    assert {name for name in written if f"PASSED {name}::" not in done.stdout} == set()


@pytest.mark.parametrize(("page", "example"), SCRIPTS, ids=[page for page, _ in SCRIPTS])
def test_a_script_of_the_pages_runs(page: str, example: str, exchange: ServedExchange) -> None:
    # a signature in CONTRIBUTING, walked by hand; what only runs where containers do
    if "..." in example or "ExchangeContainer" in example:
        compile(example, page, "exec")
        return
    key = exchange.api_keys[0]
    here = example.replace("http://127.0.0.1:18081", exchange.retail)
    here = here.replace("http://127.0.0.1:18080", exchange.gateway)
    names = {"KEY_ID": key["key_id"], "SECRET_KEY": key["secret_key"]}
    exec(compile(here, page, "exec"), names)
    if "headers" in names:  # the page on signing: does the exchange accept the signature?
        import requests

        signed = names["headers"](key["key_id"], key["secret_key"], "GET", "/v1/account/balances")  # type: ignore[operator]
        answer = requests.get(f"{exchange.retail}/v1/account/balances", headers=signed, timeout=5)
        assert answer.status_code == 200


def test_the_relay_lets_a_browser_open_both_sockets(
    exchange: ServedExchange, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A page sends no headers of its own, and frames go both ways."""
    (script,) = [block for _, block in SCRIPTS if "async def relay" in block]
    (tmp_path / "ready.json").write_text(json.dumps(exchange.ready))
    monkeypatch.setenv("SIM_READY_FILE", str(tmp_path / "ready.json"))
    monkeypatch.setenv("SIM_RETAIL", exchange.retail)
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}:{os.environ['PATH']}")  # `sim`
    names: dict[str, Any] = {}
    exec(compile(script, "relay", "exec"), names)

    async def ask(name: str, frame: str) -> str:
        async with (
            test_utils.TestServer(names["app"]) as relay,
            ClientSession() as page,
            page.ws_connect(relay.make_url(f"/v1/ws/{name}")) as socket,
        ):
            await socket.send_str(frame)
            return await socket.receive_str(timeout=5)

    body: Any = {"requestId": "r", "subscriptionType": "SUBSCRIPTION_TYPE_MARKET_DATA"}
    body["marketSlugs"] = [exchange.symbols["open"][0]]
    assert "marketData" in asyncio.run(ask("markets", json.dumps({"subscribe": body})))
    exec(compile(script, "relay", "exec"), names)
    assert "error" in asyncio.run(ask("private", "no JSON"))


# ---- tutorials


def test_the_tutorials_show_all_of_their_code() -> None:
    displayed = {name for _, name in MARKER.findall("".join(PAGES.values()))}
    code = {path.relative_to(ROOT).as_posix() for path in CODE.rglob("*.py")}
    assert code == {name for name in displayed if name.endswith(".py")}


@pytest.mark.parametrize(
    ("options", "verdict"),
    [
        (("test_naive_bot.py",), "23 trials: 6 survived, 11 did not"),
        pytest.param(
            ("test_bot.py", "-k", "bid_is_there"),
            "155 trials: 121 survived, 5 did not",
            marks=pytest.mark.soak,
        ),
    ],
)
@pytest.mark.long
def test_the_bots_survive_as_the_tutorial_says(
    options: tuple[str, ...], verdict: str, tmp_path: Path
) -> None:
    shutil.copytree(CODE / "bot", tmp_path / "bot")
    assert verdict in run_pytest(tmp_path / "bot", "--explore", *options).stdout
    assert verdict in PAGES["docs/tutorials/chaos-bot.md"]
