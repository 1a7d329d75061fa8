/** A sandbox exchange for the tests of a client: `start` serves one, `stop` ends it. */

import { spawn, type ChildProcess } from "node:child_process";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { accessSync, constants } from "node:fs";

import { arm, type FuseLimits } from "./fuse.js";

export { LiveHostRefused } from "./fuse.js";

/** A partner firm of the ready file. */
export interface Firm {
  firm: string;
  client_id: string;
  private_key_path: string;
  private_key_pem: string;
  audience: string;
  scopes: string[];
  users: string[];
  accounts: string[];
}

/** The ready file as it is: addresses, credentials, symbols by state. */
export interface Ready {
  gateway: string;
  retail: string;
  exchange: string;
  auth: string;
  /** host:port */
  grpc: string;
  control: string;
  docs: string;
  scenario: string;
  seed: number;
  now: string;
  journal: string | null;
  control_token?: string;
  firms: Firm[];
  api_keys: { key_id: string; secret_key: string; account: string }[];
  symbols: Record<string, string[]>;
}

export interface StartOptions extends FuseLimits {
  /** Bundled name or path; default: quickstart. */
  scenario?: string;
  seed?: number;
  /** manual (default), autojump, fast, paced, paced:60. */
  clock?: string;
  journal?: string;
  /** Further arguments of `sim serve`. */
  args?: string[];
  /** The command; default: SIM_COMMAND, `sim` on the PATH, else `python3 -m sim`. */
  command?: string[];
  /** Longest wait for the exchange, in milliseconds; default: 30000. */
  timeout?: number;
}

/** A fault of a scenario: what it strikes, what it does, how often. */
export interface FaultSpec {
  match?: Record<string, unknown>;
  act: Record<string, unknown>;
  times?: number;
  ttl?: string;
}

/** A call of a client, with its answer. */
export interface LoggedCall {
  seq: number;
  at: string;
  plane: string;
  operation: string;
  caller: string;
  status: number;
  code: number;
  explain: string;
  [key: string]: unknown;
}

const CALLS_SHOWN = 12;

/** The control plane refused a call; `body` is its answer. */
export class ControlError extends Error {
  constructor(
    readonly status: number,
    readonly body: unknown,
  ) {
    const about = body as { message?: string; remedy?: string } | undefined;
    const remedy = about?.remedy ? ` (${about.remedy})` : "";
    super(`${status}: ${about?.message ?? String(body)}${remedy}`);
    this.name = "ControlError";
  }
}

/** A served exchange. `ready` has addresses and credentials for the client under test. */
export class Exchange {
  readonly clock: {
    /** Move time by a duration ("5m") or to an instant; the answer is virtual now. */
    advance(by: string | { to: string }): Promise<string>;
    /** Move time until an event: a condition as in `when` of a scenario's step. The answer is
     * virtual now. Throws if it does not happen within the duration, a day unless given. */
    until(condition: Record<string, unknown>, within?: string): Promise<string>;
    now(): Promise<string>;
  };

  constructor(
    readonly ready: Ready,
    private readonly end: () => Promise<void>,
  ) {
    const moment = (answer: unknown): string => (answer as { now: string }).now;
    this.clock = {
      advance: async (by) => {
        const body = typeof by === "string" ? { by, fired: "none" } : { ...by, fired: "none" };
        return moment(await this.control("POST", "/clock/advance", body));
      },
      until: async (condition, within = "1d") => {
        const body = { until: condition, within, fired: "none" };
        const answer = await this.control("POST", "/clock/advance", body);
        if ((answer as { happened: boolean }).happened) return moment(answer);
        const event = JSON.stringify(condition);
        throw new Error(`${event} did not happen within ${within}: now ${moment(answer)}`);
      },
      now: async () => moment(await this.control("GET", "/clock")),
    };
  }

  /** Make a call of the control plane, below /_sim/v1. Throws ControlError unless it is 200. */
  async control(verb: string, path: string, body?: unknown): Promise<unknown> {
    const headers: Record<string, string> = {};
    if (body !== undefined) headers["content-type"] = "application/json";
    const token = this.ready.control_token;
    if (token) headers["authorization"] = `Bearer ${token}`;
    const answer = await fetch(`${this.ready.control}/_sim/v1${path}`, {
      method: verb,
      headers,
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    const isJson = answer.headers.get("content-type")?.startsWith("application/json");
    const content: unknown = isJson ? await answer.json() : await answer.text();
    if (answer.status !== 200) throw new ControlError(answer.status, content);
    return content;
  }

  /** Inject a fault; `remove` ends it. `await using` ends it with its block. */
  async fault(spec: FaultSpec): Promise<{ id: string; remove(): Promise<void> } & AsyncDisposable> {
    const { id } = (await this.control("POST", "/faults", spec)) as { id: string };
    const remove = async (): Promise<void> => {
      try {
        await this.control("DELETE", `/faults/${id}`);
      } catch (error) {
        if (!(error instanceof ControlError && error.status === 404)) throw error; // it has ended
      }
    };
    return { id, remove, [Symbol.asyncDispose]: remove };
  }

  /** Calls of clients, oldest first. */
  async requests(
    filter: { operation?: string; status?: number; caller?: string; since?: number } = {},
  ): Promise<LoggedCall[]> {
    const pairs = Object.entries(filter).map(([key, value]): [string, string] => [key, `${value}`]);
    const query = new URLSearchParams(pairs).toString();
    const answer = await this.control("GET", `/requests${query && `?${query}`}`);
    return (answer as { requests: LoggedCall[] }).requests;
  }

  /** What to print where a test fails: the last calls that the exchange saw, and how to see the run
   * again. */
  async report(): Promise<string> {
    const calls = await this.requests();
    const left = calls.length > CALLS_SHOWN ? `, the last ${CALLS_SHOWN} of them` : "";
    const { scenario, seed, now } = (await this.control("GET", "/health")) as Ready;
    const { journal } = this.ready;
    return [
      `calls that the exchange saw: ${calls.length || "none"}${left}`,
      ...calls.slice(-CALLS_SHOWN).map(({ at, plane, operation, status, code, explain }) => {
        const why = explain ? `  sim explain: ${explain}` : "";
        return `  ${at}  ${plane.padEnd(8)}  ${operation}  ${plane === "grpc" ? code : status}${why}`;
      }),
      `scenario ${scenario}, seed ${seed}, now ${now}`,
      journal ? `journal ${journal}\nsim replay ${journal}` : "no journal: start({ journal }) keeps one",
    ].join("\n");
  }

  /** Go back to the scenario's start. */
  async reset(seed?: number): Promise<void> {
    await this.control("POST", "/reset", seed === undefined ? {} : { seed });
  }

  /** Serve a copy as it is now, or as it was right after the input `seq`, on ports of its own. */
  async fork(seq?: number): Promise<Exchange> {
    const facts = await this.control("POST", "/fork", seq === undefined ? {} : { seq });
    const copy = facts as Ready & { world: string };
    const token = this.ready.control_token;
    return new Exchange({ ...copy, ...(token ? { control_token: token } : {}) }, async () => {
      await this.control("DELETE", `/worlds/${copy.world}`);
    });
  }

  /** End the exchange, and its copies with it. */
  async stop(): Promise<void> {
    await this.end();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop();
  }
}

/** Serve a scenario on free ports; its clock stands still unless `clock` says otherwise. */
export async function start(options: StartOptions = {}): Promise<Exchange> {
  const folder = await mkdtemp(join(tmpdir(), "sandbox-exchange-"));
  const readyFile = join(folder, "ready.json");
  const [command, ...before] = commandOf(options);
  const args = [
    ...before,
    "serve",
    options.scenario ?? "quickstart",
    ...["--port-base", "0", "--quiet", "--clock", options.clock ?? "manual"],
    ...["--ready-file", readyFile],
    ...(options.seed === undefined ? [] : ["--seed", String(options.seed)]),
    ...(options.journal === undefined ? [] : ["--journal", options.journal]),
    ...(options.args ?? []),
  ];
  const child = spawn(command!, args, { stdio: ["ignore", "pipe", "pipe"] });
  const kill = (): void => void child.kill("SIGKILL");
  const disarm = arm(options);
  process.once("exit", kill); // a test run that ends early leaves nothing behind
  const end = async (): Promise<void> => {
    disarm();
    process.removeListener("exit", kill);
    await ended(child);
    await rm(folder, { recursive: true, force: true });
  };
  try {
    await greeted(child, options.timeout ?? 30_000);
    const ready = JSON.parse(await readFile(readyFile, "utf8")) as Ready;
    return new Exchange(ready, end);
  } catch (error) {
    await end();
    throw error;
  }
}

function commandOf(options: StartOptions): string[] {
  if (options.command?.length) return options.command;
  const named = process.env["SIM_COMMAND"]?.trim();
  if (named) return named.split(/\s+/);
  const names = process.platform === "win32" ? ["sim.exe"] : ["sim"];
  const places = (process.env["PATH"] ?? "").split(delimiter).filter(Boolean);
  const isThere = places.some((place) => names.some((name) => isExecutable(join(place, name))));
  return isThere ? ["sim"] : [process.platform === "win32" ? "python" : "python3", "-m", "sim"];
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

/** Wait until the exchange greets, which it does once the ready file is written. */
function greeted(child: ChildProcess, within: number): Promise<void> {
  return new Promise((resolve, reject) => {
    let said = "";
    const late = setTimeout(() => {
      reject(new Error(`the exchange was not ready within ${within} ms: ${said.trim()}`));
    }, within);
    const settle = (act: () => void): void => {
      clearTimeout(late);
      act();
    };
    child.stderr!.on("data", (data: Buffer) => (said = (said + data).slice(-2000)));
    child.stdout!.on("data", () => settle(resolve)); // goes on reading, or the pipe would fill
    child.once("error", (error) => settle(() => reject(error)));
    child.once("exit", (code) => {
      settle(() => reject(new Error(`sim serve ended with ${code}: ${said.trim()}`)));
    });
  });
}

async function ended(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null || child.pid === undefined) return;
  await new Promise<void>((resolve) => {
    const patience = setTimeout(() => child.kill("SIGKILL"), 5_000);
    child.once("exit", () => {
      clearTimeout(patience);
      resolve();
    });
    child.kill("SIGTERM");
  });
}
