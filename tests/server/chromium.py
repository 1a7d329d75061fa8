"""A headless Chromium, driven over its debugging protocol: as much of it as a test of what pages may
do needs.
"""

from __future__ import annotations

import asyncio
import itertools
import shutil
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import aiohttp

COMMAND = next(
    filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), ""
)
_FLAGS = (
    *("--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
    *("--disable-dev-shm-usage", "--remote-debugging-port=0"),
)


class Page:
    """A tab."""

    def __init__(self, browser: Browser, session: str) -> None:
        self._browser, self.session = browser, session

    async def go(self, url: str) -> None:
        """Navigate, and wait until the document is there."""
        moved = await self._browser.call("Page.navigate", self.session, url=url)
        assert not moved.get("errorText"), moved
        here = "await new Promise(done => {const look = () => document.readyState === 'complete'"
        here += " && location.href !== 'about:blank' ? done() : setTimeout(look, 5); look();})"
        await self.run(here)

    async def run(self, script: str) -> Any:
        """The value of an async function's body that runs in the page."""
        answer = await self._browser.call(
            "Runtime.evaluate",
            self.session,
            expression=f"(async () => {{{script}}})()",
            awaitPromise=True,
            returnByValue=True,
        )
        assert "exceptionDetails" not in answer, answer["exceptionDetails"]
        return answer["result"].get("value")


class Browser:
    """The connection to a running browser."""

    def __init__(self, socket: aiohttp.ClientWebSocketResponse) -> None:
        self._socket = socket
        self._numbers = itertools.count(1)
        self._waiting: dict[int, asyncio.Future[Any]] = {}

    async def call(self, method: str, session: str = "", **params: Any) -> Any:
        """The result of a command."""
        number = next(self._numbers)
        self._waiting[number] = asyncio.get_running_loop().create_future()
        reported = {"id": number, "method": method, "params": params}
        await self._socket.send_json(reported | ({"sessionId": session} if session else {}))
        return await asyncio.wait_for(self._waiting[number], 30)

    async def page(self) -> Page:
        """A new tab."""
        target = await self.call("Target.createTarget", url="about:blank")
        attached = await self.call(
            "Target.attachToTarget", targetId=target["targetId"], flatten=True
        )
        return Page(self, attached["sessionId"])

    async def listen(self) -> None:
        """Give each answer to the call that waits for it."""
        async for message in self._socket:
            output = message.json()
            waiting = self._waiting.pop(output.get("id", 0), None)
            if waiting is None or waiting.done():
                continue
            if "error" in output:
                waiting.set_exception(AssertionError(output["error"]))
            else:
                waiting.set_result(output["result"])


@asynccontextmanager
async def chromium(profile: Path, names: str) -> AsyncIterator[Browser]:
    """A browser in which `names`, such as "evil.example", are this machine."""
    rules = ",".join(f"MAP {name} 127.0.0.1" for name in names.split())
    process = await asyncio.create_subprocess_exec(
        COMMAND,
        *_FLAGS,
        f"--user-data-dir={profile}",
        f"--host-resolver-rules={rules}",
        stderr=asyncio.subprocess.PIPE,
    )
    assert process.stderr is not None
    try:
        address = ""
        while not address:
            line = await asyncio.wait_for(process.stderr.readline(), 30)
            assert line, "the browser ended before it listened"
            _, _, address = line.decode().strip().partition("DevTools listening on ")
        drain = asyncio.create_task(process.stderr.read())
        async with (
            aiohttp.ClientSession() as http,
            http.ws_connect(address, max_msg_size=0, heartbeat=None) as socket,
        ):
            browser = Browser(socket)
            listening = asyncio.create_task(browser.listen())
            try:
                yield browser
            finally:
                listening.cancel()
        drain.cancel()
    finally:
        process.kill()
        await process.wait()
