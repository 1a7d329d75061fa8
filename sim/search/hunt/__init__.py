"""The hunt: a search guided by what the exchange was observed to do.

Theory
------

Random storms level off: the eighth seed of a storm exercises what the first seven did. The reason
is known from fuzzing programs: a rare situation is reached by several improbable steps, so a search
that forgets every step pays the product of their costs. A search that keeps what was *new* and
continues from there pays the sum. Four ideas of that field are used here, in terms of an exchange:

* **Coverage** (AFL, libFuzzer). Not lines of code but *features*: operation × answer × rule, edges
  of lifecycle, orders, trades, verifications and funding, pairs of events, kinds of frames, sides
  of dates (`sim/read/features`). A feature that was never met before is news.
* **A corpus of moments.** A *moment* is a state that was reached, kept as the inputs that lead to
  it and, while there is room, as a simulation in that state. An *episode* forks a moment and adds
  further inputs. The shortest part of it that brought the news becomes a new moment.
* **Swarms** (Groce et al.). Leaving out most kinds of inputs makes the others interact more often.
  An episode draws which kinds it leaves out.
* **Energy** (AFLFast). More time is spent where something was new recently and where the search
  has been rarely, for moments and for kinds of inputs alike.

An input is drawn as a **gene**: what to do, a seed, and how long to wait before. The gene becomes
an input only where it is used: its seed draws a caller who may or may not have permission, and a
request from the contract with values that exist *then* (symbols, orders, accounts, identifiers of
earlier answers), near-valid ones and wrong ones. So genes can be repeated, left out, moved to other
places or times, and still be meaningful; a list of bytes could not. The journal holds the inputs.

Everything is a function of scenario, seed and budget in inputs: episodes are planned in rounds of
fixed size from the results of earlier rounds, and their results are used in the order of the plan,
so the number of processes that carry them out does not matter. A wall clock only stops the hunt.

After every input, *oracles* check: invariants, the conformance of answers with our own contract,
internal errors. After an episode, the witness checks what clients saw. Occasionally, the episode is
replayed from its journal, and a read is compared on REST and gRPC. Every campaign also searches for
a *canary*, a bug planted in some of its episodes. A campaign that did not find it was blind, and
says so.

| Module | Holds |
|---|---|
| `genes` | genes, and the kinds of them that a scenario offers |
| `vocabulary` | the values of which requests are made |
| `requests`, `clients`, `callers`, `operators` | inputs of clients, drawn from the contract, and
actions of operators | | `arena`, `episode_checks`, `episode_result` | one episode: its inputs,
checks and result | | `watchdog` | inputs that do not end | | `courses` | sequences of inputs that
are only meaningful together | | `oracles`, `agreement`, `twin`, `canary` | what must hold, and
whether we would notice | | `checkpoints`, `corpus` | states to continue from, and the distribution
of energy | | `planning`, `bandit` | episodes, planned in the ways with the best results for their
cost | | `campaign`, `finds`, `report` | rounds, minimised finds, printed results |
"""
