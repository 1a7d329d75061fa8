"""What a reader with a keyboard, a screen reader or weak eyes needs of the page: controls have
names, text stands out, tabs and tables say what they are. No checker of the field is vendored; these
are its main rules, computed in the browser.
"""

from __future__ import annotations

import pytest
from chromium import COMMAND
from test_room import PARTS
from test_room import room as room
from test_room import watched as watched

from tests.kit.clients import Partner

pytestmark = [
    pytest.mark.skipif(not COMMAND, reason="no Chromium on this machine"),
    pytest.mark.asyncio(loop_scope="module"),
]
# Controls without a name: neither text, nor a label, nor an attribute that says what they are.
NAMELESS = """
return [...document.querySelectorAll('button, input, select, textarea, a, [role=slider], [role=tab]')]
  .filter(one => one.checkVisibility())
  .filter(one => !(one.innerText || '').trim() && !one.getAttribute('aria-label') && !(one.labels || []).length)
  .map(one => one.outerHTML.slice(0, 120));
"""
# Text of too little contrast: 4.5 to 1 (WCAG 1.4.3), without what is disabled or past.
PALE = """
const rgb = text => (text.match(/[\\d.]+/g) || []).map(Number);
const light = ([r, g, b]) => { const [x, y, z] = [r, g, b].map(v => { v /= 255; return v <= .03928 ? v / 12.92 : ((v + .055) / 1.055) ** 2.4; });
  return .2126 * x + .7152 * y + .0722 * z; };
const ground = at => { for (; at; at = at.parentElement) { const colour = rgb(getComputedStyle(at).backgroundColor);
  if (colour.length === 3 || colour[3] > .9) return colour; } return [255, 255, 255]; };
const dim = at => { for (; at; at = at.parentElement) if (getComputedStyle(at).opacity < 1 || at.disabled) return true; return false; };
const found = new Set();
for (const one of document.querySelectorAll('#room *')) {
  if (![...one.childNodes].some(node => node.nodeType === 3 && node.textContent.trim()) || !one.checkVisibility() || dim(one)) continue;
  if (one.closest('.visually-hidden, svg, .u-wrap')) continue;
  const [a, b] = [light(rgb(getComputedStyle(one).color)), light(ground(one))].sort((x, y) => y - x);
  if ((a + .05) / (b + .05) < 4.5) found.add(one.className + ': ' + one.textContent.slice(0, 30) + ' ' + getComputedStyle(one).color + ' on ' + ground(one));
}
return [...found];
"""


@pytest.mark.long
async def test_controls_have_names_and_text_stands_out(room, exchange, watched):
    exchange.control("POST", "/faults", {"match": {"nth": 90}, "act": {"status": 503}})
    partner = Partner(exchange)
    partner.verified(exchange.webhooks.url)
    await room.symbol("watched")
    await room.until("all('history-row')[2].click(); return one('detail').dataset.seq")
    for scheme in ("light", "dark"):
        await room.scheme(scheme)
        for part in PARTS:
            await room.tab(part)
            assert await room.look(NAMELESS) == [], part
            assert await room.look(PALE) == [], (scheme, part)
    spoil = "const title = document.querySelector('.pane-head h2'); title.style.color = '#3a3a3a';"
    await room.look(spoil + "title.append(document.createElement('button'))")
    assert len(await room.look(PALE)) == len(await room.look(NAMELESS)) == 1  # the checks can fail


async def test_the_keyboard_reaches_the_tabs_and_says_where_it_is(room, exchange):
    await room.until("one('tab-script').focus(); return true")
    for part in ("orders", "accounts"):
        await room.key("ArrowRight")
        await room.until(f"return document.activeElement.dataset.testid === 'tab-{part}'")
        chosen = f"return all('tab-{part}')[0].getAttribute('aria-selected') === 'true'"
        await room.until(chosen)
        await room.until(f"return one({part!r}).closest('[role=tabpanel]') !== null")
    roles = (
        "[...document.querySelectorAll('[role=table], [role=grid], [role=slider], [role=tablist]')]"
    )
    assert await room.look(f"return {roles}.filter(one => !one.getAttribute('aria-label'))") == []
    outline = "getComputedStyle(document.activeElement).outlineStyle"
    assert await room.look(f"return {outline}") != "none"
