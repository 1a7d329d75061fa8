"""A scenario means the same whether it is written in one file or extends another: every value keeps
its text, and every step its line in the file that contains it.
"""

from __future__ import annotations

from pathlib import Path

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from sim import load_scenario
from sim.world.format.scenario import Scenario

TEXTS = st.one_of(
    st.from_regex(
        r"0[0-9]{1,7}|[0-9]{1,4}e[0-9]{1,2}|[0-9]\.[0-9]{1,6}0?|0x[0-9a-f]{1,4}", fullmatch=True
    ),
    st.sampled_from(["no", "null", "~", "1_000", "2:00", ".inf", "1.50", "0.00001", "true"]),
)
WORLD = """
params: {{zip: {text}}}
world:
  instruments: [{{symbol: "{symbol}", tick_size: 0.00001, state: OPEN}}]
  api_keys: [{{key_id: {symbol}, account: firms/retail/accounts/b7702f48}}]
"""
STEPS = """
steps:
  - name: "n ${{zip}}"
    call: {{plane: gateway, get: /v1/health, query: {{zip: {text}, v: "${{zip}}"}}}}
  - {{call: {{plane: retail, post: /v1/orders, json: {{zip: {text}, v: ["${{zip}}"]}}}}, expect: {{refused: maybe}}}}
"""


def _plain(scenario: Scenario) -> Scenario:
    return replace(scenario, steps=tuple(replace(step, where="") for step in scenario.steps))


@given(text=TEXTS, symbol=st.from_regex(r"00[1-9]{2}", fullmatch=True))
@settings(max_examples=10, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_one_file_and_two_are_the_same_scenario(tmp_path: Path, text: str, symbol: str) -> None:
    world, steps = (part.format(text=text, symbol=symbol) for part in (WORLD, STEPS))
    (tmp_path / "base.yaml").write_text(f"name: base\nextends: quickstart\n{world}")
    single, double = tmp_path / "single.yaml", tmp_path / "double.yaml"
    single.write_text(f"name: same\nextends: quickstart\n{world}{steps}")
    double.write_text(f"name: same\nextends: base.yaml\nparams: {{zip: {text}}}\n{steps}")
    one_file, two_files = load_scenario(str(single)), load_scenario(str(double))
    assert _plain(two_files) == _plain(one_file)
    assert two_files.world.instruments[0].symbol == symbol
    assert [step.where for step in two_files.steps] == ["double.yaml:6", "double.yaml:8"]
