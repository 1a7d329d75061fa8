"""What every test module may use instead of building its own world.

| Module | Has |
|---|---|
| `desk` | `begin` a run, and the `Desk`: clients of every plane, orders, money and operator's actions in one line each |
| `bodies` | what those clients send: an order, a retail order, an application for verification |
| `journals` | the reader of a run's journal: its outcomes, events, inputs and marks |
| `http` | one HTTP call, whatever it is answered |
| `clients` | clients of a served exchange: tokens, signatures, the official SDK, verification |
| `processes` | `sim` as a process with a ready file, and as a command that ends |
| `streams` | each gRPC stream and WebSocket opened in one line |
"""

from tests.kit.bodies import (
    APPLICATION,
    PERSON,
    order,
    partner_order,
    retail_order,
    rpc_order,
    transfer,
    usd,
)
from tests.kit.desk import FEW_GAMES, Desk, begin, refused, unlimited
from tests.kit.journals import JournalReader

__all__ = [
    "APPLICATION",
    "FEW_GAMES",
    "PERSON",
    "Desk",
    "JournalReader",
    "begin",
    "order",
    "partner_order",
    "refused",
    "retail_order",
    "rpc_order",
    "transfer",
    "unlimited",
    "usd",
]
