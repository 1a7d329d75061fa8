"""Observations of the exchange API and the token issuer."""

from sim.core.catalogue.assumptions import (
    ASSERTION_LIFE_MAX,
    BULK_EXPORT,
    EXTRA_LIMITS,
    SYNCHRONOUS_UNTIL,
)
from sim.core.catalogue.observations.observation import DOCS, SDK, Observation

_REFERENCE = "public API reference"

PUBLISHED_LIMITS = (
    Observation("limits.published", "2026-09", (DOCS,), _REFERENCE)
    .set_by(EXTRA_LIMITS, "true", in_observed=False)
    .of(
        "OrderBookAPI.GetOrderBook",
        "OrderBookAPI.GetBBO",
        "RefDataAPI.ListInstruments",
        "OrderEntryAPI.InsertOrder",
        "OrderEntryAPI.CancelReplaceOrder",
        "OrderEntryAPI.CancelOrder",
    )
    .about("refusal", "timing")
    .shows(
        "GetOrderBook and GetBBO 12 a minute, ListInstruments 6 a minute, InsertOrder and "
        "CancelReplace 30 a second, CancelOrder 90 a second, lists 50 a second, settlement 10 a "
        "second, ledger queries one in two seconds with a burst of 5. The presets realistic and "
        "hostile enforce them; elsewhere they are counted, and conformance reports them."
    )
)
ASSERTION_LIFE = (
    Observation("auth.assertion_life", "2026-09", (DOCS,), _REFERENCE)
    .set_by(ASSERTION_LIFE_MAX, "5m", in_observed=False)
    .of("TokenIssuerAPI.IssueToken")
    .about("refusal", "timing")
    .shows("An assertion's exp is at most five minutes after its iat.")
)
ACCESS_TOKENS = (
    Observation("auth.access_tokens", "2026-09", (DOCS,), _REFERENCE)
    .of("TokenIssuerAPI.IssueToken")
    .shows(
        "Access tokens are signed with RS256. /.well-known/jwks.json has the public keys, and "
        "/.well-known/openid-configuration has its address."
    )
)
QR_CODE = (
    Observation("verification.qr_code", "2026-09", (DOCS, SDK), _REFERENCE)
    .of("KYCAPI.StartKYCVerification")
    .shows(
        "docv.qrCode is a PNG as a data URL: the QR code of the link under which a person uploads "
        "a document."
    )
)
SYNCHRONOUS = (
    Observation("orders.synchronous", "2026-09", (DOCS,), _REFERENCE)
    .set_by(SYNCHRONOUS_UNTIL, "done", in_observed=False)
    .of("RetailOrdersAPI.CreateOrder")
    .about("lifecycle", "timing")
    .shows(
        "A synchronous order is answered when it is filled, rejected, canceled or expired, or "
        "after maxBlockTime; resting does not end the wait. Answers within half a second, "
        "which others published, contradict it for orders that rest: by default the first outcome "
        "ends the wait."
    )
)
REPORTS_AS_CSV = (
    Observation("reports.as_csv", "2026-09", (DOCS,), _REFERENCE)
    .set_by(BULK_EXPORT, "served")
    .of("ReportAPI.DownloadOrders", "ReportAPI.DownloadExecutions", "ReportAPI.DownloadTrades")
    .shows("Orders, executions and trades of a window are downloaded as CSV, in pieces of JSON.")
)
INSERT_TIME = (
    Observation("orders.insert_time", "2026-09", (DOCS,), _REFERENCE)
    .of("OrderEntryAPI.CancelReplaceOrder")
    .about("lifecycle")
    .shows("insertTime moves when an order is replaced.")
)
UNPUBLISHED_NUMBERS = Observation("grpc.unpublished_numbers", "2026-09", (DOCS,), _REFERENCE).shows(
    "Field numbers of cash movements, vendor orders, settlement and verification are published "
    "nowhere. The exchange uses numbers above 1000, so a public stub cannot decode these services."
)
