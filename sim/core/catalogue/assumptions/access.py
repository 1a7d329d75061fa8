"""Assumptions about tokens, participants, partners and identity verification."""

from sim.core.catalogue.assumption import choice, flag, number, span, text

CLIENT_CLOCK = choice(
    "auth.client_clock",
    "either",
    ("either", "virtual", "wall"),
    "Assertions and retail timestamps carry the client's clock. They are fresh if they fit "
    "virtual now or the wall clock.",
    "our choice: a real client works in a scenario of another month",
)
ASSERTION_LIFE_MAX = span(
    "token.assertion_life_max",
    "1h",
    "A client assertion may be valid for this long. The reference client signs for 4 minutes and "
    "stock OAuth clients for an hour; the public documentation says 5 minutes (set 5m).",
    "§5.1 item 2, rule E3",
)
TOKEN_CLIENT_ID_REQUIRED = flag(
    "token.client_id_required",
    False,
    "The client_id field may be left out, because the assertion names the client and stock "
    "private_key_jwt clients do not send it (RFC 7523). A client_id that is sent must match.",
    "§5.1 item 3",
)
PARTICIPANT_TOKEN_LIFE = span(
    "participant_token.life",
    "3m",
    "A participant's token lives this long if the call names no ttl_seconds: as long as a firm's.",
    "our choice: no document says",
    least="1s",
)
PARTICIPANT_TOKEN_LIFE_MAX = span(
    "participant_token.life_max",
    "1h",
    "The longest ttl_seconds of a participant's token. More is refused.",
    "our choice: no document says",
    least="1s",
)
USERS_ONBOARD = flag(
    "users.create_onboards",
    False,
    "CreateUser only registers a person, whom KYC makes a participant. `true` creates a "
    "participant and an empty account at once, unverified.",
    "our choice: no document says",
)
USERS_REQUIRE_PARTICIPANT = flag(
    "users.require_participant",
    False,
    "GET /v1/users needs only a scope (§4.3); otherwise nobody could learn the first participant. "
    "The documentation also asks for x-participant-id.",
    "§4.3",
)
PARTNER_GAME_IDS = text(
    "partners.game_ids",
    "sportradar",
    "The partner key under which a gameId or sportradarGameId finds an event. A scenario lists "
    "the other ids.",
    "our choice: no document says",
)
PARTNER_SIDES = choice(
    "partners.mapped_sides",
    "all",
    ("all", "moneyline"),
    "mappedMarketSides are the sides of all markets of the event. `moneyline` keeps the markets "
    "that ask who wins.",
    "our choice: no document says",
)
KYC_OUTCOME_RULES = choice(
    "kyc.outcome_rules",
    "sandbox",
    ("sandbox", "approve", "document", "review", "reject"),
    "Verification follows the triggers of the public sandbox (an e-mail, a name, five dates of "
    "birth). Every other value forces that outcome.",
    "rule K5",
)
KYC_PROVISION_DELAY = span(
    "kyc.provision_delay",
    "0s",
    "An approved person becomes a usable participant after this long. 0s draws it log-uniformly "
    "between 500 ms and 26 minutes.",
    "rule K3",
)
KYC_DOCUMENT_DELAY = span(
    "kyc.document_delay",
    "5s",
    "An uploaded document decides the case after this long.",
    "rule K4, without a number",
)
KYC_REVIEW_OUTCOME = choice(
    "kyc.review_outcome",
    "approve",
    ("approve", "reject", "hold"),
    "A manual review ends like this after its one or two business days. `hold` leaves it to the "
    "control plane.",
    "rule K4, without an outcome",
)
KYC_SSN_CONFLICT = choice(
    "kyc.ssn_conflict_status",
    "400",
    ("400", "409"),
    "HTTP status for an SSN that belongs to somebody else. §7.2 says 400; the contract says 409 "
    "elsewhere.",
    "rule K6",
)
KYC_PROVISIONING_STATUS = choice(
    "kyc.provisioning_status",
    "CLOSED",
    ("CLOSED", "ON_HOLD"),
    "Status of an approved case that is not provisioned yet: the specification says CLOSED, the "
    "documentation ON_HOLD.",
    "§3.5",
)
KYC_DOCV_SUB_STATUS = choice(
    "kyc.docv_substatus",
    "docv_required",
    ("docv_required", "Document Request Initiated"),
    "Sub-status while a document is required: the specification's word first, then the "
    "documentation's.",
    "§3.5",
)
KYC_PREFILL_MATCH = choice(
    "kyc.prefill_match",
    "sandbox",
    ("sandbox", "always", "never"),
    "Prefill knows only the phone number and birthday that the documents call a match. Everybody "
    "else with the right code gets no_match.",
    "our choice: no document says",
)
KYC_PREFILL_ATTEMPTS = number(
    "kyc.prefill_attempts",
    3,
    "After this many wrong codes, a new code must be sent.",
    "our choice: no document says",
    least=1,
)
KYC_PREFILL_CODE_LIFE = span(
    "kyc.prefill_code_life",
    "10m",
    "A one-time code is valid for this long.",
    "our choice: no document says",
)
