// What a port accepts of one connection or one address before it protects itself: all of it in one
// place, with the reason. What an operator has to fit to a network is a setting instead
// (`server/config.ts`). docs/SECURITY.md lists each attack with its limit and its test.

export interface TransportLimits {
  /** A connection that has not shown its protocol by then is closed. */
  readonly firstBytesMs: number;
  readonly tlsHandshakeMs: number;
  /** The headers of a request over HTTP/1.1; over gRPC, the first bytes of a message. */
  readonly firstMessageMs: number;
  /** A whole request: 4 MiB, the largest, in that time is 1.1 Mbit/s. */
  readonly requestMs: number;
  /** How long a reader may take nothing of an answer that waits for it. */
  readonly stallMs: number;
  /** How often open calls are checked for these times. */
  readonly checkEveryMs: number;
  /** The same as HTTP/1.1 of Node, and double of what a JWT takes; advertised over HTTP/2. */
  readonly headerBytesMax: number;
  /** As over HTTP/2, where Node has this limit. */
  readonly headerPairsMax: number;
  /** Streams that are cancelled before their requests have arrived: at once, and each second. */
  readonly resetsMax: number;
  readonly resetsPerSecond: number;
  /** Resets allowed at once to a connection of a distrusted address. */
  readonly distrustedResetsMax: number;
  /**
   * PING and SETTINGS of one connection: at once, and each second. A client that adjusts its window
   * sends one for what it receives, so each call and each message of a stream allows one more.
   */
  readonly controlFramesMax: number;
  readonly controlFramesPerSecond: number;
  /**
   * Bytes of one connection that belong to no call: frames that are ignored, padding, priorities.
   * A client sends window updates of 13 bytes. Each call allows as many as its largest message.
   */
  readonly surplusBytesMax: number;
  readonly surplusBytesPerSecond: number;
  /** How long an address is distrusted after one of its connections was closed for an attack. */
  readonly distrustedMs: number;
  /** How much later the HTTP/2 connections of a distrusted address begin. */
  readonly distrustedDelayMs: number;
  /**
   * From this age on, more or less by a fifth, a connection is closed when it has no calls: clients
   * distribute themselves over the servers again.
   */
  readonly connectionAgeMs: number;
  /**
   * A connection of that age that always has calls is told to open no more: longer than a poll
   * waits.
   */
  readonly connectionAgeGraceMs: number;
  /** A connection without calls. */
  readonly connectionIdleMs: number;
  /** From the notice that a connection is closed to its last new call: longer than a round trip. */
  readonly closingNoticeMs: number;
}

export const TRANSPORT_LIMITS: TransportLimits = Object.freeze({
  firstBytesMs: 10_000,
  tlsHandshakeMs: 5_000,
  firstMessageMs: 10_000,
  requestMs: 30_000,
  stallMs: 30_000,
  checkEveryMs: 2_000,
  headerBytesMax: 16 * 1_024,
  headerPairsMax: 128,
  resetsMax: 100,
  resetsPerSecond: 10,
  distrustedResetsMax: 10,
  controlFramesMax: 100,
  controlFramesPerSecond: 1,
  surplusBytesMax: 1_024 * 1_024,
  surplusBytesPerSecond: 64 * 1_024,
  distrustedMs: 60_000,
  distrustedDelayMs: 1_000,
  connectionAgeMs: 10 * 60_000,
  connectionAgeGraceMs: 70_000,
  connectionIdleMs: 15 * 60_000,
  closingNoticeMs: 1_000,
});

/** What may be taken at once, and is earned again over time. */
export interface Allowance {
  left: number;
  countedAtMs: number;
}

/** False: there is not enough left. */
export function take(
  allowance: Allowance,
  { cost, most, perSecond }: { cost: number; most: number; perSecond: number },
  nowMs: number,
): boolean {
  const earned = ((nowMs - allowance.countedAtMs) / 1_000) * perSecond;
  const left = Math.min(most, allowance.left + earned) - cost;
  allowance.countedAtMs = nowMs;
  // What was refused costs nothing, so that an attack does not postpone the next good one.
  allowance.left = Math.max(left, 0);
  return left >= 0;
}
