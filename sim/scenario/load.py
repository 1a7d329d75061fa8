"""Interim."""
from __future__ import annotations
from pathlib import Path
from sim import resources
from sim.scenario.document import ScenarioError, read_text, read_file
from sim.scenario.model import Scenario
from sim.scenario.shapes import record

def _build(node) -> Scenario:
    found=[]
    s=record(Scenario).read(node, found)
    if found: raise ScenarioError(found)
    return s

def load_scenario(what: str) -> Scenario:
    p=Path(what)
    if p.is_file(): return _build(read_file(p))
    q=resources.path("scenarios", f"{what}.yaml")
    if q.is_file(): return _build(read_file(q))
    return _build(read_text(what,"text"))

def scenario_from_source(source: bytes) -> Scenario:
    return _build(read_text(source,"journal"))
