"""The law: the exchange once more, naive on purpose, which judges every run.

A law is a sentence that can be broken. The exchange decides; the law says afterwards whether each
decision was the one that the specification and the page *Rules* demand. To be worth anything it
must not be the same program twice, so it is written from the sentences, with fractions, lists and
searches instead of scaled integers, indexes and caches. It may not look inside: whoever reads the
exchange's state inherits the exchange's mistakes and calls them agreement. What it gets is what
a run shows (`sim/read/observed.py`): inputs, answers, reports, frames, deliveries. What it
remembers it derived from these itself.

**Causes and consequences.** Some decisions are free: somebody sends an order, a scripted
participant acts, an operator halts a market, luck draws a delay. The law asks whether the decision
was allowed in the state before it. Others follow: a trade, its two reports, positions, cash, fees,
the stop order that it triggers. These the law computes and expects, field by field. Whatever is
still expected when the input ends did not happen, and whatever happened without being expected or
allowed has no cause. Both are disagreements (`law.py`).

**Undecided** is a verdict too. Where an assumption, luck or an injected fault decides, the law
takes what it observes and checks that it was possible. Where it lacks the knowledge to say even
that, it says so, by kind, and counts. A judge that answers "agreed" where it only has not looked is
worse than none. `doubts.py` has every kind with its reason.

**One mistake is told once.** After a disagreement the law takes over what the run shows, and goes
on from there.

| Module | Holds |
|---|---|
| `law`, `hearing`, `verdict`, `doubts` | how an input is judged |
| `exchange`, `state` | what the law remembers |
| `matching`, `fills`, `fees`, `money` | what follows from an order |
| `orders`, `order_*`, `entry`, `changes`, `engine_queue` | what was asked, granted, refused |
| `lifecycle`, `schedules`, `maintenance` | what time and operators do to markets |
| `settlement`, `clearing`, `transfers` | what happens to trades and money afterwards |
| `access`, `tokens`, `limits`, `removals` | who may ask, how often, until when |
| `verification`, `webhooks` | who becomes a participant, and what firms are told |
| `streams` | what streams begin with, send, repeat, and end with |
| `answers` | what reads answer: books, reports, portfolios, statistics, prices, catalogue |
"""
