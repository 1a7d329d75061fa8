"""The release of the sandbox that a scenario was written for (`release: 0.1.0`)."""

from __future__ import annotations

from collections.abc import Iterator

from sim.kernel.release import RELEASE
from sim.world.format.scenario import RELEASE_FORM
from sim.world.format.yaml_tree import Mapping, Node, Problem, Scalar, error_at, problem


def refuse_newer(node: Node) -> None:
    """Refuse a scenario that was written for a later release. It may have keys that this release
    does not know, and each would be reported as a mistake.
    """
    named = _named(node)
    if named is not None and _number(named.text) > _number(RELEASE):
        says = f"written for release {named.text} of the sandbox, and this is {RELEASE}: upgrade it"
        raise error_at(named.at, says)


def about_older(node: Node) -> Iterator[Problem]:
    """A hint for a scenario with problems that was written for an earlier release."""
    named = _named(node)
    if named is not None and _number(named.text) < _number(RELEASE):
        says = f"written for release {named.text}, and this is {RELEASE}"
        yield problem(named.at, f"{says}: the changelog says what has changed")


def _named(node: Node) -> Scalar | None:
    release = node.items.get("release") if isinstance(node, Mapping) else None
    if isinstance(release, Scalar) and RELEASE_FORM.fullmatch(release.text):
        return release
    return None  # reported when the scenario is read


def _number(release: str) -> tuple[int, ...]:
    numbers = tuple(map(int, release.split(".")))
    return (*numbers, 0)[:3]
