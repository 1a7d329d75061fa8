"""Tools about whole exchanges, and about no exchange.

Docstrings are the descriptions that agents read. Signatures are the arguments: in an annotation the
first text describes an argument, and further ones are its values.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from functools import cache, lru_cache
from math import log
from pathlib import Path
from typing import Annotated, Any, NamedTuple, TypeAlias

from sim.agents.answers import ToolError, answer, quoted
from sim.agents.session import AgentSession, RunningExchange
from sim.core.model.refusals import Refusal
from sim.kernel import resources
from sim.read.catalogues import CATALOGUES, name_of, rows
from sim.run.simulation import Simulation
from sim.server.listeners import SURFACES
from sim.world.format.scenario import Scenario

ExchangeName: TypeAlias = Annotated[str, "which one, where several run"]
_SYMBOLS_SHOWN, _CREDENTIALS_SHOWN = 10, 3
_WHOLE_ROWS_MAX = 8  # of a catalogue; of more rows only the names are listed
_DIFFERENCES_MAX = 40
_VERBS = ("GET", "POST", "PUT", "PATCH", "DELETE")
_CALLED = ("gateway", "retail", "exchange", "auth", "control")
# The views by which two exchanges are compared, with the key of a row.
_VIEWS = {"accounts": "account", "orders": "id", "trades": "id", "instruments": "symbol"}


def start(
    session: AgentSession,
    scenario: Annotated[
        str, "bundled name, file, YAML text, or a journal to go on from; default: quickstart"
    ] = "",
    seed: Annotated[int | None, "default: the scenario's"] = None,
) -> str:
    """Serve an exchange on free local ports, its clock standing still. Answers addresses and
    credentials for the client under test. It ends with this session.
    """
    from sim.testing.exchange_fixture import ServedExchange

    name = session.new_name()
    replayed = _replayed(scenario) if is_journal(session, scenario) else None
    loaded = (
        scenario_of(session, scenario or "quickstart", single=True)
        if replayed is None
        else replayed.scenario
    )
    journal = session.folder / f"{name}.ndjson"
    served = ServedExchange(loaded, seed=seed, journal=journal, replayed=replayed)
    session.add(RunningExchange(name, served))
    ready = served.ready
    keys = ("firm", "client_id", "private_key_path", "audience", "users")
    symbols = {state: names[:_SYMBOLS_SHOWN] for state, names in ready["symbols"].items() if names}
    return answer(
        f"Exchange `{name}` is running; its clock stands at {ready['now']}. Configure the"
        " client with these addresses and one of these credentials.",
        [
            {surface: ready[surface] for surface in SURFACES},
            *({"api_key": key} for key in ready["api_keys"][:_CREDENTIALS_SHOWN]),
            *(
                {"partner": {key: firm[key] for key in keys}}
                for firm in ready["firms"][:_CREDENTIALS_SHOWN]
            ),
            {"symbols": symbols},
        ],
        then="run the client, or use `call` and `order`; then `history` shows what the exchange saw"
        " and `explain` why something was refused. `advance` moves time.",
    )


def is_journal(session: AgentSession, source: str) -> bool:
    """Return whether a source is the path of a journal that the session may read."""
    return not session.confined and source.endswith(".ndjson") and Path(source).is_file()


def _replayed(journal: str) -> Simulation:
    """Return the run of a journal at its end. Raises ToolError if it does not replay."""
    from sim.read.errors import UnreadableJournal
    from sim.read.replay import Divergence, simulation_at

    try:
        return simulation_at(journal)
    except (UnreadableJournal, Divergence) as error:
        raise ToolError(f"The journal cannot be replayed: {quoted(error)}.") from None


def scenario_of(session: AgentSession, source: str, *, single: bool = False) -> Scenario:
    """Return a scenario by bundled name, as YAML text, or, unless confined, by path: with its
    matrix, or a `single` one, which has no choice of combinations.
    """
    from sim.run.loader.load import check_chosen, load_scenario, load_submitted
    from sim.world.format.yaml_tree import ScenarioError

    try:
        scenario = load_submitted(source, None) if session.confined else load_scenario(source)
        if single:
            check_chosen(scenario, "`params` in its text, in place of `matrix`")
        return scenario
    except ScenarioError as error:
        raise ToolError(
            f"The scenario has mistakes:\n{quoted(error)}\nNext: `catalogue` with kind scenarios"
            " lists the bundled ones; `docs` with 'write a scenario' says what one may hold."
        ) from None


def stop(session: AgentSession, exchange: ExchangeName = "") -> str:
    """End an exchange and its branches, whose state is lost; if `investigate` runs, only that."""
    ended = session.stop(session.find(exchange).name)
    left = f" Still running: {', '.join(session.names)}." if session.names else ""
    return f"Ended: {', '.join(ended)}.{left}"


def status(session: AgentSession, exchange: ExchangeName = "") -> str:
    """Virtual time, what is due next, calls, refusals, faults, steps of the scenario."""
    if not session.names and not session.shared:
        return "No exchange is running.\n\nNext: `start`."
    running = session.find(exchange)
    calls = running.control("GET", "/requests")["requests"]
    wrong = [call for call in calls if call["verdict"] != "done"]
    then = "`advance` moves time; `history` lists what happened."
    if wrong:
        latest = wrong[-1]
        then = f"`explain` with subject {latest['seq']} says why the latest: {latest['verdict']}."
    steps = running.control("GET", "/script")["steps"]
    facts = {
        "exchange": running.name,
        "scenario": running.served.ready["scenario"],
        "seed": running.served.seed,
        **running.control("GET", "/clock"),
        "calls": len(calls),
        **Counter(call["verdict"] for call in wrong),
        "faults": len(running.control("GET", "/faults")["faults"]),
        "streams": len(running.control("GET", "/streams")["streams"]),
        "steps": dict(Counter(step["state"] for step in steps)),
        "running": session.names,
    }
    return answer("The state of the exchange:", facts, then=then)


def call(
    session: AgentSession,
    plane: Annotated[str, "which plane", *_CALLED],
    path: Annotated[str, "with its query, such as /v1/markets?limit=2"],
    verb: Annotated[str, "default: GET", *_VERBS] = "GET",
    body: Annotated[Any, "JSON body"] = None,
    caller: Annotated[str, "API key, firm or participant; default: the first"] = "",
    exchange: ExchangeName = "",
) -> str:
    """Make one HTTP call as a client does, signed. Use it to see what the exchange answers; to test
    a client, run the client.
    """
    running = session.find(exchange)
    if not path.startswith("/"):
        raise ToolError(f"path must begin with a slash, not {quoted(path[:1])}.")
    reply = running.call(plane, verb, path, body, caller)
    then = "`history` shows how the exchange handled it."
    if reply.status >= 400:
        subject = f" {reply.request_id}" if reply.request_id else ""
        then = f"`explain` with subject{subject} says which rule refused it and what would work."
    headline = f"{reply.status} for {verb} {quoted(path)} on the {plane} plane."
    return answer(headline, reply.body, then=then)


def branch(
    session: AgentSession,
    seq: Annotated[int | None, "the input after which the copy begins; default: now"] = None,
    exchange: ExchangeName = "",
) -> str:
    """Serve a copy of an exchange as it is, or as it was right after an input: try something there
    without changing the original.
    """
    origin = session.find(exchange)
    name = session.new_name()
    try:
        copy = origin.served.fork(seq)
    except Refusal as refusal:
        reason = f"{quoted(refusal.message)}: {quoted(refusal.remedy)}"
        raise ToolError(f"{reason}. `history` has the numbers of the inputs.") from None
    session.add(RunningExchange(name, copy, origin.name))
    moment = "as it is now" if seq is None else f"as it was after input {seq}"
    return answer(
        f"Exchange `{name}` is a copy of `{origin.name}` {moment}. What happens in one does not"
        " affect the other; credentials are the same.",
        {surface: copy.ready[surface] for surface in ("gateway", "retail", "exchange", "grpc")},
        then=f"do something else on `{name}`, then `compare` the two.",
    )


def compare(
    session: AgentSession, other: Annotated[str, "the second exchange"], exchange: ExchangeName = ""
) -> str:
    """How the accounts, orders, trades and instruments of two exchanges differ."""
    left, right = session.find(exchange), session.find(other)
    differences = list(_differences(left, right))
    if not differences:
        return answer(
            f"`{left.name}` and `{right.name}` have the same accounts, orders, trades and states.",
            then="`history` of each shows whether they got there in the same way.",
        )
    return answer(
        f"`{left.name}` and `{right.name}` differ in {len(differences)} values; each row has the"
        " first's and the second's.",
        differences[:_DIFFERENCES_MAX],
        then="`explain` with an order id, account or symbol says why it is as it is.",
    )


def _differences(left: RunningExchange, right: RunningExchange) -> Iterator[dict[str, Any]]:
    path = f"/state?view={'&view='.join(_VIEWS)}"
    states = [each.control("GET", path) for each in (left, right)]
    for view, key in _VIEWS.items():
        first, second = ({str(row[key]): row for row in state[view]} for state in states)
        for name in {**first, **second}:
            if name not in first or name not in second:
                yield {view: name, "only_in": left.name if name in first else right.name}
                continue
            for field, value in first[name].items():
                if value != second[name].get(field):
                    yield {view: name, "value": field, "is": [value, second[name].get(field)]}


def catalogue(
    session: AgentSession,
    kind: Annotated[str, "default: operations", *CATALOGUES, "scenarios"] = "operations",
    pattern: Annotated[str, "part of a name, or with wildcards"] = "*",
    exchange: ExchangeName = "",
) -> str:
    """Names and rows: operations, quirks, faults, assumptions, scenarios and more."""
    if kind == "scenarios":
        scenarios = resources.bundled_scenarios()
        return answer(
            "Bundled scenarios:",
            [name for name in scenarios if pattern.strip("*") in name],
            then="`start` with one of them, or with YAML text that extends one.",
        )
    if exchange or session.names:
        running = session.find(exchange).served.running
        entries = running.call(lambda: rows(kind, running.simulation, pattern))
    else:
        entries = rows(kind, pattern=pattern)
    if not entries:
        raise ToolError(
            f"No entry of {kind} matches {quoted(pattern)}. Try a part of a name, or *."
        )
    headline = f"{len(entries)} {kind}:"
    if len(entries) > _WHOLE_ROWS_MAX:
        then = "`catalogue` with a narrower pattern shows whole rows."
        return answer(headline, [name_of(row) for row in entries], then=then)
    return answer(headline, entries, then="`docs` searches the guides.")


def docs(session: AgentSession, query: Annotated[str, "some words"]) -> str:
    """Search the guides: how to sign, stream, write scenarios, use the control plane."""
    sections = found_sections(query)
    if not sections:
        raise ToolError(f"No guide says anything about {quoted(query)}. Try other words.")
    return "\n\n".join([*sections, "Next: `catalogue` lists operations, faults and rules by name."])


# ---- guides: the sections of the how-to pages and the skill, searched by their words


_SECTION_MAX, _SECTIONS = 1_800, 3
_STOP_WORDS = frozenset(
    ("a", "an", "and", "can", "do", "for", "how", "i", "in", "is", "it", "my", "of", "on", "the")
) | {"to", "was", "what", "with"}


class GuideSection(NamedTuple):
    """A section of a page."""

    page: str
    title: str
    text: str

    def relevance(self, words: dict[str, float]) -> float:
        """Return how well it answers a question with these words and their weights.

        Guides say how something is done; a table of the reference only names it.
        """
        title, text = _stems(self.title), _stems(self.text)
        hits = sum(
            weight * (6 * (word in title) + min(text[word], 4)) for word, weight in words.items()
        )
        met = sum(weight for word, weight in words.items() if word in title or word in text)
        guide = 2.0 if self.page.startswith(("how-to/", "tutorials/", "skill")) else 1.0
        return guide * hits * (met / (sum(words.values()) or 1)) ** 2 / (1 + len(self.text) / 8_000)

    def shortened(self) -> str:
        """Return the section as Markdown."""
        rest = " …" if len(self.text) > _SECTION_MAX else ""
        return f"### {self.title} ({self.page})\n\n{self.text[:_SECTION_MAX]}{rest}"


def found_sections(question: str) -> list[str]:
    """Return the sections that are most relevant to some words, the best first. A word weighs the
    more, the fewer sections have it.
    """
    sections = _sections()
    counts = {
        word: sum(word in _stems(section.text + section.title) for section in sections)
        for word in _stems(question).keys() - _STOP_WORDS
    }
    words = {word: log(len(sections) / count) for word, count in counts.items() if count}
    scored = [(section.relevance(words), section) for section in sections]
    best = sorted(scored, key=lambda pair: pair[0], reverse=True)[:_SECTIONS]
    return [section.shortened() for score, section in best if score > 0]


@lru_cache(maxsize=4096)
def _stems(text: str) -> Counter[str]:
    """Return the words of a text and how often it has them, without the endings of plurals and
    verbs.
    """
    words = re.findall(r"[a-z0-9_.]*[a-z0-9_]", text.lower())
    return Counter(re.sub(r"(?<=\w\w\w)(ing|ed|es|s|e)$", "", word) for word in words)


@cache
def _sections() -> list[GuideSection]:
    folder, sections = resources.folder("docs"), []
    for page in [*sorted(folder.rglob("*.md")), resources.path("fixtures", "skill.md")]:
        name = str(page.relative_to(folder)) if page.is_relative_to(folder) else page.name
        parts = re.split(r"^(#{1,3} .+)$", page.read_text(encoding="utf-8"), flags=re.MULTILINE)
        for heading, text in zip(parts[1::2], parts[2::2], strict=True):
            if text.strip():
                sections.append(GuideSection(name, heading.lstrip("# "), text.strip()))
    return sections
