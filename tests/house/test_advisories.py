"""The locked versions and the lower bounds are not affected by any advisory in the repository."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SCRIPT = ROOT / ".ci" / "advisories.py"


def check(*options: str | Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(SCRIPT), "check", *map(str, options)]
    return subprocess.run(command, capture_output=True, text=True, cwd=ROOT)


def test_nothing_that_is_installed_or_admitted_has_a_known_advisory():
    done = check()
    assert done.returncode == 0, done.stdout


@pytest.mark.parametrize(
    ("file", "before", "after", "words"),
    [
        ("lock", r"^aiohttp==\S+", "aiohttp==3.13.2", "requirements.lock pins aiohttp 3.13.2"),
        ("lock", r"(?s)(^pyjwt==\S+).*?\n    #", r"\1\n    #", "every package needs its hashes"),
        ("project", r'"cryptography>=[0-9.]+"', '"cryptography>=44"', "admits cryptography>=44"),
        ("project", r'"pyjwt>=[0-9.]+"', '"pyjwt"', "pyproject.toml admits pyjwt"),
        # between two repaired lines there is one that is not
        ("project", r'"protobuf>=[0-9.]+"', '"protobuf>=5.29.6"', "admits protobuf>=5.29.6"),
    ],
)
def test_an_older_release_is_told_with_its_advisory(tmp_path, file, before, after, words):
    source = ROOT / {"lock": "requirements.lock", "project": "pyproject.toml"}[file]
    text, count = re.subn(before, after, source.read_text("utf-8"), count=1, flags=re.MULTILINE)
    assert count == 1
    (tmp_path / source.name).write_text(text, "utf-8")
    done = check(f"--{file}", tmp_path / source.name)
    assert done.returncode == 1
    assert words in done.stdout


def test_every_advisory_says_what_it_affects_where_it_stands_and_since_when():
    existing = json.loads((ROOT / ".ci" / "advisories.json").read_text("utf-8"))
    assert re.fullmatch(r"\d{4}-\d{2}-\d{2}", existing["as_of"])
    for advisory in existing["advisories"]:
        assert set(advisory) == {"package", "affected", "id", "source", "date"}
        assert advisory["source"].startswith("https://")
        assert advisory["date"] <= existing["as_of"]
