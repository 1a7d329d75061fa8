"""What a rule is, what it finds, and the report of all of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree

from msgspec import Struct

from sim.kernel.instants import Instant, format_instant

if TYPE_CHECKING:
    from sim.analysis.conformance.recorded_run import Run


class Finding(Struct, frozen=True, kw_only=True):
    """An occasion on which a rule could have been broken. `broken` says how it was; "" when it was
    kept. `seq` is the journal position it is about.
    """

    seq: int
    at: Instant
    caller: str
    what: str
    broken: str = ""
    because_of: int = 0

    def shown(self) -> dict[str, Any]:
        """As JSON. `because_of` is the input that made it an occasion: the 429, the 5xx, the end of
        a stream.
        """
        return {
            "seq": self.seq,
            "request_id": f"{self.seq:016x}",
            "at": format_instant(self.at),
            "caller": self.caller,
            "what": self.what,
            "broken": self.broken,
            "because_of": self.because_of or None,
        }


class Rule(Struct, frozen=True):
    """A documented rule for clients. `advice` fails nobody by itself: it is reported, and not
    counted.
    """

    name: str
    section: str
    says: str
    look: Callable[[Run], Iterable[Finding]]
    advice: bool = False


class Verdict(Struct, frozen=True):
    """A rule with its occasions."""

    rule: Rule
    occasions: list[Finding]

    @property
    def broken(self) -> list[Finding]:
        """Occasions on which the rule was broken."""
        return [found for found in self.occasions if found.broken]

    @property
    def word(self) -> str:
        """kept, broken, advice (broken, but only advice), or "no occasion"."""
        if self.broken:
            return "advice" if self.rule.advice else "broken"
        return "kept" if self.occasions else "no occasion"


class Report(Struct, frozen=True, kw_only=True):
    """The judgement of one run."""

    scenario: str
    seed: int
    digest: str
    calls: int
    verdicts: list[Verdict]

    @property
    def ok(self) -> bool:
        """Whether no rule but advice was broken."""
        return not any(verdict.word == "broken" for verdict in self.verdicts)

    def broken(self) -> list[str]:
        """Names of the rules that were broken, advice too."""
        return [verdict.rule.name for verdict in self.verdicts if verdict.broken]

    def shown(self) -> dict[str, Any]:
        """As JSON."""
        return {
            "ok": self.ok,
            "scenario": self.scenario,
            "seed": self.seed,
            "digest": self.digest,
            "calls": self.calls,
            "rules": [
                {
                    "rule": verdict.rule.name,
                    "section": f"§{verdict.rule.section}",
                    "says": verdict.rule.says,
                    "verdict": verdict.word,
                    "occasions": len(verdict.occasions),
                    "findings": [found.shown() for found in verdict.broken],
                }
                for verdict in self.verdicts
            ],
        }

    def lines(self) -> Iterator[str]:
        """As text: a line for each rule, and below it what broke it."""
        count = sum(1 for verdict in self.verdicts if verdict.word == "broken")
        yield f"{self.scenario}, seed {self.seed}: {self.calls} calls; " + (
            f"{count} rules broken" if count else "no rule broken"
        )
        for verdict in self.verdicts:
            yield (
                f"  {verdict.word:<11} {verdict.rule.name:<28} §{verdict.rule.section:<5}"
                f" {len(verdict.occasions):>4}  {verdict.rule.says}"
            )
            for found in verdict.broken:
                about = f", after input {found.because_of}" if found.because_of else ""
                yield (
                    f"      #{found.seq} {format_instant(found.at)} {found.caller}: {found.what}:"
                    f" {found.broken}{about}"
                )

    def junit(self) -> bytes:
        """JUnit XML: a case for each rule; one without an occasion is skipped."""
        words = [verdict.word for verdict in self.verdicts]
        suite = ElementTree.Element(
            "testsuite",
            name=f"client of {self.scenario} seed {self.seed}",
            tests=str(len(words)),
            failures=str(words.count("broken")),
            skipped=str(words.count("no occasion")),
            errors="0",
        )
        for verdict in self.verdicts:
            case = ElementTree.SubElement(
                suite,
                "testcase",
                classname=f"§{verdict.rule.section}",
                name=verdict.rule.name,
                time="0",
            )
            text = "\n".join(
                f"#{found.seq} {format_instant(found.at)} {found.caller}: {found.what}:"
                f" {found.broken}"
                for found in verdict.broken
            )
            if verdict.word == "broken":
                ElementTree.SubElement(case, "failure", message=verdict.rule.says).text = text
            elif verdict.word == "no occasion":
                ElementTree.SubElement(
                    case, "skipped", message="no occasion on which it could have been broken"
                )
            elif text:
                ElementTree.SubElement(case, "system-out").text = text
        root = ElementTree.Element("testsuites")
        root.append(suite)
        ElementTree.indent(root)
        return bytes(ElementTree.tostring(root, encoding="utf-8", xml_declaration=True))
