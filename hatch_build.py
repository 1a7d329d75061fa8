"""What a wheel takes along besides the package and its data: which tests show which statement (`sim
catalogue ledger`).
"""

from __future__ import annotations

import importlib.util
import tempfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class LedgerHook(BuildHookInterface):
    """Adds `sim/_data/ledger.json`. An editable installation reads the checkout itself."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Called by hatchling before a wheel is put together."""
        root = Path(self.root)
        if version == "editable" or not (root / "tests" / "ledger.yaml").is_file():
            return
        spec = importlib.util.spec_from_file_location(
            "ledger", root / "sim" / "read" / "spec_coverage.py"
        )
        assert spec is not None and spec.loader is not None
        ledger = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(ledger)
        with tempfile.NamedTemporaryFile(
            "w", suffix=".json", delete=False, encoding="utf-8"
        ) as file:
            file.write(ledger.pack(root / "tests"))
        self._file = Path(file.name)
        build_data["force_include"][file.name] = "sim/_data/ledger.json"

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        """Called when the wheel is there."""
        if hasattr(self, "_file"):
            self._file.unlink(missing_ok=True)
