"""Assumptions about webhooks: the form of bodies, retries and the circuit breaker."""

from sim.core.catalogue.assumption import choice, flag, number, span

WEBHOOK_SHAPE = choice(
    "webhook.shape",
    "spec",
    ("spec", "docs", "both"),
    "Keys of the body: the specification's (`type`, `participant_id` at the top), those of the "
    "newer documentation (`event_type`, nested `data`), or both.",
    "rule K9",
)
WEBHOOK_ALLOW_PRIVATE = flag(
    "webhook.allow_private",
    True,
    "Receivers on loopback are allowed, also without TLS, because a sandbox is used on one "
    "machine.",
    "rule K8",
)
WEBHOOK_TIMEOUT = span(
    "webhook.timeout", "5s", "An attempt waits this long for the receiver's answer.", "rule K11"
)
WEBHOOK_ATTEMPTS = number(
    "webhook.attempts", 8, "A delivery is given up after this many attempts.", "rule K11"
)
WEBHOOK_RETRY_FIRST = span(
    "webhook.retry_first",
    "1s",
    "The second attempt follows after this long. Every further wait is twice as long, plus or "
    "minus 20 %.",
    "rule K11",
)
WEBHOOK_RETRY_LONGEST = span(
    "webhook.retry_longest",
    "5m",
    "Two attempts are at most this far apart, before jitter.",
    "rule K11",
)
WEBHOOK_BREAKER_THRESHOLD = number(
    "webhook.breaker_threshold",
    5,
    "This many failed attempts in a row open a firm's circuit breaker.",
    "rule K12",
)
WEBHOOK_BREAKER_COOLDOWN = span(
    "webhook.breaker_cooldown",
    "1m",
    "The first pause of an open breaker. It doubles each time the breaker opens again.",
    "rule K12",
)
WEBHOOK_BREAKER_LONGEST = span(
    "webhook.breaker_longest", "1h", "The longest pause of an open breaker.", "rule K12"
)
WEBHOOK_BREAKER_BUFFERS = flag(
    "webhook.breaker_buffers",
    False,
    "Events raised while the breaker is open are lost, and the client recovers them by polling "
    "(§6.1.4). `true` delivers them later.",
    "rule K12",
)
