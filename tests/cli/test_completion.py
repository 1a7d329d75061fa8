"""`sim completion`: what the shells complete, asked as they ask."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from sim.cli.completion import SHELLS
from sim.cli.main import NAMES, main
from sim.kernel import resources

SIM = Path(sys.executable).with_name("sim")


def offered(line: str, folder: Path) -> set[str]:
    """What a shell is offered at the end of a line."""
    answer = folder / "answer"
    asked = {"_ARGCOMPLETE": "1", "_ARGCOMPLETE_STDOUT_FILENAME": str(answer), "COMP_LINE": line}
    asked |= {"COMP_POINT": str(len(line)), "_ARGCOMPLETE_IFS": "\013", "COMP_TYPE": "9"}
    ran = subprocess.run(
        [SIM], env={**os.environ, **asked}, cwd=folder, capture_output=True, text=True, timeout=30
    )
    assert ran.returncode == 0, ran.stderr
    return {word.strip() for word in answer.read_text().split("\013")}


@pytest.mark.parametrize(
    ("line", "some"),
    [
        ("sim ", {"serve", "run", "token", "init"}),
        ("sim tim", {"timeline"}),
        ("sim serve mainten", {"maintenance-window"}),
        ("sim run mine", {"mine.yaml"}),
        ("sim serve --pub", {"--public-host"}),
        ("sim serve --preset ho", {"hostile"}),
        ("sim catalogue qui", {"quirks"}),
        ("sim completion f", {"fish"}),
    ],
)
def test_commands_options_values_and_scenarios_are_offered(line, some, tmp_path):
    (tmp_path / "mine.yaml").write_text("seed: 1\n")
    words = offered(line, tmp_path)
    assert some <= words
    prefix = line.split(" ")[-1]
    assert all(word.startswith(prefix) for word in words)
    if line == "sim ":
        assert set(NAMES) <= words
    if line.endswith("mainten"):
        assert words <= {*resources.bundled_scenarios(), "mine.yaml"}


@pytest.mark.parametrize("shell", SHELLS)
def test_each_shell_gets_its_code(shell, capsys):
    assert main(["completion", shell]) == 0
    code = capsys.readouterr().out
    assert "_ARGCOMPLETE" in code and "sim" in code


@pytest.mark.skipif(shutil.which("bash") is None, reason="no bash here")
def test_bash_completes_with_it(tmp_path):
    script = """
eval "$(sim completion bash)"
COMP_WORDS=(sim serve mainten) COMP_CWORD=2 COMP_LINE="sim serve mainten" COMP_POINT=17 COMP_TYPE=9
COMP_WORDBREAKS=$' \\t\\n"'"'"'><=;|&(:'
handler=$(complete -p sim | sed 's/.*-F \\([^ ]*\\) .*/\\1/')
$handler sim mainten serve
echo "${COMPREPLY[@]}"
"""
    environment = {**os.environ, "PATH": f"{SIM.parent}:{os.environ['PATH']}"}
    ran = subprocess.run(
        ["bash", "--norc", "-c", script],
        env=environment,
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=30,
    )
    assert ran.stdout.split() == ["maintenance-window"], ran.stderr
