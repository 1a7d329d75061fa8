"""A journal proves its run: replayed it agrees line by line, tampered it is caught where it was
touched, cut it replays what is whole.
"""

from __future__ import annotations

import io
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
from sim.read.replay import replay, simulation_at
from sim.run.actors.operator.views import view as read_view
from sim.run.client.client import connect
from tests.journeys import enter, firm, key, order, quiet, retail_order, trader

BENCH = str(Path(__file__).parents[2] / "benchmarks" / "areas" / "bench.yaml")


def busy_journal(path: Path, seed: int = 7) -> Simulation:
    """A run with every kind of input: REST, gRPC-free calls refused and answered, a trade, time,
    control, a rewind.
    """
    with path.open("w+b", buffering=0) as file:
        sim = Simulation(load_scenario("quickstart"), seed=seed, journal=file)
        world = connect(sim)
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
    out = io.StringIO()
    assert replay(str(tmp_path / "run.ndjson"), None, out) == 0
    assert sim.digest in out.getvalue()


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
        done = subprocess.run(
            command,
            capture_output=True,
            text=True,
            env=environment,
            cwd=Path(__file__).parents[2],
            check=True,
        )
        digests.append(done.stdout.strip())
    assert digests[0] == digests[1] != ""
    assert main(["diff", str(tmp_path / "0.ndjson"), str(tmp_path / "1.ndjson")]) == 0


def test_another_seed_gives_another_digest(tmp_path: Path) -> None:
    assert busy_journal(tmp_path / "a").digest != busy_journal(tmp_path / "b", seed=8).digest
    assert main(["diff", str(tmp_path / "a"), str(tmp_path / "b")]) == 1


@pytest.mark.parametrize(
    ("old", "new", "part"),
    [
        (b'\\"orderQty\\":\\"', b'\\"orderQty\\":\\"9', "input"),
        (b'"status":404', b'"status":403', "out"),
        (b'"digest":"', b'"digest":"0', "digest"),
        (b'"check":"', b'"check":"0', "aside"),
        (b'"seed":7', b'"seed":8', "header"),
    ],
)
def test_a_tampered_journal_is_caught_and_the_first_difference_named(
    tmp_path: Path, old: bytes, new: bytes, part: str
) -> None:
    path = tmp_path / "run.ndjson"
    busy_journal(path)
    raw = path.read_bytes()
    assert old in raw
    path.write_bytes(raw.replace(old, new, 1))
    out = io.StringIO()
    assert replay(str(path), None, out) == 3
    line = raw[: raw.index(old)].count(b"\n") + 1
    assert f":{line}:" in out.getvalue()
    assert "recorded:" in out.getvalue() and "replayed:" in out.getvalue()


def test_of_a_long_answer_the_journal_keeps_size_and_digest_and_a_replay_compares_them(
    tmp_path: Path,
) -> None:
    path = tmp_path / "run.ndjson"
    with path.open("w+b", buffering=0) as file:
        answer = connect(Simulation(load_scenario("quickstart"), journal=file)).gateway.get(
            "/v1/events", params={"limit": 20}
        )
    out = msgspec.json.decode(path.read_bytes().splitlines()[1])["out"]
    assert (out["body_size"], out["body_sha256"]) == (
        len(answer.body),
        sha256(answer.body).hexdigest(),
    )
    assert out["body_size"] > 100_000 > path.stat().st_size
    assert replay(str(path), None, io.StringIO()) == 0
    path.write_bytes(path.read_bytes().replace(out["body_sha256"].encode(), b"0" * 64))
    assert replay(str(path), None, said := io.StringIO()) == 3
    assert "out differs from the replay" in said.getvalue()


def test_a_book_is_kept_as_it_is_only_where_it_is_short(tmp_path: Path) -> None:
    path = tmp_path / "run.ndjson"
    with path.open("w+b", buffering=0) as file:
        gateway = connect(Simulation(load_scenario(BENCH), journal=file)).gateway
        long, short = (
            gateway.get("/v1/markets/bench-book/book"),
            gateway.get("/v1/markets/bench-orders/book"),
        )
    first, second = (
        msgspec.json.decode(line)["out"] for line in path.read_bytes().splitlines()[1:]
    )
    assert (
        1024 < len(long.body) < 4096
        and first["body_sha256"] == sha256(long.body).hexdigest()
        and "body" not in first
    )
    assert second["body"] == msgspec.json.decode(short.body)
    assert replay(str(path), None, io.StringIO()) == 0


def test_a_journal_cut_in_the_middle_of_a_line_replays_its_whole_lines(tmp_path: Path) -> None:
    path = tmp_path / "run.ndjson"
    busy_journal(path)
    raw = path.read_bytes()
    path.write_bytes(raw[: int(len(raw) * 0.7)])
    out = io.StringIO()
    assert replay(str(path), None, out) == 0
    assert "inputs replayed" in out.getvalue()


@pytest.mark.parametrize("content", [b"", b"hello\n", b"[]\n", b'{"journal":99}\n'])
def test_a_file_that_is_no_journal_is_refused_in_one_line(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "x"
    path.write_bytes(content)
    out = io.StringIO()
    assert replay(str(path), None, out) == 2
    assert out.getvalue().startswith(f"{path}:1:1: ")
    assert main(["diff", str(path), str(path)]) == 2


def test_a_journal_holds_no_secret_in_clear(tmp_path: Path) -> None:
    path = tmp_path / "run.ndjson"
    with path.open("w+b", buffering=0) as file:
        sim = Simulation(load_scenario("quickstart"), journal=file)
        world = connect(sim)
        partner = firm(sim)
        token = world.token(partner).json()["access_token"]
        person = {"external_id": "a", "ssn": "900112233", "first_name": "A"}
        world.exchange(partner).post("/v1/kyc/start", json=person)
        world.exchange(partner).post(
            "/v1/kyc/prefill",
            json={"user_id": "a", "phone_number": "14155551212", "date_of_birth": "1985-03-30"},
        )
        assert (
            world.exchange(partner)
            .post("/v1/kyc/prefill/otp", json={"external_id": "a", "otp": "48151623"})
            .status
            == 200
        )
        world.exchange(partner).post(
            "/v1/kyc/webhook",
            json={
                "webhook_url": "http://127.0.0.1:1/",
                "signing_secret": "whsec_" + "c2VjcmV0" * 4,
            },
        )
    raw = path.read_bytes()
    assert replay(str(path), None, io.StringIO()) == 0
    for secret in (
        token,
        "900112233",
        "48151623",
        "c2VjcmV0c2VjcmV0",
        *sim.world.parties.secrets.values(),
    ):
        assert secret.encode() not in raw
    for file_name in sim.world.parties.key_files.values():
        assert file_name.read_bytes().splitlines()[1] not in raw
    assert msgspec.json.decode(raw.splitlines()[0])["seed"] == 7


def test_a_rewind_restores_books_orders_balances_and_digest_exactly(quickstart: Simulation) -> None:
    world = connect(quickstart)
    instrument = quiet(quickstart)
    user = trader(world)
    seen = []
    for number in range(12):
        user.post(
            "/v1/trading/orders",
            json=order(instrument, "buy" if number % 3 else "sell", 50 + number % 4, 1 + number),
        )
        world.advance("20s")
        seen.append(
            (
                quickstart.seq,
                quickstart.now,
                quickstart.digest,
                read_view(quickstart.engine, "accounts"),
                read_view(quickstart.engine, "orders"),
                read_view(quickstart.engine, "books"),
            )
        )
    for seq, now, digest, accounts, orders, books in reversed(seen):
        quickstart.rewind(seq=seq)
        assert (quickstart.seq, quickstart.now, quickstart.digest) == (seq, now, digest)
        assert read_view(quickstart.engine, "accounts") == accounts
        assert read_view(quickstart.engine, "orders") == orders
        assert read_view(quickstart.engine, "books") == books


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
    with path.open("w+b", buffering=0) as file:
        sim = Simulation(
            load_scenario("quickstart"),
            journal=file,
            settings=Settings(vendor_prefix=True, max_body=3_000),
        )
        world = connect(sim)
        slug = quiet(sim).symbol
        shown = world.gateway.get(f"/v1/market/slug/{slug}").json()["market"]
        assert enter(world, quiet(sim), "buy", 60, 10, clordId="x" * 3_000).status == 413
    plain = (
        connect(Simulation(load_scenario("quickstart")))
        .gateway.get(f"/v1/market/slug/{slug}")
        .json()["market"]
    )
    assert set(shown) != set(plain)
    out = io.StringIO()
    assert replay(str(path), None, out) == 0, out.getvalue()


def test_until_stops_at_the_instant_in_the_middle_of_a_step_of_the_clock(tmp_path: Path) -> None:
    """What `rewind` to an instant shows of a running exchange, `--until` shows of its journal: the
    same state, digest and instant.
    """
    path = tmp_path / "run.ndjson"
    with path.open("w+b", buffering=0) as file:
        sim = Simulation(load_scenario("quickstart"), journal=file)
        world = connect(sim)
        enter(world, quiet(sim), "buy", 60, 1)
        sim.advance_to(sim.now + 3600 * 10**9)  # in one step, over timers that are due on the way
        trader(world).get("/v1/whoami")
        agrees(sim, path)


def agrees(sim: Simulation, path: Path) -> None:
    """Whether its journal shows what the simulation, rewound, shows."""
    for moment in (
        "2026-09-08T18:00:00Z",
        "2026-09-08T18:20:00Z",
        "2026-09-08T18:45:00Z",
        "2026-09-08T19:00:00Z",
        "2026-09-08T23:00:00Z",
    ):
        until = parse_instant(moment)
        found = simulation_at(path, until)
        assert found.now == min(until, sim.now)
        if until <= sim.now:
            again = sim.fork()
            again.rewind(to=until)
            assert (found.digest, found.seq) == (again.digest, again.seq)


def test_what_a_mapping_of_a_step_says_happens_in_one_order_in_a_replay_too(tmp_path) -> None:
    scenario = load_scenario(
        "name: order of keys\nextends: quickstart\nsteps:\n"
        "  - {call: {plane: gateway, get: /v2/leagues}, save: {zulu: nothing, alpha: never}}\n"
        "  - {call: {plane: gateway, get: /v2/leagues}, expect: {json: {zulu: 1, alpha: [{z: 1, a: 2}]}}}\n"
        "  - {quirk: {webhook_duplicates: 1/2, session_revocation: 1/3}}\n"
    )
    path = tmp_path / "run.ndjson"
    with path.open("w+b", buffering=0) as file:
        sim = Simulation(scenario, journal=file)
        sim.advance_to(sim.now)
    assert simulation_at(path).digest == sim.digest
