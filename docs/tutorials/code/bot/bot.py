from naive_bot import bid
from polymarket_us import APIConnectionError, APIStatusError

WAITS = (1, 2, 4, 8)  # seconds, as the service documents


class Bot:
    """Keeps one bid in a market, whatever happens.

    Each step reads the open orders and places the bid if it is missing. The bot keeps no record of
    its orders, so it needs no extra code for a lost answer, a restart or a canceled order.
    """

    def __init__(self, client, market, sleep):
        self.client, self.market, self.sleep = client, market, sleep
        self.failures = 0

    def step(self):
        """Return whether the exchange answered every call of this step."""
        try:
            if not self.client.orders.list({"slugs": [self.market]})["orders"]:
                self.client.orders.create(bid(self.market))
        except APIConnectionError:  # no answer: the exchange may have handled the call
            self.wait(WAITS[min(self.failures, 3)])
        except APIStatusError as error:
            if error.status_code == 429:
                self.wait(float(error.response.headers["retry-after"]))
            elif error.status_code >= 500:
                self.wait(WAITS[min(self.failures, 3)])
            else:
                raise  # any other 4xx: a retry cannot succeed
        else:
            self.failures = 0
        return self.failures == 0

    def wait(self, seconds):
        self.failures += 1
        self.sleep(seconds)
