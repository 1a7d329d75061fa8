"""`sim check` runs a scenario: what it calls valid, the exchange takes.

It tells names and values that are wrong, and steps that are refused and do not expect it, with
their place. Whether expectations hold is the business of `sim run`.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from sim.cli.main import main
from sim.read import scenario_check

HEAD = """\
name: m
extends: quickstart
world: {instruments: [{symbol: rain, tick_size: "0.01", state: OPEN}]}
"""
BID = 'symbol: rain, side: buy, price: "0.40"'
MATRIX = f'{HEAD}matrix: {{qty: ["5", "6", %s]}}\nsteps:\n- order: {{{BID}, qty: "${{qty}}"}}\n'


@pytest.fixture
def check(tmp_path, monkeypatch, capsys):
    """Check a scenario as a command; the exit code, and what it prints without excerpts."""
    monkeypatch.chdir(tmp_path)

    def run(text: str, *options: str) -> tuple[int, list[str]]:
        Path("m.yaml").write_text(text)
        code = main(["check", "m.yaml", *options])
        out, err = capsys.readouterr()
        return code, [line for line in (out + err).splitlines() if line.startswith("m.yaml")]

    return run


@pytest.mark.parametrize(
    ("step", "problem"),
    [
        (
            f'order: {{as: firms/retail/accounts/5c1e90d2, {BID}, qty: "5"}}',
            "m.yaml:5:3: refused: there is no firm or participant"
            " firms/retail/accounts/5c1e90d2 (maker, taker, noise, firms/<firm>/users/<user>, its"
            " last part, or its account)",
        ),
        (f"order: {{{BID}}}", "m.yaml:5:3: refused: qty is required"),
        (
            "expect: {breaker: {firm: atlass, state: open}}",
            "m.yaml:5:28: there is no firm 'atlass'; did you mean 'atlas'?",
        ),
        (
            "expect: {breaker: {firm: firms/atlass, state: closed}}",
            "m.yaml:5:28: there is no firm 'firms/atlass'; did you mean 'firms/atlas'?",
        ),
        (
            'order: {symbol: rain, side: buy, price: "0.405", qty: "5"}',
            "m.yaml:5:3: refused: price 0.405 is not a multiple of the tick 0.01",
        ),
        (
            'order: {symbol: rain, side: buy, price: "1.40", qty: "5"}',
            "m.yaml:5:3: its order was rejected (High price limit is 0.99, given 1.4); if this is"
            " intended, add `expect: {order: {state: REJECTED}}`",
        ),
        (
            "call: {plane: retail, get: /v1/orders/open}",
            "m.yaml:5:3: refused: 401 Missing required API key headers (name the caller with `as`);"
            " if this is intended, add `expect: {status: 401}`",
        ),
        ("cancel: {as: maker, order: gone}", "m.yaml:5:3: refused: Unknown order"),
    ],
)
def test_a_step_that_would_be_refused_is_told_with_its_place(check, step, problem) -> None:
    code, lines = check(f"{HEAD}steps:\n- {step}\n")
    assert (code, lines) == (2, [problem])
    assert main(["run", "m.yaml"]) != 0


def test_a_misspelt_section_makes_one_problem(check) -> None:
    text = HEAD.replace("world:", "wrold:") + f'steps:\n- order: {{{BID}, qty: "5"}}\n'
    assert check(text) == (2, ["m.yaml:3:1: unknown key 'wrold'; did you mean 'world'?"])


@pytest.mark.parametrize(
    "step",
    [
        "expect: {open_orders: 7}",
        "expect: {balance: {account: maker, cash: 1}}",
        "{call: {plane: gateway, get: /v2/leagues}, expect: {status: 404}}",
        "{call: {plane: gateway, get: /v2/leagues}, expect: {json: {leagues: none}}}",
        "{call: {plane: gateway, get: /v2/leagues, query: {limit: x}}, expect: {status: 400}}",
        "{call: {plane: gateway, get: /v2/leagues, query: {limit: x}}, expect: {status: 422}}",
        "{call: {plane: gateway, get: /v2/leagues, query: {limt: 1}}, expect: {refused: maybe}}",
        f'{{order: {{as: firms/atlas, {BID}, qty: "5"}}, expect: {{refused: true}}}}',
        '{settle: {symbol: rain, price: "1"}, expect: {refused: true}}',
        "{when: {trade: {symbol: rain}}, within: 1h, advance: 1s}",
    ],
)
def test_whether_expectations_hold_is_not_asked(check, step) -> None:
    assert check(f"{HEAD}steps:\n- {step}\n") == (0, ["m.yaml: valid, 1 step"])


def test_a_refused_call_that_should_succeed_is_told(check) -> None:
    call = "call: {plane: gateway, get: /v2/leagues, query: {limit: x}}, expect: {status: 200}"
    code, [line] = check(f"{HEAD}steps:\n- {{{call}}}\n")
    assert code == 2
    assert line.startswith("m.yaml:5:3: status is 400, not 200: ")


def test_a_refusal_of_a_saved_value_is_told(check) -> None:
    code, lines = check(f"""{HEAD}steps:
- {{call: {{plane: gateway, get: /v2/leagues}}, save: {{slug: leagues.0.slug}}}}
- {{call: {{plane: gateway, get: /v1/markets, query: {{limit: "${{slug}}"}}}}}}
""")
    assert code == 2
    assert lines[0].startswith("m.yaml:6:3: refused: 400 ")


def test_static_leaves_out_the_run(check) -> None:
    text = f'{HEAD}steps:\n- order: {{as: firms/atlas, {BID}, qty: "5"}}\n'
    assert check(text, "--static") == (0, ["m.yaml: valid, 1 step"])
    assert check(text.replace("firms/atlas", "atlsa"), "--static")[0] == 2
    assert check(text)[0] == 2


def test_every_combination_of_a_matrix_runs(check) -> None:
    text = MATRIX % '"0.5"'
    code, lines = check(text)
    assert code == 2
    assert lines == [
        "m.yaml:6:3: refused: qty 0.5 is not a multiple of 1, the smallest quantity of rain (set"
        " `fractional_qty_scale` in its entry to trade fractions) (with qty=0.5)"
    ]
    assert check(MATRIX % '"7"') == (0, ["m.yaml: valid, 1 step, 3 combinations"])


def test_a_large_matrix_is_run_in_part_which_is_told(check, monkeypatch) -> None:
    monkeypatch.setattr(scenario_check, "COMBINATIONS_MAX", 2)
    assert check(MATRIX % '"7"') == (
        0,
        ["m.yaml: valid, 1 step, 3 combinations; the first 2 of them ran"],
    )


def test_a_long_run_ends_early_which_is_told(check, monkeypatch) -> None:
    monkeypatch.setattr(scenario_check, "INPUTS_MAX", 2)
    text = f"{HEAD}steps:\n- {{advance: 1s}}\n- {{advance: 1s}}\n- {{advance: 30d}}\n"
    assert check(text) == (
        0,
        ["m.yaml: valid as far as it was run: 2 inputs, until 2026-09-08T18:00:00Z (3 steps)"],
    )


def test_numbers_of_the_run_are_in_the_document(check, capsys) -> None:
    check(f"{HEAD}steps:\n- {{advance: 1s}}\n")
    assert main(["check", "m.yaml", "--json"]) == 0
    [row] = json.loads(capsys.readouterr().out)["scenarios"]
    assert row == {
        "scenario": "m.yaml",
        "problems": [],
        "steps": 1,
        "runs": 1,
        "tried": 1,
        "inputs": row["inputs"],
        "until": "2026-09-08T18:00:00Z",
        "complete": True,
    }


def test_a_loop_of_refused_steps_is_listed_in_part(check) -> None:
    code, lines = check(f"""{HEAD}steps:
- repeat: 120
  steps:
  - {{order: {{{BID}, qty: "0.${{n}}"}}}}
""")
    assert (code, len(lines)) == (2, 101)
    assert lines[-1].endswith("there are more than 100 problems; the rest is not listed")


def test_a_step_of_an_extended_file_has_its_place_there(check, tmp_path) -> None:
    (tmp_path / "base.yaml").write_text(f"{HEAD}steps:\n- order: {{{BID}}}\n")
    Path("child.yaml").write_text("name: child\nextends: ./base.yaml\nsteps:\n- {advance: 1s}\n")
    with pytest.raises(scenario_check.ScenarioError) as refused:
        scenario_check.check("child.yaml")
    [problem] = refused.value.problems
    assert (Path(problem.file).name, problem.line, problem.column) == ("base.yaml", 5, 3)


def test_steps_beyond_the_calendar_are_told(check) -> None:
    code, lines = check(f"{HEAD}steps:\n- {{advance: 1s}}\n- {{at: +1s, advance: 70000d}}\n")
    assert code == 2
    assert lines
