// Protection of HTTP/2 connections, on which a peer can give the server work that costs it nothing:
//
// - streams that it cancels at once (rapid reset), each of which costs the server a call;
// - pings, settings, and bytes that belong to no call;
// - requests that never arrive whole, and answers that it does not read, which hold memory.
//
// Node has limits of its own (1,000 resets of a connection and 33 a second; empty frames,
// CONTINUATION, answers to pings that are not read), which a peer evades by a new connection or by
// reading. A connection that goes beyond the limits is closed, and its address is distrusted for a
// while (connection-guard.ts). A call that stalls is cut alone: other calls of its connection may
// be good.
//
// Old and idle connections are closed here too, without breaking a call: first the client is told
// to open no more calls, a moment later the connection is closed to new ones, and it ends with its
// last call.
import type { ServerHttp2Session, ServerHttp2Stream } from "node:http2";
import type { Socket } from "node:net";
import type { Clock, Random } from "../../clock.ts";
import type { ConnectionGuard, Refusal } from "./connection-guard.ts";
import { type Allowance, type TransportLimits, take } from "./limits.ts";

/** NGHTTP2_NO_ERROR, NGHTTP2_ENHANCE_YOUR_CALM. */
const NO_ERROR = 0;
const CALM_DOWN = 11;
/** "All streams so far, and those on their way." */
const ANY_STREAM = 2 ** 31 - 1;
const AGE_JITTER = 0.2;
/** Calls whose largest messages a connection may send ahead of the check of its bytes. */
const CALLS_AHEAD = 16;

/** The part of a stream of Node's HTTP/2 server that the guard reads. */
export interface GuardedStream
  extends Pick<
    ServerHttp2Stream,
    "closed" | "rstCode" | "readableEnded" | "readableDidRead" | "writableLength"
  > {
  readonly session?: GuardedSession | undefined;
  once(name: "close", listener: () => void): unknown;
  close(code: number): void;
}

interface GuardedSession extends Pick<ServerHttp2Session, "destroyed" | "goaway"> {
  readonly socket: Partial<Pick<Socket, "remoteAddress" | "remotePort" | "bytesRead">>;
  close(): void;
  destroy(error?: Error, code?: number): void;
}

export interface SessionGuard {
  /** Watches a connection until it closes. */
  begin(session: ServerHttp2Session): void;
  /** True: the connection of the stream is watched here. To be called when a stream is created. */
  watches(session: GuardedSession | undefined): boolean;
  /** `isOpenEnded`: its request ends when the caller likes. */
  opened(stream: GuardedStream, isOpenEnded?: boolean): void;
  /**
   * False: the headers of the stream are too large, and it was closed. Node refuses them by itself,
   * but only from a client that has accepted the limit.
   */
  mayBegin(stream: BeginningStream, rawHeaders: readonly string[]): boolean;
  /** A message of a stream was sent; `peer` is the address and the port of its caller. */
  answered(peer: string): void;
  /** Checks all open calls and connections. */
  check(): void;
}

type BeginningStream = Pick<ServerHttp2Stream, "session" | "close">;

interface GuardDeps {
  readonly clock: Clock;
  readonly random: Pick<Random, "fraction">;
  readonly guard: ConnectionGuard;
  readonly messageBytesMax: number;
}

/**
 * One read may open a thousand streams before any event is emitted: they are checked after this
 * many.
 */
const CHECK_EVERY = 16;

interface Guarded {
  readonly session: GuardedSession;
  readonly address: string | undefined;
  readonly resets: Allowance;
  readonly control: Allowance;
  readonly surplus: Allowance;
  /** What the check of bytes has seen. */
  bytesRead: number;
  /** Opened by the bytes that are being read, and not counted yet. */
  readonly fresh: Set<GuardedStream>;
  readonly open: Set<GuardedStream>;
  /** Of the open ones, those whose request ends when the caller likes. */
  readonly openEnded: Set<GuardedStream>;
  readonly oldAtMs: number;
  isOld: boolean;
  /** Since the first check that found no calls; null: there were some. */
  idleSinceMs: number | null;
  /** Its client was told that it is closed. */
  isClosing: boolean;
}

/** What checks have seen of a stream; of one that is over by the first check, nothing is kept. */
interface Seen {
  /** By the first check after it was opened, so that none is cut early. */
  readonly openAtMs: number;
  /** How much of the answer waits, and since when nothing of it was read; 0: nothing waits. */
  unread: number;
  unreadSinceMs: number;
  isCut: boolean;
}

interface State extends GuardDeps {
  readonly limits: TransportLimits;
  readonly sessions: Map<GuardedSession, Guarded>;
  /** By address and port. */
  readonly byPeer: Map<string, Guarded>;
  /** Closed streams that were counted before their event. */
  readonly counted: WeakSet<GuardedStream>;
  readonly seen: WeakMap<GuardedStream, Seen>;
}

export function createSessionGuard(deps: GuardDeps): SessionGuard {
  const state: State = {
    ...deps,
    limits: deps.guard.limits,
    sessions: new Map(),
    byPeer: new Map(),
    counted: new WeakSet(),
    seen: new WeakMap(),
  };
  return Object.freeze({
    begin(session) {
      const guarded = watch(state, session);
      const controlFrame = () => countControlFrame(state, guarded);
      session.on("ping", controlFrame);
      session.on("remoteSettings", controlFrame);
      session.on("error", (error) => countError(state, guarded, error));
    },
    watches: (session) => session !== undefined && state.sessions.has(session),
    opened: (stream, isOpenEnded = false) => opened(state, stream, isOpenEnded),
    mayBegin: (stream, rawHeaders) => mayBegin(state, stream, rawHeaders),
    answered(peer) {
      const guarded = state.byPeer.get(peer);
      if (guarded) allowControlFrame(state, guarded);
    },
    check() {
      const nowMs = deps.clock.monotonicMs();
      for (const guarded of state.sessions.values())
        if (!guarded.session.destroyed) check(state, guarded, nowMs);
    },
  } satisfies SessionGuard);
}

function watch(state: State, session: ServerHttp2Session): Guarded {
  const { clock, random, limits, sessions, byPeer } = state;
  const nowMs = clock.monotonicMs();
  const { remoteAddress, remotePort } = session.socket;
  const jitter = 1 + AGE_JITTER * (2 * random.fraction() - 1);
  const guarded: Guarded = {
    session,
    address: remoteAddress,
    resets: { left: limits.resetsMax, countedAtMs: nowMs },
    control: { left: limits.controlFramesMax, countedAtMs: nowMs },
    surplus: { left: limits.surplusBytesMax, countedAtMs: nowMs },
    bytesRead: 0,
    fresh: new Set(),
    open: new Set(),
    openEnded: new Set(),
    oldAtMs: nowMs + limits.connectionAgeMs * jitter,
    isOld: false,
    idleSinceMs: null,
    isClosing: false,
  };
  const peer = `${remoteAddress}:${remotePort}`;
  sessions.set(session, guarded);
  byPeer.set(peer, guarded);
  session.once("close", () => {
    sessions.delete(session);
    if (byPeer.get(peer) === guarded) byPeer.delete(peer);
  });
  return guarded;
}

function opened(state: State, stream: GuardedStream, isOpenEnded: boolean): void {
  const guarded = stream.session && state.sessions.get(stream.session);
  if (!guarded) return;
  const { fresh, open, openEnded, surplus } = guarded;
  allowControlFrame(state, guarded);
  surplus.left += callBytes(state);
  open.add(stream);
  if (isOpenEnded) openEnded.add(stream);
  if (fresh.size === 0) queueMicrotask(() => fresh.clear());
  fresh.add(stream);
  if (fresh.size % CHECK_EVERY === 0) checkClosed(state, guarded);
  stream.once("close", () => {
    if (!state.counted.has(stream)) ended(state, stream, guarded);
    fresh.delete(stream);
    open.delete(stream);
    openEnded.delete(stream);
    if (guarded.isOld && open.size === 0) closeSlowly(state, guarded);
  });
}

/** What HTTP/2 counts for a header beside its name and its value. */
const HEADER_BYTES = 32;

function mayBegin(
  { guard, limits }: State,
  stream: BeginningStream,
  rawHeaders: readonly string[],
): boolean {
  if (!stream.session?.pendingSettingsAck) return true;
  const bytes = rawHeaders.reduce((sum, { length }) => sum + length, 0);
  if (bytes + (rawHeaders.length / 2) * HEADER_BYTES <= limits.headerBytesMax) return true;
  guard.refused("headers", stream.session.socket.remoteAddress);
  stream.close(CALM_DOWN);
  return false;
}

function checkClosed(state: State, guarded: Guarded): void {
  for (const stream of guarded.fresh) {
    if (!stream.closed) continue;
    guarded.fresh.delete(stream);
    state.counted.add(stream);
    ended(state, stream, guarded);
  }
}

/** Called once for each stream. All streams end with their connection; that is no reset. */
function ended(state: State, stream: GuardedStream, guarded: Guarded): void {
  const isReset = stream.rstCode !== NO_ERROR && !stream.readableEnded;
  if (!isReset || guarded.session.destroyed || state.seen.get(stream)?.isCut) return;
  const { limits, guard, clock } = state;
  const isDistrusted = guard.isDistrusted(guarded.address);
  const most = isDistrusted ? limits.distrustedResetsMax : limits.resetsMax;
  const allowed = { cost: 1, most, perSecond: limits.resetsPerSecond };
  if (!take(guarded.resets, allowed, clock.monotonicMs())) close(state, guarded, "resets");
}

function allowControlFrame({ limits }: State, { control }: Guarded): void {
  if (control.left < limits.controlFramesMax) control.left++;
}

function countControlFrame(state: State, guarded: Guarded): void {
  if (guarded.session.destroyed) return;
  const { limits, clock } = state;
  const most = limits.controlFramesMax;
  const allowed = { cost: 1, most, perSecond: limits.controlFramesPerSecond };
  if (!take(guarded.control, allowed, clock.monotonicMs())) close(state, guarded, "control-frames");
}

/** What Node has found wrong with the frames of a connection, which it closes. */
function countError({ guard }: State, { address }: Guarded, error: Error): void {
  if (!("code" in error) || !String(error.code).startsWith("ERR_HTTP2")) return;
  guard.refused("frames", address, error.message);
  guard.distrust(address);
}

/** Ends a connection, with all calls on it, for an attack. */
function close({ guard }: State, { session, address }: Guarded, reason: Refusal): void {
  guard.refused(reason, address);
  guard.distrust(address);
  session.destroy(undefined, CALM_DOWN);
}

function check(state: State, guarded: Guarded, nowMs: number): void {
  if (!checkBytes(state, guarded, nowMs)) return;
  const { limits, guard } = state;
  for (const stream of guarded.open) {
    const seen = seenOf(state, stream, nowMs);
    const reason = slownessOf(stream, seen, guarded.openEnded.has(stream), limits, nowMs);
    if (reason === null) continue;
    if (seen.isCut) {
      // Not even the end of the call is read.
      guarded.session.destroy(undefined, CALM_DOWN);
      return;
    }
    seen.isCut = true;
    guard.refused(reason, guarded.address);
    stream.close(CALM_DOWN);
  }
  guarded.isOld = nowMs >= guarded.oldAtMs;
  guarded.idleSinceMs = guarded.open.size > 0 ? null : (guarded.idleSinceMs ?? nowMs);
  const isUnused =
    guarded.idleSinceMs !== null &&
    (guarded.isOld || nowMs >= guarded.idleSinceMs + limits.connectionIdleMs);
  if (isUnused || nowMs >= guarded.oldAtMs + limits.connectionAgeGraceMs)
    closeSlowly(state, guarded);
}

function seenOf({ seen }: State, stream: GuardedStream, nowMs: number): Seen {
  const known = seen.get(stream);
  if (known) return known;
  const first = { openAtMs: nowMs, unread: 0, unreadSinceMs: 0, isCut: false };
  seen.set(stream, first);
  return first;
}

/** False: the connection was closed. */
function checkBytes(state: State, guarded: Guarded, nowMs: number): boolean {
  const { limits } = state;
  const { bytesRead = 0 } = guarded.session.socket;
  const cost = bytesRead - guarded.bytesRead;
  guarded.bytesRead = bytesRead;
  // Time earns no more than there was at first; calls earn more.
  const ahead = limits.surplusBytesMax + CALLS_AHEAD * callBytes(state);
  const most = Math.min(ahead, Math.max(limits.surplusBytesMax, guarded.surplus.left));
  const allowed = { cost, most, perSecond: limits.surplusBytesPerSecond };
  if (take(guarded.surplus, allowed, nowMs)) return true;
  close(state, guarded, "surplus-bytes");
  return false;
}

function callBytes({ messageBytesMax, limits }: State): number {
  return messageBytesMax + limits.headerBytesMax;
}

function slownessOf(
  stream: GuardedStream,
  seen: Seen,
  isOpenEnded: boolean,
  limits: TransportLimits,
  nowMs: number,
): Refusal | null {
  if (!stream.readableEnded) {
    const ageMs = nowMs - seen.openAtMs;
    if (ageMs >= limits.firstMessageMs && !stream.readableDidRead) return "slow-request";
    if (ageMs >= limits.requestMs && !isOpenEnded) return "slow-request";
  }
  const { writableLength } = stream;
  if (writableLength !== seen.unread) {
    seen.unread = writableLength;
    seen.unreadSinceMs = nowMs;
  }
  const isStalled = writableLength > 0 && nowMs - seen.unreadSinceMs >= limits.stallMs;
  return isStalled ? "stalled-reader" : null;
}

/**
 * Closes a connection without breaking a call, not even one whose request is on its way: the
 * notice comes a round trip before the end.
 */
function closeSlowly({ clock, limits }: State, guarded: Guarded): void {
  const { session } = guarded;
  if (guarded.isClosing || session.destroyed) return;
  guarded.isClosing = true;
  session.goaway(NO_ERROR, ANY_STREAM);
  clock.after(limits.closingNoticeMs, () => {
    if (!session.destroyed) session.close();
  });
}
