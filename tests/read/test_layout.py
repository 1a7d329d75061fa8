"""Text of strangers on a terminal: it neither moves the cursor nor forges a line."""

from __future__ import annotations

import unicodedata
from io import StringIO

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sim.kernel.instants import minutes
from sim.read.layout import put, terminal_line
from tests.kit import begin
from tests.kit.processes import sim

HOSTILE = "\x1b]0;pwned\x07\nFORGED\r\x9b2J\u202eevil\u2028next\x00\ud800"
# Categories of control characters, of surrogates, and of ends of lines and paragraphs.
EFFECTS = {"Cc", "Cs", "Zl", "Zp"}
DIRECTIONS = set("\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")


class Terminal(StringIO):
    def isatty(self) -> bool:
        return True


def harmless(line: str) -> bool:
    return not any(
        unicodedata.category(letter) in EFFECTS - {"\t"} or letter in DIRECTIONS
        for letter in line.replace("\t", "")
    )


@given(st.lists(st.text(alphabet=st.characters() | st.sampled_from(HOSTILE)), min_size=1))
def test_a_line_stays_one_line_and_has_no_effect(texts):
    out = StringIO()
    put(*texts, file=out)
    lines = out.getvalue().split("\n")
    assert len(lines) == len(texts) + 1 and all(map(harmless, lines))


def test_only_our_own_words_get_a_colour(monkeypatch):
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm")
    painted = terminal_line("\x1b[32mpassed\x1b[0m failed", ("failed", "red"), Terminal())
    assert painted == "\\x1b[32mpassed\\x1b[0m \x1b[31mfailed\x1b[0m"


@pytest.fixture(scope="module")
def journal(tmp_path_factory):
    """A run whose calls, orders and names of steps are hostile."""
    path = tmp_path_factory.mktemp("hostile") / "run.ndjson"
    with path.open("w+b", buffering=0) as file:
        desk = begin(journal=file)
        clean = HOSTILE.replace("\ud800", "")
        desk.gateway.get(f"/v2/leagues/{clean}")
        desk.trader().get(f"/v1/orderbook/{clean}")
        desk.enter(desk.quiet(), "buy", 40, clordId=clean)
        desk.raw("gateway", "GET", f"/v1/{clean}")
        desk.advance_to(desk.now + minutes(1))
    return path


@pytest.mark.parametrize(
    "command", ["timeline", "explain", "replay", "conformance", "witness", "audit", "diff {0}"]
)
def test_no_command_prints_a_strangers_text_as_it_is(journal, command):
    words = command.format(journal).split()
    done = sim(words[0], str(journal), *words[1:])
    assert all(map(harmless, (done.stdout + done.stderr).split("\n")))


def test_the_name_of_a_step_is_text(tmp_path):
    (tmp_path / "s.yaml").write_text(
        'name: "s\\e]0;x\\a"\nextends: quickstart\nsteps: [{name: "a\\u0001\\nFORGED", at: +1s,'
        " expect: {open_orders: {as: firms/atlas/users/mara-voss, count: 7}}}]\n"
    )
    done = sim("run", str(tmp_path / "s.yaml"), "--junit", str(tmp_path / "j.xml"))
    assert done.returncode in (1, 2)
    lines = (done.stdout + done.stderr).split("\n")
    assert all(map(harmless, lines)) and not any(line.startswith("FORGED") for line in lines)
