"""The hunt: a search for bugs of the exchange by random sequences of moves.

Theory
------

*Moves, not bytes.* A random request is nearly always refused at once, and independent ones rarely
place an order, replace it and fill the rest. So a sequence consists of moves: orders that belong
together, deals, streams that are resumed, markets along each edge of the lifecycle, actions of an
operator (`moves/`, `live_moves`), and calls drawn from the contract with values that exist then,
near-valid ones and wrong ones. A move is a kind, a seed and a wait. It becomes inputs only where it
is used, so moves can be left out and the rest stays meaningful. The journal holds the inputs.

*Coverage is counted, not followed.* A *feature* is one thing that happened in a run: operation ×
answer × rule, an edge of a lifecycle, a pair of events (`read/features.py`). The hunt prints and
counts the features that it meets; it does not choose its moves by them. A search with memory (a
corpus of states to continue from, energies, swarms, a bandit) was built and measured: with as many
inputs it met 1.03 times the features and found no more bugs than a uniform choice over the same
moves.

*Judges judge histories.* After every input, `oracles` check invariants, the conformance of answers
with our own contract and internal errors, the law (`sim/oracle`) says what had to happen, and
`relations` compare calls that must agree. After an episode, the witness checks what clients
observed. Some episodes are replayed from their journal. A judge sees inputs and outcomes only, so
`check` finds in a journal, in a new process, what the hunt found. Every campaign also searches for
a *canary*, a bug planted in some of its episodes. A campaign that did not find it was blind, and
says so.

Everything is a function of scenario, seed and budget in inputs. A wall clock only stops the hunt.

| Module | Holds |
|---|---|
| `sequences` | the kinds of moves, and random sequences of them |
| `live_view` | the state of the exchange, and values that requests need |
| `live_moves` | moves that need them |
| `clients`, `requests` | calls and streams drawn from the contract |
| `episode` | one episode: moves become inputs, outcomes are checked |
| `agreement` | calls whose answers must agree |
| `judges`, `troubles` | all judges of a run, and what they find |
| `oracles`, `watchdog` | what must hold after one input |
| `relations`, `questions`, `lists`, `replayed`, `reordering` | what must hold between calls |
| `campaign`, `roots` | rounds of episodes, where they begin, what is kept |
| `check`, `finds` | a journal or scenario judged again; minimised findings on disk |
| `report` | printed results |
"""
