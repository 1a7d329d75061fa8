"""The pytest plugin by its former name, for environments that were installed before it moved."""

from sandbox_exchange_pytest import *  # noqa: F403
from sandbox_exchange_pytest import READINGS as READINGS
