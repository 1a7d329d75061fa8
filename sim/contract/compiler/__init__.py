"""The contract compiler: `proto/` in, `sim/contract/messages` and `sim/contract/pb` out.

It is a build tool; nothing of it is imported while the exchange runs. Its passes:

| Pass | In | Out |
|---|---|---|
| `schema.compile_schema` | `proto/` through protoc | `Schema` with comments, options |
| `messages.module_source` | schema, package | `messages/<package>.py`: Structs, enumerations |
| `messages.index_source` | schema | `messages/index.py`: packages, dates of fields |
| `operations.operations_source` | schema | `messages/operations.py`: the table of operations |
| `Schema.stripped` | schema | `pb/contract.binpb`: descriptors without comments |
| `bundle.notes` | schema | `pb/notes.json`: comments by full name, for OpenAPI |
| `bundle.bundle` | schema, `proto/` | `pb/bundle.zip`: the proto files that gRPC clients need |

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
        f"sim/contract/messages/{module_of(package)}.py": module_source(schema, package).encode()
        for package in schema.packages
    }
    files["sim/contract/messages/index.py"] = index_source(schema).encode()
    files["sim/contract/messages/operations.py"] = operations_source(schema).encode()
    files["sim/contract/pb/contract.binpb"] = schema.stripped()
    files["sim/contract/pb/notes.json"] = notes(schema)
    files["sim/contract/pb/bundle.zip"] = bundle(schema, proto)
    return files
