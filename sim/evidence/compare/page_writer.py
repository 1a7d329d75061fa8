"""Blocks of a page as Markdown, or as one HTML file that needs no network.

The HTML knows as much of Markdown as the pages use: code, links, emphasis, line breaks, anchors.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from html import escape

from sim.evidence.compare.scorecard_page import Block
from sim.read.tables import as_markdown, cell

_STYLE = """
:root { color-scheme: light dark; }
body { font: 16px/1.5 system-ui, sans-serif; margin: 0 auto; max-width: 72rem; padding: 1rem; }
table { border-collapse: collapse; font-size: .85rem; margin: 1rem 0; width: 100%; }
th, td { border-bottom: 1px solid #8886; padding: .4rem .6rem; text-align: left;
  vertical-align: top; }
code { font: .9em ui-monospace, monospace; overflow-wrap: anywhere; }
td:first-child { overflow-wrap: anywhere; }
@media (max-width: 40rem) {
  thead { display: none; }
  tr { border-bottom: 1px solid #8886; display: block; padding: .5rem 0; }
  td { border: 0; display: block; padding: .1rem 0; }
  td:first-child { font-weight: bold; }
  td:not(:first-child)::before { content: attr(data-label) ": "; opacity: .7; }
}
"""
_INLINE = re.compile(
    r"`(?P<code>[^`]*)`|\[(?P<text>[^\]]*)\]\((?P<to>[^)]*)\)|\*(?P<strong>[^*]+)\*"
    r'|(?P<break><br>)|(?P<anchor><a id="[\w-]+"></a>)|\\(?P<literal>[*])|(?P<entity>&\w+;)'
)


def markdown(blocks: Iterable[Block]) -> str:
    """The page in Markdown."""
    return "\n\n".join(_markdown(block) for block in blocks) + "\n"


def _markdown(block: Block) -> str:
    if block.rows:
        return as_markdown(block.rows)
    return f"{'#' * block.level} {block.text}" if block.level else block.text


def html(blocks: Iterable[Block]) -> str:
    """The page as one HTML file."""
    body = list(blocks)
    title = next((escape(block.text) for block in body if block.level == 1), "")
    head = '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
    width = '<meta name="viewport" content="width=device-width, initial-scale=1">'
    style = f"<title>{title}</title><style>{_STYLE}</style></head><body>"
    parts = [head + width + style, *map(_html, body), "</body></html>"]
    return "\n".join(parts) + "\n"


def _html(block: Block) -> str:
    if block.rows:
        return "\n".join(_table(block))
    tag = f"h{block.level}" if block.level else "p"
    return f"<{tag}>{_inline(block.text)}</{tag}>"


def _table(block: Block) -> Iterator[str]:
    names = list(block.rows[0])
    heads = "".join(f"<th>{escape(name)}</th>" for name in names)
    yield f"<table><thead><tr>{heads}</tr></thead><tbody>"
    for row in block.rows:
        cells = (
            f'<td data-label="{escape(name)}">{_inline(cell(value))}</td>'
            for name, value in row.items()
        )
        yield f"<tr>{''.join(cells)}</tr>"
    yield "</tbody></table>"


def _inline(text: str) -> str:
    pieces, end = [], 0
    for hit in _INLINE.finditer(text):
        pieces += [escape(text[end : hit.start()]), _marked(hit)]
        end = hit.end()
    return "".join([*pieces, escape(text[end:])])


def _marked(hit: re.Match[str]) -> str:
    match hit.lastgroup:
        case "code":
            return f"<code>{escape(hit['code'])}</code>"
        case "to":
            return f'<a href="{escape(hit["to"])}">{escape(hit["text"])}</a>'
        case "strong":
            return f"<em>{escape(hit['strong'])}</em>"
        case "literal":
            return hit["literal"]
    return hit[0]
