"""Write the protobuf schemas of the exchange to a folder.

They compile with protoc alone, and the result imports beside this package. The docs address of
`sim serve` offers the same files as a zip at /proto/bundle.

example:
  sim proto schemas
"""

from __future__ import annotations

import argparse
from pathlib import Path

from sim.cli.arguments import Options, usage_error
from sim.read.layout import put


def add_arguments(parser: Options) -> None:
    parser.add_argument("folder", metavar="DIR", type=Path, help="folder to write to")


def run(args: argparse.Namespace) -> int:
    import io
    import shlex
    import zipfile
    from importlib.resources import files

    folder: Path = args.folder
    content = files("sim.contract.pb").joinpath("bundle.zip").read_bytes()
    with zipfile.ZipFile(io.BytesIO(content)) as bundle:
        names = bundle.namelist()
        changed = [
            name
            for name in names
            if (folder / name).exists() and (folder / name).read_bytes() != bundle.read(name)
        ]
        if changed:
            return usage_error(f"{folder / changed[0]} exists and differs: choose another folder")
        bundle.extractall(folder)
    at = shlex.quote(str(folder.absolute()))
    put(f"{len(names)} files in {folder}; for Python stubs:")
    put("  pip install grpcio-tools")
    put(f"  mkdir -p stubs && python -m grpc_tools.protoc -I{at} --python_out=stubs \\")
    put(f"    --grpc_python_out=stubs $(cd {at} && find . -name '*.proto' | sed 's,^./,,')")
    return 0
