"""Memory of a resting order, a trade, a market data subscriber and an idle market.

Each is counted in a process of its own, as growth of resident memory while many are created.
`python -m benchmarks.areas.memory KIND COUNT` prints one number.
"""

from __future__ import annotations

import gc
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from benchmarks.figures import Figure
from benchmarks.serving import HERE

COUNTS = {
    "resting order": (1_000, 10_000, 100_000),
    "trade": (500, 5_000, 50_000),
    # A hundred of these fit into what the allocator has left over from the beginning.
    "idle market": (1_000, 10_000),
    "subscriber": (1_000, 10_000),
}

MARKETS = "/v1/ws/markets"
SUBSCRIBE = b'{"subscribe":{"requestId":"r","subscriptionType":1,"marketSlugs":["bench-book"]}}'


def figures(rounds: int) -> list[Figure]:
    """Bytes each, over decades: about the same at every size, or it would be no price a piece. One
    run each: it does not depend on the load.
    """
    return [
        Figure(f"memory of one {kind}, of {count:,}", "bytes", [_weighed(kind, count)], [], "")
        for kind, counts in COUNTS.items()
        for count in counts
    ]


def _weighed(kind: str, count: int) -> float:
    command = [sys.executable, "-m", "benchmarks.areas.memory", kind, str(count)]
    return float(subprocess.run(command, cwd=HERE.parent, capture_output=True, check=True).stdout)


def resident() -> int:
    """Memory of this process in use, in bytes, once what nobody refers to is freed."""
    gc.collect()
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")


def _orders(count: int) -> Callable[[], object]:
    """Orders rest, ten prices deep, by REST."""
    return _placing(count, lambda number: ("BUY", 10 + number % 10))


def _trades(count: int) -> Callable[[], object]:
    """Each pair of orders is one trade, a buyer's and a seller's."""
    return _placing(2 * count, lambda number: ("SELL" if number % 2 else "BUY", 50))


def _placing(count: int, terms: Callable[[int], tuple[str, int]]) -> Callable[[], object]:
    from sim import Simulation, load_scenario
    from sim.run.client.client import connect
    from sim.server.journal_file import spooled_journal

    sim = Simulation(
        load_scenario(str(Path(__file__).parent / "bench.yaml")), journal=spooled_journal()
    )
    world = connect(sim)
    firm = next(result for result in sim.exchange.firms.all() if result.client_id)
    headers = world.bearer(firm, firm.users[0].name)

    def place(number: int) -> None:
        side, price = terms(number)
        body = (
            f'{{"type":"ORDER_TYPE_LIMIT","side":"SIDE_{side}","symbol":"bench-orders","orderQty":"1","price":"{price}",'
            '"timeInForce":"TIME_IN_FORCE_GOOD_TILL_CANCEL"}'
        )
        sim.rest("exchange", "POST", "/v1/trading/orders", "", headers, body.encode())

    place(0)
    place(1)

    def run() -> object:
        for number in range(count):
            place(number)
        return sim

    return run


def _markets(count: int) -> Callable[[], object]:
    """A world of so many markets beside one of none."""
    import tempfile

    from sim import Simulation, load_scenario

    def world(size: int) -> Simulation:
        text = "name: idle\nworld:\n  instruments:\n" + "".join(
            f"    - {{symbol: idle-{number}, state: OPEN}}\n" for number in range(size)
        )
        with tempfile.NamedTemporaryFile("w", suffix=".yaml") as file:
            file.write(text)
            file.flush()
            return Simulation(load_scenario(file.name))

    world(1)
    return lambda: world(count)


def _subscribers(count: int) -> Callable[[], object]:
    """WebSockets, each following the market data of one symbol."""
    from sim import Simulation, load_scenario
    from sim.run.client.client import connect
    from sim.server.journal_file import spooled_journal

    sim = Simulation(
        load_scenario(str(Path(__file__).parent / "bench.yaml")), journal=spooled_journal()
    )
    world = connect(sim)
    key = next(
        api_key
        for api_key in sim.world.parties.api_keys
        if api_key.key_id in sim.world.parties.secrets
    )
    headers = world.retail_headers(key, "GET", MARKETS)

    def open_one() -> None:
        outcome = sim.open(MARKETS, headers, b"", web_socket=True)
        if not outcome.stream or not sim.frame(outcome.stream, SUBSCRIBE).effects:
            raise RuntimeError(f"no stream: {outcome.reply}")

    open_one()

    def run() -> object:
        for _ in range(count):
            open_one()
        return sim

    return run


_KINDS = {
    "resting order": _orders,
    "trade": _trades,
    "idle market": _markets,
    "subscriber": _subscribers,
}


def main() -> None:
    kind, count = sys.argv[1], int(sys.argv[2])
    run = _KINDS[kind](count)
    before = resident()
    kept = run()
    print((resident() - before) / count)
    del kept


if __name__ == "__main__":
    main()
