"""What a web page may ask of the control plane and the docs listener: nothing. The rules, as plain
HTTP; `test_browser.py` has a real browser try.
"""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from sim.cli.main import main
from tests.kit.http import Answer

RESET = "/_sim/v1/reset"
CLOCK = "/_sim/v1/clock"


async def ask(
    served: Any, plane: str, path: str, verb: str = "GET", body: bytes = b"{}", **headers: str
) -> Answer:
    """The answer by this machine's own address; no Content-Type unless one is among the headers."""
    own = getattr(served.at, plane).replace("sandbox.test", "127.0.0.1")
    return await served._replace(at=SimpleNamespace(**{plane: own})).ask(
        plane,
        path,
        verb,
        data=body if verb == "POST" else None,
        headers=headers,
        skip_auto_headers=["Content-Type"],
    )


def port_of(address: str) -> str:
    return address.rpartition(":")[2]


def acted(served: Any) -> list[Any]:
    return [value for value in served.sim.inputs if value[0] != "advance"]


FOREIGN_NAMES = [
    *("evil.example", "evil.example:{port}", "localhost.evil.example:{port}"),
    *("127.0.0.1.evil.example", "notlocalhost", "127.0.0.1@evil.example"),
    *("evil.example@127.0.0.1", "127.0.0.1:80:80", "[::1", "::1", "127.0.0.1 evil.example"),
    *("[fe80::1%25eth0]", "café.example", "", ".", ".localhost."),
]
OWN_NAMES = [
    *("127.0.0.1:{port}", "127.0.0.1", "LOCALHOST:{port}", "localhost."),
    *("room.localhost:{port}", "[::1]:{port}", "192.168.1.7:{port}", "sandbox.test:{port}"),
]


@pytest.mark.parametrize("name", FOREIGN_NAMES)
@pytest.mark.parametrize("plane", ["control", "docs"])
async def test_a_name_that_is_not_this_machines_is_refused(serve, plane, name):
    served = await serve(public_host="sandbox.test")
    host = name.format(port=port_of(getattr(served.at, plane)))
    for verb, path in (("POST", RESET), ("GET", CLOCK), ("GET", "/"), ("OPTIONS", RESET)):
        answer = await ask(served, plane, path, verb, Host=host)
        assert (answer.status, b"name" in answer.body) == (403, True), (verb, path)
    assert acted(served) == []


@pytest.mark.parametrize("name", OWN_NAMES)
async def test_this_machine_may_be_called_by_its_names_and_addresses(serve, name):
    served = await serve(public_host="sandbox.test")
    host = name.format(port=port_of(served.at.control))
    for plane, path in (("control", CLOCK), ("docs", "/changelog")):
        assert (await ask(served, plane, path, Host=host)).status == 200


async def test_without_a_public_host_its_name_is_a_foreign_one(served):
    assert (await ask(served, "control", CLOCK, Host="sandbox.test")).status == 403


@pytest.mark.parametrize(
    "request_line", [b"GET http://evil.example/_sim/v1/health", b"GET http://127.0.0.1\\@evil/x"]
)
async def test_the_name_in_an_absolute_target_counts_too(served, raw_http, request_line):
    answer = await raw_http(
        served.at.control,
        request_line + b" HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n",
    )
    assert answer.split()[1] in (b"400", b"403")


async def test_a_request_without_a_host_is_refused(served, raw_http):
    answer = await raw_http(served.at.control, b"GET /_sim/v1/clock HTTP/1.0\r\n\r\n")
    assert answer.startswith(b"HTTP/1.1 403 ")


FOREIGN_ORIGINS = [
    *("http://evil.example", "http://evil.example:{port}", "null", "", "http://localhost:{port}"),
    *("http://127.0.0.1:1", "http://127.0.0.1", "chrome-extension://127.0.0.1:{port}"),
    *("http://127.0.0.1:{port}@evil.example", "http://["),
]


@pytest.mark.parametrize("origin", FOREIGN_ORIGINS)
@pytest.mark.parametrize("plane", ["control", "docs"])
async def test_another_origin_is_refused_whatever_it_asks(served, plane, origin):
    headers = {"Origin": origin.format(port=port_of(getattr(served.at, plane)))}
    calls = f"POST {RESET},GET {CLOCK},GET /,OPTIONS {RESET},POST /docv/token"
    for verb, path in map(str.split, calls.split(",")):
        answer = await ask(served, plane, path, verb, **headers)
        assert (answer.status, b"origin" in answer.body) == (403, True), (verb, path)
    assert acted(served) == []


@pytest.mark.parametrize("site", ["cross-site", "same-site", "unheard-of"])
async def test_what_a_page_elsewhere_started_is_refused_but_pages_may_be_linked_to(served, site):
    headers = {"Sec-Fetch-Site": site}
    assert (await ask(served, "control", CLOCK, **headers)).status == 403
    assert (await ask(served, "control", RESET, "POST", **headers)).status == 403
    assert (await ask(served, "docs", "/docv/x", "POST", **headers)).status == 403
    assert (await ask(served, "docs", "/changelog", **headers)).status == 200
    assert acted(served) == []


async def test_a_browser_without_fetch_metadata_is_known_by_its_referer(served):
    headers = {"Referer": "http://evil.example/page"}
    assert (await ask(served, "control", CLOCK, **headers)).status == 403
    assert (await ask(served, "docs", "/docv/x", "POST", **headers)).status == 403
    assert (await ask(served, "docs", "/changelog", **headers)).status == 200
    own = {"Referer": f"{served.at.control}/room"}
    assert (await ask(served, "control", CLOCK, **own)).status == 200


FORM_TYPES = [
    None,
    "text/plain",
    "TEXT/plain; charset=utf-8",
    "application/x-www-form-urlencoded",
    "multipart/form-data; boundary=x",
]


@pytest.mark.parametrize("kind", FORM_TYPES)
async def test_what_a_form_can_send_is_no_call_of_a_page_but_one_of_a_program(served, kind):
    typed = {"Content-Type": kind} if kind else {}
    page = {"Origin": served.at.control, "Sec-Fetch-Site": "same-origin"}
    path = "/_sim/v1/clock/advance"
    own, second = {**page, "Content-Type": "application/json"}, b'{"by": "1s"}'
    answer = await ask(served, "control", path, "POST", second, **page, **typed)
    assert (answer.status, b"application/json" in answer.body) == (403, True)
    before = served.sim.now
    for headers in (typed, own):
        assert (await ask(served, "control", path, "POST", second, **headers)).status == 200
    assert served.sim.now - before == 2_000_000_000


async def test_a_guard_comes_before_the_token(serve):
    served = await serve(control_token="s3cret")
    headers = {"Origin": "http://evil.example", "Authorization": "Bearer s3cret"}
    assert (await ask(served, "control", RESET, "POST", **headers)).status == 403


async def test_no_page_elsewhere_may_frame_a_page_of_the_docs(served):
    page = await served.ask("docs", "/changelog")
    assert page.headers["Content-Security-Policy"] == "frame-ancestors 'self'"
    assert page.headers["X-Content-Type-Options"] == "nosniff"


@pytest.mark.parametrize(
    ("name", "displayed"), [("box.test", "box.test"), ("fd00::7", "[fd00::7]")]
)
async def test_addresses_call_this_machine_by_its_public_host(serve, name, displayed):
    served = await serve(public_host=name)
    for surface, address in served.at.surfaces():
        assert address.removeprefix("http://").rpartition(":")[0] == displayed, surface


@pytest.mark.parametrize(
    "name", ["http://box.test", "box.test:80", "box test", "-", "b/x", "[::1]"]
)
def test_a_public_host_is_a_name_or_an_address(name, capsys):
    assert main(["serve", f"--public-host={name}", "--port-base", "0"]) == 2
    assert "--public-host must be a host name or an IP address" in capsys.readouterr().err
