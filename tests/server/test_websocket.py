"""Retail WebSockets: a handshake that is judged before the upgrade, frames both ways, and every way
a socket ends.
"""

from __future__ import annotations

import aiohttp
import pytest
from patience import until

from sim.api.pipeline.inputs import Close, Reply, Send

MARKETS = "/v1/ws/markets"


async def closed(socket):
    """Code and reason of the close frame, which comes next."""
    message = await socket.receive()
    assert message.type is aiohttp.WSMsgType.CLOSE
    return message.data, message.extra


async def test_frames_go_in_and_come_out(served):
    served.sim.first_frames = (b'{"heartbeat":{}}',)
    async with served.web_socket() as socket:
        assert (await socket.receive()).data == '{"heartbeat":{}}'
        await socket.send_str("ä")
        assert (await socket.receive()).data == "echo:ä"
        await socket.send_bytes(b"{}")
        assert (await socket.receive()).data == "echo:{}"
    assert served.sim.inputs[0] == ("open", MARKETS, b"", True)
    await until(lambda: served.kinds == ["open", "frame", "frame", "hangup"])


@pytest.mark.parametrize("status", [401, 404, 503])
async def test_a_refused_handshake_is_plain_http(served, status):
    served.sim.refuse_streams = Reply(
        status=status, body=b'{"status":%d}' % status, request_id="req-9"
    )
    with pytest.raises(aiohttp.WSServerHandshakeError) as refused:
        async with served.web_socket():
            pass
    assert refused.value.status == status
    assert refused.value.headers["x-request-id"] == "req-9"


async def test_only_the_retail_plane_upgrades(served):
    with pytest.raises(aiohttp.WSServerHandshakeError):
        async with served.web_socket(plane="gateway"):
            pass
    assert served.kinds == ["rest"]


async def test_half_a_handshake_is_a_bad_request_and_no_input(served):
    answer = await served.ask("retail", MARKETS, headers={"Upgrade": "websocket"})
    assert answer.status == 400
    assert answer.json() == {"code": 3, "message": "no valid WebSocket handshake", "details": []}
    assert served.sim.inputs == []


async def test_the_exchange_ends_a_socket_with_its_own_code_after_the_frames_before_it(served):
    served.sim.on_frame = lambda stream, message: [
        Send(stream, b"last"),
        Close(stream, 14, "maintenance", 1012),
    ]
    async with served.web_socket() as socket:
        await socket.send_str("x")
        assert (await socket.receive()).data == "last"
        assert await closed(socket) == (1012, "maintenance")
    assert served.kinds == ["open", "frame"]


async def test_a_client_that_drops_hangs_up(served):
    async with aiohttp.ClientSession() as http:
        socket = await http.ws_connect(f"{served.at.retail}{MARKETS}")
        socket._response.connection.transport.abort()
        await until(lambda: served.kinds == ["open", "hangup"])


async def test_pings_are_answered_and_are_no_inputs(served):
    async with served.web_socket(autoping=False) as socket:
        await socket.ping(b"1")
        assert (await socket.receive()).type == aiohttp.WSMsgType.PONG
        assert served.kinds == ["open"]


async def test_a_reader_that_is_too_slow_is_dropped_and_reported(serve):
    """S12. A first frame that no socket buffer holds keeps the next ones waiting."""
    served = await serve(stream_buffer=1000)
    served.sim.on_frame = lambda stream, message: [
        Send(stream, b"y" * (20 << 20)),
        *[Send(stream, b"z" * 600)] * 2,
    ]
    async with served.web_socket(max_msg_size=0) as socket:
        await socket.send_str("x")
        first = await socket.receive()
        assert len(first.data) == 20 << 20
        assert await closed(socket) == (1013, "slow consumer")
    assert served.kinds == ["open", "frame", "slow"]


async def test_a_reset_ends_sockets_and_their_numbers_may_be_used_again(served):
    async with aiohttp.ClientSession() as http:
        first = await http.ws_connect(f"{served.at.retail}{MARKETS}")
        await served.host.reset()
        second = await http.ws_connect(f"{served.at.retail}{MARKETS}")
        assert (await first.receive()).data == 1012
        await first.close()
        await second.send_str("still here")
        assert (await second.receive()).data == "echo:still here"
        await second.close()
        await until(lambda: served.kinds == ["open", "frame", "hangup"])
