"""The one-file report in a real Chromium, opened from disk: it shows what the run was, asks no
network, changes nothing, and takes the text of clients for text. `../test_report.py` holds what the
file has against the history.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from chromium import COMMAND
from room_page import RoomPage
from test_room import PARTS, levels, order, seq_of
from test_room import watched as watched

from sim.read.history.recorded import RecordedRun
from sim.read.report.report import write_report
from tests.kit.bodies import APPLICATION as PERSON
from tests.kit.clients import Partner, bearer
from tests.report_file import ReportFile

pytestmark = pytest.mark.asyncio(loop_scope="module")
in_a_browser = pytest.mark.skipif(not COMMAND, reason="no Chromium on this machine")
HOSTILE = "</script><script>trouble.push(1)</script><!-- \u2028 <img src=x onerror=trouble.push(2)>"
# What would change a run, or ask a server that a report does not have.
ACTING = (
    *("clock-advance", "clock-advance-go", "clock-next", "clock-mode", "reset", "fork-here"),
    *("rewind-here", "webhook-resend", "fault-add", "fault-entry", "fault-remove", "last-call"),
    *("tab-actions", "tab-instances", "save-scenario", "token", "tour"),
)


def report(exchange, folder):
    """The address of the report of what has happened so far."""
    page = folder / "report.html"
    assert write_report(RecordedRun(exchange.journal), page).difference is None
    return page


async def opened(browser, page) -> RoomPage:
    room = await RoomPage.open(browser, page.as_uri(), tour=True)
    await room.live()
    return room


@pytest.mark.long
@in_a_browser
async def test_it_shows_every_moment_from_disk_and_asks_nobody(
    browser, exchange, watched, tmp_path
):
    room = await opened(browser, report(exchange, tmp_path))
    last = seq_of(exchange)
    assert await room.look("return location.protocol") == "file:"
    await room.symbol("watched")
    assert await room.book(last) == levels(exchange, "watched")
    for seq in list(watched)[::-1][1:] + list(watched)[:2]:
        await room.scrub(seq)
        assert await room.book(seq) == watched[seq]
        record = exchange.control("GET", f"/history/{seq}")
        await room.until(f"return one('digest').dataset.digest === '{record['digest']}'")
        await room.until(f"return one('clock-now').getAttribute('datetime') === '{record['at']}'")
        states = [row["state"] for row in exchange.state_at(seq, "orders")]
        await room.tab("orders")
        await room.until(
            f"return JSON.stringify(all('order').map(one => one.dataset.state)) === "
            f"JSON.stringify({json.dumps(states[::-1])}.slice(0, all('order').length))"
        )
    await room.tab("figures")
    account = "firms/sandbox/accounts/taker"
    await room.until(
        f"const field = one('figures-account'); field.value = {json.dumps(account)};"
        "field.dispatchEvent(new Event('change', {bubbles: true}));"
        f"return one('figures-of')?.dataset.account === {json.dumps(account)}"
    )
    for moment in (list(watched)[3], last):
        await room.scrub(moment)
        rows = [row for row in exchange.state_at(moment, "fills") if row["account"] == account]
        await room.until(f"return one('figures-of').dataset.fills === '{len(rows)}'")
    assert await room.book(last) == watched[last]
    await room.click("replay-100")
    await room.until("return one('banner-past') && Number(one('detail').dataset.seq) > 3")
    assert await room.look("return asked") == 0
    loaded = await room.look("return performance.getEntriesByType('resource').map(one => one.name)")
    assert all(name.startswith("data:") for name in loaded)
    assert await room.trouble() == []


@pytest.mark.long
@in_a_browser
async def test_nothing_in_it_changes_anything_at_either_width(browser, exchange, watched, tmp_path):
    partner = Partner(exchange)
    partner.verified(exchange.webhooks.url)
    exchange.control("POST", "/faults", {"match": {"nth": 1}, "act": {"status": 503}})
    room = await opened(browser, report(exchange, tmp_path))
    for width, height in ((1280, 800), (390, 844)):
        await room.size(width, height)
        narrow = json.dumps(width < 1100)
        await room.until(f"return innerWidth === {width} && !!one('tab-history') === {narrow}")
        parts = [part for part in PARTS if part not in ("actions", "instances")]
        for part in (*parts, *(("history", "detail", "book", "trades") if width < 1100 else ())):
            await room.tab(part)
            assert await room.look("return document.documentElement.scrollWidth") <= width
            there = await room.look(f"return {json.dumps(ACTING)}.filter(id => one(id))")
            assert there == [], part
    assert await room.trouble() == []


@in_a_browser
async def test_text_of_clients_is_text(browser, exchange, watched, tmp_path):
    order(exchange, "buy", "0.10", "1", clord_id=HOSTILE)
    page = report(exchange, tmp_path)
    assert b"trouble.push" not in page.read_bytes()
    room = await opened(browser, page)
    await room.write("history-filter", "onerror")
    await room.until("return all('history-row').length === 1")
    await room.click("history-row")
    await room.until("return one('detail').innerText.includes('<img src=x onerror')")
    assert (
        await room.look("return document.querySelectorAll('#room img, #room script').length") == 0
    )
    assert await room.trouble() == []


async def test_no_secret_stands_in_it(exchange, tmp_path):
    partner = Partner(exchange)
    signing = "whsec_" + "QUJD" * 10
    partner.verified(exchange.webhooks.url, signing)
    token = dict(bearer(exchange, exchange.firms[0]))["authorization"].removeprefix("Bearer ")
    keys = [Path(firm["private_key_path"]).read_text() for firm in exchange.firms]
    planted = {
        "ssn": PERSON["ssn"],
        "signing": signing,
        "token": token,
        "signature of the token": token.rpartition(".")[2],
        **{key["key_id"]: key["secret_key"] for key in exchange.api_keys},
        **{f"line of key {n}": text.splitlines()[1] for n, text in enumerate(keys)},
    }
    text = ReportFile(report(exchange, tmp_path)).text
    assert PERSON["external_id"] in text  # it was looked for where it would be
    for name, secret in planted.items():
        assert secret and secret not in text, name
