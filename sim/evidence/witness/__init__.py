"""The witness: what clients saw, and where it contradicts itself.

Invariants ask whether the exchange keeps its own rules. The witness asks what a client can ask:
is there any history at all in which everything that was seen is true? It knows answers, frames and
when they were seen, of us or of the real service, and nothing else. So what it finds is a mistake
of whoever sent it, whatever the code behind it thinks of itself.

How a check is made honest:

- It names what it rests on, and what it must not flag: delivery is at least once, so a message may
  come twice; frames may be late, so instants in messages decide and not their
  arrival; two things of one instant have no order.
- Nothing that was not seen is assumed, nor its absence. A fill of somebody else may explain a
  position that grew more than the known fills, so only one that grew less is a contradiction. That
  there was no bust, no entry or no row is known only between two sights of the same page or stream.
- Where a check cannot judge, it says so and counts it ("cannot tell"): an order whose first fills
  were never seen, a stream on which a fault was injected, a read that overlaps another one.
- Each looks once at each fact and keeps what it needs by order, account or instrument. The work is
  linear in what was seen, but for one sorting of fills and books at the end, and for the rows of an
  account, which are compared with each stream that reports the account.

| Module | Holds |
|---|---|
| `observation`, `journal` | what was seen, in a recording or in a run |
| `facts`, `statements` | what it states: orders, executions, books, money; where it stands |
| `check`, `checks` | the contradictions that are looked for |
| `witness` | the verdict |
"""

from __future__ import annotations

from sim.evidence.witness.witness import Witness, witness_file, witness_run

__all__ = ["Witness", "witness_file", "witness_run"]
