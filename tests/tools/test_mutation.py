"""The mutation runner of `make mutants`: what it changes, and that a change is noticed."""

from __future__ import annotations

import ast
import re
import subprocess
import sys

import pytest

from tools.mutation import __main__ as runs
from tools.mutation.areas import AREAS, ROOT, sources
from tools.mutation.coverage_map import CoverageMap, imports_module, names_defined, texts_of
from tools.mutation.operators import mutants, mutated
from tools.mutation.results import known_equivalents
from tools.mutation.runner import Job

SOURCE = '''
def fee(price, qty, cap=3):
    """At most 3."""
    if price < 5 and qty:
        raise ValueError("not 5")
    total = max(price + qty, cap)
    book.note(price, qty)
    return total
'''
FUNCTIONS = re.compile(r"^def (test_\w+)", re.MULTILINE)
CHANGES = {
    ("cap=3", "cap=4"): "constant",
    ("price < 5 and qty", "price <= 5 and qty"): "comparison",
    ("price < 5 and qty", "price < 6 and qty"): "constant",
    ("price < 5 and qty", "price < 4 and qty"): "constant",
    ("price < 5 and qty", "price < 5 or qty"): "logic",
    ("if price < 5 and qty:", "if not (price < 5 and qty):"): "logic",
    ("if price < 5 and qty: raise ValueError('not 5')", "if price < 5 and qty: pass"): "statement",
    ("total = max(price + qty, cap)", "total = min(price + qty, cap)"): "choice",
    ("total = max(price + qty, cap)", "total = max(price - qty, cap)"): "arithmetic",
    ("book.note(price, qty)", "pass"): "statement",
    ("book.note(price, qty)", "book.note(qty, price)"): "arguments",
    ("return total", "return None"): "return",
}


def test_constants_boundaries_logic_choices_and_statements_are_changed_and_text_is_not() -> None:
    result = {(mutant.before, mutant.after): mutant.kind for mutant in mutants("fee.py", SOURCE)}
    result.pop(("3", "4"), None)
    assert set(result.values()) == set(CHANGES.values())
    assert {change: result.get(change) for change in CHANGES if "cap=" not in change[0]} == {
        change: kind for change, kind in CHANGES.items() if "cap=" not in change[0]
    }
    assert not any("At most" in before or "not 6" in after for before, after in result)


def test_the_layout_of_classes_and_checks_of_our_own_mistakes_are_left_alone() -> None:
    source = """
@dataclass(slots=True, kw_only=True)
class Pairs:
    rows: dict = field(default_factory=lambda: dict(zip(NAMES, VALUES, strict=True)))
    strict: bool = convert(text, strict=False)
"""
    assert [mutant.kind for mutant in mutants("pairs.py", source)] == ["arguments", "constant"]


@pytest.mark.parametrize("number", range(len(mutants("fee.py", SOURCE))))
def test_a_mutant_is_the_source_with_one_change_on_the_same_lines(number: int) -> None:
    before, after = ast.parse(SOURCE), mutated(SOURCE, number)
    assert ast.dump(before) != ast.dump(after)
    compile(after, "fee.py", "exec")
    assert {node.lineno for node in ast.walk(after) if isinstance(node, ast.stmt)} <= {
        node.lineno for node in ast.walk(before) if hasattr(node, "lineno")
    }


def test_every_area_has_files_and_no_file_has_two() -> None:
    result = {area: sources(area) for area in AREAS}
    assert all(result.values())
    files = [file for mine in result.values() for file in mine]
    assert len(files) == len(set(files))


@pytest.mark.long
def test_mutants_that_are_called_equivalent_are_in_the_code() -> None:
    existing = known_equivalents()
    present = {
        mutant.key
        for path in {path for path, *_ in existing}
        for mutant in mutants(path, (ROOT / path).read_text())
    }
    assert existing <= present


def test_code_outside_functions_is_tried_with_the_tests_that_use_what_it_defines() -> None:
    source = """
LOW, HIGH = 1, 9
class Window(Struct):
    size: int = (
        3
    )
@handles(2)
def ask():
    return 4
register(5)
"""
    result = {
        mutant.line: names_defined(source, mutant.line) for mutant in mutants("ask.py", source)
    }
    assert result[2] == ["LOW", "HIGH"]
    assert result[5] == ["size"]
    assert result[7] == ["ask"]
    assert result[10] == []
    users = CoverageMap(
        tests=["test_a", "test_b", "test_c"],
        took=[1, 1, 1],
        breadth=[1, 1, 1],
        lines={
            ("ask.py", "", "LOW, HIGH = 1, 9"): 0b111,
            ("ask.py", "ask", "return LOW"): 0b010,
            ("tell.py", "tell", "return ask.LOW"): 0b100,
            ("tell.py", "tell", "return BELOW, window.size"): 0b001,
        },
        modules={"ask.py": 0b111},
    )
    tried = {mutant.line: users.covering(mutant, source, 9) for mutant in mutants("ask.py", source)}
    assert (tried[2], tried[5], tried[10]) == ([1], [0], [0, 1, 2])
    assert users.covering(mutants("ask.py", source)[-1], source, 9, seconds=0) == [0, 1, 2]


def test_what_is_kept_in_constants_and_caches_is_tried_in_a_fresh_process() -> None:
    path = "sim/api/streams/shared_frames.py"
    source = (ROOT / path).read_text()
    one_each = {mutant.function: mutant for mutant in mutants(path, source)}
    fresh = {name: CoverageMap().runs_at_import(item, source) for name, item in one_each.items()}
    assert fresh["nesting"]
    assert not fresh["part"] and not fresh["error_frame"]
    path = "sim/run/engine/time_travel.py"
    source = (ROOT / path).read_text()
    one_each = {mutant.function: mutant for mutant in mutants(path, source)}
    fresh = {name: CoverageMap().runs_at_import(item, source) for name, item in one_each.items()}
    assert fresh["all_or_nothing"] and not fresh["leave"]


def test_a_name_that_only_a_constant_uses_is_tried_with_the_tests_of_that_constant() -> None:
    path = "sim/core/model/funding_records.py"
    source = (ROOT / path).read_text()
    (state,) = (mutant for mutant in mutants(path, source) if mutant.after == "ACKNOWLEDGED = 0")
    measured = CoverageMap(
        tests=["test_steps", "test_others"],
        took=[1, 1],
        breadth=[1, 1],
        lines={("sim/core/funding/funding.py", "Funding._step", "after = _NEXT[state]"): 0b01},
    )
    assert measured.covering(state, source, 9) == [0]


def test_a_line_that_is_new_is_tried_with_the_older_tests_of_its_function_too() -> None:
    source = "def ask(how):\n    before = tell(how)\n    return 4\n"
    measured = CoverageMap(
        tests=[f"test_{number}" for number in range(60)],
        took=[1] * 60,
        breadth=[1] * 60,
        lines={("ask.py", "ask", "return 4"): 1 << 50 | 1 << 59},
        functions={("ask.py", "ask"): (1 << 60) - 1},
    )
    *_, returned = mutants("ask.py", source)
    assert measured.covering(returned, source, 9) == [50, 59, *range(7)]
    assert measured.covering(returned, source, 400, seconds=20) == [50, 59, *range(43)]
    measured.lines.clear()
    assert measured.covering(returned, source, 400) == list(range(60))


def test_tests_with_names_akin_to_the_code_are_tried_before_the_others_of_their_files() -> None:
    source = 'LIMITS = {"quotes": 400, "orders": 30}\n'
    names = [f"tests/test_{number % 7}.py::test_it[{number}]" for number in range(2000)]
    names[1500] = "tests/test_2.py::test_a_pace[quote: 400 a second]"
    names[1600] = "tests/test_ask.py::test_whatever"
    measured = CoverageMap(
        tests=names,
        took=[1] * 2000,
        breadth=list(range(2000)),
        lines={("ask.py", "ask", "return LIMITS"): (1 << 2000) - 1},
    )
    limit = mutants("ask.py", source)[0]
    assert measured.covering(limit, source, 100)[:27] == [*range(25), 1600, 1500]
    assert measured.covering(limit, source, 100, seconds=0) == [*range(25)]


def test_tests_of_a_file_that_imports_the_module_are_akin_to_it() -> None:
    rewards, core = "tests/core/test_liquidity_rewards.py", "sim/core"
    assert imports_module(rewards, f"{core}/incentives/scoring.py")
    assert imports_module(rewards, f"{core}/incentives/incentives.py")
    assert not imports_module(rewards, f"{core}/incentives/rebates.py")
    assert not imports_module(rewards, f"{core}/market_data/scoring.py")


def test_only_what_pytest_collects_is_measured() -> None:
    file = "tests/api/test_gateway_lists.py"
    text = (ROOT / file).read_text()
    assert "\nTest = " in text, "another file with a type that has a test's name will do"
    result = texts_of([file], {f"{file}::{name}[1-a::b]" for name in FUNCTIONS.findall(text)})
    assert list(result[file]) == FUNCTIONS.findall(text)


RUN = """
from tools.mutation.operators import mutants
from tools.mutation.runner import Job, run_cold, run_warm

PATH, TEST = "sim/core/accounts/fees.py", "tests/core/test_fees.py"
of_file = mutants(PATH, open(PATH).read())
wrong = next(one for one in of_file if one.function == "exact" and one.kind == "arithmetic")
noticed = TEST + "::test_the_fills_of_one_order_never_cost_more_than_their_sum_rounded"
elsewhere = TEST + "::test_coefficients_can_be_set_for_every_date"
told = []
done = told.append
both, one, other = {elsewhere: 1, noticed: 1}, {elsewhere: 1}, {noticed: 1}
jobs = [Job(wrong, both), Job(wrong, one), Job(None, other)]
run_warm(jobs, 1, done)
print(*(job.killed_by.partition("::")[2] for job in jobs), sep=",")
jobs = [Job(wrong, both)]
run_cold(jobs, 1, done)
print(jobs[0].killed_by.partition("::")[2], len(told))
"""


@pytest.mark.long
def test_a_mutant_dies_of_the_first_test_that_fails_warm_and_cold() -> None:
    ran = subprocess.run([sys.executable, "-c", RUN], cwd=ROOT, capture_output=True, text=True)
    killer = "test_the_fills_of_one_order_never_cost_more_than_their_sum_rounded"
    assert ran.stdout.splitlines() == [f"{killer},,", f"{killer} 4"], ran.stderr


def test_a_test_that_fails_on_unchanged_code_kills_nothing_and_the_others_are_tried(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def run_tests(jobs: list[Job], _workers: int, _done: object) -> None:
        for job in jobs:
            noticed = ("t.py::flaky", "t.py::good") if job.mutant else ("t.py::flaky",)
            job.killed_by = next((name for name in job.tests if name in noticed), "")

    path = "sim/core/model/quantities.py"
    inside = [item for item in mutants(path, (ROOT / path).read_text()) if item.function][:2]
    lists = ({"t.py::flaky": 1.0, "t.py::good": 1.0}, {"t.py::flaky": 1.0, "t.py::blind": 1.0})
    jobs = [Job(mutant, tests) for mutant, tests in zip(inside, lists, strict=True)]
    monkeypatch.setattr(runs, "run_warm", run_tests)
    runs.run(jobs, CoverageMap(), 1)
    assert [job.killed_by for job in jobs] == ["t.py::good", ""]
