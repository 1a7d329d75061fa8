"""Random sessions of money: trades, fees, busts, settlements, corrections, days, and every read."""

from __future__ import annotations

import pytest

from tests.oracle.session import NAMES, SYMBOLS, Session


class MoneySession(Session):
    """A session in which operators move money, and everybody reads theirs."""

    def bust(self) -> None:
        """Bust one of the last trades, perhaps once more."""
        if trades := self.desk.trading.trades[-6:]:
            self.control("trade.bust", self.rng.choice(trades).id)

    def settle(self) -> None:
        """Settle a market, or correct its settlement."""
        price = self.choice("0", "1", "0.5", "0.37")
        self.control("instrument.settle", self.choice(*SYMBOLS), price=price)

    def fund(self) -> None:
        """Move money in or out, perhaps more than there is."""
        account = f"firms/atlas/accounts/{self.choice(*NAMES)}"
        self.control("account.fund", account, amount=self.choice("5", "0.01", "-1", "-90"))

    def read(self) -> None:
        """Read what a participant has, on one of the surfaces that tell it."""
        user, symbol = self.rng.randrange(3), self.choice(*SYMBOLS)
        account = f"firms/atlas/accounts/{NAMES[user]}"
        exchange, retail = self.traders[user], self.customers[user]
        size = self.choice(1, 3, 1000)
        match self.rng.randrange(9):
            case 0:
                body = {"name": account, "currency": "USD"}
                exchange.post("/v1/positions/balance", json=body)
            case 1:
                exchange.get("/v1/positions", params={"name": account})
            case 2:
                asked = {"account": account, "pageSize": size, "newestFirst": "true"}
                exchange.get("/v1/funding/balance-ledger", params=asked)
            case 3:
                asked = {"account": account, "pageSize": size}
                exchange.get("/v1/positions/ledger", params=asked)
            case 4:
                kind = self.choice("orders", "executions", "trades")
                exchange.post(f"/v1/report/{kind}/search", json={"pageSize": size})
            case 5:
                retail.get("/v1/portfolio/positions", params={"limit": 100})
            case 6:
                retail.get("/v1/portfolio/activities", params={"limit": size})
            case 7:
                retail.get("/v1/account/balances")
            case 8:
                retail.get(f"/v1/markets/{symbol}/{self.choice('book', 'bbo', 'settlement')}")


@pytest.mark.spec("S4.3-14", "S4.3-17", "S4.3-18", "S4.2-5", "S4.2-6", "S2.8-3", "S2.8-4")
@pytest.mark.parametrize("seed", range(8))
def test_money_and_what_tells_it_keep_the_law(seed: int) -> None:
    """P2-P5, P9-P12, P20-P24, M42, L23-L27, S9."""
    session = MoneySession(seed, cash="60" if seed % 2 else "400")
    session.play(
        250,
        (session.trade, 9),
        (session.replace, 2),
        (session.bust, 1),
        (session.fund, 0.7),
        (session.next_day, 0.4),
        (session.read, 9),
    )
    session.play(40, (session.settle, 1), (session.read, 3), (session.bust, 0.5))
