"""One tool against one bug: the findings by column, and the processor seconds until each."""

from __future__ import annotations

from collections.abc import Iterator
from time import process_time
from typing import Any
from zlib import crc32

from tools.detection.exchange_bugs import EXCHANGE_BUGS
from tools.detection.planted import PLANTED
from tools.detection.rewriting import planted
from tools.detection.tools import TOOLS, Sentence, run_properties


def attempt(
    tool: str, bug: str, seconds: float, existing: frozenset[str] = frozenset()
) -> dict[str, Any]:
    """What a tool says with a bug ("none" for none) that is not `known` from a run without one: the
    first sentence of each column, with the seconds; and `every` sentence.
    """
    tools = TOOLS[tool]
    output: dict[str, tuple[str, float]] = {}
    every: list[str] = []
    began = process_time()

    def spent() -> float:
        return round(process_time() - began, 1)

    def over() -> bool:
        return (bug != "none" and len(output) == len(tools.columns)) or spent() >= seconds

    with planted(*EXCHANGE_BUGS.get(bug, ())):
        for column, sentence in _sentences(tools.run(over, bug), tools.columns[-1]):
            every.append(sentence)
            if sentence not in existing and column not in output:
                output[column] = sentence[:400], spent()
    return {"said": output, "every": every, "cpu_s": spent()}


def _sentences(reported: Iterator[Sentence], column: str) -> Iterator[Sentence]:
    """Yield the findings of a tool; an error that ends it is one too."""
    try:
        yield from reported
    except Exception as error:  # the exchange has a planted bug
        yield column, f"ended with {type(error).__name__}: {error}"


def fingerprint(bug: str) -> str:
    """Return the identity of a bug; a result for another version of it is not valid."""
    text = next(item.effect for item in PLANTED if item.name == bug)
    return f"{crc32(repr((text, EXCHANGE_BUGS.get(bug))).encode()):08x}"


def measure() -> dict[str, float]:
    """Return the seconds of each property test without a bug."""
    return run_properties(lambda: False, {}).took
