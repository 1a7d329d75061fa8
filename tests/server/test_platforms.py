"""Other operating systems: what Linux has and they lack is taken away, and the exchange still
serves, ends as it should, and claims its ports.
"""

from __future__ import annotations

import signal
import socket
import struct

import pytest

from sim.cli.main import main
from sim.server import platforms
from tests.kit.http import status
from tests.kit.processes import serve

# What Windows has not. `sim` runs in it as the console script does.
WINDOWS = """
import asyncio, asyncio.unix_events, os, signal, sys
for name in ("SIGHUP", "SIGALRM", "pthread_sigmask", "setitimer"):
    delattr(signal, name)
for name in ("fchmod", "fork", "getuid", "sendfile"):
    delattr(os, name)
sys.modules.update(dict.fromkeys(("fcntl", "uvloop", "resource", "grp", "pwd")))
def unavailable(*_):
    raise NotImplementedError
asyncio.unix_events._UnixSelectorEventLoop.add_signal_handler = unavailable
from sim.cli.main import main
sys.exit(main())
"""


@pytest.mark.parametrize(
    ("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 0)], ids=["interrupt", "terminate"]
)
def test_it_serves_and_ends_without_what_windows_lacks(number, code, tmp_path, capsys):
    journal = tmp_path / "run.ndjson"
    served = serve(tmp_path, f"--journal={journal}", program=("-c", WINDOWS))
    assert status(f"{served.ready['gateway']}/v1/health") == 200
    served.control("POST", "/clock/advance", {"by": "5m"})
    ended, out, errors = served.end(number)
    assert (ended, "Traceback" in errors) == (code, False), errors
    assert "inputs, digest" in out
    assert main(["replay", str(journal)]) == 0, capsys.readouterr()


def test_a_port_is_claimed_alone_where_sharing_would_be_silent(monkeypatch):
    asked: list[tuple[int, int, int]] = []

    class Recorded(socket.socket):
        def setsockopt(self, *option: int) -> None:  # type: ignore[override]
            asked.append(option)  # type: ignore[arg-type]

    with Recorded() as item:
        platforms.claim_port(item)
        monkeypatch.setattr(socket, "SO_EXCLUSIVEADDRUSE", ~socket.SO_REUSEADDR, raising=False)
        platforms.claim_port(item)
    assert [option[1] for option in asked] == [socket.SO_REUSEADDR, ~socket.SO_REUSEADDR]


@pytest.mark.parametrize("windows", [False, True])
def test_a_reset_has_the_form_of_the_platform(windows, monkeypatch):
    asked: list[bytes] = []

    class Recorded(socket.socket):
        def setsockopt(self, level: int, option: int, value: bytes) -> None:  # type: ignore[override]
            asked.append(value)

    monkeypatch.setattr(platforms, "WINDOWS", windows)
    with Recorded() as item:
        platforms.reset_on_close(item)
    assert asked == [struct.pack("hh" if windows else "ii", 1, 0)]
