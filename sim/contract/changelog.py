"""The changelog of the simulated interface (§9): numbered releases, at a virtual instant.

The entries are in `fixtures/changelog.json`, oldest first. This module shows those that were
published by an instant, as a page and as an RSS feed, with the one-off maintenance windows that a
run has announced by then (§8).

Numbers and effective dates are those of the specification if it gives them (`confirmed`); otherwise
the position in the order is ours. The removal of the three funded-order calls on 2026-08-06 has no
entry, because none was issued at the time.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date
from email.utils import format_datetime
from functools import cache
from html import escape

from msgspec import Struct, json

from sim.kernel.instants import Instant, eastern, eastern_date, to_datetime
from sim.kernel.resources import path


class Release(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One entry. `date` is the day of publication, Eastern.

    `effective` is the day on which the change takes effect; "" means the day of publication.
    """

    number: int
    date: str
    title: str
    tags: tuple[str, ...]
    text: str
    effective: str = ""
    confirmed: bool = False

    @property
    def name(self) -> str:
        """`v0.0.71`."""
        return f"v0.0.{self.number}"

    @property
    def heading(self) -> str:
        """Number and title."""
        return f"{self.name}: {self.title}"

    @property
    def published(self) -> Instant:
        """Noon Eastern of the day of publication."""
        return eastern(date.fromisoformat(self.date), 12)

    @property
    def body(self) -> str:
        """The text, with the effective date, and a note if the entry is ours."""
        effective = f" Takes effect on {self.effective}." if self.effective else ""
        note = "" if self.confirmed else " (Number and date of this entry are the sandbox's own.)"
        return f"{self.text}{effective}{note}"


class WindowEntry(Struct, frozen=True, kw_only=True):
    """An entry without a release: a one-off window was announced, or called off."""

    name: str
    heading: str
    body: str
    published: Instant
    tags: tuple[str, ...] = ("Maintenance", "Institutional API", "Retail API")


@cache
def releases() -> tuple[Release, ...]:
    """Return every entry, oldest first."""
    text = path("fixtures", "changelog.json").read_bytes()
    return json.decode(text, type=tuple[Release, ...])


def published(now: Instant) -> list[Release]:
    """Return the entries published by an instant, newest first."""
    return [release for release in reversed(releases()) if release.published <= now]


def _entries(now: Instant, notices: Sequence[WindowEntry]) -> list[Release | WindowEntry]:
    entries: list[Release | WindowEntry] = [*reversed(notices), *published(now)]
    return sorted(entries, key=lambda entry: entry.published, reverse=True)


def rss(now: Instant, base: str, notices: Sequence[WindowEntry] = ()) -> bytes:
    """Return the RSS 2.0 feed. `base` is the address of the docs listener."""
    from xml.etree import ElementTree  # imported late, because nothing else of a server needs it

    root = ElementTree.Element("rss", version="2.0")
    channel = ElementTree.SubElement(root, "channel")
    for tag, text in (
        ("title", "Changelog"),
        ("link", f"{base}/changelog"),
        ("description", "What the simulated interface does, and since when."),
        ("lastBuildDate", _date(now)),
    ):
        ElementTree.SubElement(channel, tag).text = text
    for release in _entries(now, notices):
        item = ElementTree.SubElement(channel, "item")
        ElementTree.SubElement(item, "title").text = release.heading
        ElementTree.SubElement(item, "link").text = f"{base}/changelog#{release.name}"
        ElementTree.SubElement(item, "guid", isPermaLink="false").text = release.name
        ElementTree.SubElement(item, "pubDate").text = _date(release.published)
        for tag in release.tags:
            ElementTree.SubElement(item, "category").text = tag
        ElementTree.SubElement(item, "description").text = release.body
    ElementTree.indent(root)
    return bytes(ElementTree.tostring(root, encoding="utf-8", xml_declaration=True))


def page(now: Instant, notices: Sequence[WindowEntry] = ()) -> str:
    """Return the inside of an HTML page."""
    parts = ['<h1>Changelog</h1>\n<p><a href="/changelog/rss.xml">RSS</a>']
    for release in _entries(now, notices):
        tags = "".join(f"<span class=tag>{escape(tag)}</span> " for tag in release.tags)
        parts.append(f'<h2 id="{release.name}">{escape(release.heading)}</h2>')
        day = eastern_date(release.published)
        parts.append(f"<p>{day} {tags}\n<p>{escape(release.body)}")
    return "\n".join(parts)


def _date(at: Instant) -> str:
    """Format an instant as RSS does (RFC 822)."""
    return format_datetime(to_datetime(at), usegmt=True)
