"""The output of every command equals its reviewed file; `make outputs` renews the files."""

from __future__ import annotations

import json
import os
import pty
import re
import subprocess
import sys
from pathlib import Path

import pytest

from sim.cli.main import NAMES
from tests.outputs.serving import SERVING
from tests.outputs.verbs import FOLDER, OUTPUTS, SCENARIO, WITHOUT, files, run

pytestmark = pytest.mark.reading("documented")

RENEW = "`make outputs` renews the files; read the difference as a newcomer would"
KEPT = {str(path.relative_to(FOLDER)): path.read_text() for path in FOLDER.rglob("*.*")}
# Lines that a program reads, or that hold a name which is longer than a line.
WIDE = re.compile(
    r"^\{|^\d\d-\d\d \d\d:|\.proto|"  # to be copied, and the console
    r"^    \S|^(quikstart|sim): |^\$ sim |^\S+: \S|::test_|^ *(sim |next: )|  digest |^  (recorded|replayed): |^\("
)


@pytest.fixture(scope="module")
def printed():
    return files()


def test_every_verb_has_a_file_or_a_reason_to_have_none():
    assert {*OUTPUTS, *SERVING, *WITHOUT} - {"mistakes"} == {*NAMES}


@pytest.mark.parametrize("name", sorted(KEPT))
def test_a_verb_prints_what_was_reviewed(printed, name):
    assert printed.get(name) == KEPT[name], RENEW


def test_no_file_is_missing(printed):
    assert sorted(printed) == sorted(KEPT), RENEW


@pytest.mark.parametrize("name", [name for name in sorted(KEPT) if name.endswith(".txt")])
def test_lines_fit_80_columns(name):
    long = [line for line in KEPT[name].splitlines() if len(line) > 80 and not WIDE.search(line)]
    assert not long


@pytest.mark.parametrize("name", ["", *NAMES])
def test_help_fits_80_columns(name):
    output = run(f"{name} --help")
    assert output.code == 0 and not [line for line in output.out.splitlines() if len(line) > 80]


@pytest.mark.parametrize("name", [name for name in sorted(KEPT) if name.endswith(".json")])
def test_a_document_is_json(name):
    json.loads(KEPT[name])


@pytest.mark.parametrize(("no_color", "coloured"), [("", True), ("1", False)])
def test_a_terminal_gets_colours_unless_it_wants_none(no_color, coloured):
    actual, reference = pty.openpty()
    environment = {**os.environ, "NO_COLOR": no_color, "TERM": "xterm", "COLUMNS": "80"}
    command = [sys.executable, "-m", "sim", "run", str(SCENARIO)]
    root = Path(__file__).parents[2]
    subprocess.run(command, stdout=reference, env=environment, check=False, cwd=root)
    os.close(reference)
    output = os.read(actual, 1 << 16).decode()
    os.close(actual)
    assert "FAILED" in output and ("\x1b[31mFAILED" in output) is coloured
