"""What the evidence says of one assumption or quirk."""

from __future__ import annotations

from typing import Any, Literal, TypeAlias

from msgspec import Struct, to_builtins

Kind: TypeAlias = Literal["confirmed", "refuted", "undecided", "not observed"]


class InferenceVerdict(
    Struct, frozen=True, omit_defaults=True, rename={"own": "ours", "or_": "or"}
):
    """The verdict on one name. `consistent` has the values that the evidence allows, the best
    first, and `evidence` the lines. `between` has the ends of a range; `occurred` and `of` are
    counts of a quirk. `or_` has values of other names that explain the lines as well. `only_with`
    names the quirk that a value needs if it fits only together with one. `why` is the reason why no
    recording can show the name.
    """

    verdict: Kind
    consistent: list[Any]
    evidence: list[int]
    own: Any
    between: list[Any] | None = None
    occurred: int | None = None
    of: int | None = None
    or_: dict[str, Any] = {}
    only_with: dict[str, dict[str, str]] = {}
    why: str = ""

    @property
    def names_a_change(self) -> bool:
        """Whether another value, of this name or another, answers more like the recording."""
        return self.verdict == "refuted" or bool(self.or_)

    def document(self) -> dict[str, Any]:
        """Return the verdict as `--json` prints it."""
        fields: dict[str, Any] = to_builtins(self)
        return fields


# A recording has a fingerprint of what a client signs, and a replay signs anew by its own clock.
SIGNED = frozenset(("token.assertion_life_max", "auth.client_clock", "auth.timestamp_tolerance"))

_SIGNED = "signatures are fingerprints in a recording, and signed anew for a replay"
_TEXTS = "texts of refusals are not compared"
_HEADERS = "headers for browsers are not compared"
_WEBHOOKS = "webhooks go to the partner's server, past the recorder"
_REASONS = {
    **dict.fromkeys(SIGNED, _SIGNED),
    "limits.endpoint_text": _TEXTS,
    "surfaces.browser_origins": _HEADERS,
    "webhook_duplicates": _WEBHOOKS,
}


def not_exercised(name: str) -> str:
    """Why no recording can show a value of an assumption or a quirk; "" for what one can show."""
    return _REASONS.get(name) or (_WEBHOOKS if name.startswith("webhook.") else "")
