"""Masks the secret fields of a response (`secret` in the contract) for the journal."""

from __future__ import annotations

from functools import cache
from hashlib import sha256
from typing import Any

from msgspec import Struct, structs

from sim.api.codecs.codecs import Field, fields_of
from sim.messages import Message


@cache
def secret_fields(cls: type[Message]) -> tuple[Field, ...]:
    """Return the secret fields of a message type; the contract has them at the top level only."""
    return tuple(field for field in fields_of(cls) if field.secret)


def fingerprint(secret: str) -> str:
    """Return what stands for a secret: enough to tell two apart, too little to use one."""
    return "sha256:" + sha256(secret.encode()).hexdigest()[:32]


def masked(message: Struct) -> Any:
    """Return a copy with fingerprints for secrets, or the message itself without secrets."""
    masks = {
        field.attribute: fingerprint(getattr(message, field.attribute))
        for field in secret_fields(type(message))
        if getattr(message, field.attribute)
    }
    return structs.replace(message, **masks) if masks else message
