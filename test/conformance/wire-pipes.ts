/**
 * The network between the program and the wire: connections that can be cut, stop, or be
 * slow. The first bytes of one distinguish gRPC (HTTP/2) from HTTP/1.1.
 */
import { once } from "node:events";
import { connect, createServer, type Socket } from "node:net";

export interface Pipes {
  /** host:port for the program. */
  readonly address: string;
  /** Breaks every connection; new ones are taken. */
  cut(): void;
  /** No byte passes, in either direction; neither side is notified. */
  freeze(): void;
  /** What was held passes on. */
  flow(): void;
  /** Breaks every connection, and each new one at once, as of a server that was killed. */
  leave(): void;
  /** New connections are taken again. */
  comeBack(): void;
  /** Connections so far. */
  attempts(): number;
  /** From now on each byte takes so long, in either direction. */
  delay(ms: number): void;
  close(): Promise<void>;
}

const http2Start = "PRI";

export async function openPipes(ports: { http1: number; http2: number }): Promise<Pipes> {
  const sockets = new Set<Socket>();
  let delayMs = 0;
  let isAway = false;
  let attempts = 0;
  let flowing = Promise.resolve();
  let resume: () => void = () => undefined;

  /** Chunks keep their order, whatever happens to the delay meanwhile. */
  function pipe(from: Socket, to: Socket): void {
    let last: Promise<void> = Promise.resolve();
    const later = (act: () => void): void => {
      const late =
        delayMs === 0
          ? Promise.resolve()
          : new Promise<void>((resolve) => setTimeout(resolve, delayMs));
      last = last
        .then(() => late)
        .then(() => flowing)
        .then(act);
    };
    from.on("data", (chunk) => later(() => void to.write(chunk)));
    from.once("end", () => later(() => void to.end()));
    from.once("close", () => later(() => void to.destroy()));
    from.on("error", () => undefined);
  }

  const server = createServer({ noDelay: true }, (socket) => {
    attempts += 1;
    if (isAway) {
      socket.resetAndDestroy();
      return;
    }
    sockets.add(socket);
    socket.once("close", () => sockets.delete(socket));
    socket.on("error", () => undefined);
    socket.once("data", (chunk: Buffer) => {
      const port = chunk.subarray(0, 3).toString() === http2Start ? ports.http2 : ports.http1;
      const inner = connect({ port, host: "127.0.0.1", noDelay: true });
      socket.pause();
      socket.unshift(chunk);
      pipe(socket, inner);
      pipe(inner, socket);
      socket.resume();
    });
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const bound = server.address();
  if (bound === null || typeof bound === "string") throw new Error("no port was given");

  const cut = (): void => {
    for (const socket of sockets) socket.destroy();
  };

  return Object.freeze({
    address: `127.0.0.1:${bound.port}`,
    cut,
    freeze(): void {
      flowing = new Promise((resolve) => {
        resume = resolve;
      });
    },
    flow: () => resume(),
    leave(): void {
      isAway = true;
      cut();
    },
    comeBack(): void {
      isAway = false;
    },
    attempts: () => attempts,
    delay(ms: number): void {
      delayMs = ms;
    },
    async close(): Promise<void> {
      resume();
      cut();
      server.close();
      await once(server, "close");
    },
  });
}
