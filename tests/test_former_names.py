"""Former spellings of options, commands, routes and methods: each still works, no help shows it."""

from __future__ import annotations

import subprocess
import sys
import urllib.request

import pytest

from sim.cli.main import main

SMALL = """
name: small
extends: quickstart
steps:
  - {at: +1s, call: {plane: gateway, get: /v2/leagues}, expect: {status: 200}}
"""
FAILING = SMALL.replace("status: 200", "status: 418")


@pytest.fixture
def sim(capsys, tmp_path):
    """(exit code, output) of a command. `{small}`, `{failing}` and `{dir}` name files for it."""
    (tmp_path / "small.yaml").write_text(SMALL)
    (tmp_path / "failing.yaml").write_text(FAILING)

    def run(line: str) -> tuple[int, str]:
        names = {name: tmp_path / f"{name}.yaml" for name in ("small", "failing")}
        try:
            code = main([word.format(**names, dir=tmp_path) for word in line.split()])
        except SystemExit as error:
            code = error.code
        return code, "".join(capsys.readouterr())

    return run


# (command with the former spelling, former spelling, spelling of today, exit code)
OPTIONS = [
    ("run {failing} --keep {dir}/kept", "--keep", "--save-failures", 1),
    ("sweep {failing} --seeds 1 --jobs 1 --keep {dir}/kept", "--keep", "--save-failures", 1),
    ("sweep {small} --jobs 1 --over presets", "--over", "--vary", 0),
    ("sweep {small} --jobs 1 --seeds 1 --storm 3", "--storm", "--fuzz", 0),
    ("sweep {small} --jobs 1 --seeds 1 --prove", "--prove", "--verify", 0),
    ("shrink {failing} --out {dir}/s.yaml --unless nothing", "--unless", "--because", 0),
    ("explore {small} --jobs 1 --attacks late", "--attacks", "--faults", 0),
    ("explore {small} --jobs 1 --attacks late --each 1", "--each", "--max-occurrences", 0),
    ("serve {small} --opaque --port-base 99999", "--opaque", "--no-debug-headers", 2),
]


@pytest.mark.parametrize(("line", "former", "today", "code"), OPTIONS)
def test_a_former_option_does_what_the_option_of_today_does(sim, line, former, today, code):
    was, said = sim(line)
    assert was == code
    assert "there is no option" not in said and "Traceback" not in said
    now, _ = sim(line.replace(former, today).replace("--attacks", "--faults"))
    assert now == code
    _, help_text = sim(f"{line.split()[0]} --help")
    assert today in help_text
    assert f"{former} " not in help_text and f"{former}\n" not in help_text


def test_sim_judge_is_sim_conformance(sim):
    assert sim("judge --list") == sim("conformance --list")
    assert sim("judge --list")[0] == 0
    assert "judge" not in sim("--help")[1]


def test_one_seed_may_be_asked_for_as_seed(sim):
    for command in ("run {small}", "sweep {small} --jobs 1", "shrink {failing} --out {dir}/s.yaml"):
        assert sim(f"{command} --seed 3")[0] == sim(f"{command} --seeds 3")[0] == 0


def test_options_are_not_abbreviated_so_that_a_new_one_changes_no_script(sim):
    code, said = sim("run {small} --res {dir}/r.ndjson")
    assert code == 2
    assert "--res" in said


def test_the_former_method_and_route_answer_as_those_of_today(exchange):
    urllib.request.urlopen(f"{exchange.gateway}/v2/leagues").close()
    assert exchange.judge().lines is not None
    assert list(exchange.judge().lines()) == list(exchange.conformance().lines())
    assert exchange.control("GET", "/judge") == exchange.control("GET", "/conformance")


@pytest.mark.soak
def test_the_former_options_of_pytest_explore(tmp_path):
    (tmp_path / "test_one.py").write_text(
        "import urllib.request\n\n\ndef test_leagues(exchange):\n"
        "    urllib.request.urlopen(f'{exchange.gateway}/v2/leagues').close()\n"
    )
    for faults, occurrences in (
        ("--explore-attacks=late", "--explore-each=1"),
        ("--explore-faults=late", "--explore-max-occurrences=1"),
    ):
        options = ["-q", "-p", "no:cacheprovider", "--explore", faults, occurrences]
        done = subprocess.run(
            [sys.executable, "-m", "pytest", *options, "test_one.py"],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        assert "1 points" in done.stdout or "1 trial" in done.stdout
    help_text = subprocess.run(
        [sys.executable, "-m", "pytest", "--help"], capture_output=True, text=True, check=True
    ).stdout
    assert "--explore-faults" in help_text and "--explore-attacks" not in help_text
