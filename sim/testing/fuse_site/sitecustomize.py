"""Arms the fuse in the Python programs of a client's test command, which find this folder first.

Python imports a module of this name at its start. The one of the environment, if any, follows.
"""

import sys
from contextlib import suppress
from importlib import import_module
from pathlib import Path

_FOLDER = Path(__file__).resolve().parent
sys.path[:] = [entry for entry in sys.path if Path(entry or ".").resolve() != _FOLDER]
sys.modules.pop("sitecustomize", None)
with suppress(ImportError):
    import_module("sitecustomize")
with suppress(ImportError):  # a Python without this package
    import_module("sim.testing.fuse").arm()
