"""What streams send and end with.

| Module | Holds |
|---|---|
| `rules` | who may open a stream, and its frames and end compared with what they had to be |
| `subscriptions` | what an open stream covers, and which rows an event makes for it |
| `frames` | how the exchange's streams show an event |
| `resume` | replays and resume tokens |
| `dialogue` | the bidirectional market data stream |
| `sockets` | the retail WebSockets |
"""
