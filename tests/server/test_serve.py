"""`sim serve` as a process: what it says, what it writes, and how it ends."""

from __future__ import annotations

import gc
import signal
import socket
import ssl
import time
import urllib.request
from pathlib import Path

import pytest

from sim.cli.main import main
from tests.kit.http import status
from tests.kit.processes import Process, sim

SERVE = ("serve", "--port-base", "0", "--clock", "manual")
SURFACES = ("gateway", "retail", "exchange", "auth", "grpc", "control", "docs")


def answered(url: str, token: str) -> tuple[int, int]:
    """The status of a call without a token, and with it."""
    return status(url), status(url, headers={"Authorization": f"Bearer {token}"})


@pytest.mark.spec("S0-1")
def test_the_ready_file_is_there_once_everything_accepts_and_an_interrupt_ends_it_with_130(
    start, tmp_path
):
    journal = tmp_path / "run.ndjson"
    begins = ("--seed", "11", "--start", "2026-07-09T01:58:00-04:00")
    served = start(*SERVE, *begins, "--journal", str(journal))
    ready = served.ready
    for surface in SURFACES:
        host, _, port = ready[surface].removeprefix("http://").partition(":")
        socket.create_connection((host, int(port)), timeout=5).close()
    assert (ready["scenario"], ready["seed"]) == ("quickstart", 11)
    assert (ready["now"], ready["tls_ca"]) == ("2026-07-09T05:58:00Z", None)
    assert ready["journal"] == str(journal)
    keys = {"firm", "client_id", "private_key_path", "private_key_pem", "audience", "scopes"}
    for firm in ready["firms"]:
        assert keys | {"users", "accounts", "participants"} <= set(firm)
        assert Path(firm["private_key_path"]).is_file()
        assert dict(zip(firm["users"], firm["accounts"], strict=True)) == firm["participants"]
    assert all({"key_id", "secret_key", "account"} <= set(key) for key in ready["api_keys"])
    assert {"open", "fractional", "pending"} <= set(ready["symbols"])
    assert served.control("GET", "/clock")["mode"] == "manual"
    assert status(f"{ready['gateway']}/v2/leagues") == 200
    code, out, err = served.end(signal.SIGINT)
    assert code == 130
    assert "Traceback" not in err
    assert all(ready[surface] in out for surface in SURFACES)
    assert "PolymarketUS(" in out
    assert journal.read_bytes().count(b"\n") == 2


def test_with_fixed_ports_and_a_ready_file_a_server_starts_again_however_it_was_stopped(tmp_path):
    """As in a container: same ports, same file. A clean stop removes the file."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        base = str(free.getsockname()[1] // 10 * 10)
    for number in (signal.SIGTERM, signal.SIGKILL, signal.SIGINT, signal.SIGHUP):
        with Process(tmp_path, "serve", "--port-base", base, keep=True) as served:
            assert served.process.stdout is not None
            assert served.process.stdout.readline().startswith("sandbox exchange")
            assert status(f"{served.ready['gateway']}/v2/leagues") == 200
            served.end(number)
            assert served.ready_file.exists() == (number == signal.SIGKILL)


def test_a_replayed_journal_can_be_served_from_where_it_came_to(start, tmp_path):
    journal = tmp_path / "run.ndjson"
    first = start(*SERVE, "--journal", str(journal))
    first.control("POST", "/clock/advance", {"to": "2026-09-08T19:30:00Z"})
    digest = first.control("GET", "/digest")["digest"]
    first.end(signal.SIGTERM)
    again = start("replay", str(journal), "--serve", "--port-base", "0")
    assert again.ready["now"] == "2026-09-08T19:30:00Z"
    assert again.control("GET", "/digest")["digest"] == digest
    assert status(f"{again.ready['gateway']}/v2/leagues") == 200


@pytest.mark.long
def test_a_port_that_is_taken_is_exit_4_and_a_hint(tmp_path):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        base = taken.getsockname()[1]
        for offset in (0, 4):
            result = sim("serve", "--port-base", base - offset)
            assert result.returncode == 4
            assert "--port-base 0" in result.stderr
            assert "Traceback" not in result.stderr


def test_tls_covers_every_surface_and_only_its_own_authority_is_trusted(start, tmp_path):
    import grpc

    served = start(*SERVE, "--tls", str(tmp_path / "tls"))
    ca = Path(served.ready["tls_ca"])
    assert ca == (tmp_path / "tls" / "ca.pem").resolve()
    for surface in ("gateway", "control"):
        assert served.ready[surface].startswith("https://")
    assert status(f"{served.ready['gateway']}/v2/leagues", ca=str(ca)) == 200
    with pytest.raises(urllib.error.URLError, match="CERTIFICATE_VERIFY_FAILED"):
        urllib.request.urlopen(served.ready["retail"])
    credentials = grpc.ssl_channel_credentials(ca.read_bytes())
    with grpc.secure_channel(served.ready["grpc"], credentials) as channel:
        assert channel.unary_unary("/grpc.health.v1.Health/Check")(b"", timeout=10) == b"\x08\x01"


def test_a_client_with_fixed_hosts_finds_their_names_in_the_certificate(start, tmp_path):
    names = ("gateway.vendor.example", "api.vendor.example", "*.stage.vendor.example")
    options = [word for name in names for word in ("--tls-name", name)]
    served = start(*SERVE, "--tls", str(tmp_path / "tls"), *options)
    context = ssl.create_default_context(cafile=served.ready["tls_ca"])
    port = int(served.ready["gateway"].rpartition(":")[2])

    def greeted(name):
        with (
            socket.create_connection(("127.0.0.1", port), timeout=10) as plain,
            context.wrap_socket(plain, server_hostname=name) as secure,
        ):
            request = f"GET /v1/health HTTP/1.1\r\nHost: {name}\r\nConnection: close\r\n\r\n"
            secure.sendall(request.encode())
            return secure.recv(12)

    for name in ("gateway.vendor.example", "api.vendor.example", "eu.stage.vendor.example"):
        assert greeted(name) == b"HTTP/1.1 200"
    with pytest.raises(ssl.SSLCertVerificationError):
        greeted("other.vendor.example")


@pytest.mark.parametrize(
    ("options", "text"),
    [
        (("--tls-name", "api.vendor.example"), "--tls-name needs --tls DIR"),
        (("--tls", "tls", "--tls-name", "https://api"), "--tls-name https://api: not a host name"),
        (("--tls", "tls", "--tls-name", "api_1"), "no certificate can contain the name api_1"),
        (("--tls", "tls", "--public-host", "my_box"), "no certificate can contain the name my_box"),
    ],
)
def test_a_name_that_no_certificate_can_have_is_refused(
    options, text, tmp_path, monkeypatch, capsys
):
    monkeypatch.chdir(tmp_path)
    assert main(["serve", "--port-base", "0", *options]) == 2
    assert text in capsys.readouterr().err


def test_beyond_loopback_the_control_plane_asks_for_a_token(start):
    served = start(*SERVE, "--host", "0.0.0.0")
    clock = f"{served.ready['control']}/_sim/v1/clock"
    assert answered(clock, served.ready["control_token"]) == (401, 200)
    code, out, _ = served.end(signal.SIGTERM)
    assert code == 0
    assert served.ready["control_token"] in out


def test_the_token_of_the_control_plane_comes_from_a_file_or_the_environment(
    start, tmp_path, monkeypatch
):
    (tmp_path / "token").write_text("from-the-file\n")
    monkeypatch.setenv("SIM_CONTROL_TOKEN", "from-the-environment")
    for options, token, warned in (
        ((), "from-the-environment", False),
        (("--control-token-file", str(tmp_path / "token")), "from-the-file", False),
        (("--control-token", "from-the-option"), "from-the-option", True),
    ):
        served = start(*SERVE, *options)
        clock = f"{served.ready['control']}/_sim/v1/clock"
        assert answered(clock, token) == (401, 200)
        _, _, err = served.end(signal.SIGTERM)
        assert ("shows in the process list" in err) is warned


def test_files_that_hold_secrets_are_for_their_owner_alone(start, tmp_path):
    journal = tmp_path / "run.ndjson"
    journal.touch(0o666)
    served = start(*SERVE, "--journal", str(journal))
    for path in (journal, served.ready_file):
        assert path.stat().st_mode & 0o777 == 0o600


def test_a_terminal_that_closes_gets_the_closing_line(start):
    served = start(*SERVE)
    code, out, _ = served.end(signal.SIGHUP)
    assert (code, " inputs, digest " in out) == (0, True)


def test_a_second_interrupt_kills(start):
    served = start(*SERVE)
    assert served.end(signal.SIGINT, signal.SIGINT)[0] == 130


def test_a_paced_clock_moves_by_itself(start):
    served = start("serve", "--port-base", "0", "--clock", "paced:3600")
    deadline = time.monotonic() + 10
    while served.control("GET", "/clock")["now"] <= served.ready["now"]:
        assert time.monotonic() < deadline


async def test_a_server_that_is_part_of_a_program_leaves_its_garbage_collection_alone(serve):
    before = gc.get_threshold(), gc.get_freeze_count()
    served = await serve()
    served.host._start_over([])
    await served.host.stop()
    assert (gc.get_threshold(), gc.get_freeze_count()) == before
