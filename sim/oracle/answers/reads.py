"""What reads answer: which part of the law judges a read, and which reads have to be refused."""

from __future__ import annotations

from collections.abc import Iterator

from sim.oracle.answers import price_history, reading
from sim.oracle.answers.books import DEPTH_MAX, BookRules
from sim.oracle.answers.catalogue import CatalogueRules
from sim.oracle.answers.history import NaiveHistory
from sim.oracle.answers.portfolios import SUPPRESSED, PortfolioRules
from sim.oracle.answers.price_history import PriceHistoryRules
from sim.oracle.answers.reading import PAGE_MAX, Reading, fields_of, integer, listed
from sim.oracle.answers.reports import ReportRules, is_narrow
from sim.oracle.answers.statistics import StatisticsRules
from sim.oracle.hearing import Hearing
from sim.oracle.state import Document
from sim.read.observed import ObservedInput

INVALID, TIMEOUT, NOT_FOUND, ABORTED, OUT_OF_RANGE = 3, 4, 5, 10, 11
# Refusals that other parts of the law judge: who may call, how often, and when.
_OF_ACCESS = (7, 8, 12, 13, 14, 16)
# Services whose reads other parts of the law judge.
_ELSEWHERE = ("KYCAPI", "TokenIssuerAPI", "HealthAPI", "GatewayHealthAPI")
_READS = ("Get", "List", "Search", "Download", "Check", "Preview")
_CASH, _POSITIONS = "FundingAPI.GetAccountBalanceLedger", "PositionAPI.GetPositionLedger"
_SEARCHES = ("ReportAPI.SearchOrders", "ReportAPI.SearchExecutions", "ReportAPI.SearchTrades")
_BOOKS = ("OrderBookAPI.GetOrderBook", "OrderBookAPI.GetBBO")
_RETAIL_BOOKS = ("RetailMarketDataAPI.GetBook", "RetailMarketDataAPI.GetBBO")
Reason = tuple[int, str, str]


class ReadRules:
    """The part of the law about it."""

    def __init__(self, hearing: Hearing, history: NaiveHistory) -> None:
        self._hearing, self._history = hearing, history
        self._books = BookRules(hearing, self._history)
        self._catalogue = CatalogueRules(hearing, self._history)
        kinds = (ReportRules, PortfolioRules, StatisticsRules, PriceHistoryRules)
        parts = [self._books, self._catalogue, *(kind(hearing, self._history) for kind in kinds)]
        self._parts: dict[str, Reading] = {name: part for part in parts for name in part.answers}

    def after_input(self, observed: ObservedInput) -> None:
        """Judge an input once all of its events are."""
        service, _, name = observed.operation.partition(".")
        is_call = observed.input["type"] in ("rest", "rpc")
        if not is_call or not name.startswith(_READS) or service in _ELSEWHERE:
            self._catalogue.pages.clear()
        elif any(event["event"] == "FaultStruck" for event in observed.events):
            self._hearing.undecided("an injected fault")
        elif observed.code or observed.status >= 400:
            self._refused(observed)
        else:
            self._answered(observed)

    def _answered(self, observed: ObservedInput) -> None:
        assumed, operation = self._hearing.exchange.assumed, observed.operation
        for code, rule, problem in self._reasons(operation, fields_of(observed.request)):
            sentence = f"{operation} is answered, although {problem}"
            self._hearing.disagree(rule, f"code {code}", "an answer", sentence)
            return
        for broken in observed.broken_relations:
            relation, left = broken.relation, f"{broken.path}: {float(broken.left)}"
            sentence = f"{operation} breaks {relation.formula} at {left}"
            self._hearing.disagree(relation.rule, str(float(broken.right)), left, sentence)
        if operation not in self._parts or observed.answer is None:
            self._hearing.undecided("a read that the law does not know")
        elif operation == _SEARCHES[1] and assumed("retention.wipe_dates") == "announced":
            self._hearing.undecided("an announced wipe")
        elif assumed("engine.latency"):
            self._hearing.undecided("orders that wait for the engine")
        elif assumed("retail.read_lag") and operation.startswith("Retail"):
            self._hearing.undecided("retail reads that lag")
        else:
            self._parts[operation].judge(operation, observed.answer)

    def _refused(self, observed: ObservedInput) -> None:
        """Judge a refusal: its code has a reason, or the law does not know."""
        operation, code = observed.operation, observed.code
        codes = {each[0] for each in self._reasons(operation, fields_of(observed.request))}
        code = NOT_FOUND if observed.status == 404 else code
        timeout = code == TIMEOUT and self._may_time_out(observed)
        if code in _OF_ACCESS or code in codes or timeout or observed.status in (405, 429, 501):
            return
        if operation in (*_BOOKS, *_RETAIL_BOOKS) and not codes:
            sentence = f"{operation} is refused with code {code} for no reason"
            self._hearing.disagree("S2.5-1", "a book", f"code {code}", sentence)
            return
        self._hearing.undecided("a refused read")

    def _may_time_out(self, observed: ObservedInput) -> bool:
        """Return whether a search may end at the edge: an unfiltered one, by a quirk (rule R6)."""
        trades = observed.operation == "ReportAPI.SearchTrades"
        quirk = "unfiltered_search_times_out" if trades else "unfiltered_reports_time_out"
        return self._hearing.quirk(quirk) and not is_narrow(fields_of(observed.request))

    # ---- reasons to refuse

    def _reasons(self, operation: str, request: Document) -> Iterator[Reason]:
        """Yield why a read has to be refused: code, rule, and the problem."""
        assumed = self._hearing.exchange.assumed
        if operation in _SEARCHES and assumed("report.page_size") == "required":
            if not integer(request.get("pageSize")):
                yield OUT_OF_RANGE, "R7", "it has no page size"
        if operation in (*_BOOKS, *_RETAIL_BOOKS):
            symbol = request.get("symbol") or request.get("slug")
            depth, clamps = integer(request.get("depth")), assumed("book.depth_above_maximum")
            written = str(request.get("depth") or 0)
            if not symbol:
                yield INVALID, "S7.1-1", "it names no symbol"
            elif not self._books.has_book(str(symbol)):
                yield NOT_FOUND, "S3.1-1", f"{symbol} has no book"
            if depth < 0 or depth >= 2**31 or str(depth) != written:
                yield INVALID, "S7.1-1", "its depth is no number"
            if depth < 0 or (depth > DEPTH_MAX and clamps == "refuse"):
                yield INVALID, "S4.3-1", "its depth is none"
        if operation in (_CASH, _POSITIONS):
            types = {reading.bare(each) for each in listed(request.get("entryTypes"))}
            if not request.get("account"):
                yield INVALID, "P24", "it names no account"
            if not 0 <= integer(request.get("pageSize")) <= PAGE_MAX:
                yield INVALID, "P24", "its page is too long"
            if operation == _CASH and types & SUPPRESSED:
                yield ABORTED, "P18", "its entry type is never answered"
            if len(str(request.get("description", ""))) > 200:
                yield INVALID, "P24", "its description is too long"
        if operation in (*_SEARCHES, _CASH, _POSITIONS):
            start, end = (reading.instant(request.get(name)) for name in ("startTime", "endTime"))
            reversed_ = start is not None and end is not None and end < start
            if reading.offset_of(request.get("pageToken")) is None:
                yield INVALID, "R7", "its page token is none"
            if integer(request.get("pageSize")) < 0:
                yield INVALID, "S7.1-1", "its page size is negative"
            if reversed_ and assumed("report.reversed_window") == "refuse":
                yield INVALID, "S7.1-1", "its window ends before it starts"
            if reading.comparisons(request.get("whereClause")) is None:
                yield INVALID, "R9", "its where_clause is none"
        prices = operation == "GatewayAssetPricesAPI.GetAssetPriceHistory"
        if prices and price_history.is_refused(request):
            yield INVALID, "S4.1-7", "its assets, its bucket or its start are none"
