"""Known advisories against what this project installs: check, and renew.

`check` compares two things with `.ci/advisories.json`: the versions that `requirements.lock` pins,
and the ranges that `pyproject.toml` admits, which is what somebody gets who installs the package
without the lock. Exit code 1 when an advisory affects either. It needs no network, so the same
commit gives the same verdict; `renew` asks https://osv.dev and writes the file with today's date.

    python .ci/advisories.py check [--lock FILE] [--project FILE] [--advisories FILE]
    python .ci/advisories.py renew
"""

from __future__ import annotations

import argparse
import json
import re
import sys
import tomllib
import urllib.error
import urllib.request
from collections.abc import Iterator
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name
from packaging.version import InvalidVersion, Version

ROOT = Path(__file__).parent.parent
OSV = "https://api.osv.dev/v1/query"
SINCE = "2023"  # older advisories are about releases that nothing here admits
STALE_AFTER = 90  # days
_PIN = re.compile(r"^([A-Za-z0-9_.-]+)==([^ ;\\]+)", re.MULTILINE)
_HASHED = re.compile(r"^[A-Za-z0-9_.-]+==[^\n]*\\\n    --hash=sha256:", re.MULTILINE)

Advisory = dict[str, str]


def pins(lock: str) -> list[tuple[str, Version]]:
    """The packages that a lock pins; one name may have several versions, by its markers."""
    return [(canonicalize_name(name), Version(version)) for name, version in _PIN.findall(lock)]


def requirements(project: dict[str, Any]) -> list[Requirement]:
    """Everything that a project asks for, extras included."""
    extras = project["project"].get("optional-dependencies", {}).values()
    lists = [project["project"]["dependencies"], *extras, project["build-system"]["requires"]]
    return [Requirement(line) for lines in lists for line in lines]


def overlaps(one: SpecifierSet, other: SpecifierSet) -> bool:
    """Whether a version can satisfy both: then the highest of their lower edges does."""
    edges = [
        Version("0"),
        *(Version(each.version) for each in (*one, *other) if "*" not in str(each)),
    ]
    return any(
        one.contains(edge, prereleases=True) and other.contains(edge, prereleases=True)
        for edge in edges
    )


def problems(lock: str, project: dict[str, Any], advisories: list[Advisory]) -> Iterator[str]:
    """What is affected, a line each, and pins without a hash."""
    if len(_HASHED.findall(lock)) != len(_PIN.findall(lock)):
        yield "requirements.lock: every package needs its hashes; make lock"
    affecting: dict[str, list[Advisory]] = {}
    for advisory in advisories:
        affecting.setdefault(canonicalize_name(advisory["package"]), []).append(advisory)
    for name, version in pins(lock):
        for advisory in affecting.get(name, ()):
            if SpecifierSet(advisory["affected"]).contains(version, prereleases=True):
                yield f"requirements.lock pins {name} {version}: {told(advisory)}"
    for asked in requirements(project):
        for advisory in affecting.get(canonicalize_name(asked.name), ()):
            if overlaps(asked.specifier, SpecifierSet(advisory["affected"])):
                yield f"pyproject.toml admits {asked}: {told(advisory)}"


def told(advisory: Advisory) -> str:
    """An advisory in one line."""
    return f"{advisory['id']} affects {advisory['affected']} ({advisory['source']})"


def check(args: argparse.Namespace) -> int:
    known = json.loads(args.advisories.read_text("utf-8"))
    found = list(
        problems(
            args.lock.read_text("utf-8"),
            tomllib.loads(args.project.read_text("utf-8")),
            known["advisories"],
        )
    )
    print(*found, sep="\n", end="\n" if found else "")
    age = (datetime.now(UTC).date() - date.fromisoformat(known["as_of"])).days
    if age > STALE_AFTER:
        print(f"the advisories are {age} days old: make audit", file=sys.stderr)
    count = len(known["advisories"])
    print(f"{len(found)} problems, {count} advisories as of {known['as_of']}")
    return 1 if found else 0


# ---- renew


def ask(package: str) -> list[dict[str, Any]]:
    """Everything that OSV knows about a package."""
    body = json.dumps({"package": {"name": package, "ecosystem": "PyPI"}}).encode()
    request = urllib.request.Request(OSV, body, {"Content-Type": "application/json"})
    with urllib.request.urlopen(request, timeout=20) as answer:
        found: list[dict[str, Any]] = json.load(answer).get("vulns", [])
    return found


def ranges(package: str, vulnerability: dict[str, Any]) -> Iterator[str]:
    """The affected ranges of a package as version specifiers."""
    for affected in vulnerability.get("affected", ()):
        if canonicalize_name(affected.get("package", {}).get("name", "")) != package:
            continue
        for each in affected.get("ranges", ()):
            low = ""
            for event in each.get("events", ()) if each.get("type") == "ECOSYSTEM" else ():
                if "introduced" in event:
                    low = "" if event["introduced"] == "0" else f">={event['introduced']},"
                elif "fixed" in event:
                    yield f"{low}<{event['fixed']}"
                elif "last_affected" in event:
                    yield f"{low}<={event['last_affected']}"


def advisories_of(package: str) -> Iterator[Advisory]:
    """The advisories of a package in the form of the file, one for each range."""
    for vulnerability in ask(package):
        if vulnerability.get("withdrawn") or vulnerability.get("published", "") < SINCE:
            continue
        names = [vulnerability["id"], *vulnerability.get("aliases", ())]
        name = min(names, key=lambda one: not one.startswith("CVE-"))
        for affected in dict.fromkeys(ranges(package, vulnerability)):
            try:
                SpecifierSet(affected)
            except (ValueError, InvalidVersion):
                continue
            yield {
                "package": package,
                "affected": affected,
                "id": name,
                "source": f"https://osv.dev/vulnerability/{vulnerability['id']}",
                "date": vulnerability.get("published", "")[:10],
            }


def renew(args: argparse.Namespace) -> int:
    project = tomllib.loads(args.project.read_text("utf-8"))
    names = {name for name, _ in pins(args.lock.read_text("utf-8"))}
    names |= {str(canonicalize_name(asked.name)) for asked in requirements(project)}
    try:
        found = [each for name in sorted(names) for each in advisories_of(name)]
    except (OSError, ValueError, urllib.error.URLError) as error:
        as_of = json.loads(args.advisories.read_text("utf-8"))["as_of"]
        print(f"cannot ask {OSV}: {error}", file=sys.stderr)
        print(f"nothing was changed; the advisories are those of {as_of}", file=sys.stderr)
        return 2
    document = {"as_of": datetime.now(UTC).date().isoformat(), "source": OSV, "advisories": found}
    args.advisories.write_text(json.dumps(document, indent=1) + "\n", "utf-8")
    print(f"{args.advisories.name}: {len(found)} ranges of {len(names)} packages")
    return check(args)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, allow_abbrev=False)
    parser.add_argument("what", choices=("check", "renew"))
    parser.add_argument("--lock", type=Path, default=ROOT / "requirements.lock")
    parser.add_argument("--project", type=Path, default=ROOT / "pyproject.toml")
    parser.add_argument("--advisories", type=Path, default=ROOT / ".ci" / "advisories.json")
    args = parser.parse_args()
    return check(args) if args.what == "check" else renew(args)


if __name__ == "__main__":
    sys.exit(main())
