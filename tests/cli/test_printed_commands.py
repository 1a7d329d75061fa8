"""Every command that is printed for users to copy runs in another folder, in a shell without `sim`
on its path. File names have blanks and quotes.
"""

from __future__ import annotations

import json
import os
import re
import select
import signal
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.kit.processes import sim as run

HERE = Path(sys.executable).parent
ENVIRONMENT = {**os.environ, "PATH": "/usr/bin:/bin", "COLUMNS": "60"}
# A line with a command after a label; a wrapped command would not match.
COPIED = re.compile(
    rf"^(?:\s*|# |[\w ]+: )({re.escape(str(HERE))}/(?:sim|python\S*) .*|curl .*)$", re.MULTILINE
)
FAILING = """\
name: it's a "failing" run
extends: quickstart
world: {instruments: [{symbol: rain, tick_size: "0.01", state: OPEN}]}
steps:
- {at: +1s, order: {as: maker, symbol: rain, side: buy, price: "0.40", qty: "5"}}
- {at: +1s, expect: {open_orders: {as: maker, count: 9}}}
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Return a folder with a blank and quotes in its name, and such a scenario."""
    created = tmp_path_factory.mktemp("some") / 'it\'s a "folder"'
    created.mkdir()
    (created / "my scenario.yaml").write_text(FAILING)
    other = FAILING.replace('qty: "5"', 'qty: "6"').replace("failing", "other")
    (created / "other's.yaml").write_text(other)
    return created


def sim(folder, *arguments, module="sim"):
    """Return the output of a command on both streams."""
    done = run(*arguments, module=module, cwd=folder, env=ENVIRONMENT)
    assert "Traceback" not in done.stderr
    return done.stdout + done.stderr


def copied(output):
    """Return the commands in a text."""
    result = COPIED.findall(output)
    assert result, output
    return result


def pasted(command, code=0):
    """Return the output of a command in a shell, in an unrelated folder."""
    done = subprocess.run(
        ["/bin/sh", "-c", command],
        cwd="/",
        env=ENVIRONMENT,
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert done.returncode == code, (command, done.stdout, done.stderr)
    return done.stdout


@contextmanager
def serving(folder, command, *, shell=False):
    """Run a serving command; yield its output until it is ready; end it with Ctrl-C."""
    running = subprocess.Popen(
        command,
        shell=shell,
        cwd=folder,
        env=ENVIRONMENT,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        bufsize=0,
    )
    output = ""
    try:
        while "/book" not in output:
            assert select.select([running.stdout], [], [], 60)[0], output
            line = running.stdout.readline().decode()
            assert line, output
            output += line
        yield output
    finally:
        running.send_signal(signal.SIGINT)
        rest, _ = running.communicate(timeout=60)
    assert running.returncode == 130
    copied_later.append(rest.decode())


copied_later: list[str] = []


@pytest.mark.long
def test_the_journal_of_a_failed_run(folder):
    output = sim(folder, "run", "my scenario.yaml", "--save-failures", "kept runs")
    (command,) = copied(output)
    assert "inputs replayed, every line as recorded" in pasted(command)
    output = sim(folder, "sweep", "my scenario.yaml", "--seeds", "1..2", "--save-failures", "o'r")
    (command,) = copied(output)  # both seeds fail alike
    assert "seed 1" in pasted(command)


def test_what_runs_met(folder):
    (command,) = copied(sim(folder, "run", "my scenario.yaml", "--coverage", "what's met.json"))
    assert "operations" in pasted(command)


@pytest.mark.long
def test_where_a_search_ended(folder):
    sim(folder, "run", "my scenario.yaml", "other's.yaml", "--seed", "3", "--journal", ".")
    first, second = sorted(path.name for path in folder.glob("*.ndjson"))
    expect = "{open_orders: {as: maker, count: 352}}"
    result = copied(sim(folder, "bisect", first, "--expect", expect))
    result += copied(sim(folder, "bisect", first, second))
    for command in result:
        with serving("/", f"exec {command} --port-base 0", shell=True) as output:
            assert "as recorded" in output


@pytest.mark.long
def test_what_was_shrunk(folder):
    sim(folder, "shrink", "my scenario.yaml", "--out", "the small'est.yaml")
    comment = (folder / "the small'est.yaml").read_text()
    (command,) = re.findall(r"^# sim (run .*)$", comment, re.MULTILINE)
    done = subprocess.run(
        ["/bin/sh", "-c", f"{HERE}/sim {command}"], cwd=folder, check=False, capture_output=True
    )
    assert done.returncode == 1 and b"orders are open" in done.stdout


@pytest.mark.long
def test_a_failing_test_and_its_faults(folder):
    (folder / "test_it's.py").write_text(
        "from urllib.request import urlopen\n\n\n"
        "def test_calls(exchange):\n"
        "    assert urlopen(exchange.gateway + '/v1/health', timeout=1).status == 200\n\n\n"
        "def test_fails(exchange):\n"
        "    assert exchange.seed < 0\n"
    )
    options = ("-p", "no:cacheprovider", "--basetemp", "the base", "-k", "fails")
    met = ("--exchange-coverage", "test's met.json")
    replayed, coverage = copied(sim(folder, "test_it's.py", *options, *met, module="pytest"))
    assert "inputs replayed" in pasted(replayed)
    assert "operations" in pasted(coverage)
    output = sim(folder, "explore", "test_it's.py", "--faults", "error*", "--", "-k", "calls")
    (command,) = copied(output)
    assert "failed" in pasted(command, code=1)


@pytest.mark.long
def test_what_a_machine_of_states_keeps(folder):
    (folder / "test_machine.py").write_text(
        "from hypothesis import Phase, settings\n"
        "from hypothesis.stateful import invariant\n"
        "from sim.testing.machines import ExchangeMachine\n\n\n"
        "class Machine(ExchangeMachine):\n"
        '    kept = "the machine\'s"\n\n'
        "    @invariant()\n"
        "    def never(self):\n"
        "        assert self.simulation.seq < 0\n\n\n"
        "Test = Machine.TestCase\n"
        "Test.settings = settings(max_examples=1, stateful_step_count=1, phases=[Phase.generate])\n"
    )
    output = sim(folder, "test_machine.py", "-p", "no:cacheprovider", module="pytest")
    # pytest repeats a failure in its summary if CI is set
    printed = {
        line.removeprefix("E").strip(): None for line in output.splitlines() if "/sim " in line
    }
    run, timeline = printed
    assert "passed" in pasted(run)
    assert "seed" in pasted(timeline)


@pytest.mark.long
def test_the_greeting_of_a_server_its_journal_and_its_curl(folder):
    command = [sys.executable, "-m", "sim", "serve", "--port-base", "0", "--tls", "the tl's"]
    with serving(folder, [*command, "--journal", "serve'd run.ndjson"]) as output:
        (curl,) = copied(output)
        assert "--cacert" in curl
        assert "marketData" in json.loads(pasted(curl.replace("curl ", "curl -s ")))
    (replay,) = copied(copied_later[-1])
    assert "inputs replayed" in pasted(replay)


@pytest.mark.long
def test_the_end_of_the_demo(folder):
    (command,) = copied(sim(folder, "demo", "--journal", "the demo's.ndjson"))
    assert "inputs replayed" in pasted(command)


def test_the_bundle_of_contracts_compiles_as_it_says(folder):
    output = sim(folder, "proto", "the proto's")
    words = re.search(r"python (-m grpc_tools.protoc .*?)\)$", output, re.DOTALL)[1] + ")"
    assert pasted(f"cd '{folder.parent}' && mkdir -p stubs && {sys.executable} {words}") == ""
    assert list((folder.parent / "stubs").rglob("*_pb2_grpc.py"))
