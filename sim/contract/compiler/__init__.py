"""The contract compiler: `proto/` in, `sim/messages` and `sim/pb` out.

It is a build tool; nothing of it is imported while the exchange runs. Its passes:

| Pass | In | Out |
|---|---|---|
| `schema.compile_schema` | `proto/` through protoc | `Schema` with comments, options |
| `messages.module_source` | schema, package | `sim/messages/<package>.py`: Structs, wire tables |
| `messages.index_source` | schema | `sim/messages/index.py`: packages, dates of fields |
| `operations.operations_source` | schema | `sim/messages/operations.py`: the table of operations |
| `Schema.stripped` | schema | `sim/pb/contract.binpb`: descriptors without comments |
| `bundle.notes` | schema | `sim/pb/notes.json`: comments by full name, for OpenAPI |
| `bundle.bundle` | schema, `proto/` | `sim/pb/bundle.zip`: the proto files that gRPC clients need |

A contract that a pass cannot accept raises ValueError with the place in the proto files.
"""

from __future__ import annotations

from pathlib import Path

from sim.contract.compiler.bundle import bundle, notes
from sim.contract.compiler.messages import index_source, module_source
from sim.contract.compiler.operations import operations_source
from sim.contract.compiler.schema import Schema, compile_schema, module_of

__all__ = ["Schema", "compile_schema", "derive"]


def derive(schema: Schema, proto: Path) -> dict[str, bytes]:
    """Run every pass; return the generated files by path from the repository's root."""
    files = {
        f"sim/messages/{module_of(package)}.py": module_source(schema, package).encode()
        for package in schema.packages
    }
    files["sim/messages/index.py"] = index_source(schema).encode()
    files["sim/messages/operations.py"] = operations_source(schema).encode()
    files["sim/pb/contract.binpb"] = schema.stripped()
    files["sim/pb/notes.json"] = notes(schema)
    files["sim/pb/bundle.zip"] = bundle(schema, proto)
    return files
