"""Commands that are printed for copying: they work in any shell and from any folder.

Words are quoted, and files are written with their absolute path. `sim` is the program that is
running: by its name if a shell would find it, else by its path (after `make demo` it is in
`.venv/bin` only). A command is printed on one line and never wrapped, because a wrapped one would
be two commands.
"""

from __future__ import annotations

import shlex
import shutil
import sys
from pathlib import Path


def sim_command(*words: str | Path) -> str:
    """Return a `sim` command with these words.

    Each Path is a file relative to the current folder.
    """
    return shlex.join([*_program(), *map(_word, words)])


def python_command(*words: str | Path) -> str:
    """Return `python -m` with these words, for a Python module such as pytest."""
    return shlex.join([sys.executable, "-m", *map(_word, words)])


def curl_command(url: str, ca_file: str | None = None) -> str:
    """Return a `curl` command for a URL. `ca_file` is the certificate to trust with TLS."""
    trust = ["--cacert", ca_file] if ca_file else []
    return shlex.join(["curl", *trust, url])


def _word(word: str | Path) -> str:
    return str(word.absolute()) if isinstance(word, Path) else word


def _program() -> list[str]:
    """Return the words that start this installation of `sim`."""
    own_program = Path(sys.executable).with_name("sim")
    path = shutil.which("sim")
    if path is not None and Path(path).absolute() == own_program.absolute():
        return ["sim"]
    return [str(own_program)] if own_program.is_file() else [sys.executable, "-P", "-m", "sim"]
