"""Links from § to the list of sections, and from cited rules to the rules."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from posixpath import relpath

ROOT = Path(__file__).parent.parent.parent


SPECIFICATION, RULES = "docs/reference/specification.md", "docs/reference/rules.md"
# What must not be touched: fenced code, inline code, links, HTML tags and headings.
_PROTECTED = re.compile(
    r"^ *```.*?^ *```[^\n]*$|`[^`\n]*`|!?\[[^\]\n]*\]\([^)\n]*\)|<[^>\n]*>|^#[^\n]*$",
    re.MULTILINE | re.DOTALL,
)
_SECTION = re.compile(r"§(\d+(?:\.\d+)?)")
_RULE = re.compile(r"[LMPSKRWET]\d{1,2}\b")
_CITED = re.compile(rf"\brules? {_RULE.pattern}(?:(?:,| and| or|-) ?{_RULE.pattern})*")


def linked(text: str, file: str) -> str:
    """Link each § to the list of sections and each cited rule to the rules, outside of code."""
    pieces, end = [], 0
    for protected in _PROTECTED.finditer(text):
        pieces += [_linked_prose(text[end : protected.start()], file), protected[0]]
        end = protected.end()
    return "".join([*pieces, _linked_prose(text[end:], file)])


def _linked_prose(text: str, file: str) -> str:
    text = _SECTION.sub(
        lambda hit: _link(hit[0], SPECIFICATION, "s" + hit[1].replace(".", "-"), file), text
    )
    return _CITED.sub(
        lambda cited: _RULE.sub(lambda hit: _link(hit[0], RULES, hit[0].lower(), file), cited[0]),
        text,
    )


def _link(text: str, page: str, anchor: str, file: str) -> str:
    if anchor not in _anchors(page):
        return text
    target = "" if page == file else relpath(page, file.rpartition("/")[0] or ".")
    return f"[{text}]({target}#{anchor})"


@cache
def _anchors(page: str) -> frozenset[str]:
    return frozenset(re.findall(r'<a id="([^"]+)">', (ROOT / page).read_text()))
