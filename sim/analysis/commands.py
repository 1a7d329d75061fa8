"""Commands that are printed to be copied: they work in any shell and from any folder.

Words are quoted, files have their whole path, and `sim` is the one that runs here: by its name
where a shell would find it, else by its path (after `make demo` it stands in `.venv/bin` only). A
command stands on a line of its own, which never wraps, because a wrapped one is two commands.
"""

from __future__ import annotations

import shlex
import shutil
import sys
from pathlib import Path


def sim_command(*words: str | Path) -> str:
    """`sim` with these words; each Path is a file of this machine, relative to this folder."""
    return shlex.join([*_program(), *map(_word, words)])


def python_command(*words: str | Path) -> str:
    """The same for a module of Python, such as pytest: `python -m` with these words."""
    return shlex.join([sys.executable, "-m", *map(_word, words)])


def curl_command(url: str, ca_file: str | None = None) -> str:
    """`curl` of a URL; `ca_file` is the certificate to trust under TLS."""
    trust = ["--cacert", ca_file] if ca_file else []
    return shlex.join(["curl", *trust, url])


def _word(word: str | Path) -> str:
    return str(word.absolute()) if isinstance(word, Path) else word


def _program() -> list[str]:
    """The words that start this installation of `sim`."""
    beside = Path(sys.executable).with_name("sim")
    path = shutil.which("sim")
    if path is not None and Path(path).absolute() == beside.absolute():
        return ["sim"]
    return [str(beside)] if beside.is_file() else [sys.executable, "-m", "sim"]
