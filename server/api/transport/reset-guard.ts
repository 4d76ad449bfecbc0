// Protection against rapid reset: a peer opens streams and cancels them at once, which costs it
// nothing and the server a call each. A connection that cancels more streams before their requests
// have arrived than any client does is closed, and its address has lower limits for a while:
//
//   trusted ─→ distrusted    a connection of the address was closed for its resets
//   distrusted ─→ trusted    a minute after the last one
//
// Node has its own limit (1,000 resets of a connection, 33 a second), which a peer evades by a new
// connection. So new connections of a distrusted address begin a second late, and are closed after
// a few resets. Its open connections stay, and so does HTTP/1.1, which has no streams.
import type { Socket } from "node:net";
import type { Clock } from "../../clock.ts";
import type { Log } from "../calls/mount.ts";

/** Resets allowed to one connection at once, and then for each second. */
const RESETS_MAX = 100;
const RESETS_PER_SECOND = 10;
/** Resets allowed at once to a connection of a distrusted address. */
const DISTRUSTED_RESETS_MAX = 10;
const DISTRUSTED_MS = 60_000;
const DELAY_MS = 1_000;
/** Most addresses that are remembered; the oldest are dropped first. */
const ADDRESSES_MAX = 10_000;
/** NGHTTP2_ENHANCE_YOUR_CALM. */
const CALM_DOWN = 11;

/** The part of a stream of Node's HTTP/2 server that the guard reads. */
export interface GuardedStream {
  readonly closed: boolean;
  readonly rstCode: number;
  /** The request has arrived, and was read. */
  readonly readableEnded: boolean;
  readonly session?: GuardedSession | undefined;
  once(name: "close", listener: () => void): unknown;
}

/** The addresses of both ends of a connection; unknown once it has closed. */
export type ConnectionEnds = Partial<
  Pick<Socket, "remoteAddress" | "remotePort" | "localAddress" | "localPort">
>;

interface GuardedSession {
  readonly destroyed: boolean;
  readonly socket: ConnectionEnds;
  destroy(error?: Error, code?: number): void;
}

interface ResetGuard {
  /**
   * Calls `begin` for a connection: at once, or after a delay if its address is distrusted and it
   * is still open then.
   */
  accept(socket: Socket, begin: () => void): void;
  opened(stream: GuardedStream): void;
}

/**
 * One read may open a thousand streams before any event is emitted: they are checked after this
 * many.
 */
const CHECK_EVERY = 16;

interface Guarded {
  left: number;
  countedAtMs: number;
  /** Opened by the bytes that are being read, and not counted yet. */
  readonly fresh: Set<GuardedStream>;
}

interface State {
  readonly clock: Clock;
  readonly log: Log;
  readonly sessions: WeakMap<GuardedSession, Guarded>;
  /** Closed streams that were counted before their event. */
  readonly counted: WeakSet<GuardedStream>;
  /** By address, by the monotonic clock; the one that was distrusted longest ago is first. */
  readonly distrustedUntilMs: Map<string, number>;
}

export function createResetGuard(clock: Clock, log: Log): ResetGuard {
  const state: State = {
    clock,
    log,
    sessions: new WeakMap(),
    counted: new WeakSet(),
    distrustedUntilMs: new Map(),
  };
  return Object.freeze({
    accept: (socket: Socket, begin: () => void) => accept(state, socket, begin),
    opened: (stream: GuardedStream) => opened(state, stream),
  });
}

function accept(state: State, socket: Socket, begin: () => void): void {
  if (!isDistrusted(state, socket.remoteAddress ?? "")) {
    begin();
    return;
  }
  const timer = state.clock.after(DELAY_MS, () => {
    if (!socket.destroyed) begin();
  });
  socket.once("close", () => timer.cancel());
}

function opened(state: State, stream: GuardedStream): void {
  const { session } = stream;
  if (!session) return;
  const guarded = guardedOf(state, session);
  const { fresh } = guarded;
  if (fresh.size === 0) queueMicrotask(() => fresh.clear());
  fresh.add(stream);
  if (fresh.size % CHECK_EVERY === 0) checkClosed(state, session, guarded);
  stream.once("close", () => {
    if (!state.counted.has(stream)) ended(state, stream, session, guarded);
    fresh.delete(stream);
  });
}

function guardedOf({ clock, sessions }: State, session: GuardedSession): Guarded {
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

function checkClosed(state: State, session: GuardedSession, guarded: Guarded): void {
  for (const stream of guarded.fresh) {
    if (!stream.closed) continue;
    guarded.fresh.delete(stream);
    state.counted.add(stream);
    ended(state, stream, session, guarded);
  }
}

/** Called once for each stream. All streams end with their connection; that is no reset. */
function ended(
  state: State,
  stream: GuardedStream,
  session: GuardedSession,
  guarded: Guarded,
): void {
  const isReset = stream.rstCode !== 0 && !stream.readableEnded;
  if (isReset && !session.destroyed) spend(state, session, guarded);
}

function spend(state: State, session: GuardedSession, guarded: Guarded): void {
  const address = session.socket.remoteAddress ?? "";
  const nowMs = state.clock.monotonicMs();
  const most = isDistrusted(state, address) ? DISTRUSTED_RESETS_MAX : RESETS_MAX;
  const earned = ((nowMs - guarded.countedAtMs) / 1_000) * RESETS_PER_SECOND;
  guarded.left = Math.min(most, guarded.left + earned) - 1;
  guarded.countedAtMs = nowMs;
  if (guarded.left >= 0) return;
  distrust(state, address);
  session.destroy(undefined, CALM_DOWN);
}

function distrust(state: State, address: string): void {
  const { clock, log, distrustedUntilMs } = state;
  if (!isDistrusted(state, address))
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

function isDistrusted({ clock, distrustedUntilMs }: State, address: string): boolean {
  const until = distrustedUntilMs.get(address);
  if (until === undefined || until > clock.monotonicMs()) return until !== undefined;
  distrustedUntilMs.delete(address);
  return false;
}
