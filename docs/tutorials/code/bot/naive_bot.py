class Bot:
    """Keeps one bid in a market."""

    def __init__(self, client, market):
        self.client, self.market = client, market
        self.placed = False

    def step(self):
        if not self.placed:
            self.client.orders.create(bid(self.market))
            self.placed = True


def bid(market):
    return {
        "marketSlug": market,
        "intent": "ORDER_INTENT_BUY_LONG",
        "type": "ORDER_TYPE_LIMIT",
        "price": {"value": "0.02", "currency": "USD"},
        "quantity": 1,
        "tif": "TIME_IN_FORCE_GOOD_TILL_CANCEL",
    }
