"""What every test module may use instead of building its own world.

| Module | Has |
|---|---|
| `desk` | `begin` a run, and the `Desk`: clients of every plane, orders, money and operator's actions in one line each |
| `bodies` | what those clients send: an order, a retail order, an application for verification |
| `journals` | the reader of a run's journal: its outcomes, events, inputs and marks |
| `streams` | each gRPC stream and WebSocket opened in one line |
"""

from tests.kit.bodies import APPLICATION, PERSON, order, retail_order, usd
from tests.kit.desk import FEW_GAMES, Desk, begin, refused
from tests.kit.journals import JournalReader

__all__ = [
    "APPLICATION",
    "FEW_GAMES",
    "PERSON",
    "Desk",
    "JournalReader",
    "begin",
    "order",
    "refused",
    "retail_order",
    "usd",
]
