"""Tools from npm that tests run: `make npm` puts them into the Python environment. Nothing here asks
the network.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

MODULES = Path(sys.prefix) / "tools" / "node_modules"


def needs(*packages: str) -> pytest.MarkDecorator:
    """Skip a test, with the reason, where node or one of the packages is missing."""
    missing = [package for package in packages if not (MODULES / package).is_dir()]
    why = "" if shutil.which("node") else "node is not installed"
    why = why or (f"{', '.join(missing)} not installed: make npm" if missing else "")
    return pytest.mark.skipif(bool(why), reason=why)


def binary(name: str) -> str:
    """The path of a command that a package brings."""
    return str(MODULES / ".bin" / name)


def run(
    *command: str | Path, cwd: Path | None = None, timeout: float = 120, **environment: str
) -> subprocess.CompletedProcess[str]:
    """Run a command in which `require` finds the packages; its output as text."""
    return subprocess.run(
        [str(part) for part in command],
        cwd=cwd,
        env={**os.environ, "NODE_PATH": str(MODULES), "NO_COLOR": "1", **environment},
        capture_output=True,
        text=True,
        timeout=timeout,
        check=False,
    )
