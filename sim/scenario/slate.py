"""The default world's events and markets, spread out from the compact rows of `fixtures/world/slate.json`.

A game row names two teams, a start and sets of markets; this module knows what markets a set holds, how their symbols are spelled (product, league,
teams, date, outcome) and which terms they trade on. Terms follow from the symbol: two markets of one product and type may have other ticks and scales (§2.6).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple
from zlib import crc32

from msgspec import structs

from sim.core.collateral import EventOutcome
from sim.core.instruments import Instrument
from sim.core.outcomes import Settles
from sim.core.vocabulary import InstrumentState
from sim.kernel.instants import DAY, HOUR, Instant, Span, parse_instant
from sim.messages.gateway_v1 import Event, Team
from sim.scenario.listing import related_to
from sim.scenario.markets import Facts, Side, eastern_day, market_of, with_metadata
from sim.scenario.reference import Reference

# (price scale, tick, quantity scale, minimum): cent, half-cent and quarter-cent ticks, whole and fractional contracts.
TERMS = ((100, 1, 1, 1), (1000, 5, 100, 1), (10_000, 25, 100, 1), (100, 1, 100, 1), (1000, 5, 1, 1), (100, 1, 1000, 10), (400, 1, 1000, 1))
# From when one instrument has a team on each side (§2.10): the quarter-finals of 2026-07-05, and the night of 2026-07-03.
TWO_SIDED_SOCCER = parse_instant("2026-07-05T00:00:00-04:00")
TWO_SIDED_SETS = parse_instant("2026-07-03T20:00:00-04:00")
CENT_TERMS = ((100, 1, 1, 1), (100, 1, 100, 1))

# The first team of a symbol is the long side; which of the two comes first is a habit of the league (§2.6).
_HOME_FIRST = frozenset(("epl", "efl-cup", "lal", "sea", "bun", "ucl", "mls", "lib", "fwc", "atp", "wta", "lol", "cs2"))
_PLAYER_PROPS = ("points", "assists", "rebounds", "threes", "steals", "blocks", "double_double", "triple_double")
_PROP_LINES = {"points": "22.5", "assists": "6.5", "rebounds": "8.5", "threes": "2.5", "steals": "1.5", "blocks": "1.5"}


_OUTCOMES = {
    "drawable_outcome": EventOutcome.MUTUALLY_EXCLUSIVE,
    "soccer_game_first_half_first_team_to_score": EventOutcome.MUTUALLY_EXCLUSIVE,
    "soccer_game_second_half_first_team_to_score": EventOutcome.MUTUALLY_EXCLUSIVE,
    "totals": EventOutcome.DIRECTIONAL,
    "basketball_team_full_game_total": EventOutcome.DIRECTIONAL,
}


class Slot(NamedTuple):
    """One market to make. `tail` follows league, teams and date in its symbol; `cents` limits it to cent ticks; `pick` is what exactly it asks for."""

    product: str
    tail: str
    market_type: str
    sports_type: str
    question: str
    long: Side
    short: Side
    line: str | None = None
    cents: bool = False
    subject: str = ""
    pick: str = ""


class Game(NamedTuple):
    """A game of the slate, its teams in the order of the symbol."""

    row: dict[str, Any]
    first: Team
    second: Team

    def side_of(self, team: Team) -> str:
        """home or away."""
        return "home" if team.abbreviation == self.row["home"] else "away"

    @property
    def stem(self) -> str:
        """League, teams and date as symbols spell them."""
        day = eastern_day(parse_instant(self.row["start"]))
        return f"{self.row['league']}-{self.first.abbreviation.lower()}-{self.second.abbreviation.lower()}-{day}"


def _sides(game: Game) -> tuple[Side, Side]:
    return Side(game.first.name, game.first), Side(game.second.name, game.second)


def _yes_no() -> tuple[Side, Side]:
    return Side("Yes"), Side("No")


def _spelled(line: str) -> str:
    return line.replace(".", "pt")


def _lines(game: Game) -> Iterator[Slot]:
    long, short = _sides(game)
    spread, total = {"nfl": ("3.5", "44.5"), "mlb": ("1.5", "8.5"), "nhl": ("1.5", "6.5")}.get(game.row["league"], ("5.5", "218.5"))
    basketball = game.row["league"] in ("nba", "wnba")
    kinds = ("basketball_team_full_game_winner", "basketball_team_full_game_spread", "basketball_team_full_game_total")
    winner, spreads, totals = kinds if basketball else ("moneyline", "spreads", "totals")
    yield Slot("aec", "", "moneyline", winner, f"Will {long.name} beat {short.name}?", long, short)
    yield Slot("asc", f"-pos-{_spelled(spread)}", "spreads", spreads, f"Will {long.name} lose by fewer than {spread} or win?", long, short, spread)
    yield Slot("tsc", f"-{_spelled(total)}", "totals", totals, f"Will the game total exceed {total}?", Side("Over"), Side("Under"), total)


def _halves(game: Game) -> Iterator[Slot]:
    long, short = _sides(game)
    for half, name in (("first_half", "first half"), ("second_half", "second half")):
        mark = "1h" if half == "first_half" else "2h"
        kind = f"basketball_team_{half}"
        yield Slot("aec", f"-{mark}", "moneyline", f"{kind}_winner", f"Will {long.name} win the {name}?", long, short)
        yield Slot("asc", f"-{mark}-pos-2pt5", "spreads", f"{kind}_spread", f"Will {long.name} cover 2.5 in the {name}?", long, short, "2.5")
        yield Slot("tsc", f"-{mark}-108pt5", "totals", f"{kind}_total", f"Will the {name} total exceed 108.5?", Side("Over"), Side("Under"), "108.5")


def _props(game: Game, reference: Reference) -> Iterator[Slot]:
    teams = {f"{team.league}:{team.abbreviation}" for team in (game.first, game.second)}
    for subject in reference.subjects:
        if subject.description not in teams:
            continue
        for prop in _PLAYER_PROPS:
            line = _PROP_LINES.get(prop)
            words = prop.replace("_", "-")
            question = f"Will {subject.display_name} have {'more than ' + line + ' ' + prop if line else 'a ' + words}?"
            tail = f"-{subject.slug}-{words}" + (f"-{_spelled(line)}" if line else "")
            yield Slot("astatc", tail, "props", f"basketball_player_{prop}", question, *_yes_no(), line, subject=subject.display_name)


def _three_way(game: Game) -> Iterator[Slot]:
    for team in (game.first, game.second):
        name = team.abbreviation.lower()
        question, pick = f"Will {team.name} win in 90 minutes?", game.side_of(team)
        yield Slot("atc", f"-{name}", "drawable_outcome", "drawable_outcome", question, Side(team.name, team), Side("No"), pick=pick)
    question = "Will the match be drawn after 90 minutes?"
    yield Slot("atc", "-draw", "drawable_outcome", "drawable_outcome", question, Side("Draw"), Side("No"), pick="draw")


def _soccer_halves(game: Game) -> Iterator[Slot]:
    for half, name in (("first_half", "first half"), ("second_half", "second half")):
        mark = "1h" if half == "first_half" else "2h"
        yield Slot("astatc", f"-{mark}-btts", "props", f"soccer_game_{half}_btts", f"Will both teams score in the {name}?", *_yes_no(), cents=True)
        kind = f"soccer_game_{half}_first_team_to_score"
        for team in (game.first, game.second):
            question = f"Will {team.name} score first in the {name}?"
            tail, side = f"-{mark}-first-{team.abbreviation.lower()}", Side(team.name, team)
            yield Slot("astatc", tail, "props", kind, question, side, Side("No"), cents=True, pick=game.side_of(team))
        yield Slot("astatc", f"-{mark}-first-none", "props", kind, f"Will the {name} be goalless?", Side("None"), Side("No"), cents=True, pick="none")


def _two_sided(game: Game, product: str, tail: str, kind: str, asks: str, created: Instant, since: Instant) -> Iterator[Slot]:
    """One instrument with a team on each side; those created before `since` are one per team (§2.10). `asks` has a place for the team's name."""
    long, short = _sides(game)
    if created >= since:
        yield Slot(product, tail, "moneyline", kind, asks.format(long.name), long, short)
        return
    for team, side in ((game.first, long), (game.second, short)):
        mark = f"{tail}-{team.abbreviation.lower()}"
        yield Slot(product, mark, "moneyline", kind, asks.format(side.name), side, Side("No"), pick=game.side_of(team))


def _advance(game: Game, created: Instant) -> Iterator[Slot]:
    yield from _two_sided(game, "aadc", "", "soccer_game_to_advance", "Will {} advance?", created, TWO_SIDED_SOCCER)


def _tennis(game: Game, created: Instant) -> Iterator[Slot]:
    long, short = _sides(game)
    over, under = Side("Over"), Side("Under")
    yield Slot("aec", "", "moneyline", "tennis_match_winner", f"Will {long.name} beat {short.name}?", long, short)
    yield Slot("asc", "-games-3pt5", "spreads", "tennis_match_games_spread", f"Will {long.name} cover 3.5 games?", long, short, "3.5")
    yield Slot("asc", "-sets-1pt5", "spreads", "tennis_match_sets_spread", f"Will {long.name} cover 1.5 sets?", long, short, "1.5")
    yield Slot("tsc", "-games-22pt5", "totals", "tennis_match_total_games", "Will there be more than 22.5 games?", over, under, "22.5")
    yield Slot("tsc", "-sets-2pt5", "totals", "tennis_match_total_sets", "Will there be a third set?", over, under, "2.5")
    yield Slot("astatc", "-2-0", "props", "tennis_match_exact_score", f"Will {long.name} win 2-0?", *_yes_no(), pick="2-0")
    for number in (1, 2, 3):
        yield from _two_sided(game, "aec", f"-set-{number}", f"tennis_set_{number}_winner", f"Will {{}} win set {number}?", created, TWO_SIDED_SETS)


def _esports(game: Game, unit: str, created: Instant) -> Iterator[Slot]:
    long, short = _sides(game)
    yield Slot("aec", "", "moneyline", "esports_match_winner", f"Will {long.name} beat {short.name}?", long, short)
    for number in (1, 2, 3):
        kind = f"esports_{unit}_winner_{number}"
        yield from _two_sided(game, "aec", f"-{unit}-{number}", kind, f"Will {{}} win {unit} {number}?", created, TWO_SIDED_SETS)


def _winner(game: Game) -> Iterator[Slot]:
    long, short = _sides(game)
    kind = "ufc_fight_winner" if game.row["league"] == "ufc" else "table_tennis_match_winner"
    yield Slot("aec", "", "moneyline", kind, f"Will {long.name} beat {short.name}?", long, short)


def slots_of(game: Game, reference: Reference, created: Instant) -> Iterator[Slot]:
    """Every market of a game, in the shape of the day on which they are created."""
    sets = {
        "lines": lambda: _lines(game),
        "halves": lambda: _halves(game),
        "props": lambda: _props(game, reference),
        "three_way": lambda: _three_way(game),
        "soccer_halves": lambda: _soccer_halves(game),
        "advance": lambda: _advance(game, created),
        "tennis": lambda: _tennis(game, created),
        "esports_games": lambda: _esports(game, "game", created),
        "esports_maps": lambda: _esports(game, "map", created),
        "winner": lambda: _winner(game),
    }
    for name in game.row["sets"]:
        yield from sets[name]()


def game_of(row: dict[str, Any], reference: Reference) -> Game:
    """A row with its teams in the order of the symbol."""
    home, away = reference.team(row["league"], row["home"]), reference.team(row["league"], row["away"])
    return Game(row, *((home, away) if row["league"] in _HOME_FIRST else (away, home)))


def on_terms(instrument: Instrument, *, cents: bool = False) -> Instrument:
    """The instrument with its scales, tick, minimum and band, which follow from the spelling of its symbol alone."""
    choices = CENT_TERMS if cents else TERMS
    scale, tick, qty_scale, minimum = choices[crc32(instrument.symbol.encode()) % len(choices)]
    return structs.replace(instrument, price_scale=scale, tick=tick, qty_scale=qty_scale, min_qty=minimum, price_low=tick, price_high=scale - tick)


def mid_of(symbol: str) -> str:
    """A believable price of a symbol, between 0.20 and 0.80, in whole cents."""
    return f"0.{20 + crc32(symbol.encode()[::-1]) % 61:02d}"


def add_game(row: dict[str, Any], reference: Reference, now: Instant, shift: Span) -> list[Instrument]:
    """Add a game's event and markets to the reference data, `shift` later than the row says; its instruments. Symbols keep the row's date."""
    game = game_of(row, reference)
    start, created = parse_instant(row["start"]) + shift, parse_instant(row["created"]) + 12 * HOUR + shift
    event = _game_event(game, reference, start, created)
    reference.add_event(event)
    league = reference.league_by_slug[row["league"]]
    home, away = reference.team(row["league"], row["home"]), reference.team(row["league"], row["away"])
    state = InstrumentState[row["state"]] if "state" in row else None
    pending = state is InstrumentState.PENDING
    expiration = min(now, start + 6 * HOUR) if state in (InstrumentState.EXPIRED, InstrumentState.TERMINATED) else start + 6 * HOUR
    found = []
    for slot in slots_of(game, reference, created):
        symbol = f"{slot.product}-{game.stem}{slot.tail}"
        facts = Facts(
            question=slot.question,
            long=slot.long,
            short=slot.short,
            sports_market_type=slot.sports_type,
            line=slot.line,
            mid=mid_of(symbol),
            home=home,
            away=away,
            tournament=league.name,
            game_start=start,
            tags=tuple(event.tags),
            subject=reference.subject_by_name.get(slot.subject),
        )
        instrument = Instrument(
            symbol=symbol,
            description=slot.question,
            product_id=slot.product,
            created=created,
            start=start - 2 * DAY if pending else created,
            expiration=expiration,
            termination=expiration if state is InstrumentState.TERMINATED else expiration + 7 * DAY,
            opening_state=state,
            event=event.slug,
            fee_class=row.get("fee_class", "standard"),
            market_type=slot.market_type,
            category="sports",
            subcategory=row["league"],
            series=event.series_slug,
            settles=Settles(
                kind=slot.sports_type,
                long=slot.pick if slot.pick in ("home", "away") else game.side_of(game.first),
                line=slot.line or "",
                player=slot.subject,
                pick=slot.pick,
            ),
            related=related_to(event.slug, slot.sports_type, _OUTCOMES.get(slot.sports_type, EventOutcome.INDEPENDENT), slot.line),
        )
        instrument = with_metadata(on_terms(instrument, cents=slot.cents), facts, event)
        reference.add_market(market_of(reference.next_market_id(), instrument, facts, now), event)
        found.append(instrument)
    return found


def _game_event(game: Game, reference: Reference, start: Instant, created: Instant) -> Event:
    row = game.row
    league = reference.league_by_slug[row["league"]]
    sport = reference.sport_of(league)
    series = next((found for found in reference.series if found.id == str(league.active_series_id)), None)
    score = row.get("score")
    tags = reference.tags_of("sports", sport.slug, league.slug)
    return Event(
        id=reference.next_event_id(),
        slug=game.stem,
        title=f"{game.first.name} vs. {game.second.name}",
        description=f"{league.name}: {game.first.name} against {game.second.name}.",
        category="sports",
        subcategory=league.slug,
        series_slug=series.slug if series else "",
        active=not row.get("ended", False),
        closed=row.get("ended", False),
        game_id=str(900_000 + reference.next_event_id() % 10_000),
        live="live" in row,
        ended=row.get("ended", False),
        score={"home": score[0], "away": score[1]} if score else None,
        period=row.get("live", "FT" if row.get("ended") else "NS"),
        teams=[game.first, game.second],
        start_date=created,
        end_date=start + 6 * HOUR,
        start_time=start,
        creation_date=created,
        created_at=created,
        updated_at=created,
        event_date=eastern_day(start),
        image=league.image,
        featured=row.get("quoted", False),
        tags=tags,
        primary_tag=tags[-1] if tags else None,
    )
