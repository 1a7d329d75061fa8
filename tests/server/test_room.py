"""The control room in a real Chromium, against the control plane's own answers. Skipped where no
Chromium is installed; `test_room_files.py` has what needs none.
"""

from __future__ import annotations

import asyncio
import html
import json
import urllib.request
from urllib.parse import urlsplit

import aiohttp
import pytest
import pytest_asyncio
import yaml
from chromium import COMMAND
from room_page import RoomPage

from tests.kit.clients import Partner, signed
from tests.kit.processes import serve

pytestmark = [
    pytest.mark.long,
    pytest.mark.skipif(not COMMAND, reason="no Chromium on this machine"),
    pytest.mark.asyncio(loop_scope="module"),
]
PARTS = (
    *("script", "orders", "accounts", "streams", "webhooks", "verifications", "limits", "faults"),
    *("settings", "branches", "instances", "actions", "figures"),
)

# As a client of the exchange sends it: a price in ticks of 1/1000, a whole contract.
ORDER = {
    "symbol": "watched",
    "side": "SIDE_BUY",
    "type": "ORDER_TYPE_LIMIT",
    "timeInForce": "TIME_IN_FORCE_GOOD_TILL_CANCEL",
    "price": "400",
    "orderQty": "1",
}


@pytest_asyncio.fixture(loop_scope="module")
async def room(browser, exchange):
    """The room of the exchange, live; a script that fails fails the test."""
    page = await RoomPage.open(browser, f"{exchange.control}/")
    await page.live()
    yield page
    assert await page.trouble() == []


def order(exchange, side, price, qty, caller="maker", symbol="watched", **more):
    body = {"as": caller, "symbol": symbol, "side": side, "price": price, "qty": qty, **more}
    return exchange.control("POST", "/orders", body)


@pytest.fixture
def watched(exchange):
    """An instrument of its own, and the levels of its book after each of some orders, by input."""
    entry = {"symbol": "watched", "tick_size": "0.005", "state": "OPEN"}
    exchange.control("POST", "/instruments", entry)
    recorded = {}
    trades = (
        ("buy", "0.40", "10"),
        ("sell", "0.55", "7"),
        ("buy", "0.425", "3"),
        ("sell", "0.425", "5"),
        ("sell", "0.40", "4"),
        ("buy", "0.30", "20"),
    )
    for turn, (side, price, qty) in enumerate(trades):
        order(exchange, side, price, qty, caller="maker" if turn < 3 or turn == 5 else "taker")
        exchange.clock.advance("10s")
        recorded[seq_of(exchange)] = levels(exchange, "watched")
    return recorded


def seq_of(exchange):
    return exchange.control("GET", "/digest")["seq"]


def levels(exchange, symbol, state="/state/books"):
    """The levels of a book in the order of the page: [side, price, quantity]."""
    books = exchange.control("GET", f"{state}?symbol={symbol}")["books"]
    book = books[0] if books else {"bids": [], "offers": []}
    displayed = [["offer", row["px"], row["qty"]] for row in reversed(book["offers"])]
    return displayed + [["bid", row["px"], row["qty"]] for row in book["bids"]]


# ---- the present


async def test_the_page_shows_what_the_control_plane_answers(room, exchange, watched):
    await room.symbol("watched")
    assert await room.book(seq_of(exchange)) == levels(exchange, "watched")
    digest = exchange.control("GET", "/digest")["digest"]
    assert await room.until(f"return one('digest').dataset.digest === '{digest}'")
    now = exchange.control("GET", "/clock")["now"]
    assert await room.until(f"return one('clock-now').getAttribute('datetime') === '{now}'")
    trades = exchange.control("GET", "/state/trades?symbol=watched")["trades"]
    displayed = await room.until(
        "return all('trade').length && all('trade').map(one => one.dataset.id)"
    )
    assert displayed == [row["id"] for row in reversed(trades)]
    assert await room.until("return !!one('chart').querySelector('canvas')")


async def test_what_clients_do_is_there_at_once(room, exchange, watched):
    await room.symbol("watched")
    created = order(exchange, "buy", "0.41", "2")
    assert ["bid", "0.41", "2"] in await room.book(seq_of(exchange))
    await room.tab("orders")
    result = f"return all('order').find(one => one.dataset.id === '{created['order_id']}')?.dataset.state"
    assert await room.until(result) == "NEW"


async def test_the_clock_is_moved_from_the_page(room, exchange):
    before = exchange.now
    await room.write("clock-advance", "90s")
    await room.click("clock-advance-go")
    await room.until("return one('last-call').innerText.includes('/clock/advance {\"by\":\"90s\"')")
    assert (exchange.now - before).total_seconds() == 90
    now = exchange.control("GET", "/clock")["now"]
    await room.until(f"return one('clock-now').getAttribute('datetime') === '{now}'")
    due = exchange.control("GET", "/clock")["next_due"]
    await room.click("clock-next")
    await room.until(f"return one('clock-now').getAttribute('datetime') === '{due}'")
    await room.write("clock-advance", "2 weeks or so")
    await room.click("clock-advance-go")
    assert "duration" in await room.until(
        "return one('last-call').querySelector('.bad')?.innerText"
    )


@pytest.mark.scenario("halt-and-suspension", steps="ignore")
async def test_the_script_shows_each_step_as_it_ends(room, exchange):
    SHOWN = (
        "const rows = all('script-row'); return rows.length && rows.map(one => one.dataset.state)"
    )

    def steps():
        return [row["state"] for row in exchange.script()]

    assert await room.until(SHOWN) == steps()
    exchange.clock.advance("1m")
    ended = json.dumps(steps())
    assert "passed" in ended
    await room.until(
        f"return JSON.stringify(all('script-row').map(one => one.dataset.state)) === JSON.stringify({ended})"
    )


async def test_parts_behind_tabs_show_the_views(room, exchange):
    partner = Partner(exchange)
    partner.verified(exchange.webhooks.url)
    await room.tab("accounts")
    accounts = exchange.control("GET", "/state/accounts")["accounts"]
    displayed = await room.until(
        "return all('account').length && all('account').map(one => [one.dataset.account, one.dataset.balance])"
    )
    assert displayed == [[row["account"], row["balance"]] for row in accounts][: len(displayed)]
    await room.tab("verifications")
    (case,) = exchange.control("GET", "/state/verifications")["verifications"]
    assert await room.until("return one('verification').dataset.status") == case["status"]
    await room.tab("webhooks")
    while True:  # until the receiver has answered each
        deliveries = exchange.control("GET", "/webhooks/deliveries")["deliveries"]
        if all(row["status"] for row in deliveries):
            break
    rows = [[row["event_id"], str(row["status"])] for row in reversed(deliveries)]
    await room.until(
        "return JSON.stringify(all('webhook').map(one => [one.dataset.event, one.dataset.status]))"
        f" === {json.dumps(json.dumps(rows, separators=(',', ':')))}"
    )
    before = len(exchange.webhooks.received)
    await room.click("webhook-resend")
    await room.until(f"return all('webhook').length === {len(deliveries) + 1}")
    assert len(exchange.webhooks.received) == before + 1
    await room.tab("limits")
    assert await room.until("return one('window').innerText.includes('weekly')")


async def test_figures_of_an_account_follow_the_scrubber(room, exchange, watched):
    account = "firms/sandbox/accounts/taker"
    await room.tab("figures")
    await room.until(
        f"const field = one('figures-account'); field.value = {json.dumps(account)};"
        "field.dispatchEvent(new Event('change', {bubbles: true}));"
        f"return one('figures-of')?.dataset.account === {json.dumps(account)}"
    )
    for seq in (max(watched), list(watched)[3], list(watched)[1]):
        await room.scrub(seq)
        fills = [row["id"] for row in exchange.state_at(seq, "fills") if row["account"] == account]
        last = {
            row["symbol"]: row["total"]
            for row in exchange.state_at(seq, "performance")
            if row["account"] == account
        }
        total = f"{sum(map(float, last.values())):.2f}"
        await room.until(
            f"return JSON.stringify(all('fill').map(one => one.dataset.id)) === "
            f"JSON.stringify({json.dumps(fills[::-1])}) && one('figures-of').dataset.total === '{total}'"
        )
    await room.click("back-to-now")
    await room.until("return !!one('total-plot').querySelector('canvas')")


async def test_faults_are_written_in_yaml_or_json_and_taken_away(room, exchange):
    await room.tab("faults")
    for entry in (
        "match: {operation: CreateOrder, nth: 2}\nact: {status: 503}",
        '{"match": {"operation": "ListLeagues"}, "act": {"status": 500}}',
    ):
        await room.write("fault-entry", entry)
        await room.click("fault-add")
        await room.until("return one('fault-entry').value === ''")
    faults = exchange.control("GET", "/faults")["faults"]
    assert [row["act"]["status"] for row in faults] == [503, 500]
    await room.until("return all('fault').length === 2")
    await room.click("fault-remove")
    await room.until("return all('fault-remove').length === 1")
    assert len(exchange.control("GET", "/faults")["faults"]) == 1
    await room.write("fault-entry", "match: {operatoin: CreateOrder}")
    await room.click("fault-add")
    assert "operation" in await room.until(
        "return one('last-call').querySelector('.bad')?.innerText"
    )


async def test_a_call_is_shown_as_curl_python_and_step(room, exchange, watched):
    await room.symbol("watched")
    await room.tab("actions")
    await room.until(
        "const form = one('do-state'); form.state.value = 'SUSPENDED'; form.requestSubmit(); return true"
    )
    await room.until("return one('last-call').innerText.includes('SUSPENDED')")
    state = exchange.control("GET", "/state/instruments?symbol=watched")["instruments"][0]["state"]
    assert state == "SUSPENDED"
    texts = {}
    for form in ("curl", "python", "step"):
        await room.click(f"as-{form}")
        texts[form] = await room.until("return one('call-text')?.innerText")
        await room.click(f"as-{form}")
    assert texts["step"] == "- state: {symbol: watched, state: SUSPENDED}"
    assert texts["python"].startswith(
        'exchange.control("POST", "/instruments/watched/state", {"state": "SUSPENDED"})'
    )
    exchange.control("POST", "/instruments/watched/state", {"state": "OPEN"})
    shell = await asyncio.create_subprocess_shell(texts["curl"], stdout=asyncio.subprocess.PIPE)
    out, _ = await shell.communicate()
    assert json.loads(out) == {"symbol": "watched", "state": "SUSPENDED", "was": "OPEN"}


async def test_an_order_that_is_rejected_is_told_with_its_reason(room, exchange, watched):
    await room.symbol("watched")
    await room.tab("actions")
    await room.until(
        "const form = one('do-order'); form.qty.value = '100000000'; form.requestSubmit(); return true"
    )
    line = await room.until(
        "const came = document.querySelector('.foot .came.bad'); return came && came.innerText"
    )
    assert "ORDER_STATE_REJECTED" in line
    assert '"reason"' in line


async def test_a_fault_written_in_yaml_is_shown_so_that_it_runs(room, exchange, watched):
    await room.tab("faults")
    for entry in (
        "{match: {operation: CreateOrder, nth: 2}, act: {status: 503}}",
        "match: {plane: retail}\nact:\n  delay: 3s\nttl: 1h",
    ):
        await room.write("fault-entry", entry)
        await room.click("fault-add")
        await room.until("return one('fault-entry').value === ''")
        texts = {}
        for form in ("python", "step"):
            await room.click(f"as-{form}")
            texts[form] = await room.until("return one('call-text')?.innerText")
            await room.click(f"as-{form}")
        [added] = [
            fault for fault in exchange.control("GET", "/faults")["faults"] if not fault["over"]
        ]
        exchange.control("DELETE", f"/faults/{added['id']}")
        exec(texts["python"], {"exchange": exchange})
        [again] = [
            fault for fault in exchange.control("GET", "/faults")["faults"] if not fault["over"]
        ]
        assert again | {"id": added["id"]} == added
        assert yaml.safe_load(texts["step"]) == [{"fault": yaml.safe_load(entry)}]
        exchange.control("DELETE", f"/faults/{again['id']}")


# ---- the past


async def test_everything_follows_the_scrubber(room, exchange, watched):
    await room.symbol("watched")
    for seq, displayed in list(watched.items())[::-1][1:] + list(watched.items())[:2]:
        await room.scrub(seq)
        assert await room.book(seq) == displayed
        assert await room.until("return one('banner-past')?.innerText.includes('Back to now')")
    record = exchange.control("GET", f"/history/{seq}")
    await room.until(f"return one('digest').dataset.digest === '{record['digest']}'")
    await room.until(f"return one('clock-now').getAttribute('datetime') === '{record['at']}'")
    assert seq_of(exchange) == max(watched)
    # Everything that is shown of a moment is one request: book, terms, trades, instant, digest.
    asked = await room.look("return window.asked")
    await room.scrub(max(watched) - 1)
    await room.book(max(watched) - 1)
    assert await room.look("return window.asked") == asked + 1
    await room.click("back-to-now")
    assert await room.book(max(watched)) == watched[max(watched)]
    assert await room.look("return one('banner-past')") is None


async def test_the_scrubber_obeys_the_keyboard(room, exchange, watched):
    last = seq_of(exchange)

    def at(seq):
        return f"return one('scrubber').value === '{seq}' && one('scrubber').getAttribute('aria-valuenow') === '{seq}'"

    await room.until(at(last))
    for key, seq in (
        ("ArrowLeft", last - 1),
        ("ArrowDown", last - 2),
        ("ArrowRight", last - 1),
        ("Home", 0),
        ("End", last),
    ):
        await room.key(key, "scrubber")
        await room.until(at(seq))
    await room.key("Home", "scrubber")
    begun = exchange.control("GET", "/health")["start"]
    await room.until(f"return one('clock-now').getAttribute('datetime') === '{begun}'")
    await room.key("End", "scrubber")
    await room.until(at(last))
    await room.key("PageDown", "scrubber")
    assert (
        int(await room.until(f"return one('scrubber').value !== '{last}' && one('scrubber').value"))
        < last
    )


async def test_a_row_tells_what_was_asked_answered_and_why(room, exchange, watched):
    exchange.control("POST", "/instruments/watched/state", {"state": "HALTED"})
    status, _ = Partner(exchange).call("POST", "/v1/trading/orders", ORDER)
    assert status == 422
    await room.write("history-filter", "422")
    await room.until("return all('history-row').length === 1")
    await room.click("history-row")
    text = await room.until("return one('why') && one('detail').innerText")
    for part in ("HALTED", "What would have worked", "Asked", "Answered"):
        assert part in text


async def test_a_rule_leads_to_its_place_among_the_rules(room, exchange, watched):
    exchange.control("POST", "/instruments/watched/state", {"state": "HALTED"})
    Partner(exchange).call("POST", "/v1/trading/orders", ORDER)
    await room.write("history-filter", "422")
    await room.until("return all('history-row').length === 1")
    await room.click("history-row")
    name = await room.until("return one('rule').dataset.rule")
    text = await room.until("one('rule').open = true; return one('rule').innerText")
    link = await room.until("return one('rule').querySelector('a').href")
    docs, _, anchor = link.partition("#")
    with urllib.request.urlopen(docs) as answer:
        page = html.unescape(answer.read().decode())
    [row] = [line for line in page.splitlines() if f'<tr id="{anchor}">' in line]
    assert anchor == name.lower() and f"<th>{name}<td>" in row
    assert row.partition("<td>")[2] in text


async def test_streams_that_have_ended_are_listed_with_their_last_frames(room, exchange, watched):
    headers = signed(exchange)
    async with (
        aiohttp.ClientSession() as session,
        session.ws_connect(f"{exchange.retail}/v1/ws/markets", headers=headers) as socket,
    ):
        subscribe = {"requestId": "1", "subscriptionType": 1, "marketSlugs": ["watched"]}
        await socket.send_json({"subscribe": subscribe})
        await socket.receive_json()
    await room.tab("streams")
    await room.until("return all('ended-stream').length === 1 && !all('stream').length")
    assert "hung up by" in await room.look("return one('ended-stream').innerText")
    await room.look("one('ended-stream').querySelector('button').click()")
    await room.until("return one('frames')?.innerText.includes('watched')")


@pytest.mark.long
async def test_fork_and_rewind_begin_at_the_moment_that_is_shown(room, exchange, watched):
    seq = list(watched)[2]
    await room.symbol("watched")
    await room.scrub(seq)
    await room.book(seq)
    await room.click("fork-here")
    link = await room.until("return one('forked')?.href")
    other = await RoomPage.open(room.browser, link)
    await other.live()
    await other.symbol("watched")
    assert await other.book(seq) == watched[seq]
    assert seq_of(exchange) == max(watched)
    await room.click("rewind-here")
    await room.until("return one('confirm-yes')")
    await room.key("Escape")
    await room.until("return !one('confirm-yes')")
    assert seq_of(exchange) == max(watched)
    await room.click("rewind-here")
    await room.click("confirm-yes")
    await room.until("return one('rewind-here').disabled")  # the page shows now again
    assert await room.book(seq) == watched[seq]
    assert seq_of(exchange) == seq
    await room.tab("branches")
    names = [row["name"] for row in exchange.control("GET", "/branches")["branches"]]
    assert len(names) == 3  # the run, what was left behind, and the fork
    await room.until("return all('branch').length === 3")
    displayed = await room.look("return all('branch').map(one => one.dataset.name)")
    assert sorted(displayed) == sorted(names)
    await room.until(
        "[...one('branches').querySelectorAll('button')].find(one => one.innerText === 'Compare').click(); return true"
    )
    order(exchange, "buy", "0.33", "3")
    await room.until("return one('first-difference')?.innerText.includes('order.place')")


async def test_a_replay_walks_on_from_the_moment(room, exchange, watched):
    await room.scrub(2)
    await room.until("return one('banner-past')")
    await room.click("replay-100")
    await room.until("return Number(one('detail').dataset.seq) > 4 && one('banner-past')")
    await room.click("replay-100")  # stops it, unless it has arrived
    assert seq_of(exchange) == max(watched)


async def test_rows_are_chosen_and_looked_at_by_the_keyboard(room, exchange, watched):
    last = max(watched)
    await room.until(f"return one('scrubber').max === '{last}' && all('history-row').length > 5")
    await room.until("one('history').querySelector('.scroll').focus(); return true")
    for key, seq in (
        ("End", last),
        ("ArrowUp", last - 1),
        ("ArrowUp", last - 2),
        ("Home", 1),
        ("ArrowDown", 2),
    ):
        await room.key(key)
        await room.until(f"return one('detail').dataset.seq === '{seq}'")
        displayed = f"all('history-row').find(row => row.dataset.seq === '{seq}')"
        await room.until(f"return {displayed}.getAttribute('aria-selected') === 'true'")
    await room.key("Enter")
    await room.until("return one('banner-past') && one('scrubber').value === '2'")


# ---- clients' text, connection, token, looks


async def test_text_of_clients_is_text(room, exchange, watched):
    hostile = "<img src=x onerror=trouble.push(1)>"
    order(exchange, "buy", "0.10", "1", clord_id=hostile)
    Partner(exchange).call("GET", "/v1/<b>bold</b>")
    await room.write("history-filter", "bold")
    await room.until("return all('history-row').some(row => row.innerText.includes('<b>bold</b>'))")
    await room.write("history-filter", "onerror")
    await room.until("return all('history-row').length === 1")
    await room.click("history-row")
    await room.until("return one('detail').innerText.includes('<img src=x onerror')")
    assert await room.look("return document.querySelectorAll('#room img, #room b > b').length") == 0


@pytest.mark.long
async def test_a_lost_connection_is_told_and_comes_back(browser, exchange, watched):
    target = urlsplit(str(exchange.control))
    pipes: set[asyncio.StreamWriter] = set()

    async def forward(reader, writer):
        pipes.add(writer)
        while data := await reader.read(65536):
            writer.write(data)
        writer.close()

    async def accept(reader, writer):
        there, onward = await asyncio.open_connection(target.hostname, target.port)
        await asyncio.gather(
            forward(reader, onward), forward(there, writer), return_exceptions=True
        )

    between = await asyncio.start_server(accept, "127.0.0.1", 0)
    port = between.sockets[0].getsockname()[1]
    room = await RoomPage.open(browser, f"http://127.0.0.1:{port}/")
    await room.live()
    await room.symbol("watched")
    between.close()
    for pipe in pipes:
        pipe.close()
    await room.until("return one('connection').dataset.state === 'lost'")
    order(exchange, "buy", "0.41", "9")
    between = await asyncio.start_server(accept, "127.0.0.1", port)
    await room.live()
    assert ["bid", "0.41", "9"] in await room.book(seq_of(exchange))
    await room.until(f"return one('scrubber').max === '{seq_of(exchange)}'")
    between.close()


@pytest.mark.long
async def test_the_token_is_asked_for_or_taken_from_the_fragment(browser, tmp_path):
    with serve(tmp_path, "--control-token", "s3cret") as served:
        room = await RoomPage.open(browser, served.ready["room"])
        await room.write("token", "s3cret")
        await room.key("Enter")
        await room.live()
        linked = await RoomPage.open(browser, served.ready["room"] + "#token=s3cret")
        await linked.live()
        assert await linked.look("return location.hash + location.search") == ""
        assert await linked.trouble() == []


async def test_the_page_fits_both_widths_in_both_schemes(room, exchange, watched):
    ground = {}
    for width, height in ((1280, 800), (390, 844)):
        await room.size(width, height)
        await room.until(
            f"return innerWidth === {width} && (one('tab-history') !== null) === {json.dumps(width < 1100)}"
        )
        parts = PARTS if width > 1100 else (*PARTS, "history", "detail", "book", "trades")
        for part in parts:
            await room.tab(part)
            wide = await room.look("return document.documentElement.scrollWidth")
            assert wide <= width, (part, width)
            tables = "[...document.querySelectorAll('.panel .table .scroll')]"
            cut = f"return {tables}.some(one => one.scrollWidth > one.clientWidth)"
            assert part == "figures" or not await room.look(cut), (part, width)
    for name in ("light", "dark"):
        await room.scheme(name)
        ground[name] = await room.look("return getComputedStyle(document.body).backgroundColor")
        assert len(await room.picture()) > 10_000
    assert ground["light"] != ground["dark"]


async def test_the_tour_stands_beside_the_page_and_does_not_come_again(browser, exchange):
    room = await RoomPage.open(browser, f"{exchange.control}/", tour=True)
    await room.until("return one('tour')")
    await room.live()
    await room.click("tab-orders")  # it covers nothing that stops the page
    await room.until("return one('orders')")
    for _ in range(5):
        await room.click("tour-next")
    await room.click("tour-end")
    await room.until("return !one('tour')")
    assert await room.look("return localStorage.getItem('room.tour')") == "seen"
    assert await room.trouble() == []


@pytest.mark.long
async def test_nothing_is_asked_while_nothing_happens(room, exchange, watched):
    await room.symbol("watched")
    await room.book(seq_of(exchange))
    frames = "for (let n = 0; n < 40; n++) await new Promise(done => requestAnimationFrame(done));"
    quiet = f"for (;;) {{ const before = asked; {frames} if (asked === before) return asked; }}"
    settled = await room.page.run(quiet)
    assert settled > 5
    assert await room.page.run(f"{frames}{frames} return asked") == settled
    order(exchange, "buy", "0.02", "1")
    await room.until(f"return asked > {settled}")
