"""Published documents are held against the contract: what moved is told, and nothing else is."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path
from typing import Any

import pytest

from sim.cli.main import main
from sim.contract.changelog import rss
from sim.kernel.instants import parse_instant

PROTO = Path(__file__).parents[2] / "proto" / "exchange" / "v1" / "order_book.proto"


@pytest.fixture
def folder(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Path:
    """Documents as they would be published today, from ours."""
    published = tmp_path / "published"
    published.mkdir()
    for plane in ("gateway", "retail"):
        assert main(["openapi", plane]) == 0
        (published / f"{plane}.json").write_text(capsys.readouterr().out)
    (published / "order_book.proto").write_text(PROTO.read_text())
    (published / "changelog.xml").write_bytes(
        rss(parse_instant("2026-10-10T00:00:00Z"), "http://x")
    )
    return published


def test_documents_that_say_the_same_are_quiet(folder: Path, capsys: Any) -> None:
    assert main(["fidelity", "--documents", str(folder)]) == 0
    assert "gateway.json: 0 differences" in capsys.readouterr().out


def test_what_moved_is_told(folder: Path, capsys: Any) -> None:
    document = json.loads((folder / "retail.json").read_text())
    document["paths"]["/v1/orders/{orderId}/clone"] = {"post": {}}
    schema = document["components"]["schemas"]["retail.v1.UserBalance"]
    schema["properties"]["rewardHold"] = {"type": "number"}
    (folder / "retail.json").write_text(json.dumps(document))
    text = PROTO.read_text().replace("rpc GetBBO(", "rpc GetTop(").replace("= 2;", "= 22;", 1)
    with zipfile.ZipFile(folder / "bundle.zip", "w") as bundle:
        bundle.writestr("exchange/v1/order_book.proto", text)
    feed = folder / "changelog.xml"
    item = "<item><title>Margin is due at noon</title></item></channel>"
    feed.write_text(feed.read_text().replace("</channel>", item))
    assert main(["fidelity", "--documents", str(folder), "--json"]) == 1
    rows = json.loads(capsys.readouterr().out)["documents"]
    subjects = {row["subject"] for each in rows.values() for row in each}
    assert {
        "POST /v1/orders/{orderId}/clone",
        "retail.v1.UserBalance.rewardHold",
        "rpc GetTop",
    } <= subjects
    assert "changelog: Margin is due at noon" in subjects
    assert any(row["published"] == "field 22" for row in rows["bundle.zip"])


def test_a_folder_without_documents_is_refused(tmp_path: Path) -> None:
    assert main(["fidelity", "--documents", str(tmp_path)]) == 2
    (tmp_path / "broken.json").write_text("{")
    assert main(["fidelity", "--documents", str(tmp_path)]) == 2
