"""Requests and both sockets of the official client through the recorder: it receives the same
messages in the same order as without the recorder, and the file has all of them in that order.
`make soak` makes a thousand requests.
"""

from __future__ import annotations

import json
import os
from typing import Any

import pytest
from patience import until
from polymarket_us import AsyncPolymarketUS

from sim.evidence.recording.files import PLANES
from sim.server.recorder.recorder import RecordingRelay, RecordOptions
from tests.kit.bodies import retail_order

ROUNDS = int(os.environ.get("RECORD_ROUNDS", "40"))  # of five requests
MARKET = "aec-recorded"
LISTED = {"symbol": MARKET, "state": "OPEN", "tick_size": "0.01"}


async def session(gateway: str, retail: str, key: dict[str, str]) -> tuple[list[Any], list[Any]]:
    """What the client is answered, and the frames of its sockets by socket."""
    client = AsyncPolymarketUS(
        key_id=key["key_id"],
        secret_key=key["secret_key"],
        gateway_base_url=gateway,
        api_base_url=retail,
    )
    private, markets = client.ws.private(), client.ws.markets()
    heard: list[list[Any]] = [[], []]
    for socket, frames in zip((private, markets), heard, strict=True):
        socket.on("message", frames.append)
        await socket.connect()
    await private.subscribe_all("orders", "SUBSCRIPTION_TYPE_ORDER")
    await markets.subscribe_market_data_lite("lite", [MARKET])
    await until(lambda: bool(heard[1]))
    answers: list[Any] = []
    for number in range(ROUNDS):
        order = retail_order(MARKET, "BUY_LONG", 10 + number % 80, 1 + number % 7)
        placed = await client.orders.create(order)
        answers.append(placed)
        answers.append(await client.orders.retrieve(placed["id"]))
        answers.append(await client.markets.book(MARKET))
        answers.append(await client.orders.cancel(placed["id"], {"marketSlug": MARKET}))
        answers.append(await client.markets.retrieve_by_slug(MARKET))
    await until(lambda: len(heard[0]) >= 2 * ROUNDS)
    await private.close()
    await markets.close()
    await client.close()
    return answers, heard


@pytest.mark.scenario("unlimited.yaml")
@pytest.mark.long
async def test_requests_of_the_official_client_are_answered_and_written_in_order(
    exchange, tmp_path
):
    exchange.control("POST", "/instruments", LISTED)
    other, key = exchange.fork(), exchange.api_keys[0]
    answers, frames = await session(exchange.gateway, exchange.retail, key)

    upstream = {plane: getattr(other, plane) for plane in PLANES}
    file = tmp_path / "session.ndjson"
    recorder = RecordingRelay(RecordOptions(to=file, upstream=upstream))
    addresses = await recorder.start()
    try:
        again = await session(addresses["gateway"], addresses["retail"], key)
    finally:
        await recorder.stop()
    assert len(answers) == 5 * ROUNDS
    assert again == (answers, frames)

    lines = [json.loads(line) for line in file.read_text().splitlines()[1:]]
    reported = [line["answer"]["body"] or None for line in lines if "request" in line]
    assert reported == answers
    written = [line for line in lines if line.get("frame", {}).get("from") == "service"]
    for number, heard in enumerate(frames):
        stream = [line["stream"] for line in lines if "opened" in line][number]
        assert [line["frame"]["body"] for line in written if line["stream"] == stream] == heard
