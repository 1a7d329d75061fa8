from naive_bot import Bot


def test_the_bid_is_there(exchange, client, open_bids):
    bot = Bot(client, exchange.symbols["open"][0])
    for _ in range(6):
        bot.step()
    assert len(open_bids()) == 1
