"""File access policy: the files that a scenario may read (`extends`, order flow).

On the command line access is unrestricted, because whoever runs a command has the permissions of
the process anyway. Over HTTP it is confined to `--scenarios DIR`; without that option no file can
be read. Bundled scenarios can always be read.
"""

from __future__ import annotations

import os
from errno import ELOOP, ENAMETOOLONG
from pathlib import Path

from sim.kernel import resources
from sim.world.format.suggestions import suggestion
from sim.world.format.yaml_tree import ScenarioError, SourcePosition, error_at

INLINE = "text"  # the file name in problems of a scenario that was passed as text


class FileAccess:
    """The files that may be read. `folder` is the base of relative names in a scenario that is not
    a file (None: the working directory). With `confined`, nothing outside it can be read.
    """

    def __init__(self, folder: Path | None = None, *, confined: bool = False) -> None:
        self._folder = folder
        roots = [resources.folder("scenarios"), folder] if confined else []
        self._roots = [root.resolve() for root in roots if root is not None]

    def resolve_relative(self, at: SourcePosition, name: str) -> Path:
        """The file of a name, relative to the file that contains the name.

        ScenarioError if it may not be read, whether or not it exists.
        """
        if not _is_valid_name(f"{name}.yaml"):
            raise error_at(at, f"not a valid file name: {name[:80]!r}")
        base = Path(at.file).parent if at.line and at.file != INLINE else self._folder or Path()
        path = base / name
        real = Path(os.path.realpath(path))  # Path.resolve fails for a link to itself
        if self._roots and not any(real.is_relative_to(root) for root in self._roots):
            where = "a scenario sent over HTTP can read files only with `sim serve --scenarios DIR`"
            if self._folder is not None:
                where = f"only files below {self._folder} can be read"
            raise error_at(at, f"{where}, so {name!r} is refused")
        return path

    def named(self, name: str) -> Path:
        """The path that the command line names. ScenarioError if it is not a valid file name."""
        if not _is_valid_name(f"{name}.yaml"):
            raise error_at(SourcePosition(name[:80], 1, 1), "not a valid file name")
        return Path(name)

    def scenario(self, at: SourcePosition, name: str) -> Path:
        """The file of a scenario: beside the file that names it, or else the bundled one.

        ScenarioError if there is neither.
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
        where = f"neither beside this file nor bundled{suggestion(name, names)}"
        raise error_at(at, f"there is no scenario {name!r}, {where}")


def _is_valid_name(name: str) -> bool:
    """Whether the file system accepts a name; it refuses NUL, lone surrogates and
    very long names.
    """
    try:
        os.lstat(name)
    except ValueError:  # includes UnicodeEncodeError
        return False
    except OSError as error:
        return error.errno not in (ENAMETOOLONG, ELOOP)
    return True
