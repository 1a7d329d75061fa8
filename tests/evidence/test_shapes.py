"""Shapes: a session without values is written, read back, compared and passed on."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from msgspec import json

from sim.cli.main import main
from sim.core.catalogue.observations import READINGS
from sim.evidence import material
from sim.evidence.compare.compare import compare
from sim.evidence.material import measured, published
from sim.evidence.recording.reading import read_recording
from sim.evidence.shapes import forms_of, read_shapes, recording_of, shapes_of
from sim.read.errors import UsageError

SECRETS = "aec-nfl", "firms/", "0.4", "2026-09-08T"


def shapes_file(session: Path, tmp_path: Path) -> Path:
    path = tmp_path / "story.shapes.json"
    assert main(["compare", str(session), "--shapes", str(path)]) == 0
    return path


def test_a_shape_file_has_paths_and_forms_and_no_value(session: Path, tmp_path: Path) -> None:
    path = shapes_file(session, tmp_path)
    text, shapes = path.read_text(), read_shapes(path)
    assert len(shapes.forms) > 20 and shapes.held and not shapes.broken
    values = {value for value in text.split('"') if any(word in value for word in SECRETS)}
    assert values <= {shapes.at}
    known = {form for each in shapes.forms for forms in each.fields.values() for form in forms}
    assert {"null", "absent", "instant", "decimal 4", "boolean"} <= known


@pytest.mark.parametrize("reading", READINGS)
def test_a_shape_file_compares_like_its_recording(
    session: Path, tmp_path: Path, reading: str
) -> None:
    path = shapes_file(session, tmp_path)
    total, short = (compare(file, read_recording(file), reading) for file in (session, path))
    for name, tally in total.tally.operations.items():
        other = short.tally.operations.get(name)
        assert other is None or (other.differ == 0) is (tally.differ == 0), name


def test_a_changed_form_is_told_like_a_changed_answer(
    session: Path, tmp_path: Path, capsys: Any
) -> None:
    path = shapes_file(session, tmp_path)
    text = path.read_text()
    changed = tmp_path / "changed.json"
    document = json.decode(text)
    for form in document["forms"]:
        if form["operation"] == "RetailAccountAPI.GetBalances" and form["status"] == 200:
            form["fields"]["balances[].buyingPower"] = ["decimal 2"]
    changed.write_bytes(json.encode(document))
    capsys.readouterr()
    assert main(["compare", str(changed)]) == 1
    assert "balances[].buyingPower" in capsys.readouterr().out


def test_a_broken_relation_of_a_recording_is_told_like_a_wrong_shape(
    session: Path, tmp_path: Path, capsys: Any
) -> None:
    lines = session.read_bytes().splitlines()
    wrong = tmp_path / "wrong.ndjson"
    for index, line in enumerate(lines):
        entry = json.decode(line)
        body = (entry.get("answer") or {}).get("body")
        if isinstance(body, dict) and "balances" in body and isinstance(body["balances"], list):
            body["balances"][0]["displayedCash"] = 1.5
            lines[index] = json.encode(entry)
    wrong.write_bytes(b"\n".join(lines) + b"\n")
    capsys.readouterr()
    assert main(["compare", str(wrong)]) == 1
    out = capsys.readouterr().out
    assert "relation, recording" in out and "displayedCash = buyingPower" in out
    assert "displayed-cash" in shapes_of(read_recording(wrong)).broken


def test_a_file_that_is_no_shape_file_is_refused(tmp_path: Path) -> None:
    for text in ('{"shapes": 9}', '{"shapes": 1, "forms": [{"operation": "No.Such"}]}', '{"shapes'):
        path = tmp_path / "bad.json"
        path.write_text(text)
        assert main(["compare", str(path)]) == 2


# ---- public material


@pytest.mark.parametrize("reading", READINGS)
def test_the_sandbox_agrees_with_what_was_published(reading: str) -> None:
    items = [item for item in measured(reading) if item.axis in ("answer", "refusal")]
    agree = sum(item.agrees for item in items)
    assert len(items) >= 40
    if reading == "observed":
        assert agree / len(items) >= 0.95, [item for item in items if not item.agrees]
    else:  # in documented only what the specification says otherwise differs
        assert agree / len(items) >= 0.5


@pytest.mark.parametrize("name", ["retail", "gateway", "exchange", "refusals"])
def test_published_shapes_have_no_values_and_read_as_a_session(name: str) -> None:
    shapes = published()[name]
    assert shapes.partial and shapes.source and all(form.ask for form in shapes.forms)
    assert len(list(recording_of(shapes).entries)) >= len(shapes.forms)


def test_an_emptied_folder_of_published_shapes_fails(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(material.resources, "path", lambda *names: tmp_path)
    published.cache_clear()
    with pytest.raises(UsageError, match="no shapes"):
        published()
    published.cache_clear()


def test_forms_of_an_answer() -> None:
    from sim.contract.contract import load_contract

    operation = load_contract().by_name("RetailOrdersAPI.GetOrder")
    body = {"order": {"id": "ABCDEFGHIJKL", "avgPx": {"value": "0.4000"}, "goodTillTime": None}}
    assert forms_of(operation, body) == {
        "order.avgPx.value": ["decimal 4"],
        "order.goodTillTime": ["null"],
        "order.id": ["id"],
    }
