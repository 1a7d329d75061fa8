"""The output of every command at 80 columns, and its JSON, in the files beside this module. Help
texts are in docs/reference/cli.md.

`make outputs` rewrites the files. Read the difference as a newcomer would before you commit it.
Identifiers and digests, which change with every release, are omitted.
"""

from __future__ import annotations

import io
import json
import os
import re
import sys
import tempfile
from collections.abc import Iterator
from contextlib import chdir, redirect_stderr, redirect_stdout
from pathlib import Path
from typing import NamedTuple
from unittest.mock import patch

from sim.cli.main import main
from tests.evidence.in_process import record
from tests.outputs.serving import SERVING

FOLDER = Path(__file__).parent / "files"
SCENARIO = Path(__file__).parent / "desk.yaml"
COLUMNS = "80"

# File names, and the command lines whose output each file has.
OUTPUTS: dict[str, list[str]] = {
    "check": ["check desk.yaml", "check misspelt.yaml", "check nope.yaml", "check quikstart"],
    "run": ["run desk.yaml passes.yaml"],
    "sweep": ["sweep desk.yaml passes.yaml --seeds 1..3 --jobs 1"],
    "explore": ["explore passes.yaml --operations GetOrderBook --faults 'error*' --jobs 1"],
    "shrink": ["shrink desk.yaml --out small.yaml"],
    "bisect": [
        "bisect 1.ndjson --expect '{order: {clord_id: bid, state: NEW}}' --becomes false",
        "bisect 1.ndjson other.ndjson",
    ],
    "diff": ["diff 1.ndjson 1.ndjson", "diff 1.ndjson 2.ndjson", "diff 1.ndjson other.ndjson"],
    "replay": ["replay 1.ndjson", "replay changed.ndjson", "replay nope.ndjson"],
    "timeline": ["timeline 1.ndjson"],
    "explain": [
        "explain 1.ndjson",
        "explain 1.ndjson 000000000000000c",
        "explain 1.ndjson 000000000000000f",
        "explain 1.ndjson rain",
        "explain 1.ndjson nobody",
    ],
    "coverage": ["coverage met.json", "coverage nope.json"],
    "audit": ["audit client.ndjson"],
    "conformance": ["conformance client.ndjson", "conformance --list"],
    "certify": [
        "certify --list",
        "certify",
        "certify --check desk.yaml",
        "certify --profile prtner -- x",
    ],
    "catalogue": [
        *("catalogue quirks stream", "catalogue assumptions book.depth_above_maximum"),
        *("catalogue assumptions market_data", "catalogue faults", "catalogue presets"),
        *("catalogue dates maintenance", "catalogue bounds money"),
        *("catalogue observations events.id", "catalogue operations HealthCheck"),
        *("catalogue ledger S2.1-2", "catalogue quirks no-such", "catalogue stars"),
    ],
    "proto": ["proto schemas", "proto desk.yaml"],
    "keys": ["keys", "keys --out pair", "keys --out pair", "keys --out desk.yaml"],
    "demo": ["demo --journal demo.ndjson"],
    "compare": ["compare session.ndjson", "compare differs.ndjson", "compare nope.ndjson"],
    "mistakes": ["sevre", "serve --potr-base 0", "run", "run desk.yaml --seeds x"],
}
# Names that have no second file, for `--json`.
WITHOUT_JSON = ("mistakes", "proto", "keys", "demo", "compare")
# Commands without a file, and the reason.
WITHOUT = {
    "calendar": "it runs another program: tests/testing/test_calendar.py",
    "mcp": "it speaks JSON-RPC: tests/agents",
    "init": "a folder of files: tests/cli/test_new_project.py",
    "token": "a new one each time: tests/server/test_curl_helpers.py",
    "sign": "new ones each time: tests/server/test_curl_helpers.py",
    "completion": "code for shells: tests/cli/test_completion.py",
    "schema": "it is scenarios/scenario.schema.json, which tests/house/test_docs.py compares",
    "openapi": "a JSON document of its own; what it lists is in docs/reference/operations.md",
    "asyncapi": "a JSON document of its own",
    "collection": "a folder of files: tests/server/test_collections.py",
    "coverage": "it lists every operation, so each new one would change it",
    "report": "a page, and one line with its size: tests/read/test_report.py",
    "witness": "tests/evidence has its verdicts",
    "hunt": "what it meets changes with every release: tests/search",
    "infer": "tests/evidence has its output",
    "fidelity": "the docs have its page; tests/evidence/test_scorecard.py has its output",
}
_UNSTABLE = (
    (re.compile(r"\b[0-9a-f]{64}\b"), "<sha256>"),
    (re.compile(r"\b[0-9a-f]{12}…"), "<sha256>…"),
    (re.compile(r'(?<="digest":")[0-9a-f]{16}\b'), "<sha256>"),
    (re.compile(r"\d+(?= operations never seen)"), "<n>"),
    (re.compile(r"(?<=secret_key: )\S+(?=,)"), "<secret>"),
    (re.compile(r"(?<=key_id: )\S+(?=,)"), "<uuid>"),
    (re.compile(r"(-----BEGIN [A-Z ]+-----\n)[^-]*(?=-----END)"), r"\1<base64>\n"),
    (re.compile(r"\b(?=[0-9A-Z]*[0-9])(?=[0-9A-Z]*[A-Z])[0-9A-Z]{12}\b"), "<id>"),
)


class Said(NamedTuple):
    """The output and the exit code of a command."""

    code: int
    out: str
    err: str


def files() -> dict[str, str]:
    """Return every file with the content that it should have."""
    result: dict[str, str] = {}
    with tempfile.TemporaryDirectory() as folder, chdir(folder):
        _prepare()
        for name, commands in OUTPUTS.items():
            result[f"{name}.txt"] = "\n".join(map(_shown, commands))
            if name not in WITHOUT_JSON:
                result[f"{name}.json"] = _document(commands[0])
        for name, displayed in SERVING.items():
            result[f"{name}.txt"] = stable(displayed())
    return result


def _prepare() -> None:
    """Write the scenarios and journals that the command lines use."""
    desk = SCENARIO.read_text()
    Path("desk.yaml").write_text(desk)
    last = desk.index("- {name: rich")
    Path("passes.yaml").write_text(desk[:last].replace("name: desk", "name: passes", 1))
    Path("misspelt.yaml").write_text(
        desk.replace("tick_size", "tik_size").replace("side: sell", "side: sel")
    )
    other = desk.replace("name: desk", "name: other", 1).replace('qty: "5"}}', 'qty: "2"}}')
    Path("other.yaml").write_text(other)
    for command in (
        "run desk.yaml --seeds 1..2 --journal .",
        "run other.yaml --seed 1 --journal .",
    ):
        run(command)
    Path("desk-1.ndjson").rename("1.ndjson")
    Path("desk-2.ndjson").rename("2.ndjson")
    Path("other-1.ndjson").rename("other.ndjson")
    run("run passes.yaml --coverage met.json")
    total = Path("1.ndjson").read_text()
    changed = total.replace('"status":200,', '"status":201,', 1)
    assert changed != total, "the journal has no call that was answered 200"
    Path("changed.ndjson").write_text(changed)
    _record_client()
    recorded = record(Path("session.ndjson"))
    recorded.gateway.get("/v2/leagues")
    recorded.gateway.get("/v1/nothing")
    total = Path("session.ndjson").read_text()
    differs = total.replace('"slug":"nfl"', '"slug":1', 1)
    assert differs != total, "the recording has no league nfl"
    Path("differs.ndjson").write_text(differs)


def _record_client() -> None:
    """Write the journal of a client that breaks one rule and follows another."""
    from sim import Simulation, load_scenario
    from sim.run.client.client import connect
    from sim.server.journal_file import open_journal

    with open_journal(Path("client.ndjson")) as file:
        sim = Simulation(load_scenario("desk.yaml"), journal=file)
        world = connect(sim)
        firm = world.exchange(sim.exchange.firms.require("firms/atlas"))
        for _ in range(7):
            firm.get("/v1/report/orders/search?noSuchField=1")
        firm.get("/v1/orderbook/rain")


def run(command: str) -> Said:
    """Run a command line as a shell would, in the current folder."""
    import shlex

    out, err = io.StringIO(), io.StringIO()
    with redirect_stdout(out), redirect_stderr(err), patch.dict(os.environ, COLUMNS=COLUMNS):
        try:
            code = main(shlex.split(command))
        except SystemExit as error:
            code = int(str(error.code))
    return Said(code, out.getvalue(), err.getvalue())


def _shown(command: str) -> str:
    output = run(command)
    parts = [f"$ sim {command}".rstrip(), stable(output.out).rstrip()]
    if output.err:
        parts += ["(standard error)", stable(output.err).rstrip()]
    parts.append(f"(exit code {output.code})")
    return "\n".join(part for part in parts if part) + "\n"


def _document(command: str) -> str:
    output = run(f"{command} --json")
    document = json.loads(output.out)
    return stable(json.dumps(document, indent=1, ensure_ascii=False)) + "\n"


def stable(text: str) -> str:
    """Return text without the parts that depend on the release or the folder."""
    text = text.replace(f"{Path(sys.executable).with_name('sim')} ", "sim ")
    text = text.replace(f"{os.getcwd()}/", "<here>/")
    for pattern, name in _UNSTABLE:
        text = pattern.sub(name, text)
    return text


def renew() -> Iterator[str]:
    """Rewrite every file; return the names of those that changed."""
    now = files()
    for path in FOLDER.rglob("*.*"):
        if str(path.relative_to(FOLDER)) not in now:
            path.unlink()
            yield f"{path.name} (gone)"
    for name, text in now.items():
        path = FOLDER / name
        if not path.is_file() or path.read_text() != text:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
            yield name


if __name__ == "__main__":
    print(*renew(), sep="\n", file=sys.stderr)
