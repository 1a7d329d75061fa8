"""`sim report`: a run as one file that can be viewed anywhere, without a network."""

from __future__ import annotations

import os
import re
from base64 import b64encode
from collections.abc import Callable
from functools import partial
from hashlib import sha256
from html import escape
from pathlib import Path
from tempfile import mkstemp
from typing import BinaryIO, NamedTuple

from msgspec import json

from sim.read.history.recorded import RecordedRun
from sim.read.replay import Divergence
from sim.read.report.contents import INPUTS, Contents
from sim.read.report.files import FOLDER
from sim.read.report.packing import Parts


class ReportResult(NamedTuple):
    """A report that was written.

    It says at which line this version stops reproducing the run, if it does (the report says so,
    and has only rows from there on), and which data is missing.
    """

    difference: Divergence | None
    notices: list[str]


def write_report(
    recorded: RecordedRun, path: Path, step: Callable[[], None] = lambda: None, inputs: int = INPUTS
) -> ReportResult:
    """Write the report of a run. `step` is called after each of its `total` inputs.

    The last `inputs` of them have records and states. An existing file is replaced when the new one
    is complete. Raises UnreadableJournal or OSError.
    """
    header = recorded.header
    handle, name = mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with open(handle, "wb") as file:
            write_head(file, f"{header.name}, seed {header.seed} · report of a run")
            parts = Parts(file)
            contents = Contents(recorded, parts, inputs)
            parts.add(json.encode(contents.write(step)), "run")
            write_foot(file)
        os.chmod(name, 0o666 & ~_umask())
        os.replace(name, path)
    except BaseException:
        os.unlink(name)
        raise
    return ReportResult(contents.difference, contents.notices())


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


# ---- the page
#
# The control room's page as one file: its modules, its styles and a run inside. A browser that
# opens a file from disk does not load modules beside it, and such a page must not use the network.
# So each module is in the import map as a `data:` address under a name, imports between modules use
# these names, and the policy of the page permits the file's own scripts and nothing else.


_STYLES = ("style.css", "parts.css", "vendor/uplot.css")
_BEGIN = "import 'room/main.js';"
# from './x.js', import('../vendor/y.js'), import './z.js'
_IMPORT = re.compile(r"""(\bfrom\s*|\bimport\s*\(?\s*)(['"])(\.{1,2}/[\w./-]+\.js)\2""")


def write_head(file: BinaryIO, title: str) -> None:
    """Write everything before the run's parts."""
    scripts = json.encode({"imports": _modules()}).decode()
    styles = "\n".join((FOLDER / name).read_text("utf-8") for name in _STYLES)
    icon = b64encode((FOLDER / "icon.svg").read_bytes()).decode()
    policy = (
        f"default-src 'none'; script-src data: {_hash(scripts)} {_hash(_BEGIN)};"
        f" style-src {_hash(styles)}; img-src data:; base-uri 'none'; form-action 'none'"
    )
    file.write(
        f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>{escape(title)}</title>
<link rel="icon" href="data:image/svg+xml;base64,{icon}">
<style>{styles}</style>
<script type="importmap">{scripts}</script>
</head>
<body>
<noscript>This report is a page that needs JavaScript; it asks no network for anything.</noscript>
<div id="room"></div>
""".encode()
    )


def write_foot(file: BinaryIO) -> None:
    """Write everything after the run's parts."""
    file.write(f'<script type="module">{_BEGIN}</script>\n</body>\n</html>\n'.encode())


def _modules() -> dict[str, str]:
    """Return every module of the page by its name, as a `data:` address."""
    modules = {}
    for path in sorted(FOLDER.rglob("*.js")):
        text = _IMPORT.sub(partial(_renamed, path.parent), path.read_text("utf-8"))
        packed = b64encode(text.encode()).decode()
        modules[_name(path)] = f"data:text/javascript;base64,{packed}"
    return modules


def _renamed(folder: Path, match: re.Match[str]) -> str:
    """Return an import of another module, with the name that it has in the import map."""
    how, _, path = match.groups()
    return f"{how}'{_name((folder / path).resolve())}'"


def _name(path: Path) -> str:
    return f"room/{path.relative_to(FOLDER).as_posix()}"


def _hash(text: str) -> str:
    return f"'sha256-{b64encode(sha256(text.encode()).digest()).decode()}'"
