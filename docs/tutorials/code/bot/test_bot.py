import pytest
from bot import Bot


@pytest.fixture
def bot(exchange, client):
    def sleep(seconds):
        exchange.clock.advance(f"{seconds}s")

    return Bot(client, exchange.symbols["open"][0], sleep)


def test_the_bid_is_there(bot, open_bids):
    for _ in range(6):
        bot.step()
    assert len(open_bids()) == 1


@pytest.mark.parametrize("seed", range(5))
def test_chaos(exchange, bot, open_bids, seed):
    exchange.reset(seed)
    exchange.control("PUT", "/preset", {"name": "hostile"})
    for _ in range(50):
        bot.step()
        assert len(open_bids()) <= 1, "the bid was doubled"
    exchange.control("PUT", "/preset", {"name": "ideal"})
    bot.step()
    assert len(open_bids()) == 1


def test_the_bid_comes_back_after_maintenance(exchange, bot, open_bids):
    bot.step()
    exchange.clock.until({"maintenance": True}, within="7d")  # the weekly window begins
    bot.step()
    exchange.clock.until({"maintenance": False})
    exchange.clock.advance("1s")  # now the markets are open again
    bot.step()
    assert len(open_bids()) == 1


def test_the_bot_retries_as_documented(exchange, bot):
    exchange.fault("ListOpenOrders", status=503, times=3)
    for _ in range(5):
        bot.step()
    report = exchange.conformance()
    assert report.ok, "\n".join(report.lines())
