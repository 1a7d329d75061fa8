"""The contract that has every shape, also for codecs."""

from tests.contract.wire_values import probe

__all__ = ["probe"]
