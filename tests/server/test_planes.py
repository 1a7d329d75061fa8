"""Five surfaces at addresses of their own (§0): each is printed, answers its own calls and knows
none of the others'.
"""

from __future__ import annotations

from urllib.parse import urlsplit

import grpc
import pytest

from tests.kit.http import status

# A path of each plane that answers without credentials in some way other than 404.
PATHS = {
    "gateway": "/v2/leagues",
    "retail": "/v1/account/balances",
    "exchange": "/v1/whoami",
    "auth": "/oauth/token",
}


@pytest.mark.spec("S0-1", "S5.3-1", "S7.1-4")
def test_each_surface_has_an_address_of_its_own_and_answers_there_only(exchange):
    at = {plane: exchange.ready[plane] for plane in (*PATHS, "grpc")}
    assert len({urlsplit(f"//{url.rpartition('/')[2]}").port for url in at.values()}) == 5
    own = {"gateway": 200, "retail": 401, "exchange": 401, "auth": 405}
    for plane, expected in own.items():
        for other, path in PATHS.items():
            result = status(at[plane] + path)
            # The retail API asks who calls before it says what there is.
            assert result == expected if other == plane else result in (401, 404), (plane, path)
    method = "/exchange.v1.HealthAPI/HealthCheck"
    with grpc.insecure_channel(at["grpc"]) as channel:
        assert channel.unary_unary(method)(b"", timeout=5) is not None
    for plane in PATHS:
        with grpc.insecure_channel(at[plane].removeprefix("http://")) as channel:
            with pytest.raises(grpc.RpcError) as refused:
                channel.unary_unary(method)(b"", timeout=5)
            assert refused.value.code() is not grpc.StatusCode.OK
