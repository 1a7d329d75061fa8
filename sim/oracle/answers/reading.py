"""What the rules of reads share: fields of requests, comparisons of answers, filters and pages."""

from __future__ import annotations

import re
from base64 import b64decode
from collections.abc import Callable
from fractions import Fraction
from operator import eq, ge, gt, le, lt, ne
from typing import Any, ClassVar

from msgspec import DecodeError, json

from sim.kernel.instants import Instant, parse_instant
from sim.oracle.answers.history import NaiveHistory
from sim.oracle.hearing import Hearing
from sim.oracle.state import Document

PAGE, PAGE_MAX = 100, 1000  # rows without a page size, and the most of any page (rule P24)
_COMPARISON = re.compile(r"\s*(\w+)\s*(!=|<>|<=|>=|=|<|>|IN\b)\s*(.+?)\s*", re.IGNORECASE)
_COMPARE = {"=": eq, "!=": ne, "<>": ne, "<=": le, ">=": ge, "<": lt, ">": gt}
_PREFIX = re.compile(r"(ORDER_STATE|ORDER_TYPE|SIDE|EXECUTION_TYPE|TRADE_STATE|[A-Z_]*ENTRY_TYPE)_")


def words(text: str) -> list[str]:
    """Return the words of a text."""
    return text.split()


def pairs(text: str) -> dict[str, str]:
    """Return names with what they stand for, from `answered:remembered ...`."""
    return dict(pair.split(":") for pair in text.split())


def snake(name: str) -> str:
    """Return the name of a column for the JSON name of a field."""
    return re.sub(r"([A-Z])", lambda match: f"_{match[1].lower()}", name)


def fields_of(request: Document) -> Document:
    """Return the fields that a request sets, by JSON names; it may use both spellings (rule R8)."""
    fields = {}
    for name, value in request.items():
        if value not in ("", [], None, 0) and not str(value).endswith(
            ("_UNDEFINED", "UNSPECIFIED")
        ):
            fields[re.sub(r"_([a-z])", lambda match: match[1].upper(), name)] = value
    return fields


def listed(value: Any) -> list[Any]:
    """Return the values of a parameter that may be repeated."""
    return value if isinstance(value, list) else [value] if value else []


def integer(value: Any) -> int:
    """Return an integer of a request; 0 if it is none."""
    return int(value) if re.fullmatch(r"-?\d+", str(value)) else 0


def instant(text: Any) -> Instant | None:
    """Return an instant of a request or an answer; None if it is none."""
    try:
        return parse_instant(str(text))
    except ValueError:
        return None


def bare(value: Any) -> str:
    """Return the member of an enumeration without its prefix (rules P19, R9)."""
    return _PREFIX.sub("", str(value), count=1)


def is_amount(answered: Any, exact: Fraction) -> bool:
    """Return whether a decimal is an amount: exact, or rounded to four digits or to an integer."""
    text = str(answered.get("value", "") if isinstance(answered, dict) else answered)
    if not re.fullmatch(r"-?[\d.]+(e-?\d+)?", text):
        return False
    digits, error = len(text.partition(".")[2]), abs(Fraction(text) - exact)
    return not error or (digits in (0, 4) and error <= Fraction(1, 2 * 10**digits))


Comparison = tuple[str, str, list[str]]


def comparisons(clause: object) -> list[Comparison] | None:
    """Return the comparisons of a where_clause; None if it has another form (rule R9)."""
    parts = re.split(r"\bAND\b", str(clause or ""), flags=re.IGNORECASE) if clause else []
    matches = [_COMPARISON.fullmatch(part) for part in parts]
    return None if None in matches else [_comparison(match) for match in matches if match]


def _comparison(match: re.Match[str]) -> Comparison:
    several = match[2].upper() == "IN"
    values = match[3].strip("()").split(",") if several else [match[3]]
    return match[1], match[2].upper(), [value.strip(" '\"") for value in values]


def holds(columns: Document, comparison: Comparison) -> bool:
    """Return whether a row passes a comparison: of numbers, instants or texts (rule R9)."""
    column, operator, texts = comparison
    number, time = column in ("price", "qty"), column.endswith("_time")
    parse: Callable[[Any], Any] = integer if number else instant if time else bare
    value, values = parse(columns[column]), [parse(text) for text in texts]
    return value in values if operator == "IN" else bool(_COMPARE[operator](value, values[0]))


def offset_of(token: Any) -> int | None:
    """Return the row at which a page begins; None of a token that is none (rule R7)."""
    text = str(token or "")
    try:
        decoded = b64decode(text + "=" * (-len(text) % 4), validate=True)
        return int(json.decode(decoded)["offset"]) if text else 0
    except (ValueError, DecodeError, KeyError, TypeError):
        return None


class Reading:
    """A part of the law about reads. `answers` names the method that judges an operation."""

    answers: ClassVar[dict[str, str]]

    def __init__(self, hearing: Hearing, history: NaiveHistory) -> None:
        self._hearing, self._history, self._exchange = hearing, history, hearing.exchange

    def judge(self, operation: str, answer: Document) -> None:
        """Judge a successful answer."""
        getattr(self, self.answers[operation])(answer)

    @property
    def _request(self) -> Document:
        return fields_of(self._hearing.observed.request)

    @property
    def _caller(self) -> str:
        return str(self._hearing.observed.out.get("caller", ""))

    @property
    def _newest_first(self) -> bool:
        return self._request.get("newestFirst") in (True, "true")

    def _agree(self, rule: str, subject: str, expected: object, observed: object) -> bool:
        """Return whether an answer is as expected, and disagree if it is not."""
        if isinstance(expected, Fraction):
            equal, expected = is_amount(observed, expected), float(expected)
        else:
            equal = expected == observed
        if not equal:
            sentence = f"{subject} is {str(observed)[:200]}, not {str(expected)[:200]}"
            self._hearing.disagree(rule, str(expected), str(observed), sentence)
        return equal

    def _compare(self, rule: str, subject: str, expected: Document, observed: Document) -> bool:
        """Disagree about the first field that an answer has otherwise. Dates remove fields."""
        common = [name for name in expected if name in observed]
        return all(
            self._agree(rule, f"{subject}: {name}", expected[name], observed[name])
            for name in common
        )

    def _unknown_filter(self) -> None:
        self._hearing.undecided("a filter that the law does not evaluate")

    def _in_window(self, at: Instant) -> bool:
        """Return whether an instant is in the window, both ends included (S4.3-5)."""
        start, end = (instant(self._request.get(name)) for name in ("startTime", "endTime"))
        return (start is None or at >= start) and (end is None or at <= end)

    def _page(self, rows: dict[str, bool], expected: list[str], *, newest_first: bool) -> None:
        """Judge which rows a page has, and what it says of the next one (rule R7).

        `rows` are the ids in the answer, and whether the row is from before the law began to
        listen. `expected` are those that the law knows, in order. Older ones come before them, or
        after them if the newest come first; the law does not know how many there are.
        """
        answer, subject = self._hearing.observed.answer, self._hearing.observed.operation
        offset = start = offset_of(self._request.get("pageToken")) or 0
        size = min(integer(self._request.get("pageSize")) or PAGE, PAGE_MAX)
        older = [id for id, is_older in rows.items() if is_older and id not in expected]
        recent = [id for id in rows if id not in older]
        if not newest_first and recent and recent[0] in expected:
            start = expected.index(recent[0])
        following = offset_of(answer.get("nextPageToken"))
        last = start + len(recent) >= len(expected)
        checks = {
            "the rows": (expected[start : start + len(recent)], recent),
            "the order": (recent + older if newest_first else older + recent, list(rows)),
            "the end": (True, last or bool(following and not (newest_first and older))),
            "the next page": (following and offset + size, following),
            "the length": (size if following else min(len(rows), size), len(rows)),
            "eof": (not following, answer.get("eof", not following)),
        }
        all(self._agree("R7", f"{subject}: {name}", *each) for name, each in checks.items())
