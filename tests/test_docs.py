"""What the documents say of the code is what the code says of itself."""

from __future__ import annotations

import importlib.util
import re
import subprocess
import sys
from pathlib import Path

import pytest

from sim.analysis.headless_run import run_scenario
from sim.loader.load import load_scenario

ROOT = Path(__file__).parent.parent
_spec = importlib.util.spec_from_file_location("generate", ROOT / "docs" / "generate.py")
assert _spec is not None and _spec.loader is not None
generate = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(generate)


@pytest.mark.parametrize("name", list(generate.TABLES))
def test_generated_tables_are_current(name: str) -> None:
    _, now, wanted = generate.renewed(name)
    assert now == wanted, "run `make docs`"


@pytest.mark.parametrize(
    "file",
    sorted(
        path.relative_to(ROOT).as_posix()
        for path in [*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md")]
    ),
)
def test_links_between_documents_lead_somewhere(file: str) -> None:
    text = (ROOT / file).read_text()
    for target in re.findall(r"\]\(([^)#]+)\)", text):
        if "://" not in target:
            assert ((ROOT / file).parent / target).exists(), f"{file} links to {target}"


def test_the_examples_in_the_scenario_page_are_sound_and_hold(tmp_path: Path) -> None:
    text = (ROOT / "docs" / "scenarios.md").read_text()
    names = []
    for number, example in enumerate(re.findall(r"```yaml\n(.*?)```", text, re.DOTALL)):
        (tmp_path / f"{number}.yaml").write_text(example)
        report = run_scenario(load_scenario(str(tmp_path / f"{number}.yaml")))
        assert report.ok, "\n".join(report.lines())
        names.append(report.scenario)
    assert names == [
        "thursday-maintenance",
        "a-window-that-ends-higher",
        "overtime-does-not-count-for-the-second-half",
        "a-covered-ladder",
        "our-own-fees",
        "quotes-that-pay",
        "an-outage-at-the-worst-moment",
        "a-market-that-lives",
    ]


EXAMPLES = [
    (path.relative_to(ROOT).as_posix(), example)
    for path in [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
    for example in re.findall(r"```python\n(.*?)```", path.read_text(), re.DOTALL)
    if "def test_" in example
]


def test_the_readme_has_an_example() -> None:
    assert "README.md" in [file for file, _ in EXAMPLES]


@pytest.mark.parametrize(("file", "example"), EXAMPLES, ids=[file for file, _ in EXAMPLES])
def test_the_examples_in_the_documents_are_tests_that_pass(
    file: str, example: str, tmp_path: Path
) -> None:
    (tmp_path / "test_example.py").write_text(example)
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "test_example.py"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("file", ["docs/faults.md"])
def test_the_faults_in_the_documents_are_sound(file: str) -> None:
    for example in re.findall(r"```yaml\n(.*?)```", (ROOT / file).read_text(), re.DOTALL):
        assert load_scenario(f"name: example\nextends: quickstart\n{example}").faults
