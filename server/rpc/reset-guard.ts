// Rapid reset: a peer opens streams and cancels them at once, which costs it nothing and the server
// a call each. A connection that cancels more streams before their requests have arrived than a
// client ever does is closed, and its address may do less for a while:
//
//   trusted ─→ distrusted    a connection of the address was closed for its resets
//   distrusted ─→ trusted    a minute after the last one
//
// Node has a limit of its own (1,000 resets of a connection, 33 in a second), which a peer evades
// by a new connection. So connections of a distrusted address begin a second late, and are closed
// after a few resets. Those that are open stay, and so does HTTP/1.1, which has no streams.
import type { Socket } from "node:net";
import type { Clock } from "../clock.ts";
import type { Log } from "./mount.ts";

/** Of one connection at a time, and then in each second. */
const RESETS_MAX = 100;
const RESETS_PER_SECOND = 10;
/** The same of a distrusted address, at a time. */
const DISTRUSTED_RESETS_MAX = 10;
const DISTRUSTED_MS = 60_000;
const DELAY_MS = 1_000;
/** Addresses that are remembered; the oldest go first. */
const ADDRESSES_MAX = 10_000;
/** NGHTTP2_ENHANCE_YOUR_CALM. */
const CALM_DOWN = 11;

/** A stream of Node's HTTP/2 server, as much of it as is looked at. */
export interface GuardedStream {
  readonly closed: boolean;
  readonly rstCode: number;
  /** The request has arrived, and was read. */
  readonly readableEnded: boolean;
  readonly session?: GuardedSession | undefined;
  once(name: "close", listener: () => void): unknown;
}

/** Where a connection begins and ends; unknown once it has gone. */
export type ConnectionEnds = Partial<
  Pick<Socket, "remoteAddress" | "remotePort" | "localAddress" | "localPort">
>;

interface GuardedSession {
  readonly destroyed: boolean;
  readonly socket: ConnectionEnds;
  destroy(error?: Error, code?: number): void;
}

export interface ResetGuard {
  /** Begins a connection, of a distrusted address after a while, unless it has gone by then. */
  accept(socket: Socket, begin: () => void): void;
  opened(stream: GuardedStream): void;
}

interface Guarded {
  left: number;
  countedAtMs: number;
  /** Opened by the bytes that are being read, and not counted yet. */
  readonly fresh: Set<GuardedStream>;
}

/** A read may open a thousand streams before any event is heard: after so many it is looked. */
const LOOK_EVERY = 16;

export function createResetGuard(clock: Clock, log: Log): ResetGuard {
  const sessions = new WeakMap<GuardedSession, Guarded>();
  const counted = new WeakSet<GuardedStream>();
  const distrustedUntilMs = new Map<string, number>();

  function isDistrusted(address: string): boolean {
    const until = distrustedUntilMs.get(address);
    if (until === undefined || until > clock.monotonicMs()) return until !== undefined;
    distrustedUntilMs.delete(address);
    return false;
  }

  function distrust(address: string): void {
    if (!isDistrusted(address))
      log.warn(
        { event: "resets.closed", address },
        `a connection of ${address} was closed: it cancels streams before their requests arrive`,
      );
    distrustedUntilMs.delete(address);
    distrustedUntilMs.set(address, clock.monotonicMs() + DISTRUSTED_MS);
    const [oldest] = distrustedUntilMs.keys();
    if (distrustedUntilMs.size > ADDRESSES_MAX && oldest !== undefined)
      distrustedUntilMs.delete(oldest);
  }

  function guardedOf(session: GuardedSession): Guarded {
    const known = sessions.get(session);
    if (known) return known;
    const made = {
      left: RESETS_MAX,
      countedAtMs: clock.monotonicMs(),
      fresh: new Set<GuardedStream>(),
    };
    sessions.set(session, made);
    return made;
  }

  function spend(session: GuardedSession, guarded: Guarded): void {
    const address = session.socket.remoteAddress ?? "";
    const nowMs = clock.monotonicMs();
    const most = isDistrusted(address) ? DISTRUSTED_RESETS_MAX : RESETS_MAX;
    const earned = ((nowMs - guarded.countedAtMs) / 1_000) * RESETS_PER_SECOND;
    guarded.left = Math.min(most, guarded.left + earned) - 1;
    guarded.countedAtMs = nowMs;
    if (guarded.left >= 0) return;
    distrust(address);
    session.destroy(undefined, CALM_DOWN);
  }

  /** Once for each stream. With its connection all streams end, and that is no reset. */
  function ended(stream: GuardedStream, session: GuardedSession, guarded: Guarded): void {
    const isReset = stream.rstCode !== 0 && !stream.readableEnded;
    if (isReset && !session.destroyed) spend(session, guarded);
  }

  function look(session: GuardedSession, guarded: Guarded): void {
    for (const stream of guarded.fresh) {
      if (!stream.closed) continue;
      guarded.fresh.delete(stream);
      counted.add(stream);
      ended(stream, session, guarded);
    }
  }

  return Object.freeze({
    accept(socket: Socket, begin: () => void) {
      if (!isDistrusted(socket.remoteAddress ?? "")) return begin();
      const timer = clock.after(DELAY_MS, () => {
        if (!socket.destroyed) begin();
      });
      socket.once("close", () => timer.cancel());
    },
    opened(stream: GuardedStream) {
      const { session } = stream;
      if (!session) return;
      const guarded = guardedOf(session);
      const { fresh } = guarded;
      if (fresh.size === 0) queueMicrotask(() => fresh.clear());
      fresh.add(stream);
      if (fresh.size % LOOK_EVERY === 0) look(session, guarded);
      stream.once("close", () => {
        if (!counted.has(stream)) ended(stream, session, guarded);
        fresh.delete(stream);
      });
    },
  });
}
