"""A search in the guides: the sections of the how-to pages and the skill, by their words."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from typing import NamedTuple

from sim.kernel import resources

_SECTION_MAX, _SECTIONS = 1_800, 3


class GuideSection(NamedTuple):
    """A section of a page."""

    page: str
    title: str
    text: str

    def relevance(self, words: list[str]) -> float:
        """Return how well it answers a question with these words; 0 if it contains none."""
        title, text = self.title.lower(), self.text.lower()
        hits = sum(4 * (word in title) + min(text.count(word), 5) for word in words)
        has_all = all(word in title or word in text for word in words)
        return hits * (3 if has_all else 1) / (1 + len(text) / 8_000)

    def shortened(self) -> str:
        """Return the section as Markdown."""
        rest = " …" if len(self.text) > _SECTION_MAX else ""
        return f"### {self.title} ({self.page})\n\n{self.text[:_SECTION_MAX]}{rest}"


def found_sections(question: str) -> list[str]:
    """Return the sections that are most relevant to some words, the best first."""
    words = [word for word in re.findall(r"[a-z0-9_.]+", question.lower()) if len(word) > 1]
    scored = [(section.relevance(words), section) for section in _sections()]
    best = sorted(scored, key=lambda pair: pair[0], reverse=True)[:_SECTIONS]
    return [section.shortened() for score, section in best if score > 0]


@cache
def _sections() -> list[GuideSection]:
    return list(_read_sections())


def _read_sections() -> Iterator[GuideSection]:
    folder = resources.folder("docs")
    for page in [*sorted(folder.rglob("*.md")), resources.path("fixtures", "skill.md")]:
        name = str(page.relative_to(folder)) if page.is_relative_to(folder) else page.name
        parts = re.split(r"^(#{1,3} .+)$", page.read_text(encoding="utf-8"), flags=re.MULTILINE)
        for heading, text in zip(parts[1::2], parts[2::2], strict=True):
            if text.strip():
                yield GuideSection(name, heading.lstrip("# "), text.strip())
