"""People who are verified, webhooks, limits, asset prices, and the actions of an operator that a
scenario's steps can take too.
"""

from __future__ import annotations

from functools import cache
from typing import Any

from sim.core.catalogue import assumptions, quirks
from sim.core.service.presets import PRESETS
from sim.kernel.entropy import Choices
from sim.kernel.instants import NS_PER_S
from sim.search.moves.view import PEOPLE, Act, Document, Steps, View, call

_ADDRESS = {
    "address_line_1": "1 Main Street",
    "city": "Albany",
    "country": "US",
    "postal_code": "12207",
    "state": "NY",
}
# E-mail addresses and dates of birth that determine an outcome (rule K5).
_TRIGGERS: tuple[Document, ...] = (
    *({}, {}, {"email": "reject@example.com"}, {"email": "review@example.com"}),
    *({"date_of_birth": f"1985-{day}"} for day in ("09-02", "09-04", "09-05", "09-25", "10-02")),
    {"date_of_birth": "2015-01-01"},
)
_RECEIVERS = ("http://127.0.0.1:9/kyc", "https://127.0.0.1:9443/kyc")
_DECISIONS = ("approve", "reject", "review", "resubmit")
_ODDS = ("always", "never", "1/2")
# Assumptions that lead to other sequences of states; the others change single answers.
_STRUCTURAL = ("lifecycle.", "settlement.", "engine.", "auction.", "collateral", "kyc.", "clearing")


# ---- people


def verify(choices: Choices, view: View) -> Steps:
    """Verify a person, decide by hand, and start again."""
    firm, number = choices.choice(view.firms).name, choices.below(PEOPLE)
    name = f"person-{number}"
    # Occasionally, the number of another person
    owner = number if choices.chance(5, 6) else choices.below(PEOPLE)
    person: Document = {
        "address": _ADDRESS,
        "agreement": {"signed_at": "2026-09-08T17:59:00Z", "version": "PMX.ISV.SANDBOX.v1.0"},
        "date_of_birth": "1988-04-12",
        "email": "ada.moreno@example.com",
        "external_id": name,
        "first_name": "Ada",
        "ip_address": "203.0.113.7",
        "last_name": "Moreno",
        "phone_number": f"+121255501{number:02}",
        "ssn": f"9001122{owner:02}",
        **choices.choice(_TRIGGERS),
    }
    if choices.chance(1, 3):
        person["docv_eligible"] = True
    if choices.chance(1, 2):
        url = {"webhook_url": choices.choice(_RECEIVERS)}
        yield call(choices, "KYCAPI.SetWebhookURL", url, firm)
    if choices.chance(1, 4):
        yield from _prefill(choices, firm, person)
    yield call(choices, "KYCAPI.StartKYCVerification", person, firm)
    if choices.chance(1, 2):
        yield Act("kyc.decide", name, {"decision": choices.choice(_DECISIONS)})
    if choices.chance(1, 4):
        yield Act("kyc.document", name, {"document": choices.choice(("uploaded", "failed"))})
    yield {"advance": choices.choice(("1m", "30m"))}
    yield call(choices, "KYCAPI.GetKYCStatus", {"external_id": name}, firm)
    yield call(choices, "KYCAPI.StartKYCVerification", person, firm)


def _prefill(choices: Choices, firm: str, person: Document) -> Steps:
    keys = ("date_of_birth", "phone_number", "ip_address")
    body = {key: person[key] for key in keys} | {"user_id": person["external_id"]}
    yield call(choices, "KYCAPI.StartKYCPrefill", body, firm)
    code = {"external_id": person["external_id"], "otp": choices.choice(("1234", "123456"))}
    for _ in range(choices.between(1, 2)):
        yield call(choices, "KYCAPI.SubmitKYCPrefillOTP", code, firm)


def deaf(choices: Choices, view: View) -> Steps:
    """Let a receiver fail every delivery for a while, and raise events."""
    match = {"plane": "webhook"}
    yield Act("fault.add", "", {"match": match, "act": {"status": 500}, "times": 12})
    for _ in range(3):
        yield from verify(choices, view)
    yield {"advance": "20m"}


# ---- reads


def index(choices: Choices, view: View) -> Steps:
    """Read candles of an asset's price."""
    now = view.now // NS_PER_S
    body = {
        "assets": ["crypto:btc"],
        "from": str(now - choices.choice((60, 3600, 86_400, 10_000_000))),
        "to": str(now + choices.choice((-60, 0, 3600))),
        "bucket": f"ASSET_PRICE_BUCKET_{choices.choice(('1M', '1H', '1D'))}",
    }
    yield call(choices, "GatewayAssetPricesAPI.GetAssetPriceHistory", body, "")


# ---- actions of an operator


def state(choices: Choices, view: View) -> Steps:
    symbol = view.symbol(choices)
    yield Act("instrument.state", symbol, {"state": view.state(choices, symbol)})


def settlement(choices: Choices, view: View) -> Steps:
    price = choices.choice(("0", "0.5", "1", "1"))
    yield Act("instrument.settle", view.symbol(choices), {"price": price})


def money(choices: Choices, view: View) -> Steps:
    amount = f"{choices.between(-30_000, 30_000)}.{choices.below(100):02}"
    body: Document = {"amount": amount}
    sources = [source.id for firm in view.firms for source in firm.funding_sources]
    if sources and choices.chance(1, 2):
        body["source"] = choices.choice(sources)
        body["script"] = choices.choice(("complete", "cancel", "hold", "hold"))
    yield Act("account.fund", view.account(choices), body)


def maintenance(choices: Choices, view: View) -> Steps:
    begins = f"+{choices.choice((0, 1, 30, 90, 600))}s"
    length = choices.choice(("30s", "10m"))
    yield Act("maintenance.add", "", {"begins": begins, "length": length, "lead": "20s"})


def assumption(choices: Choices, view: View) -> Steps:
    rows = _switches()
    if choices.chance(1, 3):
        rows = tuple(row for row in rows if row[0].startswith(_STRUCTURAL))
    name, values = choices.choice(rows)
    yield Act("assumption.set", name, {"value": choices.choice(values)})


def quirk(choices: Choices, view: View) -> Steps:
    yield Act(
        "quirk.set", choices.choice(list(quirks.catalogue())), {"value": choices.choice(_ODDS)}
    )


def preset(choices: Choices, view: View) -> Steps:
    yield Act("preset.set", "", {"name": choices.choice(list(PRESETS))})


def reading(choices: Choices, view: View) -> Steps:
    yield Act("reading.set", "", {"name": choices.choice(("documented", "observed"))})


def tick(choices: Choices, view: View) -> Steps:
    asset = choices.choice(("crypto:btc", "crypto:eth", "crypto:sol"))
    yield Act("price.tick", asset, {"price": f"{choices.between(1, 90_000)}.5"})


def fair_price(choices: Choices, view: View) -> Steps:
    yield Act("fair_price.set", view.symbol(choices), {"price": f"0.{choices.between(1, 99):02}"})


@cache
def _switches() -> tuple[tuple[str, tuple[Any, ...]], ...]:
    """Return the assumptions with the values that may be tried."""
    switches = []
    for entry in assumptions.catalogue().values():
        default = entry.show(entry.default)
        written = str(default).lower() if isinstance(default, bool) else str(default)
        values = tuple(dict.fromkeys((*entry.alternatives(), written)))
        switches.append((entry.name, values))
    return tuple(switches)
