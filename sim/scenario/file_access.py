"""File access policy: which files a scenario may read (`extends`, files of order flow).

On the command line access is unrestricted: whoever runs a command may read what the system lets
them. Over HTTP it is confined to `--scenarios DIR`, or to nothing without one. Bundled scenarios
may always be read.
"""

from __future__ import annotations

import os
from errno import ELOOP, ENAMETOOLONG
from pathlib import Path

from sim.kernel import resources
from sim.scenario.suggestions import suggestion
from sim.scenario.yaml_tree import Position, ScenarioError, error_at

INLINE = "text"  # what problems call a scenario that came as text


class FileAccess:
    """What may be read. `folder` resolves the relative names of a scenario that is no file (the
    working directory when None); `confined` forbids everything outside it.
    """

    def __init__(self, folder: Path | None = None, *, confined: bool = False) -> None:
        self._folder = folder
        roots = [resources.folder("scenarios"), folder] if confined else []
        self._roots = [root.resolve() for root in roots if root is not None]

    def resolve_relative(self, at: Position, name: str) -> Path:
        """The file that a name at a position means, relative to the file of that position.

        ScenarioError when it may not be read, whether it exists or not.
        """
        if not _is_valid_name(f"{name}.yaml"):
            raise error_at(at, f"not a valid file name: {name[:80]!r}")
        base = Path(at.file).parent if at.line and at.file != INLINE else self._folder or Path()
        path = base / name
        if self._roots and not any(path.resolve().is_relative_to(root) for root in self._roots):
            where = "scenarios from this source cannot read files"
            if self._folder is not None:
                where = f"only files below {self._folder} can be read"
            raise error_at(at, f"{where}: {name!r} is not read")
        return path

    def named(self, name: str) -> Path:
        """The path that a command line names. ScenarioError when no file can have that name."""
        if not _is_valid_name(f"{name}.yaml"):
            raise error_at(Position(name[:80], 1, 1), "not a valid file name")
        return Path(name)

    def scenario(self, at: Position, name: str) -> Path:
        """The file of a scenario: one beside the file that names it, else the bundled one.

        ScenarioError when there is neither.
        """
        is_path = "/" in name or bool(Path(name).suffix)
        try:
            path = self.resolve_relative(at, name if Path(name).suffix else f"{name}.yaml")
        except ScenarioError:
            if is_path:
                raise
        else:
            if path.is_file():
                return path
        names = resources.bundled_scenarios()
        if name in names:
            return resources.path("scenarios", f"{name}.yaml")
        where = f"neither bundled nor beside this file{suggestion(name, names)}"
        raise error_at(at, f"there is no scenario {name!r}, {where}")


def _is_valid_name(name: str) -> bool:
    """Whether the file system takes a name at all; NUL, lone surrogates and 5,000 letters it does
    not.
    """
    try:
        os.lstat(name)
    except ValueError:  # UnicodeEncodeError is one
        return False
    except OSError as error:
        return error.errno not in (ENAMETOOLONG, ELOOP)
    return True
