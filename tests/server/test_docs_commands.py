"""Every command that README and docs show is one: `sim` lines are understood with all their
options, `curl` lines are answered with 200.
"""

from __future__ import annotations

import re
import shlex
import urllib.error
import urllib.request
from pathlib import Path

import pytest

from sim.cli.main import parse
from sim.testing.exchange_fixture import Control, ServedExchange

ROOT = Path(__file__).parent.parent.parent
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]
SHOWN = {
    page.name: [
        line
        for block in re.findall(r"```sh\n(.*?)```", page.read_text(), re.DOTALL)
        for line in block.splitlines()
    ]
    for page in PAGES
}
# In running text a command stands with its arguments, which are words in capitals: any file will
# do.
NAMED = {page.name: re.findall(r"`(sim [a-z][^`|…]*)`", page.read_text()) for page in PAGES}
SIM = sorted(
    {
        line.partition("#")[0].strip()
        for lines in (*SHOWN.values(), *NAMED.values())
        for line in lines
        if line.startswith("sim ")
    }
)
CURL = {page: [line for line in lines if line.startswith("curl ")] for page, lines in SHOWN.items()}
NEEDS_MORE = {
    "check",
    "run",
    "sweep",
    "explain",
    "conformance",
    "replay",
    "timeline",
    "bisect",
    "shrink",
    "explore",
    "diff",
}


@pytest.mark.parametrize("line", SIM)
def test_a_sim_command_of_the_pages_is_understood(line: str) -> None:
    words = shlex.split(line, comments=True)[1:]
    if words[0] in NEEDS_MORE and not any(not word.startswith("-") for word in words[1:]):
        words.append("something")  # named in passing, without what it is about
    if words[-1] == "--journal":
        words.append("something")
    assert callable(parse(words).run)


@pytest.mark.parametrize("page", [page for page, lines in CURL.items() if lines])
def test_the_curl_lines_of_a_page_are_answered(exchange: ServedExchange, page: str) -> None:
    request_id = ""
    for _ in range(14):  # something to go back over, and a refusal to ask about
        try:
            urllib.request.urlopen(f"{exchange.gateway}/v1/markets/no-such-market/book").close()
        except urllib.error.HTTPError as refused:
            request_id = request_id or refused.headers["x-request-id"]
    place = {
        "CONTROL": str(exchange.control),
        "SYMBOL": exchange.symbols["open"][0],
        "REQUEST_ID": request_id,
    }
    for line in CURL[page]:
        words = shlex.split(
            re.sub(r"\$([A-Z_]+)", lambda found: place[found[1]], line), comments=True
        )[1:]
        body = words[words.index("-d") + 1].encode() if "-d" in words else None
        verb = words[words.index("-X") + 1] if "-X" in words else "GET"
        address = next(word for word in words if word.startswith("http"))
        with urllib.request.urlopen(urllib.request.Request(address, body, method=verb)) as answer:
            assert answer.status == 200, line
    worlds = Control(exchange.control)("GET", "/worlds")["worlds"]
    assert len(worlds) == 1 + sum("/fork" in line or "/worlds" in line for line in CURL[page])


def test_the_page_on_searching_shows_every_command_of_its_kind() -> None:
    assert {line.split()[1] for line in SHOWN["search.md"]} == {
        "sweep",
        "bisect",
        "shrink",
        "explore",
    }
    (tests,) = [line for line in SHOWN["search.md"] if " -- " in line]
    assert parse(shlex.split(tests)[1:]).rest == ["-k", "orders"]
