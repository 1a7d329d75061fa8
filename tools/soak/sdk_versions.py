"""Every published version of the public Python client, in both readings of the service.

Each version is installed into a separate folder (which needs the network once) and calls a served
exchange from a separate process: market data, an order from preview to cancellation, a trade, the
portfolio, balances, and other functions of the version. CI runs the newest version in both readings
(`tests/server/test_official_sdk*.py`); this runs the others.

    python -m tools.soak.sdk_versions [--versions 0.1.2 2.4.1]
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from pathlib import Path

from msgspec.structs import replace

from sim.run.loader.load import load_scenario
from sim.testing.exchange_fixture import ServedExchange

ROOT = Path(__file__).parent.parent.parent
VERSIONS = ("0.1.2", "1.0.0", "1.0.1", "1.0.2", "2.0.0", "2.1.0", "2.3.0", "2.4.0", "2.4.1")

# The program that uses a version. It prints one JSON line: the calls made, and the errors.
JOURNEY = r"""
import json, sys
import polymarket_us
from polymarket_us import PolymarketUS

ready, market = json.loads(sys.argv[1]), sys.argv[2]
assert polymarket_us.__file__.startswith(sys.argv[3]), polymarket_us.__file__
key = ready["api_keys"][0]
client = PolymarketUS(
    key_id=key["key_id"], secret_key=key["secret_key"],
    gateway_base_url=ready["gateway"], api_base_url=ready["retail"],
)
order = {
    "marketSlug": market, "intent": "ORDER_INTENT_BUY_LONG", "type": "ORDER_TYPE_LIMIT",
    "price": {"value": "0.40", "currency": "USD"}, "quantity": 2,
    "tif": "TIME_IN_FORCE_GOOD_TILL_CANCEL",
}
called, wrong, kept = [], [], {}

def call(name, *given, optional=False):
    resource, _, method = name.partition(".")
    function = getattr(getattr(client, resource, None), method, None)
    if function is None:
        if not optional:
            wrong.append(f"{name}: this version does not have it")
        return None
    try:
        answer = function(*given)
    except Exception as problem:
        wrong.append(f"{name}: {type(problem).__name__}: {problem}")
        return None
    called.append(name)
    return answer

call("events.list", {"limit": 2})
call("markets.list", {"limit": 2})
found = call("markets.retrieve_by_slug", market)
call("markets.book", market)
call("markets.bbo", market)
call("series.list", {"limit": 2}, optional=True)
call("sports.list", optional=True)
call("search.query", {"query": "a"}, optional=True)
call("orders.preview", {"request": order})
placed = call("orders.create", order)
if placed:
    call("orders.retrieve", placed["id"])
    call("orders.modify", placed["id"], {**order, "price": {"value": "0.41", "currency": "USD"}})
    call("orders.list")
    call("orders.cancel", placed["id"], {"marketSlug": market})
call("orders.create", {**order, "price": {"value": "0.60", "currency": "USD"}})
positions = call("portfolio.positions")
activities = call("portfolio.activities", {"limit": 5})
call("account.balances")
call("orders.cancel_all", optional=True)
if positions and market not in positions["positions"]:
    wrong.append("the trade is no position")
if activities and not any("trade" in one and one["trade"] for one in activities["activities"]):
    wrong.append("the trade is no activity")
print(json.dumps({"called": called, "wrong": wrong}))
"""


def installed(version: str, folder: Path) -> Path:
    """Return the folder of a version of the client; install it if necessary."""
    position = folder / version
    if not (position / "polymarket_us").is_dir():
        pip = (sys.executable, "-m", "pip", "install", "-q", "--no-deps", "--target", str(position))
        subprocess.run((*pip, f"polymarket-us=={version}"), check=True)
    return position


def journey(version: str, reading: str, folder: Path) -> list[str]:
    """Return the errors of a version in a reading; empty if there are none."""
    position = installed(version, folder).resolve()
    scenario = replace(load_scenario("quickstart"), reading=reading)
    served = ServedExchange(scenario, seed=None, journal=folder / f"{version}-{reading}.ndjson")
    try:
        market = "aec-sdk-versions"
        served.control(
            "POST", "/instruments", {"symbol": market, "state": "OPEN", "tick_size": "0.01"}
        )
        offer = {"as": "maker", "symbol": market, "side": "sell", "price": "0.60", "qty": "5"}
        served.control("POST", "/orders", offer)
        run = subprocess.run(
            (sys.executable, "-c", JOURNEY, json.dumps(served.ready), market, str(position)),
            env={**os.environ, "PYTHONPATH": str(position)},
            capture_output=True,
            text=True,
            check=False,
        )
    finally:
        served.close()
    if run.returncode:
        return [run.stderr.strip().splitlines()[-1]]
    report = json.loads(run.stdout.splitlines()[-1])
    print(f"{version:7} {reading:10} {len(report['called'])} methods, {len(report['wrong'])} wrong")
    return list(report["wrong"])


def main() -> int:
    """Run every version in every reading; return 1 if there were errors."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--versions", nargs="+", default=VERSIONS)
    parser.add_argument("--folder", type=Path, default=ROOT / "build" / "sdk")
    args = parser.parse_args()
    args.folder.mkdir(parents=True, exist_ok=True)
    wrong = [
        f"{version} {reading}: {line}"
        for version in args.versions
        for reading in ("documented", "observed")
        for line in journey(version, reading, args.folder)
    ]
    print(*wrong, sep="\n")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
