"""Names that contain a date: slugs and titles of events, series and seasons.

The rows of `fixtures/world` are written for one week. A world that begins in another week has the
same games and markets moved by whole weeks, and their names must move with them. Names in rows have
placeholders in braces for the parts of a date.
"""

from __future__ import annotations

from datetime import date

from sim.kernel.instants import Instant, Span, eastern_date, parse_instant

# the instant for which the rows of fixtures/world are written
WRITTEN_FOR: Instant = parse_instant("2026-09-08T14:00:00-04:00")
_SEASON_BEGINS = 7  # the month in which a season begins
_MONTHS = (
    *("January", "February", "March", "April", "May", "June", "July", "August", "September"),
    *("October", "November", "December"),
)


def dated(text: str, day: date) -> str:
    """Return a name with the parts of a date: {day}, {month}, {Month}, {year}, and the season in
    which the date lies, {season} and {season_ends} ("2026", "27").
    """
    month = _MONTHS[day.month - 1]
    season = day.year if day.month >= _SEASON_BEGINS else day.year - 1
    return text.format(
        day=day.day,
        month=month.lower(),
        Month=month,
        year=day.year,
        season=season,
        season_ends=f"{(season + 1) % 100:02}",
    )


def begins(shift: Span) -> date:
    """Return the first day of a world whose rows are shifted."""
    return eastern_date(WRITTEN_FOR + shift)
