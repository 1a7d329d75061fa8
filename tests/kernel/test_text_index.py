"""A search finds a word in just those texts in which it occurs."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from sim.kernel.indexes.text_index import TextIndex

texts = st.lists(st.text("ab -", max_size=8), max_size=12)


@given(texts=texts, word=st.text("ab-", min_size=1, max_size=3))
def test_a_search_finds_the_texts_that_hold_a_word(texts: list[str], word: str) -> None:
    assert TextIndex(texts).holding(word) == bytes(word in text for text in texts)
