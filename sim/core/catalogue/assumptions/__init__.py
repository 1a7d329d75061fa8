"""The catalogue of assumptions: our answers where the specification gives none.

There is one module per topic, and all assumptions can be imported from here. `sim catalogue
assumptions` prints the catalogue. A scenario or the control plane changes a value by its name.
"""

from sim.core.catalogue.assumption import Assumption
from sim.core.catalogue.assumptions import (
    access,
    lifecycle,
    money,
    readings,
    service,
    surfaces,
    trading,
    webhooks,
)
from sim.core.catalogue.assumptions.access import *  # noqa: F403
from sim.core.catalogue.assumptions.lifecycle import *  # noqa: F403
from sim.core.catalogue.assumptions.money import *  # noqa: F403
from sim.core.catalogue.assumptions.readings import *  # noqa: F403
from sim.core.catalogue.assumptions.service import *  # noqa: F403
from sim.core.catalogue.assumptions.surfaces import *  # noqa: F403
from sim.core.catalogue.assumptions.trading import *  # noqa: F403
from sim.core.catalogue.assumptions.webhooks import *  # noqa: F403

_TOPICS = (lifecycle, trading, money, access, webhooks, service, surfaces, readings)


def catalogue() -> dict[str, Assumption]:
    """Return every assumption by name, topic by topic."""
    values = (value for topic in _TOPICS for value in vars(topic).values())
    return {value.name: value for value in values if isinstance(value, Assumption)}
