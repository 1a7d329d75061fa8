"""The packages as a user gets them: built by the standard frontend, installed into a fresh
environment without a network, and used away from the checkout.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import sysconfig
import tarfile
import venv
import zipfile
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path

import pytest
from packaging.metadata import Metadata

from sim.kernel.release import RELEASE

ROOT = Path(__file__).parents[2]
Run = Callable[..., subprocess.CompletedProcess[str]]

pytestmark = pytest.mark.skipif(find_spec("build") is None, reason="build is not installed")


def run(*command: str | Path, **options: object) -> subprocess.CompletedProcess[str]:
    done = subprocess.run(
        [str(part) for part in command],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
        **options,  # type: ignore[call-overload]
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done


@pytest.fixture(scope="module")
def packages(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """The wheel, which is made from the source distribution, and that."""
    out = tmp_path_factory.mktemp("dist")
    run(sys.executable, "-m", "build", "--no-isolation", "--outdir", out, ROOT)
    (wheel,), (source,) = out.glob("*.whl"), out.glob("*.tar.gz")
    return wheel, source


@pytest.fixture(scope="module")
def installed(packages: tuple[Path, Path], tmp_path_factory: pytest.TempPathFactory) -> Run:
    """Runs a command of a fresh environment that has the wheel, in an empty folder."""
    home = tmp_path_factory.mktemp("venv")
    venv.create(home, symlinks=True)
    folder = home / "bin" if os.name != "nt" else home / "Scripts"
    paths = {"base": str(home), "platbase": str(home)}
    site = Path(sysconfig.get_path("purelib", "venv", paths))
    # Dependencies are those that are here: there is no network. Links in a folder of their own
    # are no installation, so nothing of the checkout's own is among them.
    (site / "dependencies.pth").write_text(sysconfig.get_path("purelib") + "\n")
    with zipfile.ZipFile(packages[0]) as wheel:
        assert not [name for name in wheel.namelist() if name.endswith((".so", ".pyd"))]
    offline = ("--no-index", "--no-deps", "--no-compile", "--disable-pip-version-check", "--quiet")
    run(sys.executable, "-m", "pip", "--python", home, "install", *offline, packages[0])
    empty = tmp_path_factory.mktemp("empty")
    environment = {name: text for name, text in os.environ.items() if name != "PYTHONPATH"}

    def command(name: str, *words: str | Path) -> subprocess.CompletedProcess[str]:
        return run(folder / name, *words, cwd=empty, env=environment)

    where = command("python", "-c", "import sim; print(sim.__file__)").stdout
    assert Path(where.strip()).is_relative_to(site), where
    return command


@pytest.mark.long
def test_the_metadata_are_valid_and_the_same_in_both(packages: tuple[Path, Path]) -> None:
    wheel, source = packages
    with zipfile.ZipFile(wheel) as archive:
        (name,) = (item for item in archive.namelist() if item.endswith(".dist-info/METADATA"))
        text = archive.read(name)
    with tarfile.open(source) as archive:
        (member,) = (getname for getname in archive.getnames() if getname.endswith("/PKG-INFO"))
        file = archive.extractfile(member)
        assert file is not None and file.read() == text
    reported = Metadata.from_email(text, validate=True)
    assert (reported.name, str(reported.version)) == ("sandbox-exchange", RELEASE)
    assert reported.description_content_type == "text/markdown"
    assert wheel.name.endswith("-py3-none-any.whl")


def test_the_wheel_installs_the_package_alone(packages: tuple[Path, Path]) -> None:
    """A user may have folders called benchmarks or tests."""
    with zipfile.ZipFile(packages[0]) as wheel:
        names = {name.partition("/")[0] for name in wheel.namelist()}
    assert names == {"sim", "sandbox_exchange_pytest.py", f"sandbox_exchange-{RELEASE}.dist-info"}


@pytest.mark.skipif(find_spec("twine") is None, reason="twine is not installed")
def test_twine_has_nothing_against_them(packages: tuple[Path, Path]) -> None:
    run(sys.executable, "-m", "twine", "check", "--strict", *packages)


@pytest.mark.long
def test_the_installed_command_runs_a_bundled_scenario(installed: Run) -> None:
    assert installed("sim", "--version").stdout == f"sim {RELEASE}\n"
    assert "passed" in installed("sim", "run", "halt-and-suspension").stdout
    assert installed("sim", "catalogue", "ledger").stdout
    assert installed("sim", "init", "project").stdout


def test_tests_of_users_import_what_they_use(installed: Run) -> None:
    script = """
import sim.testing
from sim import Simulation, load_scenario
from importlib.metadata import entry_points
assert "sandbox_exchange_pytest" in {plugin.value for plugin in entry_points(group="pytest11")}
print(Simulation(load_scenario("quickstart"), seed=7).digest[:8])
"""
    assert installed("python", "-c", script).stdout.strip()


SERVES = """
import json, subprocess, sys, time, urllib.request
from pathlib import Path
command = [sys.executable, "-m", "sim", "serve", "--port-base", "0", "--ready-file", "ready.json"]
with subprocess.Popen(command, stdout=subprocess.DEVNULL) as served:
    try:
        while not Path("ready.json").exists():
            assert served.poll() is None
            time.sleep(0.05)
        ready = json.loads(Path("ready.json").read_text())
        pages = {}
        for surface, path in json.loads(sys.argv[1]):
            with urllib.request.urlopen(ready[surface] + path, timeout=20) as answer:
                pages[surface + path] = len(answer.read())
        print(json.dumps(pages))
    finally:
        served.terminate()
"""
READ_OFFLINE = [
    *(("docs", page) for page in ("/", "/llms.txt", "/skill.md", "/openapi/control.json")),
    *(("control", page) for page in ("/", "/rules.js", "/_sim/v1/metrics")),
]


@pytest.mark.long
def test_what_the_room_and_agents_read_is_in_the_wheel(installed: Run) -> None:
    pages = json.loads(installed("python", "-c", SERVES, json.dumps(READ_OFFLINE)).stdout)
    assert len(pages) == len(READ_OFFLINE) and all(size > 200 for size in pages.values()), pages
    guide = (
        'from sim.kernel import resources; print(len([*resources.folder("docs").rglob("*.md")]))'
    )
    actual = len(
        [*(ROOT / "docs" / "how-to").rglob("*.md"), *(ROOT / "docs" / "reference").glob("*")]
    )
    assert int(installed("python", "-c", guide).stdout) >= actual
