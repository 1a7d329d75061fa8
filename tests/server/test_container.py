"""What the container is built from and runs: its client, its health check, its settings. The image
itself is built and entered by `.ci/container.py`.
"""

from __future__ import annotations

import importlib
import json
import re
import shlex
import signal
import subprocess
import sys
import tomllib
from importlib.metadata import requires
from pathlib import Path

import pytest
import yaml
from packaging.requirements import Requirement

from sim.cli.main import parsers
from sim.cli.parsing.environment import unknown_variables
from tests.kit.processes import Process

ROOT = Path(__file__).parents[2]
DOCKERFILE = (ROOT / "Dockerfile").read_text()
COMPOSE = yaml.safe_load((ROOT / "compose.yaml").read_text())
JOURNEY = ROOT / "docs" / "examples" / "container" / "journey.py"
IMAGE = dict(item.split("=", 1) for item in re.findall(r"\b(SIM_[A-Z_]+=\S+)", DOCKERFILE))


def python(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, *map(str, arguments)], capture_output=True, text=True, cwd=ROOT, timeout=60
    )


def healthcheck(ready_file: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[int, str]:
    command = re.search(r"^HEALTHCHECK .*CMD (\[.*\])$", DOCKERFILE, re.M)
    assert command is not None
    monkeypatch.setenv("SIM_READY_FILE", str(ready_file))
    ran = python(*json.loads(command[1])[1:])
    monkeypatch.delenv("SIM_READY_FILE")
    return ran.returncode, ran.stderr.strip()


@pytest.mark.long
@pytest.mark.parametrize("tls", [False, True])
def test_the_client_of_compose_runs_its_journey_with_the_ready_file_alone(
    tls, tmp_path, monkeypatch
):
    ready_file = tmp_path / "ready.json"
    why = f"{ready_file}: the server is not ready: the file does not exist yet"
    assert healthcheck(ready_file, monkeypatch) == (1, why)
    for name, value in {**IMAGE, "SIM_PUBLIC_HOST": "localhost", "SIM_PORT_BASE": "0"}.items():
        monkeypatch.setenv(name, value)
    if tls:
        monkeypatch.setenv("SIM_TLS", str(tmp_path))
    monkeypatch.delenv("SIM_READY_FILE")
    served = Process(tmp_path, "serve")
    assert healthcheck(ready_file, monkeypatch) == (0, "")
    for firm in served.ready["firms"]:
        # The client sees no file of the exchange.
        assert firm["private_key_pem"] == Path(firm.pop("private_key_path")).read_text()
    mine = tmp_path / "mine.json"
    mine.write_text(json.dumps(served.ready))
    if tls:
        monkeypatch.setenv("SSL_CERT_FILE", served.ready["tls_ca"])
    ran = python(JOURNEY, mine)
    assert ran.returncode == 0, ran.stderr
    assert f"{served.ready['exchange']}/v1/trading/orders  200" in ran.stdout
    assert served.ready["exchange"].startswith("https://localhost:" if tls else "http://localhost:")
    _, out, _ = served.end(signal.SIGTERM)
    assert served.ready["control_token"] in out
    code, why = healthcheck(ready_file, monkeypatch)
    assert code == 1 and why


def test_the_settings_of_image_and_compose_are_read(monkeypatch):
    settings = IMAGE | COMPOSE["services"]["exchange"]["environment"]
    assert {"SIM_HOST", "SIM_READY_FILE", "SIM_PUBLIC_HOST"} <= settings.keys()
    assert list(unknown_variables(parsers(("serve",))[1]["serve"], settings, list)) == []


def test_the_services_of_compose_share_the_volume_of_the_ready_file():
    services = COMPOSE["services"]
    ready = Path(IMAGE["SIM_READY_FILE"])
    assert f"VOLUME {ready.parent}\n" in DOCKERFILE
    for service in services.values():
        assert any(volume.split(":")[1] == str(ready.parent) for volume in service["volumes"])
    command = services["client"]["entrypoint"]
    assert command[-1] == str(ready)
    mounted = {
        volume.split(":")[1]: volume.split(":")[0] for volume in services["client"]["volumes"]
    }
    script = Path(command[1])
    assert (ROOT / mounted[str(script.parent)] / script.name).resolve() == JOURNEY


def test_the_build_sees_everything_that_the_wheel_holds():
    lines = (ROOT / ".dockerignore").read_text().splitlines()
    sent = {line[1:] for line in lines if line.startswith("!")}
    wheel = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["hatch"]["build"]
    held = {path.partition("/")[0] for path in wheel["targets"]["wheel"]["force-include"]}
    assert held | {"sim", "pyproject.toml", "hatch_build.py", "tests/ledger.yaml"} <= sent
    copied = {
        word
        for line in re.findall(r"^COPY (?!--from)(.*)$", DOCKERFILE, re.M)
        for word in shlex.split(line)[:-1]
    }
    assert all((ROOT / item).exists() for item in copied)
    assert copied - {"."} <= sent


def test_the_image_gets_exactly_what_the_package_needs_each_with_hashes():
    needed, left = set[str](), ["sandbox-exchange"]
    while left:
        for text in requires(left.pop()) or ():
            requirement = Requirement(text)
            name = re.sub(r"[-_.]+", "-", requirement.name).lower()
            expected = requirement.marker is None or requirement.marker.evaluate({"extra": ""})
            if expected and name not in needed:
                needed.add(name)
                left.append(name)
    locked = python(".ci/locked.py", "runtime").stdout
    entries = re.split(r"^(?=[a-z])", locked, flags=re.M)[1:]
    names = {entry.partition("==")[0] for entry in entries}
    assert needed <= names
    # Packages of the lock that this interpreter or platform does not need are named by a marker.
    assert all(" ; " in entry for entry in entries if entry.partition("==")[0] not in needed)
    assert all("--hash=sha256:" in entry for entry in entries)


def _daemon_answers() -> bool:
    done = subprocess.run(["docker", "info"], capture_output=True, check=False)
    return done.returncode == 0


@pytest.fixture
def testcontainers_module(monkeypatch):
    """The module for Python that the page shows."""
    pytest.importorskip("testcontainers", reason="pip install testcontainers")
    monkeypatch.syspath_prepend(JOURNEY.parent)
    return importlib.import_module("exchange_container")


def test_the_module_for_python_gives_the_addresses_of_this_machine(
    testcontainers_module, tmp_path, monkeypatch
):
    """Without a container: the exchange runs as the image would start it, behind other names."""
    from testcontainers.core.container import DockerContainer

    for name, value in {**IMAGE, "SIM_PORT_BASE": "0"}.items():
        monkeypatch.setenv(name, value)
    monkeypatch.delenv("SIM_READY_FILE")
    monkeypatch.setenv("SIM_CLOCK", "manual")
    served = Process(tmp_path, "serve")
    ready = (tmp_path / "ready.json").read_bytes()
    monkeypatch.setattr(DockerContainer, "__init__", lambda self, image: None)
    for name in ("with_exposed_ports", "with_env", "waiting_for", "stop"):
        monkeypatch.setattr(DockerContainer, name, lambda self, *_: self)
    monkeypatch.setattr(DockerContainer, "start", lambda self: self)
    monkeypatch.setattr(DockerContainer, "exec", lambda self, command: (0, ready))
    monkeypatch.setattr(DockerContainer, "get_exposed_port", lambda self, port: port)
    monkeypatch.setattr(DockerContainer, "get_container_host_ip", lambda self: "localhost")
    container = testcontainers_module.ExchangeContainer().start()
    assert container.ready["gateway"].startswith("http://localhost:")
    assert container.ready["grpc"] == served.ready["grpc"].replace("127.0.0.1", "localhost")
    assert container.ready["firms"] == served.ready["firms"]
    before = container.control("GET", "/clock")["now"]
    assert container.control("POST", "/clock/advance", {"by": "5m"})["now"] > before
    served.end(signal.SIGINT)


def test_the_module_for_python_starts_a_container(testcontainers_module):
    if not _daemon_answers():
        pytest.skip("no docker daemon answers")
    subprocess.run(["docker", "build", "--tag", "sandbox-exchange", ROOT], check=True)
    with testcontainers_module.ExchangeContainer() as container:
        assert container.control("GET", "/health")["scenario"] == "quickstart"


def test_the_module_for_python_has_types(testcontainers_module):
    checked = python("-m", "mypy", "--strict", testcontainers_module.__file__)
    assert checked.returncode == 0, checked.stdout
