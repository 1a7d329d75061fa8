"""The package for Node, and the pages for other languages, as their users compile and run them."""

from __future__ import annotations

import os
import re
import shutil
import sys
from pathlib import Path

import pytest

from tests.node_tools import MODULES, binary, needs, run

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "clients" / "typescript"
EXAMPLES = ROOT / "docs" / "how-to" / "languages"


@pytest.fixture
def package(tmp_path):
    """A copy of the package, type-checked and compiled."""
    copy = tmp_path / "package"
    shutil.copytree(PACKAGE, copy, ignore=shutil.ignore_patterns("node_modules", "dist"))
    (copy / "node_modules").symlink_to(MODULES)
    done = run(binary("tsc"), cwd=copy)
    assert done.returncode == 0, done.stdout
    return copy


@needs("typescript", "@types/node")
@pytest.mark.long
def test_the_node_package_keeps_its_promises(package):
    command = f"{sys.executable} -m sim"
    done = run(
        "node", "--test", "test/exchange.test.mjs", cwd=package, SIM_COMMAND=command, timeout=240
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "# pass 10" in done.stdout


@needs("typescript", "@types/node")
@pytest.mark.long
def test_an_exchange_in_a_container_is_reached_by_its_ports(package):
    command = f"{sys.executable} -m sim"
    done = run(
        "node", "--test", "test/container.test.mjs", cwd=package, SIM_COMMAND=command, timeout=240
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "# pass 3" in done.stdout


@needs("typescript", "@types/node", "testcontainers")
def test_a_container_of_testcontainers_is_one(package):
    """Its types fit; the page's example is what is checked."""
    page = (PACKAGE / "README.md").read_text()
    (example,) = (item for item in re.findall(r"```ts\n(.*?)```", page, re.S) if "Wait." in item)
    own = example.replace("@sandbox-exchange/testing/container", "./container.js")
    (package / "src" / "user.ts").write_text(f"{own}export {{ exchange }};\n")
    done = run(binary("tsc"), "--noEmit", "--skipLibCheck", cwd=package)
    assert done.returncode == 0, done.stdout


@needs("typescript", "@types/node")
@pytest.mark.long
def test_what_npm_packs_holds_the_compiled_code(package):
    shutil.rmtree(package / "dist")  # npm itself compiles it
    done = run("npm", "pack", "--json", cwd=package)
    assert done.returncode == 0, done.stdout + done.stderr
    assert {"dist/index.js", "dist/index.d.ts", "dist/container.js"} <= set(
        re.findall(r'"path": "([^"]+)"', done.stdout)
    )


@needs("typescript", "@types/node")
@pytest.mark.long
def test_its_types_catch_a_mistake(package):
    (package / "src" / "user.ts").write_text(
        'import { start } from "./index.js";\n'
        'const exchange = await start({ scenraio: "quickstart" });\n'
        "await exchange.clock.advance(5);\n"
    )
    done = run(binary("tsc"), "--noEmit", cwd=package)
    assert done.returncode != 0
    assert "scenraio" in done.stdout and "'number' is not assignable" in done.stdout


@pytest.mark.parametrize(
    ("tool", "command", "text"),
    [
        ("go", ("go", "run", "main.go"), ["200 200"]),
        pytest.param("javac", ("java", "Exchange.java"), ["200", "200"], marks=pytest.mark.long),
    ],
)
def test_the_page_for_a_language_runs(tool, command, text, tmp_path):
    if shutil.which(tool) is None:
        pytest.skip(f"{tool} is not installed")
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    done = run(*command, cwd=EXAMPLES, PATH=path, GOCACHE=str(tmp_path), GOFLAGS="-mod=mod")
    assert (done.returncode, done.stdout.splitlines()) == (0, text), done.stderr
