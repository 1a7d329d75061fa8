import { Exchange, type Ready } from "./index.js";

/** What is used of a started Testcontainers container; this package does not depend on theirs. */
export interface Started {
  getHost(): string;
  getMappedPort(port: number): number;
  exec(command: string[]): Promise<{ output: string; exitCode: number }>;
  stop(): Promise<unknown>;
}

/** Ports of the image: gateway, retail, exchange, auth, grpc, control, docs. */
export const PORTS = [18080, 18081, 18082, 18083, 18084, 18085, 18086];

const SURFACES = ["gateway", "retail", "exchange", "auth", "grpc", "control", "docs"] as const;
const READY_FILE = "/run/sim/ready.json";

/**
 * The exchange in a started container of the image, at the addresses by which this machine reaches
 * it. What clients sign for (`firms[].audience`) stays as the exchange has it.
 */
export async function inContainer(container: Started, readyFile = READY_FILE): Promise<Exchange> {
  const { output, exitCode } = await container.exec(["cat", readyFile]);
  if (exitCode !== 0) throw new Error(`no ready file in the container yet: ${output.trim()}`);
  const ready = JSON.parse(output) as Ready;
  for (const surface of SURFACES) {
    const inside = ready[surface];
    const [scheme] = inside.includes("://") ? inside.split("://") : [""];
    const port = container.getMappedPort(Number(inside.slice(inside.lastIndexOf(":") + 1)));
    ready[surface] = `${scheme ? `${scheme}://` : ""}${container.getHost()}:${port}`;
  }
  return new Exchange(ready, async () => void (await container.stop()));
}
