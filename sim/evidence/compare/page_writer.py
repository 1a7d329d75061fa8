"""A page in Markdown as one HTML file that needs no network."""

from __future__ import annotations

from html import escape
from itertools import pairwise

from markdown_it import MarkdownIt

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


def html(markdown: str) -> str:
    """Return the page as HTML. Each cell of a table has its column's name, which narrow screens
    show instead of the row of names.
    """
    parser = MarkdownIt("commonmark").enable("table")
    tokens = parser.parse(markdown)
    title, names, column = "", list[str](), 0
    for token, content in pairwise(tokens):
        if token.type == "heading_open":
            title = title or content.content
        elif token.type == "table_open":
            names = []
        elif token.type == "th_open":
            names.append(content.content)
        elif token.type == "tr_open":
            column = 0
        elif token.type == "td_open":
            token.attrSet("data-label", names[column])
            column += 1
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{escape(title)}</title><style>{_STYLE}</style></head><body>\n"
        f"{parser.renderer.render(tokens, parser.options, {})}</body></html>\n"
    )
