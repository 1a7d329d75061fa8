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
  search): changes that gain without loss and touch different lines are made together, and a replay
  confirms them. Where no single change gains, two are combined: one that touches a line that
  differs, with what the exchange reads only under it. At the end each exercised assumption is
  changed alone, back to our value and to every other. Only what is worse without a change counts as
  evidence for it, so a change that another one made needless is taken back.
* *Numbers* fit in ranges, not in points (`numbers.py`). A range of a span is widened by the
  resolution of the recording's clock before our value is compared with it: a tenth of a second, or,
  where the service's clock was moved by hand, the second of a Date header. A range that is not
  narrow is undecided.
* *Odds* are counts (`confidence_interval.py`). A quirk is made to strike or not each time it is
  asked, until lines agree; the times at which that makes a difference are the sample. One exception
  excludes "never" and "always". An exact confidence interval excludes other odds, and a few samples
  confirm nothing.
* *Alternatives.* Before our value is refuted, other names are tried in its place
  (`alternatives.py`). Where another name explains the same lines, neither is refuted: both are
  undecided, and the verdict names both. Where it explains more, the search took the wrong one and
  continues from the other.
* *Chance.* Some waits are drawn. Our value is tried with other seeds before it is refuted. If one
  of them explains the lines, it is not refuted.
* *Never a false name.* A difference that no value explains stays, and is listed. What a recording
  does not show (signed assertions, headers of the edge, texts of errors) is not inferred from.

`session.py` replays the recording, unless the outcome is known, `search.py` changes one value at a
time and `combined.py` two, `verdicts.py` judges each name, `infer.py` runs all of it and reports.
"""
