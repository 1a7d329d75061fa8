"""`--json [FILE]` of every command with a verdict or a table.

Alone it prints one document to standard output and nothing else; with FILE it writes the document
to the file, and the command prints text as usual. The inputs of a command precede its options, so a
FILE that looks like an input is refused instead of being overwritten.
"""

from __future__ import annotations

import argparse
import io
import sys
from pathlib import Path
from typing import TextIO

from sim.cli.arguments import check_writable

STDOUT = "-"
# Suffixes of input files, which a document never has.
_READ_BY_COMMANDS = (".yaml", ".yml", ".ndjson", ".ndjson.gz", ".csv", ".py", ".pem")
_OPENS_A_DOCUMENT = (b"{", b"[")
_OPENS_A_JOURNAL = (b'{"journal":', b'{"recording":')


def add_json(parser: argparse._ActionsContainer, noun: str) -> None:
    """Add `--json [FILE]`; `noun` describes the document (`give_json`)."""
    text = f"print {noun} as one JSON document and nothing else; with FILE, write it there as well"
    parser.add_argument("--json", help=text, metavar="FILE", nargs="?", const=STDOUT, type=_target)


def _target(text: str) -> str:
    """The file of `--json`. ArgumentTypeError for an input file, or one that was
    written by hand.
    """
    if text == STDOUT:
        return text
    if text.lower().endswith(_READ_BY_COMMANDS) or _is_special_file(Path(text)):
        raise argparse.ArgumentTypeError(
            f"{text} is not a JSON document and would be overwritten; name files before options:"
            " sim COMMAND FILE... --json"
        )
    return text


def _is_special_file(path: Path) -> bool:
    if not path.suffix and not path.is_file() and "/" not in str(path):
        from sim.kernel import resources

        return str(path) in resources.bundled_scenarios()
    if not path.is_file():
        return False
    with path.open("rb") as file:
        begins = file.read(16).lstrip()
    return bool(begins) and (
        not begins.startswith(_OPENS_A_DOCUMENT) or begins.startswith(_OPENS_A_JOURNAL)
    )


class _NullOutput(io.TextIOBase):
    """Discards text."""

    def write(self, text: str) -> int:
        return len(text)


def is_alone(args: argparse.Namespace) -> bool:
    """Whether standard output is only for the document."""
    return bool(args.json == STDOUT)


def text_output(args: argparse.Namespace) -> TextIO:
    """The output for text: standard output, or nothing if `--json` is used alone.

    OSError before any work if the file cannot be written.
    """
    if is_alone(args):
        return _NullOutput()  # type: ignore[return-value]
    check_writable(files=(args.json,))
    return sys.stdout


def give_json(args: argparse.Namespace, document: object) -> bool:
    """Write the document of `--json`. True if it went to standard output.

    If the command's work was interrupted, the document says so with `"interrupted": true`.
    """
    if args.json is None:
        return False
    from msgspec import json

    from sim.read.progress import was_interrupted

    if was_interrupted() and isinstance(document, dict):
        document = {**document, "interrupted": True}
    text = json.format(json.encode(document), indent=1)
    if is_alone(args):
        print(text.decode())
        return True
    Path(args.json).write_bytes(text + b"\n")
    return False
