"""What pages of other origins may read of the public planes, as a browser asks and is told."""

from __future__ import annotations

import pytest
from chromium import COMMAND, chromium

ORIGIN = "http://front.example:3000"
ALLOWED = "access-control-allow-origin"


def ask(served, plane: str, verb: str, headers: dict[str, str], body: bytes = b""):
    return served.ask(plane, "/v1/x", verb, headers=headers, data=body or None)


@pytest.fixture
def choose():
    """Change whose pages may read."""

    def change(served, value: str) -> None:
        served.sim.exchange.ctx.assumptions.change("surfaces.browser_origins", value)

    return change


PREFLIGHT = {
    "Origin": ORIGIN,
    "Access-Control-Request-Method": "POST",
    "Access-Control-Request-Headers": "content-type,x-pm-access-key",
}


@pytest.mark.parametrize("plane", ["gateway", "retail"])
async def test_an_answer_may_be_read_by_the_page_that_asked(served, plane):
    for verb, body in (("GET", b""), ("POST", b"{}"), ("POST", b"x" * (1 << 21))):
        headers = (await ask(served, plane, verb, {"Origin": ORIGIN}, body)).headers
        assert (headers[ALLOWED], headers["vary"]) == (ORIGIN, "Origin")
        assert "x-request-id" in headers["access-control-expose-headers"]
        assert "access-control-allow-credentials" not in headers


@pytest.mark.parametrize("plane", ["gateway", "retail"])
async def test_a_program_is_told_only_that_answers_vary(served, plane):
    headers = (await ask(served, plane, "GET", {})).headers
    assert headers["vary"] == "Origin"
    assert not [name for name in headers if name.lower().startswith("access-control")]


@pytest.mark.parametrize("plane", ["gateway", "retail"])
async def test_a_preflight_is_answered_and_is_no_call(served, plane):
    status, headers, _ = await ask(served, plane, "OPTIONS", PREFLIGHT)
    assert status == 204
    assert headers[ALLOWED] == ORIGIN
    assert headers["access-control-allow-methods"] == "POST"
    assert headers["access-control-allow-headers"] == "content-type,x-pm-access-key"
    assert headers["vary"].startswith("Origin, ")
    assert served.sim.inputs == []


async def test_an_options_that_is_no_preflight_is_a_call(served):
    for headers in ({}, {"Origin": ORIGIN}, {"Access-Control-Request-Method": "GET"}):
        await ask(served, "gateway", "OPTIONS", headers)
    assert [value[2] for value in served.sim.inputs] == ["OPTIONS"] * 3


@pytest.mark.parametrize("plane", ["exchange", "auth"])
async def test_planes_for_partners_have_no_pages(served, plane):
    for verb, sent in (("GET", {"Origin": ORIGIN}), ("OPTIONS", PREFLIGHT)):
        headers = (await ask(served, plane, verb, sent)).headers
        assert "vary" not in headers and ALLOWED not in headers


@pytest.mark.parametrize(
    ("origin", "local"),
    [
        (ORIGIN, False),
        ("null", False),
        ("http://localhost.evil.example", False),
        ("http://[", False),
        ("http://localhost:3000", True),
        ("https://app.localhost", True),
        ("http://127.0.0.1:5173", True),
        ("http://[::1]:80", True),
    ],
)
async def test_pages_of_this_machine_alone_may_be_accepted(served, choose, origin, local):
    choose(served, "loopback")
    headers = (await ask(served, "gateway", "GET", {"Origin": origin})).headers
    assert headers.get(ALLOWED) == (origin if local else None)
    assert headers["vary"] == "Origin"
    status, headers, _ = await ask(served, "gateway", "OPTIONS", PREFLIGHT | {"Origin": origin})
    assert (status, headers.get(ALLOWED)) == (204, origin if local else None)


async def test_no_page_may_be_accepted(served, choose):
    choose(served, "none")
    for verb, sent in (("GET", {"Origin": ORIGIN}), ("OPTIONS", PREFLIGHT)):
        headers = (await ask(served, "retail", verb, sent)).headers
        assert "vary" not in headers and ALLOWED not in headers
    assert [value[2] for value in served.sim.inputs] == ["GET", "OPTIONS"]


@pytest.mark.skipif(not COMMAND, reason="no Chromium on this machine")
async def test_a_front_end_in_a_browser_calls_the_public_planes(served, choose, tmp_path):
    call = """
      const told = async (url, options) =>
        fetch(url, options).then(answer => answer.json()).then(() => true, () => false);
      return [
        await told('%(gateway)s/v1/x'),
        await told('%(retail)s/v1/x', {method: 'POST', body: '{}',
          headers: {'Content-Type': 'application/json', 'X-PM-Access-Key': 'k'}}),
        await told('%(exchange)s/v1/x'),
      ];
    """
    at = {plane: getattr(served.at, plane) for plane in ("gateway", "retail", "exchange")}
    async with chromium(tmp_path / "profile", "front.example") as browser:
        page = await browser.page()
        await page.go(f"{served.at.docs.replace('127.0.0.1', 'front.example')}/")
        assert await page.run(call % at) == [True, True, False]
        choose(served, "none")
        assert await page.run(call % at) == [False, False, False]
