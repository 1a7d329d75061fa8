"""Moves: what a client, a tester or time could do next.

A move is drawn from `Choices` and a `View` of the exchange, and yields the steps of a scenario, one
after the other: a call, a stream, an operator's action, a wait. What must fit together within a
move does, such as an order and its replacement; callers, markets, amounts and variants are random.

| Who draws | `Choices` are | the `View` is |
|---|---|---|
| `sim sweep --fuzz` | a named stream of the run's seed | the world that a scenario begins with |
| `sim hunt` | the stream of a move's seed | the exchange as it is now |
| the strategies of hypothesis | hypothesis, which shrinks them | the markets that a test names |

A step refers to a value of an earlier answer as `${name}`, so that it means something whatever that
answer was. `table.py` lists the moves.
"""
