"""The documentation is current, and its links lead somewhere.

`tests/house/test_docs_examples.py` runs its examples, `tests/server/test_docs_commands.py` its commands.
"""

from __future__ import annotations

import re
import textwrap
from pathlib import Path

import generate
import pytest
import yaml
from generator import links, scenario_keys

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
PAGES = {
    path.relative_to(ROOT).as_posix(): path.read_text()
    for path in [*sorted(ROOT.glob("*.md")), *sorted(DOCS.rglob("*.md"))]
}


@pytest.mark.long
@pytest.mark.parametrize("name", list(generate.BLOCKS))
def test_a_generated_block_is_current(name: str) -> None:
    _, now, fresh = generate.renewed(name)
    assert now == fresh, "run `make docs`"


def test_sections_and_rules_are_links() -> None:
    assert [
        page
        for page, text in PAGES.items()
        if page.startswith("docs/")
        and page not in (links.SPECIFICATION, links.RULES)
        and links.linked(text, page) != text
    ] == [], "run `make docs`"


def anchors(text: str) -> set[str]:
    """Anchors of a page: ids in its text and slugs of its headings."""
    prose = re.sub(r"^```.*?^```", "", text, flags=re.DOTALL | re.MULTILINE)
    slugs = {
        re.sub(r"[\s-]+", "-", re.sub(r"[^\w\s-]", "", heading.lower()).strip())
        for heading in re.findall(r"^#+ (.*)$", prose, re.MULTILINE)
    }
    return slugs | set(re.findall(r'<a id="([^"]+)"', text))


def test_links_lead_somewhere() -> None:
    existing: dict[Path, set[str]] = {}
    broken = []
    for page, text in PAGES.items():
        prose = re.sub(r"^```.*?^```|`[^`\n]*`", "", text, flags=re.DOTALL | re.MULTILINE)
        for target in re.findall(r"\]\(([^)]+)\)", prose):
            if "://" in target:
                continue
            path, _, anchor = target.partition("#")
            file = ((ROOT / page).parent / path).resolve() if path else ROOT / page
            if not file.exists():
                broken.append(f"{page} links to {target}")
                continue
            if anchor and file not in existing:
                existing[file] = anchors(file.read_text())
            if anchor and anchor not in existing[file]:
                broken.append(f"{page} links to {target}")
    assert broken == []


def test_every_page_has_a_place_in_the_navigation() -> None:
    configuration = (ROOT / "mkdocs.yml").read_text()
    listed = set(re.findall(r"[\w/-]+\.md", configuration.partition("\nnav:")[2]))
    assert listed == {page.removeprefix("docs/") for page in PAGES if page.startswith("docs/")}


def test_lines_are_up_to_100_columns() -> None:
    assert [
        f"{page}: {line}"
        for page, text in PAGES.items()
        for line in re.sub(
            r"<!-- ([\w-]+): .*?<!-- /\1 -->", "", text, flags=re.DOTALL
        ).splitlines()
        if len(re.sub(r"\]\([^)]*\)", "]", line)) > 100 and not line.startswith(("|", "curl", "!"))
    ] == []


def test_the_yaml_of_the_site_names_only_files_that_exist() -> None:
    text = (ROOT / "mkdocs.yml").read_text()
    for asset in yaml.safe_load(text)["extra_css"]:
        assert (DOCS / asset).exists()


def test_the_steps_and_keys_that_the_pages_name_exist() -> None:
    page = PAGES["docs/how-to/script-calls-and-waits.md"]
    whens = set(re.findall(r"^\| `(\w+):", page, re.MULTILINE))
    assert whens == set(scenario_keys.whole_schema()["$defs"]["When"]["properties"])


def test_files_that_a_page_names_exist() -> None:
    folders = r"`((?:sim|tests|docs|scenarios|fixtures|proto)/[\w./*-]*)`"
    assert [
        f"{page} names {name}"
        for page, text in PAGES.items()
        if page != "CHANGELOG.md"
        for name in re.findall(
            folders, re.sub(r"^```.*?^```", "", text, flags=re.DOTALL | re.MULTILINE)
        )
        if not list(ROOT.glob(name.rstrip("/")))
    ] == []


def test_the_snippets_of_contributing_compile() -> None:
    snippets = re.findall(r"^ {3}```python\n(.*?)^ {3}```", PAGES["CONTRIBUTING.md"], re.S | re.M)
    assert len(snippets) > 5
    for snippet in map(textwrap.dedent, snippets):
        is_row = re.match(r"[\w\"`.-]+: ", snippet)  # of a dictionary
        compile(f"{{{snippet}}}" if is_row else snippet, "CONTRIBUTING.md", "exec")
