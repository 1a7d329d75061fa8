"""A real browser on a hostile page tries everything that a page can send to the control plane and
the docs listener: from a foreign origin, from a sandboxed frame, and from a name that was rebound to
this machine. Skipped where no Chromium is installed; `test_page_guard.py` has the rules without it.
"""

from __future__ import annotations

from typing import Any

import pytest
from aiohttp import web
from chromium import COMMAND, chromium
from patience import until

from sim.server.http.page_guard import PageGuard

pytestmark = pytest.mark.skipif(not COMMAND, reason="no Chromium on this machine")

# Every way in which a page sends something to `target`: it resolves when each has come to an end.
# Requests that nobody can wait for (beacons) are waited for on the other side.
ATTACK = """
const target = %(target)r, call = target + '/_sim/v1/clock/advance', body = '{"by": "1h"}';
const ended = [], said = [];
const once = (element, name) => ended.push(new Promise(done => {
  element.onload = element.onerror = () => done(); element.dataset.attack = name;
}));
const add = (tag, attributes, name) => {
  const element = Object.assign(document.createElement(tag), attributes);
  once(element, name); document.body.append(element); return element;
};
const tell = async answer => said.push(answer.type === 'opaque' ? 0 : answer.status);
const send = (url, options) => ended.push(fetch(url, options).then(tell, () => said.push(0)));
for (const mode of ['cors', 'no-cors']) for (const credentials of ['omit', 'include']) {
  send(target + '/_sim/v1/state/books', {mode, credentials});
  send(call, {method: 'POST', mode, credentials, body});
  send(call, {method: 'POST', mode, credentials, body: new Blob([body])});
  send(call, {method: 'POST', mode, credentials, body: new URLSearchParams({by: '1h'})});
  const form = new FormData(); form.set('by', '1h');
  send(call, {method: 'POST', mode, credentials, body: form});
}
send(call, {method: 'POST', body, headers: {'Content-Type': 'application/json'}});
send(call, {method: 'POST', body, headers: {'Content-Type': 'application/json'},
            referrerPolicy: 'no-referrer'});
send(target + '/_sim/v1/clock', {method: 'PUT', body: '{"mode": "paced"}'});
send(target + '/_sim/v1/worlds/x', {method: 'DELETE'});
send(call, {method: 'POST', body, mode: 'no-cors', keepalive: true, referrerPolicy: 'no-referrer'});
ended.push(new Promise(done => {
  const request = new XMLHttpRequest();
  request.onloadend = done; request.open('POST', call); request.send(body);
}));
ended.push(new Promise(done => {
  const source = new EventSource(target + '/_sim/v1/live');
  source.onerror = () => {source.close(); done();};
}));
ended.push(new Promise(done => {
  const socket = new WebSocket(target.replace('http', 'ws') + '/_sim/v1/live');
  socket.onclose = done; socket.onopen = () => said.push(101);
}));
navigator.sendBeacon(call, body);
navigator.sendBeacon(call, new Blob([body], {type: 'text/plain'}));
add('img', {src: target + '/_sim/v1/state/books'}, 'image');
add('script', {src: target + '/_sim/v1/catalogue'}, 'script');
add('link', {rel: 'stylesheet', href: target + '/_sim/v1/metrics'}, 'style');
add('iframe', {src: target + '/_sim/v1/journal'}, 'frame');
add('object', {data: target + '/_sim/v1/digest'}, 'object');
for (const enctype of ['application/x-www-form-urlencoded', 'text/plain', 'multipart/form-data']) {
  const name = 'into ' + enctype, frame = add('iframe', {name}, name);
  const form = Object.assign(document.createElement('form'),
    {method: 'post', action: call, enctype, target: name});
  form.append(Object.assign(document.createElement('input'), {name: '{"by": "1h", "x": "', value: '"}'}));
  document.body.append(form); form.submit();
}
add('iframe', {sandbox: 'allow-scripts allow-forms', srcdoc: `<script>
  fetch('${call}', {method: 'POST', body: '${body}', mode: 'no-cors'});
  const form = document.createElement('form');
  form.method = 'post'; form.action = '${call}'; document.documentElement.append(form); form.submit();
<\\/script>`}, 'sandboxed frame');
new Worker(URL.createObjectURL(new Blob([
  `fetch('${call}', {method: 'POST', body: '${body}', mode: 'no-cors'}); importScripts('${call}');`])));
if (navigator.serviceWorker)
  ended.push(navigator.serviceWorker.register(target + '/_sim/v1/journal').catch(() => 0));
await Promise.all(ended);
return said;
"""
# How many requests the attack sends at least, on every kind of page: less than all, because a
# browser keeps some to itself (service workers, a preflight that stands for its request).
SENT_AT_LEAST = 38


class Seen:
    """What reached the guarded listeners, and what the guard said."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.asked: list[tuple[str, str, str]] = []
        refusal = PageGuard.refusal

        def spy(guard: PageGuard, verb: str, target: str, headers: Any) -> str:
            why = refusal(guard, verb, target, headers)
            self.asked.append((verb, target, why))
            return why

        monkeypatch.setattr(PageGuard, "refusal", spy)


@pytest.fixture
async def browser(tmp_path):
    async with chromium(tmp_path / "profile", "evil.example rebound.example") as running:
        yield running


@pytest.fixture
async def hostile_page(tmp_path):
    """The address of a server of a hostile page, and what was sent to it itself."""
    arrived: list[str] = []

    async def page(request: web.Request) -> web.Response:
        arrived.append(request.method)
        return web.Response(text="<!doctype html><body>", content_type="text/html")

    app = web.Application()
    app.router.add_route("*", "/{path:.*}", page)
    runner = web.AppRunner(app)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    yield runner.addresses[0][1], arrived
    await runner.cleanup()


async def test_the_attack_sends_what_it_says(browser, hostile_page):
    port, arrived = hostile_page
    page = await browser.page()
    await page.go(f"http://evil.example:{port}/")
    del arrived[:]
    await page.run(ATTACK % {"target": f"http://rebound.example:{port}"})
    await until(lambda: len(arrived) >= SENT_AT_LEAST)
    assert {"GET", "POST", "OPTIONS"} <= set(arrived)


@pytest.mark.long
async def test_a_foreign_page_changes_and_reads_nothing(serve, browser, hostile_page, monkeypatch):
    served, observed = await serve(), Seen(monkeypatch)
    before = served.sim.now
    port, _ = hostile_page
    page = await browser.page()
    for plane in ("control", "docs"):
        for name in ("127.0.0.1", "localhost", "rebound.example"):
            del observed.asked[:]
            await page.go(f"http://evil.example:{port}/{plane}/{name}")
            address = getattr(served.at, plane).replace("127.0.0.1", name)
            output = await page.run(ATTACK % {"target": address})
            await until(lambda: len(observed.asked) >= SENT_AT_LEAST)
            assert set(output) == {0}, "an answer was readable"
            linked = [asked for asked in observed.asked if not asked[2]]
            # The docs are pages that anyone may link to.
            assert all(plane == "docs" and verb == "GET" for verb, _, _ in linked), linked
    assert (served.sim.inputs, served.sim.now) == ([], before)


@pytest.mark.long
async def test_a_page_of_a_rebound_name_is_answered_403_throughout(serve, browser, monkeypatch):
    served, observed = await serve(), Seen(monkeypatch)
    before = served.sim.now
    page = await browser.page()
    for plane in ("control", "docs"):
        del observed.asked[:]
        address = getattr(served.at, plane).replace("127.0.0.1", "rebound.example")
        await page.go(f"{address}/")
        assert await page.run("return location.origin") == address
        output = await page.run(ATTACK % {"target": address})
        await until(lambda: len(observed.asked) >= SENT_AT_LEAST)
        assert set(output) - {0} == {403}
        assert all(why for _, _, why in observed.asked)
    assert (served.sim.inputs, served.sim.now) == ([], before)


async def test_a_page_of_its_own_may_call_the_control_plane(served, browser):
    page = await browser.page()
    await page.go(f"{served.at.control}/_sim/v1/clock")
    call = "return (await fetch('/_sim/v1/clock/advance', {method: 'POST', body: '{\"by\": \"1h\"}'%s})).status"
    assert await page.run(call % "") == 403  # a form could have sent this
    json = ", headers: {'Content-Type': 'application/json'}"
    assert await page.run(call % json) == 200
    clock = (await served.ask("control", "/_sim/v1/clock")).json()
    assert clock["now"] == "2026-09-08T19:00:00Z"
