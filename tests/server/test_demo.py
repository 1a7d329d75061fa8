"""`sim demo`, the first command of the README: every stage of the journey happens, in its order."""

from __future__ import annotations

import re

from sim.cli import demo
from sim.cli.main import main

# A line of the timeline each: who, what, and what came of it, beside it or below it.
STAGES = [
    r"1  A partner onboards a customer",
    r"partner +token by private_key_jwt +200, lives 180 s",
    r"partner +registers its webhook +webhook\.test",
    r'partner +starts verification of Ada Moreno +ACCEPT, participantId ""',
    r"tester +moves the clock 30 minutes +\d+ timers fired",
    r"exchange +posts kyc\.approved +signature verified",
    r"partner +gRPC CreateCashMovement: \$500\.00 +[0-9a-f-]{36}",
    r"partner +reads the balance +\$500\.00",
    r"2  The customer trades with a retail user",
    r"both +open a gRPC stream and a WebSocket +each begins with a snapshot",
    r"partner +buys 40 YES at \$0\.60 +rests as [A-Z0-9]{12,13}",
    r"retail user +buys 40 NO \(sells YES at \$0\.60\) +NEW, FILL",
    r"order stream +execution report +FILL, trade [A-Z0-9]{12,13}",
    r"WebSocket +marketData +last trade \$0\.6000",
    r"3  The market closes, settles and pays",
    r"official +closes the market +CLOSED",
    r"official +settles at \$1: YES won +2 accounts paid",
    # 500 less 24 for 40 contracts at 0.60, plus what a maker is paid, plus 40 for YES.
    r"partner +reads its ledger +balance \$516\.12",
    r"DEPOSIT +→ \$500\.00",
    r"ORDER_EXECUTION +→ \$476\.12",
    r"RESOLUTION +→ \$516\.12",
    r"retail user +reads the balance +\$9983\.42",
    r"auditor +adds up all \d+ accounts +\$0\.00",
    r"seed 7, digest [0-9a-f]{64}",
    r"replay it: \S*sim replay ",
]


def test_every_stage_of_the_journey_happens_and_its_journal_replays(tmp_path, capsys, monkeypatch):
    for name in ("http_proxy", "https_proxy", "all_proxy"):  # nobody answers there
        monkeypatch.setenv(name, "http://127.0.0.1:1")
    journal = tmp_path / "demo.ndjson"
    assert main(["demo", "--journal", str(journal)]) == 0
    reported = capsys.readouterr().out
    at = 0
    for stage in STAGES:
        result = re.compile(stage.replace(" +", r"[\s└]+")).search(reported, at)
        assert result, f"{stage!r} does not follow in\n{reported[at:]}"
        at = result.end()
    digest = re.search(r"digest ([0-9a-f]{64})", reported)
    assert digest is not None
    assert main(["replay", str(journal)]) == 0
    assert digest[1] in capsys.readouterr().out


def test_a_journey_that_goes_wrong_says_where_and_fails(tmp_path, capsys, monkeypatch):
    """Here the person is one whom the sandbox rejects."""
    rejected = demo.PERSON | {"email": "reject@example.com"}
    monkeypatch.setattr(demo, "PERSON", rejected)
    assert main(["demo", "--journal", str(tmp_path / "demo.ndjson")]) == 1
    reported = capsys.readouterr().out
    assert "the journey ended early:" in reported
    assert "REJECT" in reported
