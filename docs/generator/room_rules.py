"""The rules as a module of the control room: a reader has their text there without a network."""

from __future__ import annotations

import json
import re

from generator.links import ROOT, RULES

MODULE = ROOT / "sim" / "server" / "room" / "rules.js"
_ROW = re.compile(r'^\| <a id="\w+"></a>(\w+) \| (.*) \|$', re.MULTILINE)
_LINK = re.compile(r"\[([^\]]*)\]\([^)]*\)")


def module() -> str:
    """The text of `rules.js`: each rule as a sentence without Markdown."""
    head = "// What each rule says, by its name. Written by make docs, from its page of rules.\n\n"
    lines = [
        f"  {rule}: {json.dumps(_plain(text), ensure_ascii=False)},\n"
        for rule, text in _ROW.findall((ROOT / RULES).read_text("utf-8"))
    ]
    return f"{head}export const RULES = {{\n{''.join(lines)}}};\n"


def _plain(text: str) -> str:
    return _LINK.sub(r"\1", text).replace("`", "").replace("*", "").replace("\\|", "|")
