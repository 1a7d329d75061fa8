"""Answers to agents: short Markdown that ends with what to do next.

The output of a run may contain text that a client chose: names, order ids, paths. An agent must be
able to distinguish such data from our own words. So data is JSON in a fenced block, without control
characters or backticks, and both single texts and the whole are cut to a maximum length.
"""

from __future__ import annotations

import json
import re
from typing import Any

TEXT_MAX, BLOCK_MAX, ROWS_MAX = 200, 5_000, 50


class ToolError(Exception):
    """A tool cannot do what was requested. The message says why and what to do instead."""


def answer(headline: str, data: Any = None, *, then: str = "") -> str:
    """Return a sentence, the data that it is about, and what to do next."""
    parts = [headline]
    if data is not None:
        parts.append(block(data))
    if then:
        parts.append(f"Next: {then}")
    return "\n\n".join(parts)


def block(data: Any) -> str:
    """Return data in a fenced block that no content can end; a list has one line per row."""
    rows = data if isinstance(data, list) else [data]
    lines = [line(row) for row in rows[:ROWS_MAX]]
    text = "\n".join(lines)
    if len(text) > BLOCK_MAX:
        text = text[:BLOCK_MAX] + f"… (cut, {len(text) - BLOCK_MAX} more characters)"
    if len(rows) > ROWS_MAX:
        text += f"\n… (cut, {len(rows) - ROWS_MAX} more rows)"
    return f"```json\n{text}\n```"


def whole_text(text: str, language: str) -> str:
    """Return a text in a fenced block that it cannot end, uncut: it is to be used as it is."""
    printable = "".join(each if each.isprintable() or each == "\n" else "\ufffd" for each in text)
    longest = max(map(len, re.findall("`+", printable)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}{language}\n{printable.rstrip()}\n{fence}"


def line(value: Any) -> str:
    """Return a value as JSON on one line, in ASCII, with long texts cut."""
    return json.dumps(truncated(value), default=str).replace("`", "\\u0060")


def truncated(value: Any) -> Any:
    """Return the value with every text cut to `TEXT_MAX` characters, including keys."""
    if isinstance(value, str) and len(value) > TEXT_MAX:
        return f"{value[:TEXT_MAX]}… (+{len(value) - TEXT_MAX} characters)"
    if isinstance(value, dict):
        return {str(truncated(key)): truncated(each) for key, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [truncated(each) for each in value]
    return value


def quoted(text: object) -> str:
    """Return a text of the run for a sentence of ours, as JSON, so that its end is recognisable."""
    return line(str(text))
