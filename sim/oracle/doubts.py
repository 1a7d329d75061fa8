"""Why an input may be undecided: every kind, with its reason."""

from __future__ import annotations

DOUBTS = {
    "a period that changed while a stream was open": "Heartbeats, refreshes and ends that are on"
    " their way may follow the former period or the new one.",
    "frames that the law does not know": "Changes of funding transactions are on one stream only,"
    " and in no journal; by an assumption a stream of changes begins with positions.",
    "frames of a stream that takes none": "A client wrote on a stream of the server, which gRPC"
    " does not allow.",
    "the hidden book of a state that the schedule does not want": "Whether a book stays hidden when"
    " an operator, maintenance or dates leave its segment, no rule says.",
    "a resume token that the law has not met": "It was issued before the law began, or by a stream"
    " that a fault had struck.",
    "a limit whose counting began anew": "A limit was replaced, or the law began in its middle.",
    "a filter that the law does not evaluate": "A search may compare columns that the law does not"
    " keep, and positions may be asked for as of an instant.",
    "a read that the law does not know": "Sports, people, funding, combos and requests for quotes"
    " have rows that the law does not keep; a download is no part of a record.",
    "a refused read": "The refusal has no reason that the law knows, and none that excludes it.",
    "margin with collateral return": "The law does not pair related positions.",
    "orders that wait for the engine": "A read may come before the engine has taken an order.",
    "retail reads that lag": "With `retail.read_lag` a read shows an earlier state.",
    "a transfer from before": "The law began while a bank was still deciding.",
    "sockets of one key": "The law does not count open sockets where they have a limit.",
    "a bound of totals": "What was traded or paid in a market since it began has a bound (T3).",
    "an event that is delivered twice": "Retries of both deliveries go on side by side.",
    "an announced wipe": "Which executions an announced wipe removes is no rule.",
    "a cross that waits for the engine": "Both sides of a cross wait as one request.",
    "a sealed code": "A code from a text message is in no journal.",
    "a token that the journal does not name": "The answer that issued it was altered on its way.",
    "an event from before the law began": "A delivery of an event that the law did not see.",
    "an injected fault": "A fault changed the answer, so it shows nothing of the exchange.",
    "an order bound to a stream": "An order of a session depends on the end of that stream.",
    "idempotency keys in a list": "The law does not follow which entries repeat an order.",
    "trades outside the book": "The two orders of a confirmed quote trade with each other, at terms"
    " that were agreed before.",
    "prices of an index": "The index follows a random walk, of which clients see candles only when"
    " they ask.",
    "facts of a game": "The clock plays the games of the default world. No client sees a result"
    " before it decides a market.",
    "rewards by score and volume": "Scores and volumes count what happened before the run was"
    " followed.",
    "a bank's decision": "An operator decides a transaction by an id that no event shows.",
}
