// A load balancer for tests: connections as they are, to servers that say they are ready.
import { once } from "node:events";
import { connect, createServer, type Socket } from "node:net";

const PROBE_EVERY_MS = 100;

export interface ReadyBalancer {
  readonly port: number;
  /** Servers that answered the last probe with 200. */
  ready(): readonly string[];
  add(address: string): void;
  close(): Promise<void>;
}

/** Probes /readyz of each server, and gives new connections to the ready ones in turn. */
export async function startBalancer(addresses: readonly string[]): Promise<ReadyBalancer> {
  const known = [...addresses];
  let ready: readonly string[] = [];
  let turn = 0;
  const sockets = new Set<Socket>();
  const over = new AbortController();

  async function probe(address: string): Promise<readonly string[]> {
    const signal = AbortSignal.any([over.signal, AbortSignal.timeout(5_000)]);
    const asked = { signal, headers: { connection: "close" } };
    const page = await fetch(`http://${address}/readyz`, asked).catch(() => null);
    await page?.arrayBuffer();
    return page?.status === 200 ? [address] : [];
  }
  async function probeAll(): Promise<void> {
    ready = (await Promise.all(known.map(probe))).flat();
  }
  async function probeAlways(): Promise<void> {
    while (!over.signal.aborted) {
      await probeAll();
      await new Promise((resolve) => setTimeout(resolve, PROBE_EVERY_MS));
    }
  }

  const server = createServer({ noDelay: true }, (socket) => {
    const [host = "", port] = (ready[turn++ % ready.length] ?? "").split(":");
    if (port === undefined) return void socket.destroy();
    const upstream = connect({ host, port: Number(port), noDelay: true });
    for (const [one, other] of [
      [socket, upstream],
      [upstream, socket],
    ] as const) {
      sockets.add(one);
      one.on("error", () => other.destroy());
      one.once("close", () => sockets.delete(one));
      one.pipe(other);
    }
  });
  await probeAll();
  const probing = probeAlways();
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const bound = server.address();
  if (bound === null || typeof bound === "string") throw new Error("the balancer has no port");
  return Object.freeze({
    port: bound.port,
    ready: () => ready,
    add: (address: string) => void known.push(address),
    async close() {
      over.abort();
      await probing;
      for (const socket of sockets) socket.destroy();
      server.close();
    },
  });
}
