"""Every OpenAPI document that is served, against what is served: schemathesis makes calls of it."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

CHECKS = (
    "not_a_server_error,status_code_conformance,content_type_conformance,"
    "response_schema_conformance,response_headers_conformance"
)
# They take the exchange away from the other calls, or never end.
NOT_ASKED = r"/(advance|reset|rewind|restore|shutdown|instances|forks?|live)\b"


@pytest.mark.long
@pytest.mark.parametrize("plane", ["gateway", "retail", "exchange", "auth", "control"])
def test_schemathesis_finds_nothing_undocumented(exchange, plane, tmp_path):
    program = Path(sys.executable).with_name("st")
    document, address = f"{exchange.docs}/openapi/{plane}.json", getattr(exchange, plane)
    options = ["--phases", "examples,fuzzing", "--max-examples", "1", "--no-shrink", "--seed", "1"]
    options += ["--checks", CHECKS, "--continue-on-failure"]
    options += ["--exclude-path-regex", NOT_ASKED] if plane == "control" else []
    done = subprocess.run(
        [program, "run", document, "--url", address, *options],
        capture_output=True,
        text=True,
        timeout=300,
        cwd=tmp_path,
    )
    assert done.returncode == 0, done.stdout[-4000:]
    assert re.search(r"[1-9]\d* generated", done.stdout)
