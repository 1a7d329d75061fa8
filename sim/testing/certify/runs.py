"""Runs a client's command once for each leg of a profile, and judges the results."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path
from time import monotonic

from msgspec import json
from msgspec.structs import replace

from sim.read.errors import UsageError
from sim.read.progress import Progress
from sim.testing.certify.bundle import write_bundle
from sim.testing.certify.judge import CertificationReport, LegResult, judge, leg_of_journal
from sim.testing.certify.profile import Profile, ProfileLeg
from sim.testing.certify.report import badge, junit_of, page
from sim.testing.client_command import run_client

REPORT_FILES = ("report.json", "junit.xml", "index.html", "badge.svg", "bundle.zip")


def certify(
    profile: Profile, command: Sequence[str], folder: Path, *, clock: str, minutes: float
) -> CertificationReport:
    """Run the command once for each leg, and write the report and its bundle into a folder.

    After `minutes` no further leg begins, and the one that runs is stopped. After an interrupt the
    report rests on the legs that are done.
    """
    ends = monotonic() + minutes * 60
    results: list[LegResult] = []
    messages: dict[str, dict[str, str]] = {}
    for name in REPORT_FILES:
        (folder / name).unlink(missing_ok=True)
    shutil.rmtree(folder / "legs", ignore_errors=True)
    with Progress(len(profile.legs), "legs", quiet_below=2) as progress:
        for leg in profile.legs:
            left_s = ends - monotonic()
            if left_s <= 0:
                break
            result, messages[leg.id] = _run(leg, command, folder / "legs" / leg.id, clock, left_s)
            results.append(result)
            progress.step(leg.id)
    if not results:
        raise UsageError("no leg ran, so there is no verdict on the client")
    report = replace(judge(profile, results), messages=messages)
    write_files(report, folder)
    return report


def _run(
    leg: ProfileLeg, command: Sequence[str], folder: Path, clock: str, limit_s: float
) -> tuple[LegResult, dict[str, str]]:
    """Return the result of a leg, and the messages of its failed tests."""
    environment = {"SIM_CERTIFY_LEG": leg.id}
    run = run_client(
        command, leg.load(), folder, clock=clock, limit_s=limit_s, environment=environment
    )
    return leg_of_journal(leg, folder / "journal.ndjson", run), run.cases.failing


def write_files(report: CertificationReport, folder: Path) -> None:
    """Write the report in every form, and the bundle."""
    document = json.format(json.encode(report.document()), indent=1)
    (folder / "report.json").write_bytes(document + b"\n")
    (folder / "junit.xml").write_bytes(junit_of(report))
    (folder / "index.html").write_text(page(report), encoding="utf-8")
    (folder / "badge.svg").write_text(badge(report), encoding="utf-8")
    write_bundle(report, folder)
