"""Prefill of a verification over REST: every code, everything that ends one, and nothing of it in
the journal.
"""

from __future__ import annotations

from typing import Any

import pytest

from sim import Simulation, load_scenario
from sim.run.client.client import Response
from tests.journeys import firm
from tests.kit import Desk

KNOWN = {"user_id": "u-1", "phone_number": "14155551212", "date_of_birth": "1985-03-30"}


def start(world: Desk, **fields: Any) -> Response:
    return world.partner.post("/v1/kyc/prefill", json=KNOWN | fields)


def submit(world: Desk, otp: object, external_id: str = "u-1") -> Response:
    return world.partner.post("/v1/kyc/prefill/otp", json={"otp": otp, "external_id": external_id})


def stage(answer: Response) -> tuple[str, str]:
    assert answer.status == 200, answer
    return answer.json()["status"]["decision"], answer.json()["status"]["status"]


@pytest.mark.parametrize("phone", ["14155551212", "+14155551212"])
def test_the_right_code_tells_what_is_known_of_the_person(world: Desk, phone: str) -> None:
    sent = start(world, phone_number=phone)
    assert (stage(sent), sent.json()["externalId"], sent.json()["status"]["externalId"]) == (
        ("pending", "otp_sent"),
        "u-1",
        "u-1",
    )
    reported = submit(world, "123456")
    assert stage(reported) == ("accept", "prefill_complete")
    assert (
        reported.json()["phoneNumber"],
        reported.json()["dateOfBirth"],
        len(reported.json()["ssn"]),
    ) == (phone, "1985-03-30", 4)
    assert (
        all(reported.json()[name] for name in ("firstName", "lastName", "email"))
        and reported.json()["address"]["state"] == "CA"
    )
    assert submit(world, "123456").status == 409  # a code is good once
    start(world)
    assert stage(submit(world, "123456"))[1] == "prefill_complete"


def test_codes_that_do_not_succeed_tell_nothing_and_too_many_end_it(world: Desk) -> None:
    start(world)
    assert stage(submit(world, "000000")) == ("pending", "otp_pending")
    for code in ("00000", "654321", "00000"):
        reported = submit(world, code)
        assert stage(reported) == ("reject", "otp_rejected")
        assert not {"firstName", "lastName", "ssn", "email"} & {
            name for name, value in reported.json().items() if value
        }
    refused = submit(world, "123456")
    assert refused.status == 409 and "too many" in refused.json()["message"]


@pytest.mark.parametrize(
    ("match", "phone", "born", "status"),
    [
        ("sandbox", "12067890036", "1985-03-30", "no_match"),
        ("sandbox", "14155551212", "1985-03-31", "no_match"),
        ("always", "12067890036", "1990-01-01", "prefill_complete"),
        ("never", "14155551212", "1985-03-30", "no_match"),
    ],
)
def test_who_is_known_is_a_choice(
    world: Desk, match: str, phone: str, born: str, status: str
) -> None:
    world.assume("kyc.prefill_match", match)
    start(world, phone_number=phone, date_of_birth=born)
    assert stage(submit(world, "123456"))[1] == status


def test_a_code_expires(world: Desk) -> None:
    start(world)
    world.advance("10m")
    assert "expired" in submit(world, "123456").json()["message"]
    start(world)
    world.assume("kyc.prefill_code_life", "20m")
    world.advance("19m")
    assert stage(submit(world, "123456"))[1] == "prefill_complete"


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("user_id", " "),
        ("user_id", "x" * 50),
        ("phone_number", "12"),
        ("phone_number", "call me"),
        ("date_of_birth", "30.03.1985"),
        ("ip_address", "here"),
    ],
)
def test_bad_fields_are_named(world: Desk, field: str, value: str) -> None:
    refused = start(world, **{field: value})
    assert refused.status == 400 and refused.json()["message"].startswith(f"{field}:")
    assert submit(world, "123456").status == 404


@pytest.mark.parametrize("otp", ["", "123", "123456789", "abcdef", 123456, None])
def test_what_is_no_code_is_refused_and_costs_no_attempt(world: Desk, otp: object) -> None:
    start(world)
    for _ in range(4):
        assert submit(world, otp).status == 400
    assert stage(submit(world, "123456"))[1] == "prefill_complete"


def test_a_prefill_is_its_firms_own_and_needs_the_scope(world: Desk) -> None:
    start(world)
    assert world.exchange(world.poor_firm).post("/v1/kyc/prefill", json=KNOWN).status == 403
    assert submit(world, "123456", external_id="u-2").status == 404
    assert submit(world, "123456", external_id="").status == 400


def test_codes_and_numbers_stay_out_of_the_journal(world: Desk) -> None:
    start(world)
    reported = submit(world, "123456").json()
    lines = list(world.simulation.journal_lines(0))
    inputs = [line for line in lines if b"/v1/kyc/prefill/otp" in line]
    assert len(inputs) == 1 and b"sealed:d6:" in inputs[0]
    assert b"123456" not in inputs[0]
    assert (
        reported["ssn"].encode() not in inputs[0].partition(b'"out"')[2].partition(b'"digest"')[0]
    )


def test_a_script_may_send_its_code_in_clear() -> None:
    text = """
name: prefill
extends: quickstart
steps:
  - call: {plane: exchange, as: FIRM, post: /v1/kyc/prefill, json: {user_id: u, phone_number: "14155551212", date_of_birth: "1985-03-30"}}
    expect: {status: 200}
  - call: {plane: exchange, as: FIRM, post: /v1/kyc/prefill/otp, json: {external_id: u, otp: "123456"}}
    expect: {status: 200, json: {status: {status: prefill_complete}}}
"""
    name = firm(Simulation(load_scenario("quickstart"))).name
    sim = Simulation(load_scenario(text.replace("FIRM", name)))
    sim.advance_to(sim.now)
    assert [result.failures for result in sim.script.results] == [(), ()]
