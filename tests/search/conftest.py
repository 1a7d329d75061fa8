"""The command line as a person uses it, and defects to find."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from sim.cli.main import main
from sim.core.accounts.ledger import Ledger
from sim.core.model.quantities import DOLLAR

Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def sim(capsys: pytest.CaptureFixture[str]) -> Run:
    """(exit code, output, errors) of a command: a line, then arguments that may have spaces."""

    def run(line: str, *arguments: object) -> tuple[int, str, str]:
        try:
            code = main([*line.split(), *map(str, arguments)])
        except SystemExit as error:
            code = int(str(error.code))
        out, err = capsys.readouterr()
        assert "Traceback" not in err
        return code, out, err

    return run


@pytest.fixture
def file(tmp_path: Path) -> Callable[[str, str], Path]:
    """Write a file and return its path."""

    def write(name: str, text: str) -> Path:
        path = tmp_path / name
        path.write_text(text)
        return path

    return write


@pytest.fixture
def leaking_money(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A defect: a fill at 60 cents or more pays a dollar from nowhere."""
    right = Ledger.fill

    def wrong(
        self: Ledger, account: str, principal: int, commission: int, symbol: str, trade_id: str
    ) -> None:
        right(self, account, principal, commission, symbol, trade_id)
        if principal > 0 and principal % (10 * DOLLAR) == 6 * DOLLAR:
            self._accounts[account].balance += DOLLAR

    monkeypatch.setattr(Ledger, "fill", wrong)
    yield


@pytest.fixture
def money_from_nowhere(monkeypatch: pytest.MonkeyPatch) -> None:
    """A defect: every fill pays a hundred-millionth of a dollar from nowhere."""
    right = Ledger.fill

    def wrong(
        self: Ledger, account: str, principal: int, commission: int, symbol: str, trade_id: str
    ) -> None:
        right(self, account, principal, commission, symbol, trade_id)
        self._accounts[account].balance += 1

    monkeypatch.setattr(Ledger, "fill", wrong)
