// A proxy to PostgreSQL that can become a black hole: it swallows bytes, and notifies neither side.
// Connections stay open, new ones are accepted and not answered, ends are not passed on. When it
// opens again, the swallowed bytes arrive, late and in order.
import { once } from "node:events";
import { connect, createServer, type Socket } from "node:net";

export type Direction = "to-database" | "from-database";

export interface BlackholeProxy {
  /** The same database, through the proxy. */
  readonly connectionString: string;
  /** Swallows what goes in these directions from now on; both, unless one is named. */
  swallow(...directions: readonly Direction[]): void;
  /**
   * Swallows both as soon as these texts have come on one connection to the database, one after the
   * other, with the message that has the last of them. Resolves when it has come.
   */
  swallowFrom(...texts: readonly string[]): Promise<void>;
  open(): void;
  stop(): Promise<void>;
}

interface Way {
  readonly direction: Direction;
  readonly from: Socket;
  readonly to: Socket;
  /** Called once it is open again; null: it ends. */
  readonly late: (Buffer | null)[];
  /** Texts of the trigger that have come this way. */
  seen: number;
}

const BOTH: readonly Direction[] = ["to-database", "from-database"];

export async function startBlackholeProxy(connectionString: string): Promise<BlackholeProxy> {
  const target = new URL(connectionString);
  const ways = new Set<Way>();
  let swallowed: readonly Direction[] = [];
  let trigger: { readonly texts: readonly string[]; readonly come: () => void } | null = null;

  const watch = (way: Way, bytes: Buffer): void => {
    if (!trigger || way.direction !== "to-database") return;
    if (bytes.includes(trigger.texts[way.seen] ?? "")) way.seen += 1;
    if (way.seen < trigger.texts.length) return;
    swallowed = BOTH;
    trigger.come();
    trigger = null;
  };
  const pass = (way: Way, bytes: Buffer | null): void => {
    if (bytes) watch(way, bytes);
    if (swallowed.includes(way.direction)) way.late.push(bytes);
    else if (bytes) way.to.write(bytes);
    else way.to.end();
  };
  const lead = (direction: Direction, from: Socket, to: Socket): void => {
    const way: Way = { direction, from, to, late: [], seen: 0 };
    ways.add(way);
    from.setNoDelay(true);
    from.on("data", (bytes: Buffer) => pass(way, bytes));
    from.on("error", () => undefined).on("close", () => pass(way, null));
  };
  const server = createServer((client) => {
    const database = connect(Number(target.port), target.hostname);
    lead("to-database", client, database);
    lead("from-database", database, client);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("the proxy has no port");
  const url = new URL(connectionString);
  url.host = `127.0.0.1:${address.port}`;
  return {
    connectionString: url.href,
    swallow(...directions) {
      swallowed = directions.length === 0 ? BOTH : directions;
    },
    async swallowFrom(...texts) {
      for (const way of ways) way.seen = 0;
      await new Promise<void>((come) => {
        trigger = { texts, come };
      });
    },
    open() {
      swallowed = [];
      for (const way of ways) for (const bytes of way.late.splice(0)) pass(way, bytes);
    },
    async stop() {
      for (const { from } of ways) from.destroy();
      server.close();
      await once(server, "close");
    },
  };
}
