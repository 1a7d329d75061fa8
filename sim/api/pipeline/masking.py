"""Masks the parts of an answer that must not be in the journal: secrets, and addresses of this run.

The contract marks both kinds of fields (`secret`, `address`), at the top level of a message only. A
secret becomes a fingerprint. An address becomes a fixed word, because ports differ between runs and
digests must not.
"""

from __future__ import annotations

from functools import cache
from typing import Any

from msgspec import Struct, structs

from sim.api.codecs.codecs import Field, fields_of
from sim.api.pipeline.access_tokens import fingerprint_of
from sim.contract.messages import Message

ADDRESS = "(address)"


@cache
def masked_fields(cls: type[Message]) -> tuple[Field, ...]:
    """Return the fields of a message type that the journal does not show."""
    return tuple(field for field in fields_of(cls) if field.secret or field.address)


def fingerprint(secret: str) -> str:
    """Return a fingerprint of a secret, which distinguishes secrets but does not reveal them."""
    return "sha256:" + fingerprint_of(secret)


def masked(message: Struct) -> Any:
    """Return a masked copy for the journal, or the message itself if nothing is masked."""
    masks = {
        field.attribute: fingerprint(value) if field.secret else ADDRESS
        for field in masked_fields(type(message))
        if (value := getattr(message, field.attribute))
    }
    return structs.replace(message, **masks) if masks else message
