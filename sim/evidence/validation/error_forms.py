"""The form of a refusal on each plane, derived from the answers of the exchange itself.

Body forms come from encoding sample refusals. The pairs of gRPC code and HTTP status come from the
refusal classes. Nothing is stated a second time here.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Any

from msgspec import Struct, json

from sim.api.pipeline.error_mapping import grpc_code, http_status, refused
from sim.core.model import refusals
from sim.core.model.refusals import HTTP_OF_CODE, Refusal
from sim.core.service.fault_spec import CODE_OF_HTTP
from sim.evidence.validation.difference import ABSENT, Misfit

# An error may add members of its own here (RFC 6749 §5.2).
_MAY_LACK = frozenset(("error_description", "details"))


class Form(Struct, frozen=True):
    """The body of a refusal (type of each member, or plain text) and its content type."""

    members: dict[str, type] | None
    content_type: str


@cache
def form_of(plane: str, status: int) -> Form:
    """Return the form of a refusal with a status on a plane."""
    sample: Refusal = refusals.InvalidRequest()
    if status == 429:
        sample = refusals.RateLimited("", rung="global", retry_after=1)
    reply = refused(sample, plane)
    body = json.decode(reply.body)
    return Form({name: type(value) for name, value in body.items()}, reply.content_type)


def plain_form(plane: str, status: int) -> Form | None:
    """Return the plain-text form that a plane answers instead for a status, or None."""
    plain = refused(refusals.MissingKeyHeaders(), plane)
    return Form(None, plain.content_type) if plane == "retail" and status == plain.status else None


@cache
def statuses() -> frozenset[int]:
    """Return every HTTP status that a refusal can have."""
    return frozenset(status for status, _ in _pairs())


@cache
def statuses_of(code: int) -> tuple[int, ...]:
    """Return the HTTP statuses of a gRPC code, the usual one first."""
    usual = [status for grpc, status in HTTP_OF_CODE.items() if int(grpc) == code]
    others = sorted({status for status, grpc in _pairs() if grpc == code} - set(usual))
    return (*usual, *others)


def refusal_kinds() -> list[str]:
    """Return the kinds of refusals, each as HTTP status and gRPC code: `404 5`."""
    return sorted(f"{status} {code}" for status, code in _pairs())


@cache
def _pairs() -> frozenset[tuple[int, int]]:
    classes = (cls for cls in _classes(Refusal) if not issubclass(cls, refusals.Injected))
    # only the class matters, so a sample need not be constructed
    samples = [cls.__new__(cls) for cls in classes]
    pairs = {(http_status(sample), grpc_code(sample)) for sample in samples}
    pairs |= {(http, int(code)) for code, http in HTTP_OF_CODE.items()}
    return frozenset(pairs | {(http, int(code)) for http, code in CODE_OF_HTTP.items()})


def _classes(base: type[Refusal]) -> Iterator[type[Refusal]]:
    for cls in base.__subclasses__():
        yield cls
        yield from _classes(cls)


def misfits(body: Any, form: Form) -> list[Misfit]:
    """Return the members of a refusal's body that do not fit its form."""
    if form.members is None:
        return [] if type(body) is str else [Misfit("", body, "text", "error form")]
    if type(body) is not dict:
        names = ", ".join(form.members)
        return [Misfit("", body, f"an object of {names}", "error form")]
    sentences = []
    for name, kind in form.members.items():
        if name not in body:
            if name not in _MAY_LACK:
                sentences.append(Misfit(name, ABSENT, _WORDS[kind], "error form"))
        elif type(body[name]) is not kind:
            sentences.append(Misfit(name, body[name], _WORDS[kind], "error form"))
    for name in body:
        if name not in form.members:
            sentences.append(Misfit(name, body[name], ABSENT, "error form"))
    return sentences


_WORDS: dict[type, str] = {int: "a whole number", str: "text", list: "a list"}
