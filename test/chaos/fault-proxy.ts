// A TCP proxy that makes a connection bad: slow, jittery, narrow, cut in one or both directions,
// reset, half closed, ended after some bytes, or sent a byte at a time. What is swallowed arrives
// late and in order when the way opens again, as TCP would deliver it.
//
//   a chunk: read → waits for its delay and for the way to open → sliced, by the rate → written
import { once } from "node:events";
import { connect, createServer, type Socket } from "node:net";

export type Direction = "there" | "back";

/** How a direction treats what comes; the times in milliseconds. */
export interface Weather {
  readonly delayMs: number;
  /** Added to the delay, by chance up to this. */
  readonly jitterMs: number;
  /** null: as fast as it goes. */
  readonly bytesPerSecond: number | null;
  readonly swallows: boolean;
  /** Writes of so many bytes; null: as they come. */
  readonly sliceBytes: number | null;
  /** The connection ends after so many bytes more; null: never. */
  readonly cutAfterBytes: number | null;
  /** Leaves out notifications of PostgreSQL; only from a database. */
  readonly dropsNotifications: boolean;
}

export const FAIR: Weather = Object.freeze({
  delayMs: 0,
  jitterMs: 0,
  bytesPerSecond: null,
  swallows: false,
  sliceBytes: null,
  cutAfterBytes: null,
  dropsNotifications: false,
});

export interface FaultProxy {
  /** host:port. */
  readonly address: string;
  set(weather: Partial<Weather>, ...directions: readonly Direction[]): void;
  /** As at the start. */
  heal(): void;
  /** From now on connections go there; those that are open are reset. */
  retarget(target: string): void;
  /** Ends all connections with a reset. */
  reset(): void;
  /** Ends the direction to the target, of all connections; the other one stays. */
  halfClose(): void;
  /** Calls back once, with the first chunk to the target that contains the text, before it goes. */
  onText(text: string, callback: () => void): void;
  readonly notificationsDropped: () => number;
  stop(): Promise<void>;
}

interface Way {
  readonly direction: Direction;
  readonly from: Socket;
  readonly to: Socket;
  readonly queue: { readonly bytes: Buffer | null; readonly dueAtMs: number }[];
  queuedBytes: number;
  isPumping: boolean;
  passedBytes: number;
  readonly filter: (bytes: Buffer) => Buffer;
}

const BOTH: readonly Direction[] = ["there", "back"];
const QUEUED_BYTES_MAX = 1_000_000;
const SCAN_EVERY_MS = 10;

const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

export interface FaultProxyOptions {
  /** host:port. */
  readonly target: string;
  /** Whether PostgreSQL is behind it: only then notifications can be dropped. */
  readonly isDatabase: boolean;
  /** A number from 0 to 1, for the jitter. */
  readonly chance: () => number;
}

export async function startFaultProxy({
  target: firstTarget,
  isDatabase,
  chance,
}: FaultProxyOptions): Promise<FaultProxy> {
  let target = firstTarget;
  let isStopped = false;
  const ways = new Set<Way>();
  const weather: Record<Direction, Weather> = { there: FAIR, back: FAIR };
  let trigger: { readonly text: string; readonly callback: () => void } | null = null;
  let dropped = 0;

  const onChunk = (way: Way, bytes: Buffer | null): void => {
    if (bytes && trigger && way.direction === "there" && bytes.includes(trigger.text)) {
      const { callback } = trigger;
      trigger = null;
      callback();
    }
    const { delayMs, jitterMs } = weather[way.direction];
    const rest = bytes ? way.filter(bytes) : null;
    if (rest?.length === 0) return;
    way.queue.push({ bytes: rest, dueAtMs: performance.now() + delayMs + chance() * jitterMs });
    way.queuedBytes += rest?.length ?? 0;
    if (way.queuedBytes > QUEUED_BYTES_MAX) way.from.pause();
    if (!way.isPumping) void pump(way);
  };
  const pump = async (way: Way): Promise<void> => {
    way.isPumping = true;
    for (let one = way.queue[0]; one && !isStopped; one = way.queue[0]) {
      const waitMs = one.dueAtMs - performance.now();
      if (weather[way.direction].swallows) await pause(SCAN_EVERY_MS);
      else if (waitMs > 1) await pause(waitMs);
      else {
        way.queue.shift();
        await deliver(way, one.bytes);
      }
    }
    way.isPumping = false;
  };
  const deliver = async (way: Way, bytes: Buffer | null): Promise<void> => {
    if (bytes === null) {
      way.to.end();
      return;
    }
    const { sliceBytes, bytesPerSecond, cutAfterBytes } = weather[way.direction];
    if (cutAfterBytes !== null) {
      const left = cutAfterBytes - way.passedBytes;
      if (left < bytes.length) {
        way.to.write(bytes.subarray(0, Math.max(0, left)), () => way.to.resetAndDestroy());
        way.from.destroy();
        return;
      }
      way.passedBytes += bytes.length;
    }
    const slice = sliceBytes ?? bytes.length;
    for (let at = 0; at < bytes.length && !way.to.destroyed; at += slice) {
      const part = bytes.subarray(at, at + slice);
      const isFull = !way.to.write(part);
      if (bytesPerSecond !== null) await pause((1_000 * part.length) / bytesPerSecond);
      else if (sliceBytes !== null && at % (64 * slice) === 0) await pause(0);
      if (isFull) await drained(way.to);
    }
    way.queuedBytes -= bytes.length;
    if (way.queuedBytes < QUEUED_BYTES_MAX) way.from.resume();
  };
  const lead = (direction: Direction, from: Socket, to: Socket): void => {
    const notifications = notificationFilter(
      () => weather[direction].dropsNotifications,
      (count) => {
        dropped += count;
      },
    );
    const isFiltered = isDatabase && direction === "back";
    const filter = isFiltered ? notifications : (bytes: Buffer) => bytes;
    const rest = { queuedBytes: 0, isPumping: false, passedBytes: 0, filter };
    const way: Way = { direction, from, to, queue: [], ...rest };
    ways.add(way);
    from.setNoDelay(true);
    from.on("data", (bytes: Buffer) => onChunk(way, bytes));
    from.on("end", () => onChunk(way, null));
    from.on("error", () => undefined);
    from.on("close", () => {
      ways.delete(way);
      // A reset is passed on at once, unless the way is cut.
      if (way.queue.length === 0) to.destroy();
    });
  };
  const server = createServer({ allowHalfOpen: true }, (client) => {
    const [host = "", port = ""] = target.split(":");
    const upstream = connect({ host, port: Number(port), allowHalfOpen: true });
    lead("there", client, upstream);
    lead("back", upstream, client);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("the proxy has no port");
  const each = (act: (way: Way) => void): void => {
    for (const way of [...ways]) act(way);
  };
  const proxy: FaultProxy = {
    address: `127.0.0.1:${address.port}`,
    set(changed, ...directions) {
      const which = directions.length === 0 ? BOTH : directions;
      for (const direction of which) weather[direction] = { ...weather[direction], ...changed };
      each((way) => {
        way.passedBytes = 0;
      });
    },
    heal() {
      weather.there = FAIR;
      weather.back = FAIR;
      trigger = null;
    },
    retarget(next) {
      target = next;
      proxy.reset();
    },
    reset: () =>
      each(({ from, queue }) => {
        queue.length = 0;
        from.resetAndDestroy();
      }),
    halfClose: () => each(({ direction, to }) => direction === "there" && to.end()),
    onText(text, callback) {
      trigger = { text, callback };
    },
    notificationsDropped: () => dropped,
    async stop() {
      isStopped = true;
      each(({ from }) => from.destroy());
      server.close();
      await once(server, "close");
    },
  };
  return Object.freeze(proxy);
}

/** Until it takes more, or is gone. */
function drained(socket: Socket): Promise<void> {
  return new Promise((resolve) => {
    const done = (): void => {
      socket.off("drain", done).off("close", done);
      resolve();
    };
    if (socket.destroyed) resolve();
    else socket.on("drain", done).on("close", done);
  });
}

const NOTIFICATION = "A".charCodeAt(0);

/**
 * Messages of PostgreSQL are a letter, a length that counts itself, and so many bytes. Without TLS
 * a server sends nothing else, from the first byte on.
 */
function notificationFilter(
  isOn: () => boolean,
  onDropped: (count: number) => void,
): (bytes: Buffer) => Buffer {
  /** Bytes of the current message that are still to come, and whether they are left out. */
  let left = 0;
  let drops = false;
  let head: Buffer = Buffer.alloc(0);
  return (bytes) => {
    const kept: Buffer[] = [];
    let rest = bytes;
    while (rest.length > 0) {
      if (left === 0) {
        const taken = rest.subarray(0, 5 - head.length);
        head = Buffer.concat([head, taken]);
        rest = rest.subarray(taken.length);
        if (head.length < 5) break;
        left = head.readUInt32BE(1) - 4;
        drops = head[0] === NOTIFICATION && isOn();
        if (drops) onDropped(1);
        else kept.push(head);
        head = Buffer.alloc(0);
        continue;
      }
      const part = rest.subarray(0, left);
      left -= part.length;
      rest = rest.subarray(part.length);
      if (!drops) kept.push(part);
    }
    return kept.length === 1 ? (kept[0] ?? bytes) : Buffer.concat(kept);
  };
}
