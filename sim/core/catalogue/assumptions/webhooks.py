"""Assumptions about webhooks: the form of bodies, retries and the circuit breaker."""

from sim.core.catalogue.assumption import choice, flag, number, span

WEBHOOK_SHAPE = choice("webhook.shape", "spec", "docs", "both", source="rule K9").because(
    "Keys of the body: the specification's (`type`, `participant_id` at the top), those of the "
    "newer documentation (`event_type`, nested `data`), or both."
)
WEBHOOK_ALLOW_PRIVATE = flag("webhook.allow_private", True, source="rule K8").because(
    "Receivers on loopback are allowed, also without TLS, because a sandbox is used on one machine."
)
WEBHOOK_TIMEOUT = span("webhook.timeout", "5s", source="rule K11").because(
    "An attempt waits this long for the receiver's answer."
)
WEBHOOK_ATTEMPTS = number("webhook.attempts", 8, source="rule K11").because(
    "A delivery is given up after this many attempts."
)
WEBHOOK_RETRY_FIRST = span("webhook.retry_first", "1s", source="rule K11").because(
    "The second attempt follows after this long. Every further wait is twice as long, plus or "
    "minus 20 %."
)
WEBHOOK_RETRY_LONGEST = span("webhook.retry_longest", "5m", source="rule K11").because(
    "Two attempts are at most this far apart, before jitter."
)
WEBHOOK_BREAKER_THRESHOLD = number("webhook.breaker_threshold", 5, source="rule K12").because(
    "This many failed attempts in a row open a firm's circuit breaker."
)
WEBHOOK_BREAKER_COOLDOWN = span("webhook.breaker_cooldown", "1m", source="rule K12").because(
    "The first pause of an open breaker. It doubles each time the breaker opens again."
)
WEBHOOK_BREAKER_LONGEST = span("webhook.breaker_longest", "1h", source="rule K12").because(
    "The longest pause of an open breaker."
)
WEBHOOK_BREAKER_BUFFERS = flag("webhook.breaker_buffers", False, source="rule K12").because(
    "Events raised while the breaker is open are lost, and the client recovers them by polling "
    "(§6.1.4). `true` delivers them later."
)
