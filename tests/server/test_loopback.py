"""Loopback is 127.0.0.1 and, where the machine has it, ::1: every listener answers on both, on one
port, because clients differ in what they take `localhost` for.
"""

from __future__ import annotations

import errno
import socket
import subprocess
from collections.abc import Callable
from typing import Any
from urllib.parse import urlsplit

import grpc
import pytest

from sim.cli.main import main
from sim.evidence.recording.files import PLANES
from sim.server.listeners import SURFACES
from sim.server.platforms import has_ipv6_loopback
from tests.kit.http import status
from tests.kit.processes import Process, serve
from tests.node_tools import needs

needs_ipv6 = pytest.mark.skipif(not has_ipv6_loopback(), reason="this machine has no ::1")

# A machine without IPv6: sockets of that family cannot be had.
WITHOUT = """
import errno, os, socket, sys
class Socket(socket.socket):
    def __init__(self, family=-1, *rest, **more):
        if family == socket.AF_INET6:
            raise OSError(errno.EAFNOSUPPORT, os.strerror(errno.EAFNOSUPPORT))
        super().__init__(family, *rest, **more)
socket.socket = Socket
from sim.cli.main import main
sys.exit(main())
"""

Start = Callable[..., Process]


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    """An exchange on free ports whose clock no test moves."""
    with serve(tmp_path_factory.mktemp("served")) as process:
        yield process


def port_of(address: str) -> int:
    return int(address.rpartition(":")[2])


def is_serving(address: str) -> bool:
    """Whether the gRPC health service says so."""
    with grpc.insecure_channel(address) as channel:
        check = channel.unary_unary("/grpc.health.v1.Health/Check")
        return bool(check(b"", timeout=10) == b"\x08\x01")  # SERVING


def both_answer(ready: dict[str, Any]) -> None:
    assert ready["listens_on"] == ["127.0.0.1", "::1"]
    for surface in SURFACES:
        port = port_of(ready[surface])
        for here in ("127.0.0.1", "[::1]"):
            if surface == "grpc":
                assert is_serving(f"{here}:{port}")
            else:
                assert status(f"http://{here}:{port}/") < 500, (surface, here)


@needs_ipv6
def test_every_listener_answers_on_both_addresses(served):
    both_answer(served.ready)


@pytest.mark.long
@needs_ipv6
def test_so_does_a_listener_on_the_name_and_one_with_a_certificate(start, tmp_path):
    ready = start("serve", "--port-base", "0", "--host", "localhost").ready
    assert ready["gateway"].startswith("http://localhost:")
    both_answer(ready)
    ready = start("serve", "--port-base", "0", "--tls", str(tmp_path / "tls")).ready
    for here in ("127.0.0.1", "[::1]", "localhost"):
        url = f"https://{here}:{port_of(ready['gateway'])}/v1/health"
        assert status(url, ca=ready["tls_ca"]) == 200


@needs_ipv6
@needs()
def test_a_fetch_of_node_to_localhost_arrives(served):
    """With ::1 first, as Node has it from the machine, and no second try by the other family."""
    script = f"""
        const answer = await fetch("http://localhost:{port_of(served.ready["gateway"])}/v1/health");
        console.log(answer.status);
    """
    order = ("--dns-result-order=ipv6first", "--no-network-family-autoselection")
    command = ["node", *order, "--input-type=module", "-e", script]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stdout) == (0, "200\n"), done.stderr


@needs_ipv6
def test_in_a_world_beside_a_client_is_the_same_one_by_either_address(served):
    """A limit for each address does not double because `localhost` has two."""
    beside = served.control("POST", "/fork", {})
    both_answer(beside)
    port, path = port_of(beside["gateway"]), "/v1/markets?limit=1"
    answers = [
        status(f"http://{('127.0.0.1', '[::1]')[number % 2]}:{port}{path}") for number in range(40)
    ]
    allowed = answers.count(200)
    assert 0 < allowed < 40 and answers == [200] * allowed + [429] * (40 - allowed)


@needs_ipv6
def test_a_recorder_answers_on_both_addresses(served, start, tmp_path):
    upstream = [f"--{plane}={served.ready[plane]}" for plane in PLANES]
    file = tmp_path / "session.ndjson"
    recorder = start("record", "--to", str(file), "--port-base", "0", *upstream)
    assert recorder.ready["listens_on"] == ["127.0.0.1", "::1"]
    for here in ("127.0.0.1", "[::1]"):
        assert status(f"http://{here}:{port_of(recorder.ready['gateway'])}/v1/health") == 200
        assert is_serving(f"{here}:{port_of(recorder.ready['grpc'])}")


@needs_ipv6
def test_a_port_that_somebody_has_on_the_other_address_is_taken(capsys):
    with socket.create_server(("::1", 0), family=socket.AF_INET6) as other:
        port = other.getsockname()[1]
        assert main(["serve", "--port-base", str(port)]) == 4
    reported = capsys.readouterr().err
    assert f"cannot listen on [::1]:{port} (gateway)" in reported


def test_a_machine_without_ipv6_serves_and_says_so(start):
    served = start("serve", "--port-base", "0", program=("-c", WITHOUT))
    assert served.ready["listens_on"] == ["127.0.0.1"]
    for surface in SURFACES:
        port = port_of(served.ready[surface])
        with socket.create_connection(("127.0.0.1", port), timeout=10):
            pass
        if has_ipv6_loopback():
            with (
                socket.socket(socket.AF_INET6) as other,
                pytest.raises(OSError, match=r"\[Errno") as refused,
            ):
                other.connect(("::1", port))
            assert refused.value.errno == errno.ECONNREFUSED, surface
    _, out, _ = served.end(2)
    assert "localhost 127.0.0.1 alone: this machine has no ::1" in out


@needs_ipv6
def test_another_address_is_listened_on_alone(start):
    ready = start("serve", "--port-base", "0", "--host", "::1").ready
    assert ready["listens_on"] == ["::1"]
    url = urlsplit(ready["gateway"])
    assert url.hostname == "::1"
    with socket.socket() as other, pytest.raises(ConnectionRefusedError):
        other.connect(("127.0.0.1", url.port or 0))
