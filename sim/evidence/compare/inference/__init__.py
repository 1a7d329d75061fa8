"""Which values of our assumptions and quirks a recording allows (`sim infer`).

Theory.

* Ours is deterministic and its unknowns are data. A *setting* is a value for every assumption and a
  decision for every time that a quirk was asked. With a setting, a scenario and a seed there is one
  replay of a recording, and one set of lines at which it differs. Inference is the search for
  settings that differ least, and a statement of how far they are determined.
* A recording *exercises* an assumption if another value of it changes at least one compared line,
  with everything else as the evidence has it. Nothing else is said to be seen. A value that no
  answer asked for cannot change any, so what a replay asks for is noted, and the rest is "not
  observed" without a trial. What is asked for only while something else has its right value is
  found once that has it.
* A line becomes *better* when it agrees and did not, when fewer of its places differ, or when its
  status agrees and now its body can be read; *worse* the other way; and otherwise nobody can say. A
  value *dominates* another if some lines are better under it and none is worse. A value is excluded
  if another dominates it. What is left is consistent:

  | Verdict | When |
  |---|---|
  | confirmed | ours is the only value left; of numbers: the range is narrow |
  | refuted | another value dominates ours, under every seed tried |
  | undecided | ours is left, and others |
  | not observed | no value changes a compared line |

* *Interaction.* The search begins with our own values and goes where most lines gain (coordinate
  descent): changes that gain without loss and touch different lines are made together, and the
  whole is replayed to confirm it. Where no single change gains, each change that touches a line
  that differs is tried together with what is asked for only under it. At the end each exercised
  assumption is moved alone, back to our value and to every other: only what is worse without a
  change counts as evidence for it, so a change that something else made needless is taken back.
* *Numbers* fit in ranges, not in points (`numbers.py`). A range of a span is widened by the
  resolution of the recording's clock before ours is held against it: a tenth of a second, or, where
  the service's clock was moved by hand, the whole second of a Date header. A range that is not
  narrow is undecided.
* *Odds* are counts (`odds.py`). A quirk is made to strike or not each time it is asked, until lines
  agree; the times at which that makes a difference are the sample. One exception excludes "never"
  and "always"; an exact interval excludes other odds, and a few samples confirm nothing.
* *Rivals.* Before ours is refuted, other names get the chance to explain its lines with ours in
  place (`rivals.py`). Where one does, neither is refuted: both are undecided, and named together.
  Where one explains more, the descent took the wrong one: it goes on from the other.
* *Luck.* Some waits are drawn. Before ours is refuted it gets other seeds; if one of them explains
  the lines, ours is not refuted.
* *Never a false name.* A difference that no value explains stays, and is listed. What a recording
  does not show (signed assertions, headers of the edge, texts of errors) is not inferred from.

`trial.py` makes one replay, `session.py` spares what replays have in common, `search.py` is the
descent, `verdicts.py` what is left, `infer.py` all of it and its report.
"""
