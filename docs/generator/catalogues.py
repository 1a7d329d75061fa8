"""Blocks of the catalogues: operations, quirks, assumptions, observations, rules, limits, triggers,
dates.
"""

from __future__ import annotations

from collections.abc import Callable

from generator.test_index import listed
from sim.contract.contract import load_contract
from sim.core.identity import kyc_outcomes
from sim.core.service.rate_limits import LIMITS, PLANE_LIMITS
from sim.evidence.scorecard.scorecard_page import anchor
from sim.oracle.doubts import DOUBTS
from sim.read import dates, spec_coverage
from sim.read.catalogues import rows
from sim.read.conformance import rulebook
from sim.read.tables import as_markdown


def operations() -> str:
    """Every operation of the contract."""
    table = [
        {
            "operation": f"`{row['operation']}`",
            "planes": ", ".join(
                [*filter(None, [row["planes"]]), *(["gRPC"] if row["grpc"] else [])]
            ),
            "REST": f"`{row['rest'].split(', ')[0]}`" if row["rest"] else "",
            "scope": row["scope"],
            "a request needs": row["needs"],
        }
        for row in rows("operations")
    ]
    missing = [row["operation"] for row in rows("operations") if not row["served"]]
    served = f"All {len(table)} operations are served." if not missing else "Not served: "
    return f"{served}{', '.join(missing)}\n\n{as_markdown(table)}"


def assumptions() -> str:
    """Every assumption: its name and default, then what it accepts, why, and from where."""
    return as_markdown(
        [
            {
                "assumption": f'<a id="{anchor(row["assumption"])}"></a>`{row["assumption"]}`',
                "default": f"`{_plain(row['default'])}`",
                "meaning": f"{row['reason'].rstrip('.')}. *Accepts* {row['accepts']}."
                f" *Source:* {row['source']}.",
            }
            for row in rows("assumptions")
        ]
    )


def observations() -> str:
    """Every observation: what was seen, where and when, and how the exchange is made to do so."""
    tests = spec_coverage.load("observed")[1]
    return as_markdown(
        [
            {
                "observation": f'<a id="{anchor(row["observation"])}"></a>`{row["observation"]}`',
                "what was seen": row["summary"],
                "evidence": f"{row['evidence']}, {row['date']}: {row['source']}",
                "the specification": row["overrides"],
                "followed in reading": f"{row['reading']}<br>`{row['switch']}`"
                if row["switch"]
                else row["reading"],
                "tests": listed(tests.get(row["observation"], [])) or "none",
            }
            for row in rows("observations")
        ]
    )


def quirks() -> str:
    """Every quirk."""
    return as_markdown(
        [
            {
                "quirk": f'<a id="{anchor(row["quirk"])}"></a>`{row["quirk"]}`',
                **{name: row[name] for name in ("section", "default", "summary")},
            }
            for row in rows("quirks")
        ]
    )


def _plain(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def catalogue(kind: str, *columns: str) -> Callable[[], str]:
    """Some columns of a catalogue; the first one is a name in code type."""

    def make() -> str:
        return as_markdown(
            [
                {name: f"`{row[name]}`" if name == columns[0] else row[name] for name in columns}
                for row in rows(kind)
            ]
        )

    return make


def conformance_rules() -> str:
    """Every rule that `sim conformance` checks."""
    return as_markdown(
        [
            {
                "rule": f"`{rule.name}`",
                "section": f"§{rule.section}",
                "what a client must do": rule.requirement + (" (advice)" if rule.advice else ""),
                "applies to": rule.applies_to,
            }
            for rule in rulebook().values()
        ]
    )


def limits() -> str:
    """Every rate limit with its name."""
    planes = {name: plane for plane, name in PLANE_LIMITS.items()}
    return as_markdown(
        [
            {
                "name": f"`{limit.name}`",
                "calls": f"{limit.count} in {_seconds(limit.period)}",
                "counts": f"every call on {planes[limit.name]}"
                if limit.name in planes
                else _operations_under(limit.name),
                "on by default": not limit.extra,
                "source": limit.source,
            }
            for limit in LIMITS.values()
        ]
    )


def _operations_under(limit: str) -> str:
    names = [row.rpc for row in load_contract().operations if limit in row.limits]
    return ", ".join(f"`{name}`" for name in dict.fromkeys(names))


def _seconds(span: int) -> str:
    seconds = span // 1_000_000_000
    return "a minute" if seconds == 60 else "a second" if seconds == 1 else f"{seconds} seconds"


def kyc_triggers() -> str:
    """Which personal data lead to which stage at once, and to which after a document."""
    names = {"date_of_birth": "date of birth", "email": "e-mail", "name": "name"}
    table = [
        (
            f"{names[trigger.field]} `{trigger.value}`",
            trigger.documents,
            trigger.first,
            trigger.after_document,
        )
        for trigger in kyc_outcomes.TRIGGERS
    ]
    provisioning = kyc_outcomes.Stage.PROVISIONING
    return as_markdown(
        [
            {
                "trigger": trigger,
                "only with `docv_eligible`": "yes" if documents else "",
                "first": _stage(first),
                "after a document": _stage(then) if first is kyc_outcomes.Stage.DOCUMENT else "",
            }
            for trigger, documents, first, then in [
                *table,
                ("everybody else", False, provisioning, provisioning),
            ]
        ]
    )


def _stage(stage: kyc_outcomes.Stage) -> str:
    decision, status, sub_status = kyc_outcomes.STAGES[stage]
    return f"{stage.value} ({decision}, {status}, {sub_status})"


def rule_dates() -> str:
    """Every rule of the exchange that changes on a date."""
    return as_markdown(
        [
            {
                "rule": f"`{row['name']}`",
                "from": row["from"],
                "before": row["before"],
                "after": row["after"],
                "what changes": f"{row['summary']} ({row['section']})",
            }
            for row in dates.rows()
            if row["kind"] == "rule"
        ]
    )


def interface_dates() -> str:
    """Every operation and field of the contract that appears or disappears on a date."""
    return as_markdown(
        [
            {
                "what": f"{row['kind']} `{row['name']}`",
                "from": row["from"],
                "before": row["before"],
                "after": row["after"],
            }
            for row in dates.rows()
            if row["kind"] in ("operation", "field")
        ]
    )


def doubts() -> str:
    """Why the law may leave an input undecided."""
    return as_markdown([{"kind": kind, "reason": reason} for kind, reason in DOUBTS.items()])
