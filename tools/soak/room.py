"""Performance of the control room in Chromium with runs of many inputs: the time until it is
usable, the time to follow the scrubber, its memory, and the processor time of the page and of the
server.

The run is created and served in this process. Real time is what a user waits; it is meaningful on
an idle machine only. Processor time is that of the page's process and of this one, so it stays
comparable.

    python -m tools.soak.room [--inputs 20000 100000] [--looks 60]
"""

from __future__ import annotations

import argparse
import asyncio
import random
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[2] / "tests" / "server"))

from chromium import COMMAND, chromium
from room_page import RoomPage

from benchmarks.areas.travel import long_run
from sim.server.background import BackgroundService
from sim.server.listeners import bind
from sim.world.format.clock_mode import MANUAL

SYMBOL = "bench-orders"
NEAR = 300  # inputs between a random moment and those near it


def main() -> int:
    parser = argparse.ArgumentParser(description="The room in Chromium at runs of many inputs.")
    parser.add_argument("--inputs", type=int, nargs="+", default=[20_000, 100_000])
    parser.add_argument("--looks", type=int, default=60)
    options = parser.parse_args()
    if not COMMAND:
        print("no Chromium on this machine: make browser")
        return 1
    for inputs in options.inputs:
        simulation, _ = long_run(inputs)
        bound = bind("127.0.0.1", 0)
        service = BackgroundService(simulation, MANUAL, bound)
        try:
            asyncio.run(_measure(service.addresses.control, inputs, options.looks))
        finally:
            service.stop()
    return 0


async def _measure(control: str, inputs: int, looks: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        async with chromium(Path(folder), "") as browser:
            clock = _Clock()
            start = time.perf_counter()
            room = await RoomPage.open(browser, f"{control}/")
            clock.room = room
            await room.send("Performance.enable")
            await room.live()
            await room.until(
                "return all('history-row').length > 5 && all('history-row')[0].innerText"
            )
            _say(inputs, "usable", [time.perf_counter() - start])
            await room.symbol(SYMBOL)
            draw = random.Random(inputs)
            far, near = [], []
            for _ in range(3):
                seq = draw.randrange(NEAR, inputs - NEAR)
                far.append(await _look(room, seq))
                await asyncio.sleep(2)  # a reader looks at what there is
                before = await clock.spent()
                for _look_nearby in range(looks // 3):
                    near.append(await _look(room, draw.randrange(seq - NEAR, seq + NEAR)))
                page, server = (b - a for a, b in zip(before, await clock.spent(), strict=True))
                print(
                    f"  processor per look: page {page / looks * 3e3:.0f} ms, server {server / looks * 3e3:.0f} ms"
                )
            _say(inputs, "state at a random moment", far)
            _say(inputs, "state nearby", near)
            await room.write("history-filter", "no such words at all")
            took = await room.look(_SEARCHED)
            _say(inputs, "filter that matches nothing", [took / 1e3])
            await room.send("HeapProfiler.collectGarbage")
            print(f"{inputs:>7} inputs: heap of the tab {await clock.heap() / 1e6:.1f} MB")
            assert await room.trouble() == []


_SEARCHED = """
const begun = performance.now();
for (;;) {
  if (/No row has all/.test(one('history').innerText)) return performance.now() - begun;
  await new Promise(done => setTimeout(done, 8));
}
"""


async def _look(room: RoomPage, seq: int) -> float:
    """Return the seconds from moving the scrubber until the book of that moment is drawn."""
    took = await room.look(
        f"const line = one('scrubber'), begun = performance.now(); line.value = {seq};"
        "line.dispatchEvent(new Event('input', {bubbles: true}));"
        f"for (;;) {{ if (one('book').dataset.seq === '{seq}') return performance.now() - begun;"
        " await new Promise(done => requestAnimationFrame(done)); }"
    )
    return float(took) / 1e3


class _Clock:
    """Processor time of the page's process and of this one, and memory of the page."""

    room: RoomPage

    async def spent(self) -> tuple[float, float]:
        return (await self._metrics())["ProcessTime"], time.process_time()

    async def heap(self) -> float:
        return (await self._metrics())["JSHeapUsedSize"]

    async def _metrics(self) -> dict[str, float]:
        answer: Any = await self.room.send("Performance.getMetrics")
        return {metric["name"]: metric["value"] for metric in answer["metrics"]}


def _say(inputs: int, kind: str, times: list[float]) -> None:
    times = sorted(times)
    p95 = times[min(len(times) - 1, int(0.95 * len(times)))]
    print(
        f"{inputs:>7} inputs: {kind}: median {times[len(times) // 2] * 1e3:.0f} ms, p95 {p95 * 1e3:.0f} ms",
        flush=True,
    )


if __name__ == "__main__":
    raise SystemExit(main())
