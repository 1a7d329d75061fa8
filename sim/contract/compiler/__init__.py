"""The contract compiler: `proto/` in, `sim/messages` and `sim/pb` out. A build tool; nothing here
is imported while the exchange runs.
"""

from __future__ import annotations

from pathlib import Path

from sim.contract.compiler.bundle import bundle, notes
from sim.contract.compiler.messages import index_source, module_source
from sim.contract.compiler.operations import operations_source
from sim.contract.compiler.schema import Schema, compile_schema, module_of

__all__ = ["Schema", "compile_schema", "derive"]


def derive(schema: Schema, proto: Path) -> dict[str, bytes]:
    """Every generated file: path from the repository's root → content."""
    files = {
        f"sim/messages/{module_of(package)}.py": module_source(schema, package).encode()
        for package in schema.packages
    }
    files["sim/messages/__init__.py"] = index_source(schema).encode()
    files["sim/messages/operations.py"] = operations_source(schema).encode()
    files["sim/pb/contract.binpb"] = schema.stripped()
    files["sim/pb/notes.json"] = notes(schema)
    files["sim/pb/bundle.zip"] = bundle(schema, proto)
    return files
