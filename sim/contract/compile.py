"""`python -m sim.contract.compile [--check]`: compile `proto/` into `pb/` and `messages/` beside
this file.

The generated files are committed. `--check` writes nothing: it lists the files that are out of
date and exits with 1, so the contract and its Structs always agree. It needs grpcio-tools, which
only developers install.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

from sim.contract.compiler import compile_schema, derive

ROOT = Path(__file__).resolve().parents[2]
OUTPUTS = ("sim/contract/messages", "sim/contract/pb")


def main(arguments: list[str] | None = None) -> int:
    """Run the compiler. Exit code 0: done or equal; 1: out of date; 2: the protos
    do not compile.
    """
    head = __doc__.split("\n\n")[0]
    parser = argparse.ArgumentParser(prog="python -m sim.contract.compile", description=head)
    add = parser.add_argument
    add("--check", action="store_true", help="write nothing; exit 1 when files are out of date")
    add("--proto", type=Path, default=ROOT / "proto", help="where the .proto files are")
    add("--root", type=Path, default=ROOT, help="the checkout that gets the files")
    options = parser.parse_args(arguments)
    try:
        files = derive(compile_schema(options.proto), options.proto)
    except ValueError as refused:
        print(refused, file=sys.stderr)
        return 2
    if options.check:
        return _compare(files, options.root)
    _write(files, options.root)
    return 0


def _write(files: dict[str, bytes], root: Path) -> None:
    for stale in sorted(set(_present(root)) - set(files)):
        (root / stale).unlink()
    for name, content in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if path.exists() and path.read_bytes() == content:
            continue
        # A rename is atomic: an import at the same time sees the old file or the new one.
        with tempfile.NamedTemporaryFile(dir=path.parent, delete=False) as scratch:
            scratch.write(content)
        Path(scratch.name).chmod(0o644)
        Path(scratch.name).replace(path)


def _compare(files: dict[str, bytes], root: Path) -> int:
    present = {name: (root / name).read_bytes() for name in _present(root)}
    names = sorted({*files, *present})
    different = [name for name in names if files.get(name) != present.get(name)]
    for name in different:
        print(f"out of date: {name} (run python -m sim.contract.compile)", file=sys.stderr)
    return 1 if different else 0


def _present(root: Path) -> list[str]:
    return [
        path.relative_to(root).as_posix()
        for output in OUTPUTS
        for path in sorted((root / output).glob("*"))
        if path.is_file() and path.name != "__init__.py"
    ]


if __name__ == "__main__":
    sys.exit(main())
