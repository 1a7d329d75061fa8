"""Files that are not code are found in a checkout and in a wheel, and nothing else is."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from sim.kernel import resources


@pytest.fixture(autouse=True)
def _forgotten() -> Iterator[None]:
    resources.folder.cache_clear()
    yield
    resources.folder.cache_clear()


@pytest.mark.parametrize("kind", resources.KINDS)
def test_a_wheel_has_them_inside_and_a_checkout_beside_the_package(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    package = tmp_path / "sim"
    package.mkdir()
    monkeypatch.setattr(resources, "_PACKAGE", package)
    with pytest.raises(FileNotFoundError, match=f"^this installation has no {kind}$"):
        resources.folder(kind)
    (tmp_path / kind).mkdir()
    assert resources.folder(kind) == tmp_path / kind
    assert resources.path(kind, "a/b.txt") == tmp_path / kind / "a" / "b.txt"
    resources.folder.cache_clear()
    (package / "_data" / kind).mkdir(parents=True)
    assert resources.folder(kind) == package / "_data" / kind


def test_another_kind_is_an_error_and_scenarios_are_sorted() -> None:
    with pytest.raises(ValueError, match=r"^unknown kind of resource 'tests'$"):
        resources.folder("tests")
    result = resources.bundled_scenarios()
    root = Path(__file__).parents[2]
    assert resources.folder("fixtures") == root / "fixtures"
    assert list(result) == sorted(file.stem for file in (root / "scenarios").glob("*.yaml"))
    assert "quickstart" in result
