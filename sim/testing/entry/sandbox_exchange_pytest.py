"""The pytest plugin (entry point `pytest11`): the fixture `exchange`, also for a module or a
session, the marker `scenario`, the options, and the report of a failing test.

```python
@pytest.mark.scenario("outage.yaml", seed=7)  # beside the test file, or a bundled name
def test_my_client_survives(exchange):
    client = MyClient(exchange.exchange, exchange.firms[0])
    with exchange.fault("InsertOrder", status=503, times=1):
        client.buy(exchange.symbols["open"][0])
    exchange.clock.advance("5m")
    assert exchange.requests(operation="InsertOrder")[-1]["status"] == 200
```

Every pytest run of the environment loads the plugin. So nothing of `sim` is imported until a test
asks for the fixture, and the module stands outside of it: users have files and folders called sim.
"""

from __future__ import annotations

import os
import re
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest

if TYPE_CHECKING:
    from sim.testing.exchange_fixture import ServedExchange

_FAULT = '{"match": {"operation": "CreateOrder"}, "act": {"status": 503}}'
READINGS = ("documented", "observed")
_OPTIONS = {"seed", "reading", "start", "steps", "params"}
COVERAGE = "sandbox-exchange-coverage"
_SERVED: pytest.StashKey[ServedExchange] = pytest.StashKey()
_SHOWN: pytest.StashKey[bool] = pytest.StashKey()  # whether a report has the calls already


def pytest_addoption(parser: pytest.Parser) -> None:
    """Declare the options of `--explore` and of the fixture."""
    group = parser.getgroup("sandbox exchange")

    def add(name: str, metavar: str, text: str, default: str | int = "") -> None:
        group.addoption(name, metavar=metavar, help=text, default=default, type=type(default))

    explore = "run each test that uses `exchange` under every fault at every point it passes"
    group.addoption("--explore", action="store_true", help=explore)
    operations = "only at operations that match, such as InsertOrder or 'RetailOrdersAPI.*'"
    add("--explore-operations", "NAME", operations, "*")
    faults = "only faults that match: error, limited, lost, late, reset, hang, drop, ..."
    add("--explore-faults", "NAME", faults, "*")
    most = "only the first N times that the test passes each point"
    add("--explore-max-occurrences", "N", most, 0)
    pairs = "then try up to N pairs of faults and other timings, the most informative first"
    add("--explore-pairs", "N", pairs, 0)
    seconds = "stop an attempt after N seconds (default: ten times the first run, from 2 to 10)"
    add("--explore-seconds", "N", seconds, 0)
    add("--explore-jobs", "N", "number of processes (default: 1)", 1)
    add("--explore-shard", "I/N", "make only this part of the trials", "0/1")
    add("--explore-json", "FILE", "write every trial as JSON")
    add("--exchange-keep", "DIR", "keep the journal of every test in this folder")
    report = "write the run of every failing test to this folder, as a page that opens anywhere"
    add("--exchange-report", "DIR", report)
    coverage = (
        "write which operations, answers, quirks, faults and dates the tests met, as JSON for"
        " `sim coverage`"
    )
    add("--exchange-coverage", "FILE", coverage)
    fault = "arm this fault in every exchange: an entry of a scenario's `faults`"
    options: dict[str, Any] = {"action": "append", "default": [], "metavar": "JSON"}
    group.addoption("--exchange-fault", help=fault, **options)
    fuse = (
        "what a test that uses the exchange cannot connect to: the real service (live, the default)"
        " or everything that is not loopback (all)"
    )
    group.addoption("--exchange-fuse", choices=("live", "all"), default="live", help=fuse)
    hosts = "hosts of the real service to which tests may connect, one a line"
    parser.addini("exchange_allow_live_hosts", hosts, type="linelist", default=[])


def pytest_configure(config: pytest.Config) -> None:
    """Declare the marker, check the options, and register the explorer for `--explore`."""
    config.addinivalue_line(
        "markers",
        "scenario(path, seed=None, reading=None, start=None, steps='check'): what the `exchange`"
        " fixture serves: a file beside the test or a bundled name; in which reading of the"
        " service; from which instant on; and, with steps='ignore', that the test does not fail"
        " when a step of the scenario does",
    )
    config.addinivalue_line(
        "markers",
        "exchange(allow_live_hosts=[...]): hosts of the real service to which this test may connect"
        " although it uses the exchange",
    )
    for text in config.getoption("exchange_fault"):
        _fault_of(text)
    if target := config.getoption("exchange_coverage"):
        from sim.testing.coverage_report import CoverageReport

        config.pluginmanager.register(CoverageReport(config, target), COVERAGE)
    if config.getoption("explore"):
        if config.getoption("numprocesses", None):
            raise pytest.UsageError("--explore runs in one process: leave out -n")
        from sim.search.fault_points import refuse_unknown
        from sim.testing.fault_exploration import Explorer

        operations = config.getoption("explore_operations")
        faults = config.getoption("explore_faults")
        try:
            refuse_unknown(operations, faults)
        except ValueError as error:
            raise pytest.UsageError(str(error)) from None
        config.pluginmanager.register(Explorer(config), "sandbox-exchange-explorer")


def _fault_of(text: str) -> dict[str, Any]:
    """The fault document of an `--exchange-fault` option."""
    from msgspec import DecodeError, json

    try:
        return json.decode(text, type=dict[str, Any])
    except DecodeError as error:
        raise pytest.UsageError(
            f"--exchange-fault is the JSON of a scenario's fault, such as {_FAULT!r}: {error}"
        ) from None


@pytest.fixture
def exchange(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[ServedExchange]:
    """A sandbox exchange for this test alone, on free loopback ports, with a manual clock."""
    yield from _serve(request, tmp_path)


@pytest.fixture(scope="module")
def module_exchange(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[ServedExchange]:
    """One sandbox exchange for the tests of a module; `pytestmark` may have the marker."""
    yield from _serve(request, tmp_path_factory.mktemp("module_exchange"))


@pytest.fixture(scope="session")
def session_exchange(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[ServedExchange]:
    """One sandbox exchange for all tests of a session."""
    yield from _serve(request, tmp_path_factory.mktemp("session_exchange"))


def _serve(request: pytest.FixtureRequest, folder: Path) -> Iterator[ServedExchange]:
    """Serve the scenario that the marker names, for as long as the fixture lives."""
    if other := _other_sim():
        pytest.fail(
            f"the exchange of this test needs the package `sim` of sandbox-exchange, and {other}"
            " stands in front of it: rename that, or take its folder off sys.path",
            pytrace=False,
        )
    from msgspec.structs import replace

    from sim.run.loader.load import load_single
    from sim.testing.clock import warn_of_patched_time, with_start
    from sim.testing.exchange_fixture import ServedExchange
    from sim.world.format.problem_text import with_carets
    from sim.world.format.yaml_tree import ScenarioError

    marked = _scenario_of(request.node)
    problem: ScenarioError | None = None
    try:
        scenario = load_single(marked.name, marked.params, 'params={"name": "value"} in the marker')
    except ScenarioError as error:
        problem = error
    if problem is not None:  # outside of the handler, so that the problem is reported once
        problems = "\n".join(with_carets(problem.problems))
        pytest.fail(f"the scenario of this test cannot be used:\n{problems}", pytrace=False)
    if marked.reading:
        scenario = replace(scenario, reading=marked.reading)
    try:
        scenario = with_start(scenario, marked.start)
    except ValueError as error:
        pytest.fail(str(error), pytrace=False)
    warn_of_patched_time()
    journal = folder / "journal.ndjson"
    if keep := request.config.getoption("exchange_keep"):
        name = _file_name(request.node.nodeid) or "session"
        journal = Path(keep).absolute() / f"{name}.ndjson"
        journal.parent.mkdir(parents=True, exist_ok=True)
        journal.unlink(missing_ok=True)  # of the last time that this test ran
    report = request.config.pluginmanager.get_plugin(COVERAGE)
    recorder = report.recorder if report is not None else None
    served = ServedExchange(scenario, seed=marked.seed, journal=journal, observer=recorder)
    request.node.stash[_SERVED] = served
    if recorder is not None:
        recorder.begin(served.running.simulation)
    try:
        with _explored(request, served):
            yield served
    finally:
        served.close()
        ended = served.running.simulation.ended
        if ended is not None:
            pytest.fail(f"the exchange stopped with an internal error: {ended!r}", pytrace=False)


def _other_sim() -> str:
    """Return which file or folder `import sim` finds instead of the sandbox's; "" if it does not.

    Nothing of it is run.
    """
    spec = find_spec("sim")
    folders = list(spec.submodule_search_locations or ()) if spec is not None else []
    if any(Path(folder, "testing", "exchange_fixture.py").is_file() for folder in folders):
        return ""
    return str(folders[0] if folders else spec.origin if spec is not None else "nothing")


@contextmanager
def _explored(request: pytest.FixtureRequest, served: ServedExchange) -> Iterator[None]:
    """Add the faults that the options name.

    With `--explore` also count the fault points that the test passes, and check the
    invariants after it.
    """
    for text in request.config.getoption("exchange_fault"):
        served.control("POST", "/faults", _fault_of(text))
    if not request.config.getoption("explore") or request.scope != "function":
        yield
        return
    from sim.core.invariants import violations
    from sim.testing.fault_exploration import ARMED, BROKEN, IDLE, SURVEY

    exchange, stash = served.running.simulation.exchange, request.node.stash
    armed = {
        served.control("POST", "/faults", _fault_of(text))["id"] for text in stash.get(ARMED, ())
    }
    exchange.faults.survey = stash[SURVEY] = {}
    yield
    rows = served.control("GET", "/faults")["faults"]
    stash[IDLE] = any(row["id"] in armed and not row["affected"] for row in rows)
    stash[BROKEN] = [
        str(violation) for violation in served.running.call(lambda: violations(exchange.trading))
    ]


class _Marked(NamedTuple):
    """What the marker of a test says; "" and None where it says nothing."""

    name: str = "quickstart"
    seed: int | None = None
    reading: str = ""
    start: str = ""
    steps: str = "check"
    params: dict[str, str] = {}


def _served_for(item: pytest.Item) -> ServedExchange | None:
    """The exchange that a test uses: its own, or that of its module or session."""
    shared = {"module_exchange", "session_exchange"} & {*getattr(item, "fixturenames", ())}
    nodes = reversed(item.listchain()) if shared else (item,)
    return next((node.stash[_SERVED] for node in nodes if _SERVED in node.stash), None)


def _scenario_of(item: pytest.Item | pytest.Collector) -> _Marked:
    """What the marker says; the bundled quickstart without one.

    A marker without a reading leaves it to SIM_READING, and that to the scenario.
    """
    from sim.core.catalogue.bounds import SEED

    default = _reading_of(os.environ.get("SIM_READING", ""), "SIM_READING")
    marker = item.get_closest_marker("scenario")
    if marker is None:
        return _Marked(reading=default)
    match marker.args, marker.kwargs:
        case ([str() | Path() as path], {**options}) if not options.keys() - _OPTIONS:
            seed, steps = options.get("seed"), options.get("steps", "check")
            reading = _reading_of(options.get("reading") or default, "reading")
            start = options.get("start") or ""
            valid_seed = seed is None or (type(seed) is int and SEED.low <= seed <= SEED.high)
            params = options.get("params", {})
            texts = isinstance(params, dict) and {*map(type, (*params, *params.values()))} <= {str}
            if valid_seed and texts and isinstance(start, str) and steps in ("check", "ignore"):
                beside = item.path.parent / path
                name = str(beside if beside.is_file() else path)
                return _Marked(name, seed, reading, start, steps, params)
    usage = (
        '@pytest.mark.scenario("path.yaml", seed=7, reading="observed",'
        ' start="2026-09-08T10:00:00-04:00", steps="ignore", params={"size": "5"}), all but the'
        " first optional"
    )
    unknown = sorted(marker.kwargs.keys() - _OPTIONS)
    wrong = f"unknown option {unknown[0]!r}" if unknown else f"cannot use {_written(marker)}"
    pytest.fail(f"invalid marker on this test: {wrong}; write {usage}", pytrace=False)


def _written(marker: pytest.Mark) -> str:
    """A marker's arguments as they are written."""
    named = (f"{name}={value!r}" for name, value in marker.kwargs.items())
    return f"scenario({', '.join((*map(repr, marker.args), *named))})"


def _file_name(text: str) -> str:
    """A test's id as a file name."""
    return re.sub(r"[^\w.-]+", "-", text).strip("-")[:200]


def _reading_of(text: object, setting: str) -> str:
    if text in ("", *READINGS):
        return str(text)
    pytest.fail(f"{setting} must be one of {', '.join(READINGS)}, not {text!r}", pytrace=False)


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, object, object]:
    """Keep a test that uses the exchange away from the real service."""
    if _other_sim():
        return (yield)
    from sim.testing.fuse import FuseLimits, fused

    marker = item.get_closest_marker("exchange")
    hosts = (*item.config.getini("exchange_allow_live_hosts"), *_allowed(marker))
    limits = FuseLimits(hosts, item.config.getoption("exchange_fuse") == "all")
    with fused(limits, used=_uses_exchange(item)):
        return (yield)


def _allowed(marker: pytest.Mark | None) -> list[str]:
    """The hosts that a marker `exchange` allows."""
    if marker is None:
        return []
    hosts = marker.kwargs.get("allow_live_hosts")
    if marker.args or marker.kwargs.keys() != {"allow_live_hosts"} or not isinstance(hosts, list):
        usage = '@pytest.mark.exchange(allow_live_hosts=["api.example.com"])'
        raise pytest.UsageError(f"invalid marker: write {usage}")
    return [str(host).lower() for host in hosts]


def _uses_exchange(item: pytest.Item) -> bool:
    fixtures = {"exchange", "module_exchange", "session_exchange"}
    return not fixtures.isdisjoint(getattr(item, "fixturenames", ()))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, object, object]:
    """Fail a test that passed although a step of its scenario failed or was refused."""
    result = yield
    served = _served_for(item)
    if served is not None and _scenario_of(item).steps == "check":
        from sim.run.actors.script.view import verdict

        wrong = [row for row in served.script() if row["state"] in ("failed", "refused")]
        if wrong:
            lines = "\n".join(verdict(row) for row in wrong)
            pytest.fail(f"the scenario of this test does not hold:\n{lines}", pytrace=False)
    return result


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Add to a test what names its run, and to that of a failed one what the exchange saw: once,
    whether the test failed, or another fixture of it before or after.
    """
    served = _served_for(item)
    properties = {name for name, _ in item.user_properties}
    if served is not None and "exchange.seed" not in properties and _names_run(call):
        item.user_properties.append(("exchange.seed", served.seed))
        item.user_properties.append(("exchange.digest", served.digest))
        item.user_properties.append(("exchange.journal", str(served.journal)))
    report = yield
    if served is not None and report.failed and not item.stash.get(_SHOWN, False):
        item.stash[_SHOWN] = True
        report.sections.append(("sandbox exchange", served.report()))
    if (
        served is not None
        and report.failed
        and (folder := item.config.getoption("exchange_report"))
    ):
        notice = _write_page(served.journal, Path(folder).absolute(), item.nodeid)
        report.sections.append(("sandbox exchange, report", notice))
    return report


def _names_run(call: pytest.CallInfo[None]) -> bool:
    """Whether a test's properties are added at this phase: its own, or that of a failed set-up."""
    return call.when == "call" or (call.when == "setup" and call.excinfo is not None)


def _write_page(journal: Path, folder: Path, test: str) -> str:
    """Write the one-file report of a test's run; where it is, or why there is none."""
    from sim.read.errors import UnreadableJournal
    from sim.read.history.recorded import RecordedRun
    from sim.read.report.report import write_report

    page = folder / f"{_file_name(test)}.html"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        difference = write_report(RecordedRun(journal), page).difference
    except (OSError, UnreadableJournal) as error:
        return f"no report of this run: {error}"
    if difference is not None:
        return "\n".join(
            (f"report {page}, as far as the run can be repeated:", *difference.lines())
        )
    return f"report {page}"
