"""Which numbered rules a run has exercised, derived from its other features.

A refusal names its rule, which has then been exercised. Other rules decide without refusing: other
features show their situation, as the patterns of the table say. "Exercised" means that a rule's
situation occurred, not that every part of the rule was tested. `NEVER_SHOWN` are rules that no run
can show from inside, with the reason.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from fnmatch import translate
from functools import lru_cache

# A rule, then patterns of features. Any match shows the rule.
_TABLE = """
L1   edge:lifecycle|*
L2   edge:lifecycle|PENDING|OPEN
L3   timer:instrument.edge timer:instruments.edge
L4   edge:lifecycle|*|CLOSED
L5   action:instrument.state|done
L6   edge:lifecycle|PENDING|OPEN
L7   edge:lifecycle|OPEN|CLOSED
L8   edge:lifecycle|CLOSED|EXPIRED edge:lifecycle|EXPIRED|TERMINATED
L9   pair:StateChanged?CLOSED>StateChanged?EXPIRED
L10  action:instrument.state|refused
L11  timer:trade_day.roll
L12  order:*|DAY|EXPIRED|*
L14  answer:PositionAPI.*|200|
L15  answer:RetailMarketDataAPI.*|200|
L16  auction:*
L17  auction:*
L19  auction:*|self-match
L20  edge:lifecycle|PREOPEN|SUSPENDED edge:lifecycle|PREOPEN|HALTED edge:lifecycle|PREOPEN|CLOSED
L21  auction:PREOPEN|OPEN|traded
L22  edge:lifecycle|MATCH_AND_CLOSE_AUCTION|*
L23  order:*|GOOD_TILL_TIME|EXPIRED|*
L24  order:*|EXPIRED|*
L25  edge:settlement|* timer:settlement.due
L26  edge:settlement|*
L27  edge:settlement again|*
L28  stream:DropCopyAPI.CreatePositionChangeSubscription|*osition*
L29  action:event.update|done
M1   edge:trade||NEW
M2   order:reject|* answer:*|M2
M3   order:*|NEW|*
M7   order:*|REJECTED|*
M8   order:*|NEW|*
M9   order:LIMIT|*|FILL|*
M10  order:MARKET_TO_LIMIT|*|FILL|taker
M11  order:MARKET_TO_LIMIT|*|FILL|taker
M12  order:STOP*|FILL|* order:STOP*|PARTIAL_FILL|*
M13  order:MARKET_TO_LIMIT|IMMEDIATE_OR_CANCEL|*
M14  order:*|DAY|NEW|*
M15  order:*|GOOD_TILL_CANCEL|EXPIRED|* order:*|GOOD_TILL_CANCEL|CANCELED|*
M16  order:*|IMMEDIATE_OR_CANCEL|EXPIRED|*
M17  order:*|FILL_OR_KILL|EXPIRED|* order:all_or_none|EXPIRED|*
M18  order:*|GOOD_TILL_TIME|*
M19  order:min_qty|*
M20  order:post_only|REJECTED|*
M21  order:best_limit|*
M22  order:strict_limit|*
M23  order:ignore_price_checks|*
M24  order:cash_qty|*
M25  answer:OrderFundingService.Create*|code?0|
M26  order:self-match|*
M27  order:self-match|REJECT_AGGRESSOR
M28  order:self-match|CANCEL_RESTING
M29  order:self-match|REMOVE_BOTH
M30  order:self-match|RETAIL
M31  order:*|REPLACE|*
M32  edge:order|REPLACE|FILL edge:order|REPLACE|PARTIAL_FILL
M33  order:replace?refused|*
M34  order:cancel?refused|*
M35  order:*|CANCELED|*
M36  timer:engine*
M38  answer:*List|*|200|
M39  stream:*|hung?up
M41  edge:order|PARTIAL_FILL|*
M42  edge:trade|NEW|CLEARED edge:trade|*|BUSTED
P1   cash:ORDER_EXECUTION|*
P2   cash:ORDER_EXECUTION|*
P3   order:*|NEW|*
P5   order:canceled|unfunded
P8   position:given?back
P9   position:turned* position:closed*
P10  position:shrunk*
P11  order:commission|taker|fee
P12  order:commission|taker|fee
P13  date:fees*
P15  order:commission|maker|rebate
P16  timer:rebate.payout timer:incentive.payout
P17  cash:*
P19  answer:FundingAPI.GetAccountBalanceLedger|*|200|
P20  cash:*
P21  cash:ORDER_EXECUTION|*
P22  cash:RESOLUTION|*
P23  position:*
S1   stream:*|update
S2   stream:*|resumed
S4   stream:*|resumed
S5   timer:stream.heartbeat
S6   stream:*|ended?13
S8   stream:MarketDataSubscriptionAPI.CreateMarketDataSubscription|update
S9   timer:stream.refresh
S10  stream:MarketDataSubscriptionAPI.BiDirectionalStreamMarketData|*
S11  stream:*|ended?0
S13  timer:edge* timer:stream.edge* timer:stream.idle* stream:*|ended?14
S14  stream:*|opened
S15  stream:*|ended?8
S16  stream:RetailStreamsAPI.MarketsStream|*error*
S17  stream:RetailStreamsAPI.*|*requestId*
S18  stream:RetailStreamsAPI.MarketsStream|*trade*
K1   answer:KYCAPI.StartKYCVerification|*|409|*
K3   timer:kyc.provision
K4   edge:verification||document edge:verification||review
K5   edge:verification||rejected edge:verification||resubmit
K7   answer:KYCAPI.*|exchange|200|
K9   pair:*KycDecided*
K10  webhook:sent*
K11  webhook:again
K12  edge:breaker|closed|open
K13  action:webhook.redeliver|done
R1   answer:*|429|*
R2   answer:*|429|*
R3   answer:*|429|*
R4   answer:*|429|*
R5   answer:*|R5?*
R6   answer:ReportAPI.SearchTrades|*
R7   answer:*Search*|200|
R12  answer:*Download*|200|
R13  answer:GatewayAssetPricesAPI.*|200|
R14  answer:RetailPortfolioAPI.ListPositions|retail|200|
R15  quirk:camel_case_query_ignored
W1   timer:maintenance.begin
W2   edge:maintenance|begun
W3   timer:maintenance.lead
W5   stream:*|ended?1001 stream:*|ended?14
W6   answer:TokenIssuerAPI.*|200|
W7   timer:maintenance.reopen timer:maintenance.end
W8   answer:*Health*|503|*
W9   action:maintenance.add|done
E1   answer:*|grpc|code?3|* answer:*|400|*
E2   answer:*
E3   answer:TokenIssuerAPI.IssueToken|*|4*
"""
NEVER_SHOWN = {
    "L13": "says that public rules are silent",
    "M40": "out of scope",
    "P7": "test vectors",
    "P14": "test vectors",
    "S12": "a slow reader is the server's affair",
    "E4": "the Host header is the server's affair",
}
_NUMBERED = re.compile(r"(?<!\w)[LMPSKRWE]\d{1,2}(?![\w.])")


def _patterns() -> list[tuple[re.Pattern[str], str]]:
    rows = []
    for line in _TABLE.strip().splitlines():
        rule, *patterns = line.split()
        rows += [(re.compile(translate(pattern)), rule) for pattern in patterns]
    return rows


_PATTERNS = _patterns()
# Rules that only refusals show.
_REFUSED = """M4 M5 M6 M37 L18 P4 P6 P18 P24 P25 P26 S3 S7 K2 K6 K8 R8 R9 R10 R11 W4"""
RULES = tuple(dict.fromkeys((*(rule for _, rule in _PATTERNS), *_REFUSED.split())))


@lru_cache(maxsize=1 << 16)
def rules_of(feature: str) -> tuple[str, ...]:
    """Return the rules that a feature shows."""
    return tuple(dict.fromkeys(_shown_by(feature)))


def _shown_by(feature: str) -> Iterator[str]:
    if feature.startswith(("answer:", "refusal:")):
        yield from _NUMBERED.findall(feature.rpartition("|")[2])
    yield from (rule for pattern, rule in _PATTERNS if pattern.match(feature))
