"""Every command that README and docs show works.

`sim` commands about bundled scenarios run; others are parsed with all their options, because they
serve for ever or name files of the reader. `curl` commands are answered with 200, and `make`
targets exist.
"""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from sim.cli.main import main, parse
from sim.testing.control import Control
from tests.kit.http import call, status

ROOT = Path(__file__).parent.parent.parent
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
TEXTS = {page.relative_to(ROOT).as_posix(): page.read_text() for page in PAGES}
BUNDLED = {path.stem for path in (ROOT / "scenarios").glob("*.yaml")}


def view(text: str) -> list[str]:
    """Command lines of a page: of shell blocks, and behind the prompt of console blocks."""
    shell = re.findall(r"^```sh\n(.*?)^```", text, re.DOTALL | re.MULTILINE)
    console = re.findall(r"^```(?:console|text)\n(.*?)^```", text, re.DOTALL | re.MULTILINE)
    lines = [line.strip() for block in shell for line in block.splitlines() if line.strip()]
    return lines + re.findall(r"^\$ (.*)$", "\n".join(console), re.MULTILINE)


def named(text: str) -> list[str]:
    """Commands in running text, whose arguments are words in capitals: any file will do."""
    prose = re.sub(r"^```.*?^```", "", text, flags=re.DOTALL | re.MULTILINE)
    return re.findall(r"`(sim [a-z][^`|…]*)`", prose)


SHOWN = {page: view(text) for page, text in TEXTS.items()}
SIM = sorted(
    {
        re.sub(r"\s+", " ", line.partition(" #")[0].partition(" > ")[0]).strip()
        for page, text in TEXTS.items()
        for line in (*SHOWN[page], *named(text))
        if line.startswith("sim ")
    }
)
CURL = {page: [line for line in lines if line.startswith("curl ")] for page, lines in SHOWN.items()}
# Commands that running text names without what they are about.
COMPLETED = {
    "sim serve --start": "sim serve --start 2026-09-08T18:00:00Z",
    "sim serve --preset": "sim serve --preset ideal",
    "sim serve --journal": "sim serve --journal run.ndjson",
    "sim run --param name=value": "sim run quickstart --param name=value",
    "sim catalogue": "sim catalogue quirks",
    "sim proto": "sim proto stubs",
    "sim infer": "sim infer session.ndjson --scenario quickstart",
    "sim record": "sim record --to session.ndjson",
    "sim serve --tls": "sim serve --tls folder",
    "sim sweep --fuzz": "sim sweep quickstart --fuzz 10",
    "sim sign": "sim sign GET /v1/account/balances",
}
TAKES_A_FILE = {
    *("check", "run", "sweep", "explain", "judge", "conformance"),
    *(
        "replay",
        "timeline",
        "bisect",
        "shrink",
        "explore",
        "diff",
        "open",
        "compare",
        "witness",
        "audit",
    ),
}


def runs_here(words: list[str]) -> bool:
    """Whether a command is about bundled scenarios alone and ends by itself."""
    files = [
        word for word in words[1:] if not word.startswith("-") and not re.match(r"[\d.]+$", word)
    ]
    return words[0] in ("schema", "catalogue", "openapi") or (
        words[0] in ("run", "check") and bool(files) and set(files) <= BUNDLED
    )


@pytest.mark.long
@pytest.mark.parametrize("line", SIM)
def test_a_sim_command_of_the_pages_works(line, capsys):
    words = shlex.split(COMPLETED.get(line, line), comments=True)[1:]
    if words == ["--version"]:
        return
    if words[0] in TAKES_A_FILE and all(word.startswith("-") for word in words[1:]):
        words.append("something")
    assert callable(parse(words).run)
    if runs_here(words):
        assert main(words) == 0, capsys.readouterr().err


@pytest.mark.parametrize("page", [page for page, lines in CURL.items() if lines])
def test_the_curl_lines_of_a_page_are_answered(exchange, page):
    request_id = ""
    for _ in range(14):  # inputs to go back over, and a refusal to ask about
        refused = call(f"{exchange.gateway}/v1/markets/no-such-market/book")
        request_id = request_id or refused.headers["x-request-id"]
    position = {
        "CONTROL": str(exchange.control),
        "DOCS": exchange.docs,
        "SYMBOL": exchange.symbols["open"][0],
        "REQUEST_ID": request_id,
    }
    for line in CURL[page]:
        filled = re.sub(r"\$([A-Z_]+)", lambda name: position[name[1]], line)
        words = shlex.split(filled, comments=True)[1:]
        body = words[words.index("-d") + 1].encode() if "-d" in words else None
        verb = words[words.index("-X") + 1] if "-X" in words else "GET"
        address = next(word for word in words if word.startswith("http"))
        assert status(address, body=body, verb=verb, timeout=60) == 200, line
    worlds = Control(exchange.control)("GET", "/worlds")["worlds"]
    started = [
        line for line in CURL[page] if "-X POST" in line and re.search("/fork|/worlds", line)
    ]
    assert len(worlds) == 1 + len(started)


def test_make_targets_and_modules_of_the_pages_exist():
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    for text in TEXTS.values():
        lines = [*view(text), *re.findall(r"`((?:make|python -m) [^`]+)`", text)]
        for line in lines:
            words = line.partition("#")[0].split()
            if words[:1] == ["make"]:
                assert words[1] in targets, line
            if words[:2] == ["python", "-m"]:
                module = ROOT / words[2].replace(".", "/")
                assert module.with_suffix(".py").exists() or module.is_dir(), line


def test_every_command_is_shown_somewhere():
    commands = {line.split()[1] for line in SIM}
    assert {"serve", "run", "check", "sweep", "bisect", "shrink", "explore"} <= commands
    (line,) = [line for line in SHOWN["docs/how-to/explore-faults.md"] if " -- " in line]
    assert parse(shlex.split(line)[1:]).rest == ["-k", "orders"]
