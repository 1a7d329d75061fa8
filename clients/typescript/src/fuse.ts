/** While an exchange is served, this process cannot connect to the real service. */

import dns from "node:dns";
import { syncBuiltinESMExports } from "node:module";
import net from "node:net";

/** The public names of the service; their subdomains count too. */
export const SERVICE_HOSTS = ["polymarket.us", "polymarketexchange.com", "polymarket.com"];

/** A test was about to connect to the real service. */
export class LiveHostRefused extends Error {
  constructor(host: string) {
    super(
      `this test was about to connect to ${host}: point the client at the exchange of the test;` +
        " start({ allowLiveHosts: [...] }) lifts this",
    );
    this.name = "LiveHostRefused";
  }
}

/** What the fuse lets through; `all` refuses everything that is not loopback. */
export interface FuseLimits {
  allowLiveHosts?: string[];
  fuse?: "live" | "all";
}

const users: FuseLimits[] = [];
let installed = false;

/** Refuse connections to the service, until the returned function is called. */
export function arm(limits: FuseLimits): () => void {
  install();
  users.push(limits);
  return () => void (users.includes(limits) && users.splice(users.indexOf(limits), 1));
}

function refuse(host: unknown): void {
  if (typeof host !== "string" || users.length === 0) return;
  const name = host.toLowerCase().replace(/^\[|\]$|\.$/g, "");
  const within = (hosts: string[]): boolean =>
    hosts.some((each) => name === each || name.endsWith(`.${each}`));
  const everything = users.some(({ fuse }) => fuse === "all");
  const refused = everything ? !isLoopback(name) : within(SERVICE_HOSTS);
  const allowed = users.some(({ allowLiveHosts }) => within(allowLiveHosts ?? []));
  if (refused && !allowed) throw new LiveHostRefused(name);
}

function isLoopback(name: string): boolean {
  return /^(127\.[\d.]+|::1|::|0\.0\.0\.0|localhost|.*\.localhost)$/.test(name);
}

type Callable = (...given: never[]) => unknown;

/** Put a check before a method; hosts are found in its arguments. */
function fence(owner: object, method: string, hostOf: (given: unknown[]) => unknown): void {
  const methods = owner as Record<string, Callable>;
  const original = methods[method];
  if (original === undefined) return;
  methods[method] = function (this: unknown, ...given: never[]) {
    refuse(hostOf(given));
    return original.apply(this, given);
  };
}

/** `connect` takes options, a port and a host, or both in a list that Node has made of them. */
function addressOf([first, second]: unknown[]): unknown {
  if (Array.isArray(first)) return addressOf(first);
  if (typeof first === "object" && first !== null) return (first as { host?: unknown }).host;
  return second;
}

function install(): void {
  if (installed) return;
  installed = true;
  fence(net.Socket.prototype, "connect", addressOf);
  fence(dns, "lookup", ([host]) => host);
  for (const method of ["lookup", "resolve", "resolve4", "resolve6"]) {
    fence(dns.promises, method, ([host]) => host);
    fence(dns.promises.Resolver.prototype, method, ([host]) => host);
    fence(dns.Resolver.prototype, method, ([host]) => host);
  }
  const original = globalThis.fetch;
  globalThis.fetch = async (input, init) => {
    refuse(new URL(input instanceof Request ? input.url : input).hostname);
    return original(input, init);
  };
  syncBuiltinESMExports();
}
