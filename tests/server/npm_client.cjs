// The published npm client, driven line by line: a call is read as JSON from stdin, and its answer, or an event of a socket, leaves as JSON on stdout.
"use strict";
const sdk = require("polymarket-us");
const { createInterface } = require("node:readline");

const EVENTS = ["open", "close", "error", "heartbeat", "message", "marketData", "marketDataLite", "trade", "orderSnapshot", "orderUpdate", "positionSnapshot",
  "positionUpdate", "accountBalanceSnapshot", "accountBalanceUpdate"];
const clients = {};
const sockets = {};

const write = (line) => process.stdout.write(JSON.stringify(line) + "\n");
const trouble = (error) => ({ name: error.name, message: error.message, status: error.status, code: error.code, requestId: error.requestId });
const methods = (prototype) => Object.entries(Object.getOwnPropertyDescriptors(prototype)).filter(([name]) => name !== "constructor").map(([name]) => name);

/** Names of all public methods, as "resource.method" and "socket.method". */
function inventory() {
  const client = new sdk.PolymarketUS();
  const resources = Object.entries(client).filter(([name, value]) => typeof value === "object" && name !== "ws");
  const names = resources.flatMap(([name, value]) => methods(Object.getPrototypeOf(value)).map((method) => `${name}.${method}`));
  for (const kind of [sdk.MarketsWebSocket, sdk.PrivateWebSocket])
    for (let prototype = kind.prototype; prototype !== Object.prototype; prototype = Object.getPrototypeOf(prototype))
      names.push(...methods(prototype).filter((name) => !/^(_|handle)/.test(name)).map((name) => `socket.${name}`));
  return [...new Set(names)];
}

function open(id, kind, client) {
  const socket = (sockets[id] = clients[client].ws[kind]());
  for (const event of EVENTS) socket.on(event, (given) => write({ socket: id, event, data: given instanceof Error ? trouble(given) : given }));
  return true;
}

async function answer({ does, id, method, args = [], kind, client, options }) {
  if (does === "inventory") return inventory();
  if (does === "client") return (clients[id] = new sdk.PolymarketUS(options)) && true;
  if (does === "open") return open(id, kind, client);
  if (does === "once") return sockets[id].once(method, () => write({ socket: id, event: `once ${method}` })) && true;
  if (does === "silence") return sockets[id].on(method, silenced).off(method, silenced) && true;
  if (does === "isConnected") return sockets[id].isConnected;
  if (does === "socket") return (await sockets[id][method](...args)) ?? null;
  const [resource, name] = method.split(".");
  return (await clients[client][resource][name](...args)) ?? null;
}

const silenced = () => write({ socket: "", event: "silenced" });

createInterface({ input: process.stdin }).on("line", async (line) => {
  const asked = JSON.parse(line);
  try {
    write({ number: asked.number, value: await answer(asked) });
  } catch (error) {
    write({ number: asked.number, error: trouble(error) });
  }
});
process.stdin.on("end", () => process.exit(0));
