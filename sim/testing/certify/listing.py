"""The requirements of a profile, as text and as JSON."""

from __future__ import annotations

from typing import Any, TextIO

from sim.read.layout import wrapped
from sim.testing.certify.profile import Profile


def listing(profile: Profile) -> dict[str, Any]:
    """The legs and items of a profile as JSON."""
    return {
        "profile": profile.id,
        "version": profile.version,
        "sha256": profile.digest,
        "says": profile.summary,
        "legs": [{"id": leg.id, "says": leg.summary} for leg in profile.legs],
        "items": [
            {"id": item.id, "section": item.section, "says": item.summary, "why": item.why}
            for item in profile.items
        ],
    }


def print_listing(profile: Profile, out: TextIO) -> None:
    """Print them."""
    print(*wrapped(f"{profile.name}: {profile.summary}", "  ", first=""), sep="\n", file=out)
    print("\nlegs:", file=out)
    for leg in profile.legs:
        print(*wrapped(f"{leg.id:<20}{leg.summary}", " " * 22, first="  "), sep="\n", file=out)
    print("\nitems:", file=out)
    for item in profile.items:
        line = f"{item.id:<28}{item.section:<6}{item.summary} {item.why}"
        print(*wrapped(line, " " * 36, first="  "), sep="\n", file=out)
