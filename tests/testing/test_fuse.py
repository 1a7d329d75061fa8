"""The fuse (design D24): a test that uses the exchange cannot connect to the real service."""

from __future__ import annotations

import asyncio
import http.client
import os
import re
import socket
import subprocess
import sys
import threading
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import aiohttp
import grpc
import pytest
import requests
from polymarket_us import PolymarketUS
from websockets.sync.client import connect as connect_web_socket

from sim.testing import LiveHostRefused, fuse
from sim.testing.fuse import FuseLimits, fused
from sim.testing.refusing_proxy import fenced_environment

pytest_plugins = ["pytester"]
ROOT = Path(__file__).parents[2]
HOST = "api.polymarket.us"


@pytest.fixture
def armed() -> Iterator[None]:
    with fused(FuseLimits()):
        yield


def run(main: Callable[[], Any]) -> None:
    asyncio.run(main())


async def by_aiohttp() -> None:
    async with aiohttp.ClientSession() as session:
        await session.get(f"https://{HOST}/v1/health")


async def by_asyncio() -> None:
    await asyncio.open_connection(HOST, 443)


async def by_grpc_aio() -> None:
    async with grpc.aio.insecure_channel(f"dns:///{HOST}:443") as channel:
        await channel.unary_unary("/x/Y")(b"")


def by_sdk() -> None:
    PolymarketUS(gateway_base_url=f"https://{HOST}").markets.list()


def by_raw_connect() -> None:
    with socket.socket() as client:
        client.connect((HOST, 443))


CLIENTS: dict[str, Callable[[], object]] = {
    "requests": lambda: requests.get(f"https://{HOST}", timeout=3),
    "urllib": lambda: urllib.request.urlopen(f"http://{HOST}", timeout=3),
    "http.client": lambda: http.client.HTTPSConnection(HOST, timeout=3).request("GET", "/"),
    "socket": by_raw_connect,
    "create_connection": lambda: socket.create_connection((HOST.upper() + ".", 443), 3),
    "websockets": lambda: connect_web_socket(f"wss://{HOST}/v1/ws/markets"),
    "aiohttp": lambda: run(by_aiohttp),
    "asyncio": lambda: run(by_asyncio),
    "grpc": lambda: grpc.secure_channel(f"{HOST}:443", grpc.ssl_channel_credentials()),
    "grpc.aio": lambda: run(by_grpc_aio),
    "udp": lambda: socket.socket(type=socket.SOCK_DGRAM).sendto(b"x", (HOST, 53)),
    "the SDK": by_sdk,
}


@pytest.mark.parametrize("client", CLIENTS)
def test_a_client_that_points_at_the_service_is_refused(armed: None, client: str) -> None:
    with pytest.raises(LiveHostRefused, match=HOST):
        CLIENTS[client]()


def test_a_proxy_of_the_environment_does_not_carry_the_name(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("HTTPS_PROXY", "http://127.0.0.1:9")
    with fused(FuseLimits()), pytest.raises(LiveHostRefused):
        requests.get(f"https://{HOST}", timeout=3)


def test_a_channel_from_before_the_test_is_refused_when_it_calls() -> None:
    with grpc.insecure_channel(f"{HOST}:443") as channel:
        call = channel.unary_unary("/x/Y")
        with fused(FuseLimits()):
            for form in (call, call.with_call, call.future):
                with pytest.raises(LiveHostRefused):
                    form(b"")


def test_loopback_and_other_hosts_are_let_through(armed: None) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        for name in ("127.0.0.1", "localhost"):
            socket.create_connection((name, server.getsockname()[1]), 3).close()
    for other in ("example.invalid", "notpolymarket.us", "polymarket.us.example.invalid"):
        with pytest.raises(OSError):
            socket.create_connection((other, 9), 1)


def test_without_a_test_nothing_is_refused() -> None:
    with fused(FuseLimits(), used=False):
        fuse.refuse(HOST)


def test_hosts_can_be_allowed_and_everything_refused() -> None:
    with fused(FuseLimits(allowed=(HOST,))):
        fuse.refuse(HOST)
        with pytest.raises(LiveHostRefused):
            fuse.refuse("gateway.polymarket.us")
    with fused(FuseLimits(everything=True)):
        for name in ("127.0.0.1", "::1", "localhost", "x.localhost", "0.0.0.0"):
            fuse.refuse(name)
        for name in ("example.com", "10.0.0.1"):
            with pytest.raises(LiveHostRefused):
                fuse.refuse(name)


def test_another_thread_is_refused_too(armed: None) -> None:
    refusals: list[BaseException] = []

    def call() -> None:
        try:
            requests.get(f"https://{HOST}", timeout=3)
        except LiveHostRefused as refused:
            refusals.append(refused)

    thread = threading.Thread(target=call)
    thread.start()
    thread.join()
    assert refusals


PLUGIN = """\
import socket, pytest
from sim.testing import LiveHostRefused

def live(host="api.polymarket.us"):
    try:
        socket.create_connection((host, 443), 0.05)
    except OSError:
        pass

def test_with(exchange):
    with pytest.raises(LiveHostRefused):
        live()
    live("127.0.0.1")

def test_without():
    live()

@pytest.mark.exchange(allow_live_hosts=["api.polymarket.us"])
def test_allowed(exchange):
    live()
    with pytest.raises(LiveHostRefused):
        live("gateway.polymarket.us")

def test_connect():
    from sim import Simulation, load_scenario
    from sim.testing import connect
    connect(Simulation(load_scenario("price-time-priority")))
    with pytest.raises(LiveHostRefused):
        live()

def test_after():
    live()
"""


@pytest.mark.long
def test_the_plugin_arms_it_for_tests_that_use_the_exchange(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(PLUGIN)
    pytester.runpytest_subprocess("-q", "-p", "no:cacheprovider").assert_outcomes(passed=5)
    pytester.makeini("[pytest]\nexchange_allow_live_hosts =\n    polymarket.us\n")
    result = pytester.runpytest_subprocess(
        "-q", "-p", "no:cacheprovider", "-k", "with_ or test_with"
    )
    assert "DID NOT RAISE" in result.stdout.str()


# ---- commands


@pytest.mark.long
def test_a_command_cannot_reach_the_service_and_reaches_everything_else(tmp_path: Any) -> None:
    script = (
        "import requests, urllib.request, sys\n"
        "from http.server import BaseHTTPRequestHandler\n"
        "try:\n"
        f"    requests.get('https://{HOST}', timeout=3)\n"
        "except Exception as error:\n"
        "    print(type(error).__name__)\n"
        "requests.get(sys.argv[1], timeout=3).raise_for_status()\n"
    )
    with fenced_environment() as variables, socket.create_server(("127.0.0.1", 0)) as server:
        threading.Thread(target=_answer, args=(server,), daemon=True).start()
        port = server.getsockname()[1]
        command = [sys.executable, "-c", script, f"http://127.0.0.1:{port}"]
        done = subprocess.run(
            command, env=os.environ | variables, capture_output=True, text=True, timeout=60
        )
        assert (done.returncode, done.stdout) == (0, "LiveHostRefused\n"), done.stderr
        proxies = {"https": variables["HTTPS_PROXY"], "http": variables["HTTP_PROXY"]}
        with pytest.raises(requests.exceptions.ProxyError, match="403"):
            requests.get(f"https://{HOST}", proxies=proxies, timeout=3)
        threading.Thread(target=_answer, args=(server,), daemon=True).start()
        answer = requests.get(f"http://127.0.0.1:{port}/x", proxies=proxies, timeout=3)
        assert answer.text == "hello"


def _answer(server: socket.socket) -> None:
    client, _ = server.accept()
    with client:
        client.recv(4096)
        client.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nConnection: close\r\n\r\nhello")


def test_the_helper_for_node_knows_the_same_hosts() -> None:
    source = (ROOT / "clients" / "typescript" / "src" / "fuse.ts").read_text()
    (listed,) = re.findall(r"SERVICE_HOSTS = \[(.*?)\]", source)
    assert tuple(re.findall('"(.*?)"', listed)) == fuse.service_hosts()
