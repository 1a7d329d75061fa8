"""A journal as people read it: virtual time, who did what, what came back, and what it set off."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple, TextIO

from msgspec import DecodeError, json

from sim.kernel.instants import EASTERN, Instant, format_span, to_datetime
from sim.kernel.journal import NotAJournal, read_journal, read_line, unreadable

MARK = {True: "✓", False: "✗"}


class Row(NamedTuple):
    """One line of a timeline: `good` is None where nothing was asked, `details` are what an action
    set off.
    """

    at: Instant
    who: str
    what: str
    result: str
    good: bool | None
    details: tuple[str, ...] = ()


def rows(lines: Iterator[bytes]) -> Iterator[Row]:
    """Timeline rows of journal lines."""
    now = 0
    for raw in lines:
        line = read_line(raw)
        if line.mark:
            yield Row(
                now,
                "tester",
                line.mark,
                f"to input {line.argument}" if line.mark == "rewind" else line.argument,
                None,
            )
            continue
        now = line.at
        given, out = json.decode(line.input), json.decode(line.out)
        details = (
            *_details(out.get("events", ())),
            *(f"{name} is answered: {status}" for name, status, _ in out.get("resolved", ())),
        )
        match given["type"]:
            case "rest" | "rpc":
                yield _call(line.at, given, out, details)
            case "open":
                result = (
                    "refused: " + out.get("message", "")
                    if out.get("code") or out.get("status")
                    else f"stream {out.get('stream')}"
                )
                yield Row(
                    line.at,
                    _short(out.get("caller", "")),
                    f"opens {_method(given['method'])}",
                    result,
                    "stream" in out,
                    details,
                )
            case "frame":
                yield Row(line.at, f"stream {given['stream']}", "sends a frame", "", None, details)
            case "hangup":
                yield Row(line.at, f"stream {given['stream']}", "hangs up", "", None, details)
            case "advance":
                fired = out.get("fired", ())
                yield Row(
                    given["to"],
                    "clock",
                    f"+{format_span(given['to'] - line.at)}",
                    f"{len(fired)} due" if fired else "",
                    None,
                    details,
                )
            case "control":
                (what, refused) = (
                    f"{given['action']} {given.get('subject', '')} {given.get('arguments', '')}".strip(),
                    out.get("message", ""),
                )
                yield Row(
                    line.at,
                    "tester",
                    what,
                    f"refused: {refused}" if refused else "",
                    False if refused else None,
                    details,
                )
            case "answer_due":
                yield Row(
                    line.at,
                    "shell",
                    f"wants {given['awaits']}",
                    "the clock stood still",
                    None,
                    details,
                )
            case "answer":
                status = given.get("status", 0)
                yield Row(
                    line.at,
                    "receiver",
                    "answers the webhook",
                    str(status or given.get("error", "")),
                    200 <= status < 300,
                    details,
                )


def _call(at: Instant, given: dict[str, Any], out: dict[str, Any], details: tuple[str, ...]) -> Row:
    who = _short(out.get("caller", "")) or "anyone"
    if given["type"] == "rpc":
        code = out.get("code", 0)
        return Row(
            at,
            who,
            f"gRPC {_method(given['method'])}",
            f"{code} {out.get('message', '')}".strip() if code else "OK",
            not code,
            details,
        )
    status = out["status"]
    message = "" if status < 400 else " " + str((out.get("body") or {}).get("message", ""))
    return Row(
        at, who, f"{given['verb']} {given['path']}", f"{status}{message}", status < 400, details
    )


def _details(events: list[dict[str, Any]]) -> Iterator[str]:
    for event in events:
        match event.get("event"):
            case "Executed":
                execution = event["execution"]
                order = execution["order"]
                kind = (
                    "new",
                    "partial fill",
                    "fill",
                    "canceled",
                    "replaced",
                    "rejected",
                    "expired",
                    "done for day",
                )[execution.get("type", 0)]
                price = execution.get("last_px") or order["price"]
                qty = execution.get("last_qty") or order["qty"]
                side = "buy" if order["side"] == 1 else "sell"
                text = f" ({execution['text']})" if execution.get("text") else ""
                yield (
                    f"order {order['id']} {kind}: {side} {_scaled(qty, order['qty_scale'])}"
                    f" {order['symbol']} @ {_scaled(price, order['price_scale'])}{text}"
                )
            case "StateChanged":
                yield f"{event['symbol']}: {_state(event['was'])} → {_state(event['state'])}"
            case "InstrumentListed":
                yield f"{event['symbol']} is listed, {_state(event['state'])}"
            case "ShelfMoved":
                yield f"all else that was {_state(event['was'])}: → {_state(event['state'])}"
            case "Settled":
                yield f"{event['symbol']} settles: {event['text'] or event['price']}"
            case "CashMoved":
                change = event["after"] - event["before"]
                yield (
                    f"{_short(event['account'])}:"
                    f" {'+' if change >= 0 else '−'}${_scaled(abs(change), 10**8)}"
                    f" {event['description']}".rstrip()
                )
            case "KycDecided":
                yield (
                    f"verification of {event['external_id']}"
                    f" {'approved' if event['approved'] else 'rejected'}"
                )
            case "MaintenanceChanged":
                yield "maintenance begins" if event["active"] else "maintenance ends"


_STATES = (
    "CLOSED",
    "OPEN",
    "PREOPEN",
    "SUSPENDED",
    "EXPIRED",
    "TERMINATED",
    "HALTED",
    "MATCH_AND_CLOSE_AUCTION",
    "PENDING",
)


def _state(number: int) -> str:
    return _STATES[number]


def _scaled(value: int, scale: int) -> str:
    whole, rest = divmod(value, scale)
    return (
        str(whole)
        if not rest
        else f"{whole}.{str(rest).rjust(len(str(scale)) - 1, '0').rstrip('0')}"
    )


def _short(name: str) -> str:
    parts = name.split("/")
    return "/".join(parts[-2:]) if len(parts) == 4 else parts[-1]


def _method(path: str) -> str:
    return path.rpartition(".")[2] if "." in path else path


def write(found: Iterator[Row], out: TextIO) -> None:
    """Print rows as aligned columns; a date line wherever the Eastern day changes."""
    day = ""
    for row in found:
        moment = to_datetime(row.at, EASTERN)
        if f"{moment:%A %Y-%m-%d}" != day:
            day = f"{moment:%A %Y-%m-%d}"
            print(f"── {day}, Eastern Time", file=out)
        good = " " if row.good is None else MARK[row.good]
        print(
            f"{moment:%H:%M:%S}.{moment.microsecond // 1000:03d} {good} {row.who:<28.28}"
            f" {row.what:<52.52} {row.result}".rstrip(),
            file=out,
        )
        for detail in row.details:
            print(f"{'':15}└ {detail}", file=out)


def timeline(path: str, out: TextIO) -> int:
    """`sim timeline`: 0, or 2 when the file is no journal."""
    number = 1

    def counted() -> Iterator[bytes]:
        nonlocal number
        for number, raw in lines:  # noqa: B007  (whoever fails in between says which line it was)
            yield raw

    try:
        with Path(path).open("rb") as file:
            header, lines = read_journal(file)
            print(f"{header.name}, seed {header.seed}", file=out)
            write(rows(counted()), out)
    except (OSError, NotAJournal) as error:
        print(f"{path}:1:1: {unreadable(error)}", file=out)
        return 2
    except (DecodeError, LookupError, TypeError, ValueError, AttributeError) as error:
        # Whatever does not have the form of a record: this reads without a replay that would
        # notice.
        print(
            f"{path}:{number}:1: no journal record:"
            f" {error if isinstance(error, DecodeError) else repr(error)}",
            file=out,
        )
        return 2
    return 0
