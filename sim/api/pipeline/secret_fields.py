"""Which fields of a message are secret (`(sim.field).secret` in the contract), and a copy of a
message that may be journalled.
"""

from __future__ import annotations

from functools import cache
from hashlib import sha256
from typing import Any

from msgspec import Struct, structs

from sim.api.codecs.codecs import Field, fields_of
from sim.messages import Message


@cache
def secret_fields(cls: type[Message]) -> tuple[Field, ...]:
    """Secret fields of a message type itself; the contract keeps them at the top level of requests
    and responses.
    """
    return tuple(field for field in fields_of(cls) if field.secret)


def fingerprint(secret: str) -> str:
    """What stands for a secret where it may be seen: enough to tell two apart, too little to use
    one.
    """
    return "sha256:" + sha256(secret.encode()).hexdigest()[:32]


def masked(message: Struct) -> Any:
    """The message with every secret text replaced by its fingerprint; the message itself when it
    holds none.
    """
    found = {
        field.attribute: fingerprint(getattr(message, field.attribute))
        for field in secret_fields(type(message))
        if getattr(message, field.attribute)
    }
    return structs.replace(message, **found) if found else message
