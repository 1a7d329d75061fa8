"""The control room in a headless Chromium, for tests: look at elements, use keyboard and mouse."""

from __future__ import annotations

import base64
import json
from typing import Any

from chromium import Browser, Page

# Wait for a value in the page. The page is drawn in frames, so it is tested once per frame.
_UNTIL = """
const look = () => { const one = id => document.querySelector(`[data-testid="${id}"]`);
  const all = id => [...document.querySelectorAll(`[data-testid="${id}"]`)]; %s };
const end = performance.now() + 30000;
for (;;) {
  let found; try { found = look(); } catch (problem) { found = undefined; }
  if (found) return found;
  if (performance.now() > end) throw new Error('it did not come to that: ' + document.body.innerText.slice(0, 1500));
  await new Promise(done => setTimeout(done, 8));
}
"""
_TROUBLE = """
window.trouble = [];
window.asked = 0;
const fetches = window.fetch;
window.fetch = (...given) => { window.asked += 1; return fetches(...given); };
const note = text => window.trouble.push(String(text));
addEventListener('error', event => note(event.error && event.error.stack || event.message));
addEventListener('unhandledrejection', event => note(event.reason && event.reason.stack || event.reason));
addEventListener('securitypolicyviolation', event => note('policy: ' + event.violatedDirective));
"""


class RoomPage:
    """A browser tab that shows the control room."""

    def __init__(self, browser: Browser, page: Page) -> None:
        self.browser, self.page = browser, page

    @classmethod
    async def open(cls, browser: Browser, url: str, *, tour: bool = False) -> RoomPage:
        """Open the control room, 1280 pixels wide, and wait until it is connected."""
        room = cls(browser, await browser.page())
        observed = "" if tour else "localStorage.setItem('room.tour', 'seen');"
        await room.send("Page.enable")
        await room.send("Page.addScriptToEvaluateOnNewDocument", source=_TROUBLE + observed)
        await room.size(1280, 800)
        await room.page.go(url)
        return room

    async def send(self, method: str, **params: Any) -> Any:
        """Send a command of the DevTools protocol to this tab."""
        return await self.browser.call(method, self.page.session, **params)

    async def size(self, width: int, height: int) -> None:
        await self.send(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=1,
            mobile=width < 600,
        )

    async def scheme(self, name: str) -> None:
        """Set the preferred colour scheme."""
        features = [{"name": "prefers-color-scheme", "value": name}]
        await self.send("Emulation.setEmulatedMedia", features=features)

    async def until(self, script: str) -> Any:
        """Return the value of a function body once it is true; `one` and `all` find by test id."""
        return await self.page.run(_UNTIL % script)

    async def live(self) -> None:
        await self.until(
            "return one('connection').dataset.state === 'live' && one('digest').dataset.digest"
        )

    async def look(self, script: str) -> Any:
        """Return the value of a function body now."""
        return await self.page.run(
            'const one = id => document.querySelector(`[data-testid="${id}"]`);'
            'const all = id => [...document.querySelectorAll(`[data-testid="${id}"]`)];' + script
        )

    async def click(self, testid: str) -> None:
        """Click an element at its position, once it stands still there and nothing covers it."""
        point = await self.until(
            f"const found = one({json.dumps(testid)}); if (found.disabled) return null;"
            "found.scrollIntoView({block: 'nearest'}); const box = found.getBoundingClientRect();"
            "const point = [box.x + box.width / 2, box.y + box.height / 2];"
            "if (String(point) !== window.point) { window.point = String(point); window.still = 0; }"
            "if (++window.still < 5 || !found.contains(document.elementFromPoint(...point)))"
            " return null;"
            "window.point = ''; return point"
        )
        for kind in ("mousePressed", "mouseReleased"):
            where = {"x": point[0], "y": point[1], "button": "left", "clickCount": 1}
            await self.send("Input.dispatchMouseEvent", type=kind, **where)

    async def tab(self, part: str) -> None:
        """Open a tab of the page."""
        await self.click(f"tab-{part}")
        await self.until(f"return one({json.dumps(part)})")

    async def write(self, testid: str, text: str) -> None:
        """Replace the text of a field."""
        await self.until(
            f"const field = one({json.dumps(testid)}); field.focus(); field.select(); return true"
        )
        await self.send("Input.insertText", text=text)

    async def key(self, name: str, testid: str = "") -> None:
        """Press a key, on an element if one is given."""
        if testid:
            await self.until(f"one({json.dumps(testid)}).focus(); return true")
        code = {"Enter": 13, "Escape": 27, "Home": 36, "End": 35, "PageUp": 33, "PageDown": 34}
        code |= {"ArrowLeft": 37, "ArrowUp": 38, "ArrowRight": 39, "ArrowDown": 40}
        press = {"key": name, "code": name, "windowsVirtualKeyCode": code[name]}
        text = {"text": "\r"} if name == "Enter" else {}
        await self.send("Input.dispatchKeyEvent", type="keyDown", **press, **text)
        await self.send("Input.dispatchKeyEvent", type="keyUp", **press)

    async def symbol(self, symbol: str) -> None:
        """Choose an instrument."""
        await self.write("symbol-picker", symbol)
        await self.key("Enter")
        await self.until(f"return one('book').dataset.symbol === {json.dumps(symbol)}")

    async def scrub(self, seq: int) -> None:
        """Move the scrubber to an input, after the page has received it."""
        await self.until(
            f"const line = one('scrubber'); if (Number(line.max) < {seq}) return false;"
            f"line.focus(); line.value = {seq};"
            "line.dispatchEvent(new Event('input', {bubbles: true})); return true"
        )

    async def book(self, seq: int) -> list[list[str]]:
        """Return the levels shown, once they are those after an input: [side, price, quantity]."""
        return await self.until(
            f"return one('book').dataset.seq === '{seq}' && all('book-level')"
            ".map(one => [one.dataset.side, one.dataset.px, one.dataset.qty])"
        )

    async def trouble(self) -> list[str]:
        """Return script errors and violations of the content security policy."""
        return await self.page.run("return window.trouble")

    async def picture(self) -> bytes:
        """Return a screenshot of the tab, as PNG."""
        shot = await self.send("Page.captureScreenshot", format="png")
        return base64.b64decode(shot["data"])
