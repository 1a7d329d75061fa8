"""The whole exchange: knows every component, hands each timer to the one it concerns, and wires what one asks of another.

Components do not import each other's state; where one needs another (verification opens an account, maintenance cancels orders) the wiring is here.
Events are collected in order on the context; `flush` adds the book changes they caused.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from msgspec import Struct

from sim.core.context import Context
from sim.core.credentials import Credentials, CredentialsState
from sim.core.events import Event
from sim.core.faults import Faults, FaultsState
from sim.core.firms import Firms, FirmsState
from sim.core.instruments import Instruments
from sim.core.kyc import Kyc, KycState
from sim.core.maintenance import Maintenance, MaintenanceState
from sim.core.rate_limits import RateLimits, RateLimitsState
from sim.core.trading import Trading, TradingState
from sim.core.webhooks import Webhooks, WebhooksState
from sim.kernel.instants import Instant, Span
from sim.kernel.timers import Timer

if TYPE_CHECKING:
    from sim.scenario.world import World


class State(Struct):
    """Everything about an exchange that changes, as one value; the world it was built from is not in it."""

    now: Instant
    timers: tuple[int, list[Timer]]
    entropy: dict[str, int]
    ids: dict[str, int]
    assumptions: dict[str, bool | int | str]
    quirks: dict[str, tuple[int, int]]
    trading: TradingState
    firms: FirmsState
    credentials: CredentialsState
    kyc: KycState
    webhooks: WebhooksState
    rate_limits: RateLimitsState
    maintenance: MaintenanceState
    faults: FaultsState
