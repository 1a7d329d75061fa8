"""The hunt: search guided by what the exchange was seen to do.

Theory
------

Random storms level off: the eighth seed of a storm meets what the first seven met. The reason is
known from fuzzing programs: what is rare is reached by steps that are each improbable, so a search
that forgets every step pays their product. A search that keeps what was *new* and goes on from
there pays their sum. Four ideas of that field are used here, each in the words of an exchange:

* **Coverage** (AFL, libFuzzer). Not lines of code but *features*: operation × answer × rule, edges
  of lifecycle, orders, trades, verifications and funding, pairs of events, kinds of frames, sides
  of dates (`sim/analysis/features`). A feature that nobody met before is news.
* **A corpus of moments.** A *moment* is a state that was reached, kept as the inputs that lead to
  it and, while there is room, as a simulation that stands there. An *episode* forks a moment and
  lets some more happen. The shortest part of it that brought the news becomes a new moment.
* **Swarms** (Groce et al.). Leaving most kinds of inputs out makes the others meet more often. An
  episode draws which kinds it leaves out.
* **Energy** (AFLFast). Where something was new lately, and where few have looked yet, more time is
  spent: of moments and of kinds of inputs alike.

An input is drawn as a **gene**: what to do, a seed, and how long to wait before. The gene becomes
an input only where it is used: its seed draws a caller who may or may not, and a request from the
contract with values that exist *then* (symbols, orders, accounts, identifiers of earlier answers),
near-valid ones and wrong ones. So genes can be repeated, left out, put elsewhere, moved in time,
and still mean something; a list of bytes could not. What is journalled are the inputs.

Everything is a function of scenario, seed and budget in inputs: episodes are planned in rounds of
fixed size, from what the rounds before have found, and their results are taken in the order of the
plan, so it does not matter how many processes carry them out. A wall clock only stops the hunt.

After every input *oracles* look: invariants, answers held against our own contract, internal
errors; after an episode the witness looks at what clients saw; now and then the episode is replayed
from its journal, and a read is asked on REST and gRPC. Every campaign also searches for a
*canary*, a bug made on purpose in some of its episodes. A campaign that did not find it was blind,
and says so.

| Module | Holds |
|---|---|
| `genes` | genes, and the kinds of them that a scenario offers |
| `vocabulary` | the values that requests are made of |
| `requests`, `actors` | inputs drawn from the contract, and what else clients and operators do |
| `arena`, `sight`, `happened` | one episode: inputs, what it is looked at for, what came of it |
| `patience` | inputs that do not end |
| `courses` | inputs that only mean something one after the other |
| `oracles`, `agreement`, `canary` | what must hold, and whether we would notice |
| `moments`, `corpus` | states to go on from, and where energy goes |
| `planning`, `yields` | episodes, made in the ways that brought most for their cost |
| `campaign`, `finds`, `report` | rounds, what was found made small, what is printed |
"""
