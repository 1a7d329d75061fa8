"""The twenty bugs of the exchange, each a small replacement of its source: `exchange_bugs.yaml`."""

from __future__ import annotations

from pathlib import Path

import yaml

from tools.detection.rewriting import Rewrite

_BUGS = yaml.safe_load(Path(__file__).with_suffix(".yaml").read_text())
EFFECTS: dict[str, str] = {name: bug["says"] for name, bug in _BUGS.items()}
EXCHANGE_BUGS = {
    name: (Rewrite(bug["place"], bug["old"], bug["new"]),) for name, bug in _BUGS.items()
}
