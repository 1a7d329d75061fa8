"""Answers to agents: short Markdown that ends with what to do next.

Whatever comes out of a run may hold text that a client chose: names, order ids, paths. It is data,
and an agent must be able to tell it from our words. So it stands in a fenced block as JSON without
control characters and without backticks, and every text and the whole are cut.
"""

from __future__ import annotations

import json
from typing import Any

TEXT_MAX, BLOCK_MAX, ROWS_MAX = 200, 5_000, 50


class ToolError(Exception):
    """A tool cannot do what was asked; the message says why and what to do instead."""


def answer(headline: str, data: Any = None, *, then: str = "") -> str:
    """A sentence, the data that it is about, and what to do next."""
    parts = [headline]
    if data is not None:
        parts.append(block(data))
    if then:
        parts.append(f"Next: {then}")
    return "\n\n".join(parts)


def block(data: Any) -> str:
    """Data in a fenced block that nothing in it can end: a line for each row of a list."""
    rows = data if isinstance(data, list) else [data]
    lines = [line(row) for row in rows[:ROWS_MAX]]
    text = "\n".join(lines)
    if len(text) > BLOCK_MAX:
        text = text[:BLOCK_MAX] + f"… (cut, {len(text) - BLOCK_MAX} more characters)"
    if len(rows) > ROWS_MAX:
        text += f"\n… (cut, {len(rows) - ROWS_MAX} more rows)"
    return f"```json\n{text}\n```"


def line(value: Any) -> str:
    """A value as JSON on one line, in ASCII, with long texts cut."""
    return json.dumps(truncated(value), default=str).replace("`", "\\u0060")


def truncated(value: Any) -> Any:
    """The value with every text cut to `TEXT_MAX` characters, keys included."""
    if isinstance(value, str) and len(value) > TEXT_MAX:
        return f"{value[:TEXT_MAX]}… (+{len(value) - TEXT_MAX} characters)"
    if isinstance(value, dict):
        return {str(truncated(key)): truncated(each) for key, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [truncated(each) for each in value]
    return value


def quoted(text: object) -> str:
    """A text of the run inside a sentence of ours: as JSON, so it is seen where it ends."""
    return line(str(text))
