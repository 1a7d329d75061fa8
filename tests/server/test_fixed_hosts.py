"""A client that hard-codes its hosts runs unmodified, by the recipe of the docs as it is written."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from textwrap import dedent

import pytest

PAGE = Path(__file__).parents[2] / "docs" / "how-to" / "connect-a-client.md"
# The official client as its own documentation shows it: a key, and no address.
CLIENT = """
import asyncio, json
from polymarket_us import AsyncPolymarketUS, PolymarketUS

key = json.load(open("ready.json"))["api_keys"][0]
names = {"key_id": key["key_id"], "secret_key": key["secret_key"]}
with PolymarketUS(**names) as client:
    markets = client.markets.list({"limit": 2})["markets"]
    balances = client.account.balances()["balances"]


async def first_frame():
    frames = asyncio.Queue()
    async with AsyncPolymarketUS(**names) as client:
        socket = client.ws.markets()
        socket.on("market_data", frames.put_nowait)
        await socket.connect()
        await socket.subscribe_market_data("one", [markets[0]["slug"]])
        frame = await asyncio.wait_for(frames.get(), 10)
        await socket.close()
        return frame


frame = asyncio.run(first_frame())
json.dump({"markets": markets, "balances": balances, "frame": frame}, open("seen.json", "w"))
"""
NAMES = {
    "gateway.vendor.example": "gateway.polymarket.us",
    "api.vendor.example": "api.polymarket.us",
}
NAMESPACE = ["unshare", "--user", "--map-root-user", "--net", "--mount", "--pid", "--fork"]


def block(page: str, begins: str) -> str:
    """The code block of the page that begins with a text."""
    result = re.search(rf"^( *)```\w+\n( *{re.escape(begins)}.*?)^\1```", page, re.M | re.S)
    assert result is not None, begins
    return dedent(result[2])


def no_namespace() -> str:
    """Why this machine gives no namespace, or ""."""
    if sys.platform != "linux":
        return "namespaces are Linux"
    steps = "ip link set lo up && mount --bind /dev/null /etc/hosts"
    try:
        tried = subprocess.run([*NAMESPACE, "sh", "-c", steps], capture_output=True, text=True)
    except OSError as error:
        return str(error)
    return tried.stderr.strip() or "" if tried.returncode else ""


@pytest.mark.long
def test_the_official_client_with_its_own_hosts_runs_by_the_recipe(tmp_path):
    if why := no_namespace():
        pytest.skip(f"no namespace with an own network here: {why}")
    page = PAGE.read_text()
    for name, own in NAMES.items():
        page = page.replace(name, own)
    (tmp_path / "hosts").write_text(block(page, "127.0.0.2 gateway"))
    (tmp_path / "forward.py").write_text(block(page, '"""forward.py'))
    (tmp_path / "client.py").write_text(CLIENT)
    recipe = block(page, "unshare --user").replace("your-client", "python client.py")
    ran = subprocess.run(
        ["sh", "-c", recipe],
        cwd=tmp_path,
        env={**os.environ, "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"},
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert ran.returncode == 0, ran.stderr
    observed = json.loads((tmp_path / "seen.json").read_text())
    assert len(observed["markets"]) == 2
    assert observed["balances"]
    assert observed["frame"]["marketData"]["marketSlug"] == observed["markets"][0]["slug"]
