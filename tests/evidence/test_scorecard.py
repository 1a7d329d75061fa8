"""`sim fidelity`: the scorecard of what is known of the service, with and without recordings."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable
from html.parser import HTMLParser
from pathlib import Path
from typing import Any, TypeAlias

import pytest

from sim.cli.main import main
from sim.contract.contract import load_contract
from sim.core.catalogue import assumptions, observations, quirks
from sim.read import spec_coverage
from tests.evidence.conftest import Compare
from tests.evidence.lines import ABSENT, Line, called, lines, put, write

Fidelity: TypeAlias = Callable[..., dict[str, Any]]
READINGS = ("documented", "observed")
ORDER, NEVER = "RetailOrdersAPI.GetOrder", "ParticipantAPI.CreateParticipantAPIToken"


@pytest.fixture
def fidelity(tmp_path: Path) -> Fidelity:
    """The document of `sim fidelity`."""

    def run(*arguments: object) -> dict[str, Any]:
        out = tmp_path / "card.json"
        assert main(["fidelity", *map(str, arguments), "--json", str(out)]) == 0
        return json.loads(out.read_text())  # type: ignore[no-any-return]

    return run


class Page(HTMLParser):
    """Rows of tables by heading, links and anchors of a page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.anchors: set[str] = set()
        self.links: set[str] = set()
        self.fetched: list[str] = []
        self.rows: list[dict[str, str]] = []
        self._label = ""
        self.feed(text)

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        argument = {name: value or "" for name, value in attributes}
        if tag == "tr":
            self.rows.append({})
        self._label = argument.get("data-label", self._label)
        if "id" in argument:
            self.anchors.add(argument["id"])
        if tag == "a" and "href" in argument:
            self.links.add(argument["href"])
        if tag in ("script", "img", "link", "iframe") or "src" in argument:
            self.fetched.append(tag)

    def handle_data(self, data: str) -> None:
        if self.rows and self._label and data.strip():
            row = self.rows[-1]
            row[self._label] = row.get(self._label, "") + data

    def row(self, name: str) -> dict[str, str]:
        """The first row whose first cell is this."""
        return next(row for row in self.rows if name in list(row.values())[:1])


# ---- what is known without a recording


@pytest.mark.long
def test_what_nobody_has_seen_is_no_evidence_however_well_it_is_tested(fidelity: Fidelity) -> None:
    card = fidelity()
    named = {
        name for observation in observations.catalogue().values() for name in observation.operations
    }
    for name, item in card["operations"].items():
        assert bool(item["evidence"]) is (name in named), name
    totals = card["totals"]
    assert sorted(totals["operations_without_evidence"]) == sorted(
        {operation.name for operation in load_contract().operations} - named
    )
    counted = totals["operations"]
    assert counted["recorded"] == 0 and counted["none"] == counted["all"] - len(named)
    funded = card["operations"]["OrderFundingService.CreateVendorOrder"]
    assert all(funded["statements"].values()) and funded["evidence"] is None


def test_documents_alone_are_not_what_the_service_was_seen_to_do(fidelity: Fidelity) -> None:
    operations = fidelity()["operations"]
    assert operations["OrderEntryAPI.CancelReplaceOrder"]["evidence"] == "documents"
    assert operations["RetailPortfolioAPI.ListPositions"]["evidence"] == "live"


def test_the_readings_stand_side_by_side(fidelity: Fidelity) -> None:
    card = fidelity()
    quotes = card["operations"]["GatewayMarketsAPI.ListMarkets"]["observations"]
    assert quotes["markets.quote_value"] == {"documented": False, "observed": True}
    value = card["assumptions"]["markets.quote_value"]
    assert (value["documented"], value["observed"]) == ("number", "string")
    heard = card["quirks"]["camel_case_query_ignored"]
    assert (heard["documented"], heard["observed"]) == ("always", "never")
    assert {*card["assumptions"]} == {*assumptions.catalogue()}
    assert {*card["quirks"]} == {*quirks.catalogue()}


def test_what_we_do_not_do_is_told_in_both_readings(fidelity: Fidelity) -> None:
    halted = fidelity()["observations"]["market_data.halted_book"]
    assert [halted[reading] for reading in READINGS] == [False, False]


def test_observations_name_operations_of_the_contract_and_tests_name_observations() -> None:
    names = {operation.name for operation in load_contract().operations}
    for observation in observations.catalogue().values():
        assert set(observation.operations) <= names, observation.name
    assert set(spec_coverage.load("observed")[1]) <= set(observations.catalogue())


# ---- what a recording adds


@pytest.mark.parametrize("options", [(), ("--scenario", "quickstart", "--seed", "7")])
def test_a_recording_counts_as_the_comparison_does_in_both_readings(
    session: Path, fidelity: Fidelity, compare: Compare, options: tuple[str, ...]
) -> None:
    card = fidelity(session, *options)["operations"]
    for reading in READINGS:
        _, result = compare(session, *options, "--reading", reading)
        for name, item in result["operations"].items():
            if name in card:
                counts = {key: item[key] for key in ("seen", "agree", "differ", "no_evidence")}
                assert card[name]["recorded"][reading] == counts, name
    observed = {name for name, entry in card.items() if entry["evidence"] == "recorded"}
    assert ORDER in observed and NEVER not in observed and len(observed) > 15


def test_two_recordings_are_added_up(session: Path, fidelity: Fidelity) -> None:
    once, twice = fidelity(session), fidelity(session, session)
    assert len(twice["recordings"]) == 2
    item, two = (card["operations"][ORDER]["recorded"]["documented"] for card in (once, twice))
    assert two == {name: 2 * count for name, count in item.items()} and item["seen"] > 0
    assert once["operations"][ORDER]["fields"] == twice["operations"][ORDER]["fields"]


def test_fields_that_no_answer_shows_are_named(
    session: Path, spoil: Callable[[Callable[[list[Line]], None]], Path], fidelity: Fidelity
) -> None:
    def without_price(result: list[Line]) -> None:
        put(called(result, "/v1/order/", 200), "answer.body.order.avgPx", ABSENT)

    fields = fidelity(session)["operations"][ORDER]["fields"]
    less = fidelity(spoil(without_price))["operations"][ORDER]["fields"]
    assert less["contract"] == fields["contract"] > fields["seen"] == less["seen"] + 1
    assert {*less["not_seen"]} - {*fields["not_seen"]} == {"Order.avgPx"}


def test_a_difference_stands_on_the_page_with_its_number_in_each_reading(
    spoil: Callable[[Callable[[list[Line]], None]], Path], tmp_path: Path
) -> None:
    def misspell(result: list[Line]) -> None:
        for market in called(result, "/v1/markets", 200)["answer"]["body"]["markets"]:
            market["marketType"] = "futures"

    page = tmp_path / "page.html"
    assert main(["fidelity", str(spoil(misspell)), "--out", str(page)]) == 0
    where = "answer.body.markets[].marketType"
    named = {"operation": "GatewayMarketsAPI.ListMarkets", "where": where}
    row = next(row for row in Page(page.read_text()).rows if named.items() <= row.items())
    assert (row["what"], row["documented"], row["observed"]) == ("date, specification", "3", "0")


# ---- the page


@pytest.fixture(scope="module")
def page(session: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The page of the session."""
    path = tmp_path_factory.mktemp("page") / "fidelity.html"
    assert main(["fidelity", str(session), "--out", str(path)]) == 0
    return path


def test_the_page_is_one_file_that_fetches_nothing(page: Path) -> None:
    result = Page(page.read_text())
    assert result.fetched == [] and result.links
    assert {link.removeprefix("#") for link in result.links} <= result.anchors


def test_a_row_says_what_is_specified_seen_and_agreed(page: Path) -> None:
    result = Page(page.read_text())
    order = result.row("ListPositions")
    assert "positions.cash_value, live 2026-08-09" in order["evidence"]
    assert re.search(r"\d+ recorded \(200\), \d+ of \d+ fields", order["evidence"])
    assert all("agrees in" in order[reading] for reading in READINGS)
    never = result.row("CreateParticipantAPIToken")
    assert [*never.values()][1:] == ["no statement", "no evidence", "unknown", "unknown"]


def test_markdown_has_the_same_rows(page: Path, session: Path, tmp_path: Path) -> None:
    path = tmp_path / "fidelity.md"
    assert main(["fidelity", str(session), "--out", str(path)]) == 0
    rows = [line for line in path.read_text().splitlines() if line.startswith("| ")]
    assert len(rows) == sum(1 for row in Page(page.read_text()).rows)


def test_a_sandbox_on_this_machine_is_no_evidence_of_the_service(
    session: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for address, local in (("http://127.0.0.1:18082", True), ("https://api.example", False)):
        header, *rows = lines(session)
        header["upstream"] = {"exchange": address}
        file = write(tmp_path / "one.ndjson", [header, *rows])
        assert main(["fidelity", str(file), "--out", str(tmp_path / "page.md")]) == 0
        assert ("not evidence of the service" in capsys.readouterr().out) is local
        reported = "nothing here is evidence" in (tmp_path / "page.md").read_text()
        assert reported is local


def test_verdicts_of_infer_stand_beside_our_values(
    session: Path, tmp_path: Path, fidelity: Fidelity
) -> None:
    inferred = tmp_path / "inferred.json"
    verdicts = {
        "windows.tie": {"verdict": "refuted", "consistent": ["down"], "evidence": [3, 9]},
        "orders.parent": {"verdict": "undecided", "consistent": ["none", "list"], "evidence": []},
    }
    inferred.write_text(json.dumps({"assumptions": verdicts, "quirks": {}}))
    path = tmp_path / "page.html"
    card = fidelity(session, "--inferred", inferred, "--out", path)["assumptions"]
    assert card["windows.tie"]["evidence"] == "recorded"
    assert card["orders.parent"]["evidence"] is None
    evidence = Page(path.read_text()).row("windows.tie")["evidence"]
    assert evidence == "refuted by the recording (2 calls; fits down)"


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ("SESSION --out page.pdf", "must end in .md or .html"),
        ("--scenario quickstart", "name a FILE"),
        ("SESSION --seed 3", "--scenario"),
        ("SESSION --inferred SESSION", "sim infer"),
        ("pyproject.toml", "this is not a recording"),
        ("SESSION --scenario nope", "nope"),
    ],
)
def test_mistakes_are_told(
    session: Path, arguments: str, text: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["fidelity", *arguments.replace("SESSION", str(session)).split()]) == 2
    assert text in capsys.readouterr().err


sys.path.append(str(Path(__file__).parents[1] / "server"))
from chromium import COMMAND, chromium  # noqa: E402


@pytest.mark.long
@pytest.mark.skipif(not COMMAND, reason="no Chromium on this machine")
@pytest.mark.parametrize("width", [390, 1200])
async def test_the_page_needs_no_sideways_scrolling(page: Path, tmp_path: Path, width: int) -> None:
    async with chromium(tmp_path, "page.example") as browser:
        tab = await browser.page()
        screen = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": False}
        await browser.call("Emulation.setDeviceMetricsOverride", tab.session, **screen)
        await tab.go(page.as_uri())
        assert await tab.run("return document.documentElement.scrollWidth") <= width
        cells = "return [...document.querySelectorAll('td')].filter(e => e.innerText).length"
        assert await tab.run(cells) > 500
