"""A journal proves its run: replayed it agrees line by line, tampered it is caught where it was
touched, cut it replays what is whole.
"""

from __future__ import annotations

import os
import subprocess
import sys
from hashlib import sha256
from pathlib import Path

import msgspec
import pytest

from sim import Simulation, load_scenario
from sim.api.pipeline.settings import Settings
from sim.cli.main import main
from sim.kernel.instants import parse_instant
from sim.read.errors import UnreadableJournal
from sim.read.replay import Divergence, replay_file, simulation_at
from sim.run.actors.operator.views import views as read_views
from sim.run.client.client import connect
from tests.journeys import enter, firm, journalled, key, order, quiet, retail_order, trader

BENCH = str(Path(__file__).parents[2] / "benchmarks" / "areas" / "bench.yaml")


def busy_journal(path: Path, seed: int = 7) -> Simulation:
    """A run with every kind of input: REST, gRPC-free calls refused and answered, a trade, time,
    control, a rewind.
    """
    with journalled(path, seed=seed) as world:
        sim = world.simulation
        instrument = quiet(sim)
        user = trader(world)
        user.post("/v1/trading/orders", json=order(instrument, "buy", 60, 10, clordId="a"))
        world.retail(key(sim)).post("/v1/orders", json=retail_order(instrument, "BUY_SHORT", 60, 4))
        user.get("/v1/nowhere")
        user.post("/v1/trading/orders", body=b"{not json")
        user.post("/v1/trading/orders", body=b"\xff\xfe")
        world.advance("5m")
        sim.control("instrument.state", instrument.symbol, {"state": "HALTED"})
        world.exchange(firm(sim), firm(sim).users[1].name).get(f"/v1/orderbook/{instrument.symbol}")
        sim.rewind(seq=5)
        world.forget_tokens()
        enter(world, instrument, "sell", 61, 2)
    return sim


def test_a_journal_replays_to_the_same_digest(tmp_path: Path) -> None:
    sim = busy_journal(tmp_path / "run.ndjson")
    assert simulation_at(tmp_path / "run.ndjson").digest == sim.digest


@pytest.mark.long
def test_the_same_calls_give_the_same_digest_in_processes_with_other_hash_seeds_and_dates(
    tmp_path: Path,
) -> None:
    script = (
        "import sys; from pathlib import Path; from freezegun import freeze_time\n"
        "freezer = freeze_time(sys.argv[2]); freezer.start()\n"
        "from tests.read.test_replay import busy_journal\n"
        "print(busy_journal(Path(sys.argv[1])).digest)\n"
    )
    digests = []
    for number, date in enumerate(("2019-02-03", "2031-07-08 11:00:00")):
        environment = {**os.environ, "PYTHONHASHSEED": str(number * 77 + 1)}
        command = [sys.executable, "-c", script, str(tmp_path / f"{number}.ndjson"), date]
        root = Path(__file__).parents[2]
        digests.append(
            subprocess.check_output(command, text=True, env=environment, cwd=root).strip()
        )
    assert digests[0] == digests[1] != ""
    assert main(["diff", str(tmp_path / "0.ndjson"), str(tmp_path / "1.ndjson")]) == 0


def test_another_seed_gives_another_digest(tmp_path: Path) -> None:
    assert busy_journal(tmp_path / "a").digest != busy_journal(tmp_path / "b", seed=8).digest
    assert main(["diff", str(tmp_path / "a"), str(tmp_path / "b")]) == 1


@pytest.mark.parametrize(
    ("old", "new", "part"),
    [
        (b'\\"orderQty\\":\\"', b'\\"orderQty\\":\\"9', "out"),
        (b'"status":404', b'"status":403', "out"),
        (b'"digest":"', b'"digest":"0', "digest"),
        (b'"},"check":"', b'"},"check":"0', "aside"),
        (b'"seed":7', b'"seed":8', "header"),
    ],
)
def test_a_tampered_journal_is_caught_and_the_first_difference_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], old: bytes, new: bytes, part: str
) -> None:
    path = tmp_path / "run.ndjson"
    busy_journal(path)
    raw = path.read_bytes()
    assert old in raw
    path.write_bytes(raw.replace(old, new, 1))
    assert main(["replay", str(path)]) == 3
    line, out = raw[: raw.index(old)].count(b"\n") + 1, capsys.readouterr().out
    assert f":{line}: {part} differs" in out
    assert "recorded:" in out and "replayed:" in out


def test_of_a_long_answer_the_journal_keeps_size_and_digest_and_a_replay_compares_them(
    tmp_path: Path,
) -> None:
    path = tmp_path / "run.ndjson"
    with journalled(path) as world:
        answer = world.gateway.get("/v1/events", params={"limit": 20})
    out = msgspec.json.decode(path.read_bytes().splitlines()[1])["out"]
    assert (out["body_size"], out["body_sha256"]) == (
        len(answer.body),
        sha256(answer.body).hexdigest(),
    )
    assert out["body_size"] > 100_000 > path.stat().st_size
    replay_file(path)
    path.write_bytes(path.read_bytes().replace(out["body_sha256"].encode(), b"0" * 64))
    with pytest.raises(Divergence, match="out differs"):
        replay_file(path)


def test_a_book_is_kept_as_it_is_only_where_it_is_short(tmp_path: Path) -> None:
    path = tmp_path / "run.ndjson"
    with journalled(path, BENCH) as world:
        long = world.gateway.get("/v1/markets/bench-book/book")
        short = world.gateway.get("/v1/markets/bench-orders/book")
    first, second = (
        msgspec.json.decode(line)["out"] for line in path.read_bytes().splitlines()[1:]
    )
    assert 1024 < len(long.body) < 4096 and "body" not in first
    assert first["body_sha256"] == sha256(long.body).hexdigest()
    assert second["body"] == msgspec.json.decode(short.body)
    replay_file(path)


def test_a_journal_cut_in_the_middle_of_a_line_replays_its_whole_lines(tmp_path: Path) -> None:
    path = tmp_path / "run.ndjson"
    busy_journal(path)
    raw = path.read_bytes()
    path.write_bytes(raw[: int(len(raw) * 0.7)])
    assert not replay_file(path).interrupted


@pytest.mark.parametrize("content", [b"", b"hello\n", b"[]\n", b'{"journal":99}\n'])
def test_a_file_that_is_no_journal_is_refused_in_one_line(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "x"
    path.write_bytes(content)
    with pytest.raises(UnreadableJournal, match=f"^{path}:1:1: "):
        replay_file(path)
    assert main(["diff", str(path), str(path)]) == 2


def test_a_journal_holds_no_secret_in_clear(tmp_path: Path) -> None:
    path = tmp_path / "run.ndjson"
    with journalled(path) as world:
        sim = world.simulation
        token = world.token(firm(sim)).json()["access_token"]
        partner = world.exchange(firm(sim))
        person = {"external_id": "a", "ssn": "900112233", "first_name": "A"}
        partner.post("/v1/kyc/start", json=person)
        caller = {"user_id": "a", "phone_number": "14155551212", "date_of_birth": "1985-03-30"}
        partner.post("/v1/kyc/prefill", json=caller)
        code = {"external_id": "a", "otp": "48151623"}
        assert partner.post("/v1/kyc/prefill/otp", json=code).status == 200
        hook = {"webhook_url": "http://127.0.0.1:1/", "signing_secret": "whsec_" + "c2VjcmV0" * 4}
        partner.post("/v1/kyc/webhook", json=hook)
    raw = path.read_bytes()
    replay_file(path)
    texts = (token, "900112233", "48151623", "c2VjcmV0c2VjcmV0")
    for secret in (*texts, *sim.world.parties.secrets.values()):
        assert secret.encode() not in raw
    for file_name in sim.world.parties.key_files.values():
        assert file_name.read_bytes().splitlines()[1] not in raw
    assert msgspec.json.decode(raw.splitlines()[0])["seed"] == 7


def test_a_rewind_restores_books_orders_balances_and_digest_exactly(quickstart: Simulation) -> None:
    world = connect(quickstart)
    instrument = quiet(quickstart)

    def state() -> tuple[object, ...]:
        views = read_views(quickstart.engine, ("accounts", "orders", "books"))
        return quickstart.seq, quickstart.now, quickstart.digest, views

    moments = []
    for number in range(12):
        side = "buy" if number % 3 else "sell"
        enter(world, instrument, side, 50 + number % 4, 1 + number)
        world.advance("20s")
        moments.append((quickstart.seq, state()))
    for seq, was in reversed(moments):
        quickstart.rewind(seq=seq)
        assert state() == was


def test_a_rewind_to_an_instant_includes_every_input_at_it(quickstart: Simulation) -> None:
    world = connect(quickstart)
    for _ in range(3):
        world.gateway.get("/v2/leagues")
        world.advance("1m")
    at = quickstart.start + 60_000_000_000
    branch, _ = quickstart.rewind(to=at)
    assert quickstart.now == at
    # the first read, the first advance, and the read made at that instant
    assert quickstart.seq == 3
    assert branch == "branch-1"


def test_reset_gives_the_digest_of_a_fresh_start_and_refuses_old_tokens(
    quickstart: Simulation,
) -> None:
    fresh = quickstart.digest
    world = connect(quickstart)
    headers = world.bearer(firm(quickstart))
    assert quickstart.rest("exchange", "GET", "/v1/whoami", "", headers, b"").reply.status == 200
    quickstart.reset()
    assert quickstart.digest == fresh
    assert quickstart.rest("exchange", "GET", "/v1/whoami", "", headers, b"").reply.status == 401


def test_named_snapshots_can_be_restored_in_any_order(quickstart: Simulation) -> None:
    world = connect(quickstart)
    digests = {}
    for name in ("one", "two", "three"):
        world.gateway.get("/v2/leagues")
        world.advance("1m")
        quickstart.snapshot(name)
        digests[name] = quickstart.digest
    for name in ("two", "three", "one"):
        quickstart.restore(name)
        assert quickstart.digest == digests[name]


def test_settings_that_change_answers_stand_in_the_journal(tmp_path: Path) -> None:
    """A replay needs no flags: vendor-prefixed names and body limit come from the header."""
    path = tmp_path / "run.ndjson"
    with journalled(path, settings=Settings(vendor_prefix=True, max_body=3_000)) as world:
        sim = world.simulation
        slug = quiet(sim).symbol
        market = world.gateway.get(f"/v1/market/slug/{slug}").json()["market"]
        assert enter(world, quiet(sim), "buy", 60, 10, clordId="x" * 3_000).status == 413
    other = connect(Simulation(load_scenario("quickstart")))
    plain = other.gateway.get(f"/v1/market/slug/{slug}").json()["market"]
    assert set(market) != set(plain)
    replay_file(path)


def test_until_stops_at_the_instant_in_the_middle_of_a_step_of_the_clock(tmp_path: Path) -> None:
    """What `rewind` to an instant shows of a running exchange, `--until` shows of its journal: the
    same state, digest and instant.
    """
    path = tmp_path / "run.ndjson"
    with journalled(path) as world:
        sim = world.simulation
        enter(world, quiet(sim), "buy", 60, 1)
        sim.advance_to(sim.now + 3600 * 10**9)  # in one step, over timers that are due on the way
        trader(world).get("/v1/whoami")
        agrees(sim, path)


def agrees(sim: Simulation, path: Path) -> None:
    """Whether its journal shows what the simulation, rewound, shows."""
    for time in ("18:00", "18:20", "18:45", "19:00", "23:00"):
        until = parse_instant(f"2026-09-08T{time}:00Z")
        result = simulation_at(path, until)
        assert result.now == min(until, sim.now)
        if until <= sim.now:
            again = sim.fork()
            again.rewind(to=until)
            assert (result.digest, result.seq) == (again.digest, again.seq)


def test_what_a_mapping_of_a_step_says_happens_in_one_order_in_a_replay_too(tmp_path) -> None:
    scenario = (
        "name: order of keys\nextends: quickstart\nsteps:\n"
        "  - {call: {plane: gateway, get: /v2/leagues}, save: {zulu: nothing, alpha: never}}\n"
        "  - {call: {plane: gateway, get: /v2/leagues}, expect: {json: {zulu: 1, alpha: [{z: 1, a: 2}]}}}\n"
        "  - {quirk: {webhook_duplicates: 1/2, session_revocation: 1/3}}\n"
    )
    path = tmp_path / "run.ndjson"
    with journalled(path, scenario) as world:
        sim = world.simulation
        sim.advance_to(sim.now)
    assert simulation_at(path).digest == sim.digest
