"""Query strings, variables of a path and form bodies: what they accept, ignore and refuse."""

from __future__ import annotations

from typing import Any

import pytest

from sim.api.codecs.codecs import BadBody, BadField, Casing, apply_path, form_decoder, query_decoder
from sim.contract.messages import issuer_v1


def test_a_query_is_read_in_both_spellings_where_the_plane_has_both(probe: Any) -> None:
    read = query_decoder(probe.GetProbeRequest, Casing.CAMEL_OR_SNAKE)
    expected = probe.GetProbeRequest(
        depth=3,
        as_of_date=probe.Date(year=2026, month=1),
        sides=[1, 2],
        symbols=["a b", "c"],
        deep=True,
        start_time=5 * 10**9,
    )
    text = "depth=3&{0}.year=2026&{0}.month=1&sides=SIDE_BUY&sides=2&symbols=a+b&symbols=c&deep=true&{1}=1970-01-01T00%3A00%3A05Z"
    assert read(text.format("asOfDate", "startTime")) == expected
    assert read(text.format("as_of_date", "start_time")) == expected


def test_a_camel_case_parameter_is_ignored_where_only_snake_case_counts(probe: Any) -> None:
    unknown: list[str] = []
    read = query_decoder(probe.GetProbeRequest, Casing.SNAKE)
    query = "startTime=1970-01-01T00:00:05Z&asOfDate.year=1&depth=3"
    assert read(query, unknown) == probe.GetProbeRequest(depth=3)
    assert unknown == ["startTime", "asOfDate.year"]


def test_parameters_that_lead_nowhere_are_ignored_and_named(probe: Any) -> None:
    unknown: list[str] = []
    read = query_decoder(probe.Probe, Casing.CAMEL_OR_SNAKE)
    assert read(
        "colour=red&inners.name=x&mss.a=b&s.x=1&ss[]=a&from=here&=&.=", unknown
    ) == probe.Probe(from_="here")
    assert unknown == ["colour", "inners.name", "mss.a", "s.x", "ss[]", "", "."]


@pytest.mark.parametrize(
    ("query", "path"),
    [
        ("depth=x", "depth"), ("depth=", "depth"), ("depth=1&depth=2", "depth"), ("deep=yes", "deep"),
        ("sides=SIDE_BUY&sides=?", "sides"), ("sides=99999999999", "sides"),
        ("startTime=yesterday", "startTime"), ("asOfDate.year=2026&as_of_date.year=2026", "as_of_date.year"), ("depth=%FF", "depth"),
        ("asOfDate=2026-09-07", "asOfDate"),
    ],
)  # fmt: skip
def test_a_parameter_that_does_not_fit_is_refused_by_name(
    probe: Any, query: str, path: str
) -> None:
    with pytest.raises(BadField) as refused:
        query_decoder(probe.GetProbeRequest, Casing.CAMEL_OR_SNAKE)(query)
    assert refused.value.path == path


def test_two_members_of_a_oneof_in_a_query_are_refused(probe: Any) -> None:
    with pytest.raises(BadField, match=r"^pl: cannot be given together with ps$"):
        query_decoder(probe.Probe, Casing.SNAKE)("ps=a&pl=1")


def test_a_query_of_too_many_parameters_is_refused(probe: Any) -> None:
    with pytest.raises(BadField):
        query_decoder(probe.GetProbeRequest, Casing.SNAKE)("&".join(["symbols=a"] * 10_001))


def test_path_variables_win_and_make_the_messages_on_their_way(probe: Any) -> None:
    request = probe.GetProbeRequest(symbol="from the body")
    apply_path(request, {"symbol": "a/b", "as_of_date.year": "2026"})
    assert request == probe.GetProbeRequest(symbol="a/b", as_of_date=probe.Date(year=2026))
    with pytest.raises(BadField) as refused:
        apply_path(request, {"depth": "deep"})
    assert refused.value.path == "depth"
    with pytest.raises(LookupError):
        apply_path(request, {"nothing": "x"})


def test_the_token_call_is_read_from_a_form() -> None:
    read = form_decoder(issuer_v1.IssueTokenRequest)
    assert read(
        b"grant_type=client_credentials&client_id=a%20b&scope=x"
    ) == issuer_v1.IssueTokenRequest(grant_type="client_credentials", client_id="a b")
    for wrong in (b"\xff", b"client_id=%FF", b"a=1&" * 10_001):
        with pytest.raises(BadBody):
            read(wrong)
    with pytest.raises(BadField):
        read(b"client_id=a&client_id=b")
