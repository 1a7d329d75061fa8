"""Interim."""
from __future__ import annotations
from sim.core.instruments import Instrument
from sim.scenario.document import read_text
from sim.scenario.entries import AccountEntry, ApiKeyEntry, FirmEntry, InstrumentEntry
from sim.scenario.listing import list_instrument
from sim.scenario.markets import *
from sim.scenario.parties import gather, Parties
from sim.scenario.reference import Reference, fixture
from sim.scenario.shapes import record
import msgspec, json

class World:
    def __init__(self, scenario):
        raw = fixture("parties.json")
        def rd(kind, rows): 
            found=[]; out=[record(kind).read(read_text(json.dumps(r),"x"),found) for r in rows]; assert not found, found; return out
        keys=[ApiKeyEntry(key_id=f"00000000-0000-4000-8000-00000000000{i}", account=a["name"]) for i,a in enumerate(raw["accounts"])]
        self.parties = gather(rd(FirmEntry, raw["firms"]), rd(AccountEntry, raw["accounts"]), keys)
        self.reference = Reference()
        self.instruments = tuple(list_instrument(e, scenario.clock.start) for e in scenario.world.instruments)
        self.assets=(); self.incentives=(); self.orders=scenario.world.orders; self.books=()
    def add(self, instrument, entry): pass

def build_world(scenario): return World(scenario)
