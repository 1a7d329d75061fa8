"""Webhook attempts over real sockets: signed at sending, answered in order, settled before time
moves on.
"""

from __future__ import annotations

import asyncio
import base64
import time
from contextlib import suppress

import pytest
from aiohttp import web
from fake_simulation import START

from sim.kernel.instants import seconds
from sim.server.tls import make_identity
from sim.server.webhooks import ReceiverResponse
from sim.testing.webhook_receiver import Answer, WebhookReceiver

KEY = b"k" * 24
SECRET = "whsec_" + base64.b64encode(KEY).decode()


@pytest.fixture
def receiver():
    with WebhookReceiver() as listening:
        yield listening


def answers(served):
    return [value[1:] for value in served.sim.inputs if value[0] == "answer"]


async def attempt(served, url):
    """Let an attempt be due in 10 s, and a minute go by."""
    served.sim.after(10, f"post a1 {url}")
    await served.host.advance(START + seconds(60))


async def test_an_attempt_is_signed_and_its_answer_is_an_input_at_the_same_instant(
    served, receiver
):
    served.sim.secrets["fingerprint"] = KEY
    await attempt(served, receiver.url)
    assert answers(served) == [("a1", 200, "", None, seconds(10))]
    (delivery,) = receiver.received
    assert delivery.verify(SECRET)
    assert not delivery.verify("whsec_" + base64.b64encode(b"x" * 24).decode())
    assert delivery.headers["webhook-id"] == "evt-a1"
    assert delivery.headers["content-type"] == "application/json"
    assert delivery.body == b'{"event_id":"1"}'


@pytest.mark.parametrize("name", ["localhost", "hooks.localhost", "a.b.localhost"])
async def test_a_loopback_name_is_not_looked_up(serve, receiver, monkeypatch, name):
    from aiohttp.resolver import ThreadedResolver

    async def lookup(*asked):
        raise OSError("a name server was asked")

    monkeypatch.setattr(ThreadedResolver, "resolve", lookup)
    served = await serve()
    await attempt(served, receiver.url.replace("127.0.0.1", name))
    assert answers(served) == [("a1", 200, "", None, seconds(10))]
    assert len(receiver.received) == 1


async def test_each_due_instant_is_settled_before_the_next(served, receiver):
    for number in (1, 2, 3):
        served.sim.after(number * 10, f"post a{number} {receiver.url}")
    fired = await served.host.advance(START + seconds(60))
    assert [item.at - START for item in fired] == [seconds(10), seconds(20), seconds(30)]
    assert [value[0] for value in served.sim.inputs] == ["advance", "answer"] * 3 + ["advance"]
    assert served.sim.now == START + seconds(60)


async def test_answers_enter_in_the_order_of_the_attempts_whoever_is_faster(served, receiver):
    with WebhookReceiver() as slow:
        slow.answer_next(Answer(hang=0.2))
        served.sim.after(10, f"post a-slow {slow.url}")
        served.sim.after(10, f"post b-quick {receiver.url}")
        await served.host.advance(START + seconds(10))
    assert [answer[:2] for answer in answers(served)] == [("a-slow", 0), ("b-quick", 200)]


async def test_refusals_and_retry_after_are_reported_and_redirects_are_not_followed(
    served, receiver
):
    receiver.answer_next(Answer(503, {"Retry-After": "7"}), Answer(302, {"Location": receiver.url}))
    for number in (1, 2):
        served.sim.after(number, f"post a{number} {receiver.url}")
    await served.host.advance(START + seconds(5))
    assert [answer[1:4:2] for answer in answers(served)] == [(503, seconds(7)), (302, None)]
    assert len(receiver.received) == 2


async def test_nobody_listening_is_no_answer(served, receiver):
    url = receiver.url
    receiver.close()
    await attempt(served, url)
    assert answers(served)[0][1:3] == (0, "ClientConnectorError")


@pytest.mark.parametrize(
    "url",
    [
        *("http://198.51.100.7/x", "https://example.test/x", "ftp://127.0.0.1/x"),
        *("http://127.0.0.1.example.test/x", "http://[::/"),
    ],
)
async def test_other_machines_are_not_called_unless_listed(served, url):
    await attempt(served, url)
    assert answers(served)[0][1:3] == (0, "host not allowed")


async def test_a_stamp_a_real_receiver_would_not_believe_is_the_wall_clocks(served, receiver):
    served.sim.secrets["fingerprint"] = KEY
    await attempt(served, receiver.url)
    assert (
        abs(int(receiver.received[0].headers["webhook-timestamp"]) - time.time()) < 60
        or abs(time.time() - START / 1e9) <= 300
    )


async def test_a_reset_forgets_attempts_whose_answer_is_outstanding(served, receiver):
    receiver.answer_next(Answer(hang=0.3))
    served.sim.after(1, f"post a1 {receiver.url}")
    served.host.step(START + seconds(2))
    await served.host.reset()
    assert not served.host.webhooks.busy
    assert answers(served) == []


def test_answers_compare_by_value():
    assert ReceiverResponse(200) == ReceiverResponse(200, "", None)


async def test_a_receiver_whose_certificate_nobody_vouches_for_is_not_sent_anything(
    serve, tmp_path
):
    received: list[str] = []

    async def receive(request: web.BaseRequest) -> web.StreamResponse:
        received.append(request.path)
        return web.Response()

    runner = web.ServerRunner(web.Server(receive))
    await runner.setup()
    context = make_identity(tmp_path, "127.0.0.1").context
    await web.TCPSite(runner, "127.0.0.1", 0, ssl_context=context).start()
    served = await serve()
    await attempt(served, f"https://127.0.0.1:{runner.addresses[0][1]}/")
    assert answers(served) == [("a1", 0, "ClientConnectorCertificateError", None, seconds(10))]
    assert received == []
    await runner.cleanup()


@pytest.mark.parametrize(
    ("registered", "called"),
    [
        *((path, path) for path in ("/a%2Fb", "/a/../b/./c", "/x?", "/x?a=%20&b=+", "/%7Ea//b")),
        ("", "/"),
        ("?q=1", "/?q=1"),
        ("/caf\u00e9", "/caf%C3%A9"),
    ],
)
async def test_a_receiver_is_called_at_exactly_the_address_that_was_registered(
    served, registered, called
):
    lines = []

    async def answer(reader, writer):
        lines.append((await reader.readuntil(b"\r\n\r\n")).decode())
        writer.write(b"HTTP/1.1 204 No Content\r\n\r\n")
        writer.close()

    async with await asyncio.start_server(answer, "127.0.0.1", 0) as listening:
        port = listening.sockets[0].getsockname()[1]
        await attempt(served, f"http://127.0.0.1:{port}{registered}")
    (request,) = lines
    assert request.startswith(f"POST {called} HTTP/1.1\r\n")
    assert f"Host: 127.0.0.1:{port}\r\n" in request


async def test_a_receiver_that_sends_only_informational_responses_stops_nobody(served):
    """The loop goes on meanwhile, and the attempt ends, however many there are."""
    turns = 0

    async def flood(reader, writer):
        with suppress(ConnectionError):
            while True:
                writer.write(b"HTTP/1.1 103 Early Hints\r\n\r\n" * 2000)
                await writer.drain()

    async def count_turns():
        nonlocal turns
        while True:
            turns += 1
            await asyncio.sleep(0)

    server = await asyncio.start_server(flood, "127.0.0.1", 0)
    counting = asyncio.create_task(count_turns())
    port = server.sockets[0].getsockname()[1]
    await attempt(served, f"http://127.0.0.1:{port}/")
    counting.cancel()
    server.close()
    assert answers(served) == [("a1", 0, "ServerDisconnectedError", None, seconds(10))]
    assert turns > 3
