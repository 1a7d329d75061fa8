"""The combinations of a scenario's matrix."""

from __future__ import annotations

from collections.abc import Mapping

from sim.run.loader.load import scenario_variants
from sim.world.format.yaml_tree import Position, error_at


def matching_variants(name: str, params: Mapping[str, str]) -> list[dict[str, str]]:
    """Return the combinations of a scenario's matrix that agree with `params`.

    Raises ScenarioError if a value is not in the matrix.
    """
    variants = scenario_variants(name)
    matching = [
        variant
        for variant in variants
        if all(variant.get(key, value) == value for key, value in params.items())
    ]
    if matching:
        return matching
    key = next(
        key
        for key, value in params.items()
        if key in variants[0] and all(variant[key] != value for variant in variants)
    )
    values = ", ".join(dict.fromkeys(variant[key] for variant in variants))
    raise error_at(
        Position(name, 1, 1),
        f"the matrix gives {key} the values {values}; {params[key]} is not one of them",
    )
