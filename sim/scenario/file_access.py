"""Which files a scenario may name: any, for whoever runs a command here; those below one folder, or
none, for whoever asks over the control plane.
"""

from __future__ import annotations

from pathlib import Path

from sim.kernel import resources
from sim.scenario.value_types import suggestion
from sim.scenario.yaml_tree import Position, ScenarioError, error_at

INLINE = "text"  # what a scenario that came as text is called in its problems


class FileAccess:
    """What may be read. `folder` is where a scenario without a file of its own has its neighbours,
    the working directory when None.

    Confined, nothing outside that folder is read, and without one nothing at all. Bundled files are
    always within reach.
    """

    def __init__(self, folder: Path | None = None, *, confined: bool = False) -> None:
        self._folder = folder
        roots = (
            [resources.folder("scenarios"), *([folder] if folder is not None else [])]
            if confined
            else []
        )
        self._roots = [root.resolve() for root in roots]

    def resolve_relative(self, at: Position, name: str) -> Path:
        """The file that something written at a position means. ScenarioError when it is out of
        reach, whether it exists or not.
        """
        base = Path(at.file).parent if at.line and at.file != INLINE else self._folder or Path()
        path = base / name
        if self._roots and not any(path.resolve().is_relative_to(root) for root in self._roots):
            where = (
                "files are out of reach here"
                if self._folder is None
                else f"only files below {self._folder} are within reach"
            )
            raise error_at(at, f"{where}: {name!r} is not read")
        return path

    def scenario(self, at: Position, name: str) -> Path:
        """The file of a scenario: a neighbour, or else the bundled one of this name. ScenarioError
        when there is neither.
        """
        bundled = name in resources.bundled_scenarios()
        no_path = "/" not in name and not Path(name).suffix
        try:
            found = self.resolve_relative(at, name if Path(name).suffix else f"{name}.yaml")
        except ScenarioError:
            if not no_path:
                raise
        else:
            if found.is_file():
                return found
        if bundled:
            return resources.path("scenarios", f"{name}.yaml")
        raise error_at(
            at,
            f"there is no scenario {name!r}, neither bundled nor beside this"
            f" file{suggestion(name, resources.bundled_scenarios())}",
        )
