// What the package promises, against a real exchange: `npm test`, or the Python suite runs it.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";

import http from "node:http";
import https from "node:https";
import net from "node:net";
import { lookup } from "node:dns/promises";

import { ControlError, LiveHostRefused, start } from "../dist/index.js";

let exchange;
before(async () => {
  exchange = await start({ seed: 7 });
});
after(async () => {
  await exchange?.stop();
});

test("ready is the ready file as it is", () => {
  assert.equal(exchange.ready.scenario, "quickstart");
  assert.equal(exchange.ready.seed, 7);
  assert.match(exchange.ready.gateway, /^http:\/\/127\.0\.0\.1:\d+$/);
  assert.ok(exchange.ready.api_keys[0].secret_key && exchange.ready.firms[0].private_key_path);
});

test("the clock moves when it is told, and not before", async () => {
  const now = await exchange.clock.now();
  assert.equal(await exchange.clock.now(), now);
  const later = await exchange.clock.advance("5m");
  assert.equal(Date.parse(later) - Date.parse(now), 300_000);
  assert.equal(await exchange.clock.advance({ to: later }), later);
});

test("the clock moves until an event, or says that it did not happen", async () => {
  await exchange.reset();
  assert.equal(await exchange.clock.until({ maintenance: true }, "7d"), "2026-09-10T06:00:00Z");
  assert.equal(await exchange.clock.until({ maintenance: false }, "7d"), "2026-09-10T10:00:00Z");
  await assert.rejects(exchange.clock.until({ maintenance: true }, "1h"), /within 1h: now .*T11:00/);
  await exchange.reset();
});

test("a fault strikes until it is removed, and requests tell of it", async () => {
  await exchange.reset();
  const ask = async () => (await fetch(`${exchange.ready.gateway}/v1/markets?limit=1`)).status;
  const fault = await exchange.fault({ match: { plane: "gateway" }, act: { status: 503 } });
  assert.equal(await ask(), 503);
  await fault.remove();
  await fault.remove(); // again is no mistake
  assert.equal(await ask(), 200);
  const calls = await exchange.requests({ operation: "ListMarkets" });
  assert.deepEqual(calls.map((call) => call.status), [503, 200]);
  assert.equal((await exchange.requests({ status: 503 })).length, 1);
});

test("a report says what a failed test has to know", async () => {
  await exchange.reset();
  for (let n = 0; n < 13; n++) await fetch(`${exchange.ready.gateway}/v1/markets?limit=1`);
  await fetch(`${exchange.ready.retail}/v1/account/balances`);
  const [head, ...lines] = (await exchange.report()).split("\n");
  assert.equal(head, "calls that the exchange saw: 14, the last 12 of them");
  assert.equal(lines.length, 12 + 2);
  assert.match(lines[0], /^  2026-\S+Z  gateway   GatewayMarketsAPI\.ListMarkets  200$/);
  assert.match(lines[11], /^  2026-\S+Z  retail    RetailAccountAPI\.GetBalances  401  sim explain: \S+$/);
  assert.match(lines[12], /^scenario quickstart, seed 7, now 2026-\S+Z$/);
  assert.equal(lines[13], "no journal: start({ journal }) keeps one");
});

test("a copy goes its own way, and begins at any moment of the past", async () => {
  await exchange.reset();
  await fetch(`${exchange.ready.gateway}/v1/markets?limit=1`);
  const copy = await exchange.fork();
  const past = await exchange.fork(0);
  await copy.clock.advance("1h");
  assert.notEqual(await copy.clock.now(), await exchange.clock.now());
  assert.equal((await copy.requests()).length, 1);
  assert.equal((await past.requests()).length, 0);
  await copy.stop();
  await assert.rejects(fetch(copy.ready.gateway));
  await past.stop();
});

test("a refusal of the control plane says what to do", async () => {
  await assert.rejects(exchange.clock.advance("soon"), (error) => {
    assert.ok(error instanceof ControlError);
    assert.equal(error.status, 400);
    return true;
  });
});

test("an exchange that cannot start says why", async () => {
  await assert.rejects(start({ scenario: "no-such-scenario" }), /ended with 2: .*no-such-scenario/s);
  await assert.rejects(start({ command: ["/no/such/command"] }), /ENOENT/);
});

test("stop ends it", async () => {
  const other = await start();
  await other.stop();
  await assert.rejects(fetch(other.ready.gateway));
  await other.stop(); // again is no mistake
});

test("while it is served, nothing connects to the real service", async () => {
  const host = "api.polymarket.us";
  await assert.rejects(fetch(`https://${host}/v1/markets`), LiveHostRefused);
  await assert.rejects(async () => await lookup(host), LiveHostRefused);
  assert.throws(() => net.connect(443, host), LiveHostRefused);
  assert.throws(() => net.connect({ port: 443, host: "POLYMARKET.US." }), LiveHostRefused);
  for (const client of [http, https]) {
    const failed = new Promise((_, reject) => {
      client.get({ host }).once("error", reject);
    });
    await assert.rejects(failed, LiveHostRefused);
  }
  await assert.rejects(fetch("http://notpolymarket.us.invalid/"), TypeError);
  const other = await start({ allowLiveHosts: [host] });
  await assert.rejects(fetch("https://gateway.polymarket.us"), LiveHostRefused);
  await other.stop();
});
