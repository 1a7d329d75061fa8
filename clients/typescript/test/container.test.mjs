// What a container does, without one: its exchange runs as a process, behind other ports.
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import net from "node:net";
import { after, before, test } from "node:test";

import { inContainer } from "../dist/container.js";
import { start } from "../dist/index.js";

let inside, exchange;
const mapped = new Map();
const servers = [];
before(async () => {
  inside = await start({ seed: 7 });
  for (const surface of ["gateway", "retail", "exchange", "auth", "grpc", "control", "docs"]) {
    const port = Number(inside.ready[surface].split(":").at(-1));
    const server = net.createServer((client) => {
      const service = net.connect(port, "127.0.0.1");
      client.pipe(service).pipe(client);
      for (const end of [client, service]) end.on("error", () => { client.destroy(); service.destroy(); });
    });
    await new Promise((listening) => server.listen(0, "127.0.0.1", listening));
    mapped.set(port, server.address().port);
    servers.push(server);
  }
  exchange = await inContainer({
    getHost: () => "localhost",
    getMappedPort: (port) => mapped.get(port),
    exec: async () => ({ output: JSON.stringify(inside.ready), exitCode: 0 }),
    stop: () => inside.stop(),
  });
});
after(async () => {
  await exchange?.stop();
  for (const server of servers) server.close();
});

test("addresses are those of this machine, and what clients sign for is not changed", async () => {
  const port = mapped.get(Number(inside.ready.gateway.split(":").at(-1)));
  assert.equal(exchange.ready.gateway, `http://localhost:${port}`);
  assert.match(exchange.ready.grpc, /^localhost:\d+$/);
  assert.deepEqual(exchange.ready.firms, inside.ready.firms);
  assert.equal((await fetch(`${exchange.ready.gateway}/v1/health`)).status, 200);
});

test("the clock and the log are reached through the container's ports", async () => {
  const now = await exchange.clock.now();
  assert.equal(Date.parse(await exchange.clock.advance("5m")) - Date.parse(now), 300_000);
  await fetch(`${exchange.ready.gateway}/v1/markets?limit=1`);
  assert.equal((await exchange.requests({ operation: "GatewayMarketsAPI.ListMarkets" })).length, 1);
});

test("a container that is not ready says so", async () => {
  const early = { exec: async () => ({ output: "cat: no such file", exitCode: 1 }) };
  await assert.rejects(inContainer(early), /no ready file in the container yet: cat: no such file/);
});
