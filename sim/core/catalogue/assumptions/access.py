"""Assumptions about tokens, participants, partners and identity verification."""

from sim.core.catalogue.assumption import choice, flag, number, span, text

CLIENT_CLOCK = choice(
    "auth.client_clock",
    "either",
    "virtual",
    "wall",
    source="our choice: a real client works in a scenario of another month",
).because(
    "Assertions and retail timestamps carry the client's clock. They are fresh if they fit virtual "
    "now or the wall clock."
)
ASSERTION_LIFE_MAX = span(
    "token.assertion_life_max", "5m", source="public documentation; §5.1 item 2, rule E3"
).because(
    "A client assertion may be valid for this long. The reference client signs for 4 minutes. "
    "Stock OAuth clients sign for an hour by default (set 1h)."
)
TOKEN_CLIENT_ID_REQUIRED = flag("token.client_id_required", True, source="§5.1 item 3").because(
    "A token request has a client_id field, which must match the assertion. `false` lets it be "
    "left out, as stock private_key_jwt clients do, because the assertion names the client already "
    "(RFC 7523)."
)
PARTICIPANT_TOKEN_LIFE = span("participant_token.life", "3m", least="1s").because(
    "A participant's token lives this long if the call names no ttl_seconds: as long as a firm's."
)
PARTICIPANT_TOKEN_LIFE_MAX = span("participant_token.life_max", "1h", least="1s").because(
    "The longest ttl_seconds of a participant's token. More is refused."
)
USERS_ONBOARD = flag("users.create_onboards", False).because(
    "CreateUser only registers a person, whom KYC makes a participant. `true` creates a "
    "participant and an empty account at once, unverified."
)
USERS_REQUIRE_PARTICIPANT = flag("users.require_participant", False, source="§4.3").because(
    "GET /v1/users needs only a scope (§4.3); otherwise nobody could learn the first participant. "
    "The documentation also asks for x-participant-id."
)
PARTNER_GAME_IDS = text("partners.game_ids", "sportradar").because(
    "The partner key under which a gameId or sportradarGameId finds an event. A scenario lists the "
    "other ids."
)
PARTNER_SIDES = choice("partners.mapped_sides", "all", "moneyline").because(
    "mappedMarketSides are the sides of all markets of the event. `moneyline` keeps the markets "
    "that ask who wins."
)
KYC_OUTCOME_RULES = choice(
    "kyc.outcome_rules", "sandbox", "approve", "document", "review", "reject", source="rule K5"
).because(
    "Verification follows the triggers of the public sandbox (an e-mail, a name, five dates of "
    "birth). Every other value forces that outcome."
)
KYC_PROVISION_DELAY = span("kyc.provision_delay", "0s", source="rule K3").because(
    "An approved person becomes a usable participant after this long. 0s draws it log-uniformly "
    "between 500 ms and 26 minutes."
)
KYC_DOCUMENT_DELAY = span("kyc.document_delay", "5s", source="rule K4, without a number").because(
    "An uploaded document decides the case after this long."
)
KYC_REVIEW_OUTCOME = choice(
    "kyc.review_outcome", "approve", "reject", "hold", source="rule K4, without an outcome"
).because(
    "A manual review ends like this after its one or two business days. `hold` leaves it to the "
    "control plane."
)
KYC_SSN_CONFLICT = choice("kyc.ssn_conflict_status", "400", "409", source="rule K6").because(
    "HTTP status for an SSN that belongs to somebody else. §7.2 says 400; the contract says 409 "
    "elsewhere."
)
KYC_SSN_REUSE = choice("kyc.ssn_reuse", "refused", "accepted", source="rule K6").because(
    "A second person with an SSN that is in use. `refused` answers at once; `accepted` verifies "
    "that person too, whose transfers then fail with NOT_FOUND. §7.2 names both."
)
KYC_PROVISIONING_STATUS = choice(
    "kyc.provisioning_status", "CLOSED", "ON_HOLD", source="§3.5"
).because(
    "Status of an approved case that is not provisioned yet: the specification says CLOSED, the "
    "documentation ON_HOLD."
)
KYC_DOCV_SUB_STATUS = choice(
    "kyc.docv_substatus", "docv_required", "Document Request Initiated", source="§3.5"
).because(
    "Sub-status while a document is required: the specification's word first, then the "
    "documentation's."
)
KYC_PREFILL_MATCH = choice("kyc.prefill_match", "sandbox", "always", "never").because(
    "Prefill knows only the phone number and birthday that the documents call a match. Everybody "
    "else with the right code gets no_match."
)
KYC_PREFILL_ATTEMPTS = number("kyc.prefill_attempts", 3, least=1).because(
    "After this many wrong codes, a new code must be sent."
)
KYC_PREFILL_CODE_LIFE = span("kyc.prefill_code_life", "10m").because(
    "A one-time code is valid for this long."
)
