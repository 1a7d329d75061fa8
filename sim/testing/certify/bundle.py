"""The bundle: the evidence of a report, in one file that anyone can check.

`bundle.zip` holds `profile.yaml`, `report.json`, and for each leg `legs/<id>/scenario.json` and
`legs/<id>/journal.ndjson`. Journals hold no private key, secret or token. What the client's
command printed is left out, because it may contain secrets.
"""

from __future__ import annotations

import zipfile
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from msgspec import Struct, json

from sim.read.errors import UsageError
from sim.testing.certify.judge import CertificationReport, LegResult, judge, leg_of_journal
from sim.testing.certify.profile import Profile, profiles, read_profile
from sim.testing.client_command import Cases, ClientRun

_EPOCH = (1980, 1, 1, 0, 0, 0)  # a fixed date, so that the same files give the same bytes
_MOST_BYTES = 4 << 30
_NAMES = ("profile.yaml", "report.json")


def write_bundle(report: CertificationReport, folder: Path) -> Path:
    """Write `bundle.zip` into a folder that has the legs of a report."""
    path = folder / "bundle.zip"
    document = json.format(json.encode(report.document()), indent=1)
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as bundle:
        _add(bundle, "profile.yaml", profiles()[report.profile.name])
        _add(bundle, "report.json", document + b"\n")
        for leg in report.profile.legs:
            journal = folder / "legs" / leg.id / "journal.ndjson"
            if leg.id not in report.left_out and journal.is_file():
                _add(bundle, f"legs/{leg.id}/scenario.json", json.encode(leg.scenario))
                _add(bundle, f"legs/{leg.id}/journal.ndjson", journal.read_bytes())
    return path


def _add(bundle: zipfile.ZipFile, name: str, content: bytes) -> None:
    info = zipfile.ZipInfo(name, _EPOCH)
    info.compress_type = zipfile.ZIP_DEFLATED
    bundle.writestr(info, content)


class BundleCheck(Struct, frozen=True):
    """A bundle that was judged again: the report, and where it differs from the one inside."""

    report: CertificationReport
    differences: tuple[str, ...]


def check_bundle(path: Path) -> BundleCheck:
    """Replay every journal of a bundle and judge again.

    UsageError if it is not a bundle; Divergence if a journal does not replay.
    """
    try:
        with zipfile.ZipFile(path) as bundle, TemporaryDirectory() as folder:
            if sum(member.file_size for member in bundle.infolist()) > _MOST_BYTES:
                raise UsageError(f"{path} unpacks to more than {_MOST_BYTES >> 30} GiB")
            return _check(bundle, Path(folder))
    except (zipfile.BadZipFile, KeyError, ValueError) as error:
        if isinstance(error, UsageError):
            raise
        raise UsageError(f"{path} is not a bundle of `sim certify`: {error}") from None


def _check(bundle: zipfile.ZipFile, folder: Path) -> BundleCheck:
    profile = read_profile(bundle.read("profile.yaml"))
    document = json.decode(bundle.read("report.json"), type=dict[str, Any])
    recorded = {leg["leg"]: leg for leg in document["legs"]}
    results = []
    for leg in profile.legs:
        if leg.id in recorded:
            journal = folder / f"{leg.id}.ndjson"
            journal.write_bytes(bundle.read(f"legs/{leg.id}/journal.ndjson"))
            failing = dict.fromkeys(recorded[leg.id].get("failing", ()), False)
            run = ClientRun(recorded[leg.id]["code"], 0, cases=Cases(failing, {}))
            results.append(leg_of_journal(leg, journal, run))
    report = judge(profile, results)
    return BundleCheck(report, tuple(_differences(report, profile, document, results)))


def _differences(
    report: CertificationReport,
    profile: Profile,
    document: dict[str, Any],
    results: list[LegResult],
) -> list[str]:
    """Return the differences between the new verdicts and those of the bundle."""
    differences = []
    installed = profiles().get(profile.name)
    if installed is not None and read_profile(installed).digest != profile.digest:
        differences.append(f"its profile is not the {profile.name} of this installation")
    recorded = {leg["leg"]: leg for leg in document["legs"]}
    for result in results:
        was = recorded[result.leg]["digest"]
        if was != result.digest:
            differences.append(f"leg {result.leg}: digest {was[:12]} became {result.digest[:12]}")
    verdicts = {item["id"]: item["verdict"] for item in document["items"]}
    for verdict in report.verdicts:
        if verdicts.get(verdict.item.id) != verdict.verdict:
            differences.append(
                f"{verdict.item.id}: {verdicts.get(verdict.item.id)} became {verdict.verdict}"
            )
    return differences
