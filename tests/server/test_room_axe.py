"""axe-core finds nothing serious on any part of the page, in both schemes and at both widths. It is a
tool of this test (`make npm`) and no part of the page.
"""

from __future__ import annotations

import pytest
from chromium import COMMAND
from test_room import PARTS
from test_room import room as room
from test_room import watched as watched

from tests.kit.clients import Partner
from tests.node_tools import MODULES, needs

pytestmark = [
    pytest.mark.skipif(not COMMAND, reason="no Chromium on this machine"),
    needs("axe-core"),
    pytest.mark.asyncio(loop_scope="module"),
]
AXE = MODULES / "axe-core" / "axe.min.js"
RUN = """
const {violations} = await axe.run(document, {resultTypes: ['violations']});
return violations.filter(one => ['serious', 'critical'].includes(one.impact))
  .map(one => `${one.id}: ` + one.nodes.slice(0, 3).map(node => node.html.slice(0, 160)).join(' | '));
"""


@pytest.mark.parametrize("width", [1280, 390])
@pytest.mark.long
async def test_nothing_serious_is_found_on_any_part(room, exchange, watched, width):
    exchange.control("POST", "/faults", {"match": {"nth": 90}, "act": {"status": 503}})
    partner = Partner(exchange)
    partner.verified(exchange.webhooks.url)
    await room.symbol("watched")
    await room.until("all('history-row')[2].click(); return one('detail').dataset.seq")
    await room.size(width, 800)
    parts = PARTS if width > 1000 else ("history", "detail", "book", "trades", *PARTS)
    await room.page.run(AXE.read_text("utf-8") + "; window.axe = axe || self.axe;")
    result = {}
    for scheme in ("light", "dark"):
        await room.scheme(scheme)
        for part in parts:
            await room.tab(part)
            if reported := await room.look(RUN):
                result[scheme, part] = reported
    assert result == {}
    await room.look("document.querySelector('.room').append(document.createElement('button'))")
    assert any("button-name" in item for item in await room.look(RUN))  # the check can fail
