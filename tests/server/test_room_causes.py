"""A user without knowledge of a run finds the cause of a failure in the control room, by reading
the page and clicking visible text. Each test needs a few clicks.
"""

from __future__ import annotations

import json

import pytest
from chromium import COMMAND
from room_page import RoomPage
from test_room import ORDER
from test_room import room as room
from test_room import watched as watched

from tests.kit.clients import Partner

pytestmark = [
    pytest.mark.long,
    pytest.mark.skipif(not COMMAND, reason="no Chromium on this machine"),
    pytest.mark.asyncio(loop_scope="module"),
]
# The smallest visible element with this text that can be clicked.
PRESSED = """
const says = %s, kinds = 'button, [role=tab], [role=row], a, summary';
const fits = [...document.querySelectorAll(kinds)].filter(one => one.innerText.includes(says)
  && !one.disabled && one.checkVisibility());
fits.sort((one, other) => one.innerText.length - other.innerText.length);
if (!fits.length) return false; fits[0].click(); return true;
"""


async def press(room: RoomPage, text: str) -> None:
    await room.until(PRESSED % json.dumps(text))


async def read(room: RoomPage, *texts: str) -> str:
    """Return the text of the page, once it contains all of these."""
    page = "document.body.innerText"
    return await room.until(
        f"return {json.dumps(texts)}.every(text => {page}.includes(text)) && {page}"
    )


async def test_a_halted_book(room, exchange, watched):
    """An order is refused because its book was halted earlier."""
    exchange.control("POST", "/instruments/watched/state", {"state": "HALTED"})
    for _ in range(3):
        exchange.clock.advance("10s")
    status, _ = Partner(exchange).call("POST", "/v1/trading/orders", ORDER)
    assert status == 422
    await press(room, "422")
    await read(room, "Why", "HALTED", "What would have worked")
    halt = next(row["seq"] for row in exchange.history(kind="control") if "HALTED" in row["title"])
    await press(room, f"#{halt}")
    await read(room, f"Input {halt}", "instrument.state watched", "HALTED", "tester")


async def test_a_fault_on_the_second_attempt(room, exchange, watched):
    """The same call succeeds, fails and succeeds; a fault affects the second one only."""
    entry = {"match": {"operation": "InsertOrder", "nth": 2}, "act": {"status": 503}}
    exchange.control("POST", "/faults", entry)
    partner = Partner(exchange)
    answers = [partner.call("POST", "/v1/trading/orders", ORDER)[0] for _ in range(3)]
    assert answers == [200, 503, 200]
    await press(room, "503")
    await read(room, "Why", "fault f1", "nth", "What would have worked")
    await press(room, "Faults")
    await read(room, "f1", "affected 1 of")


async def test_a_webhook_breaker(room, exchange):
    """A decision is not delivered because the breaker opened after failures of the receiver."""
    partner, receiver = Partner(exchange), exchange.webhooks.receiver
    partner.register(receiver.url)
    exchange.control("PUT", "/assumptions/webhook.breaker_cooldown", {"value": "1h"})
    receiver.answer_always(500)
    partner.start()
    exchange.clock.advance("26m")
    assert exchange.control("GET", "/state/breakers")["breakers"][0]["state"] == "open"
    await press(room, "Webhooks")
    await read(room, "The breaker of", "open", "failures", "500")
    await press(room, "answers")  # a row of the history
    await read(room, "webhook", "500", "Asked")
    await press(room, "Limits")
    await read(room, "Webhook breakers", "failures in a row")
