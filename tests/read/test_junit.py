"""JUnit XML parses whatever the names and texts in it."""

from __future__ import annotations

from xml.etree import ElementTree

from hypothesis import given
from hypothesis import strategies as st

from sim.read.junit import Case, Suite, junit

ANY = st.text(st.characters(exclude_categories=())) | st.sampled_from(["\0", "\ufffe", "\ud800"])


@given(ANY, ANY, ANY)
def test_every_text_gives_a_document_that_parses(name: str, text: str, reason: str) -> None:
    cases = [
        Case(name, text, failure=reason, text=text),
        Case(text, name, skipped=text),
        Case(name, text, text=reason),
    ]
    suite = Suite(name, cases, {"property": text}, [reason, text])
    parsed = ElementTree.fromstring(junit([suite]))
    assert len(parsed.findall("testsuite/testcase")) == 3
