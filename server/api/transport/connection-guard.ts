// What one address may do to a port, whatever it speaks: how many connections it may have, how fast
// it may open them, and what follows when one of them was closed for an attack.
//
//   trusted ─→ distrusted    a connection of the address was closed for an attack
//   distrusted ─→ trusted    a minute after the last one
//
// New HTTP/2 connections of a distrusted address begin late and have lower limits
// (session-guard.ts). Its open connections stay, and so does HTTP/1.1.
//
// Every refusal of the transport is reported here: counted by its reason, and logged once a minute
// for each address.
import type { Socket } from "node:net";
import type { Clock } from "../../clock.ts";
import type { Log } from "../calls/mount.ts";
import { networkOf } from "../calls/peer-network.ts";
import { type Allowance, type TransportLimits, take } from "./limits.ts";

/** Why a connection or a call was refused or cut, as the label of a metric, and in words. */
const REFUSALS = Object.freeze({
  connections: "the server has as many connections as it may (--connections)",
  "address-connections":
    "it has as many connections as one address may (--connections-per-address)",
  "connection-rate":
    "it opens connections too fast (a tenth of --connections-per-address a second)",
  "first-bytes": "a connection did not show its protocol in time",
  handshake: "a TLS handshake failed",
  headers: "a request had headers that are too large or too many",
  malformed: "a request was not HTTP",
  "slow-request": "a request did not arrive in time",
  "stalled-reader": "it does not read its answer",
  resets: "it cancels streams before their requests arrive",
  "control-frames": "it sends pings or settings beyond its calls",
  "surplus-bytes": "it sends bytes that belong to no call",
  frames: "its frames are not valid HTTP/2, or a flood",
});
export type Refusal = keyof typeof REFUSALS;
export const REFUSAL_REASONS = Object.freeze(Object.keys(REFUSALS)) as readonly Refusal[];

export interface ConnectionGuard {
  readonly limits: TransportLimits;
  /** Counts a new connection in until it closes; false: it is refused, and was closed. */
  admit(socket: Socket): boolean;
  /**
   * Calls `begin` for a connection: at once, or after a delay if its address is distrusted and it
   * is still open then.
   */
  accept(socket: Socket, begin: () => void): void;
  /** `detail`: what the library in use has said of it. */
  refused(reason: Refusal, address: string | undefined, detail?: string): void;
  isDistrusted(address: string | undefined): boolean;
  distrust(address: string | undefined): void;
}

interface GuardDeps {
  readonly clock: Clock;
  readonly log: Log;
  readonly connectionsPerPeerMax: number;
  readonly limits: TransportLimits;
  /** Counts a refusal. */
  readonly onRefused?: ((reason: Refusal) => void) | undefined;
}

/** Most addresses that are remembered; the oldest without connections are dropped first. */
const PEERS_MAX = 20_000;
const LOGGED_EVERY_MS = 60_000;

interface Peer {
  open: number;
  readonly rate: Allowance;
  distrustedUntilMs: number;
  /** By reason. */
  readonly reported: Map<Refusal, { atMs: number; count: number }>;
}

interface State extends GuardDeps {
  /** The one that was seen for the first time longest ago is first. */
  readonly peers: Map<string, Peer>;
}

export function createConnectionGuard(deps: GuardDeps): ConnectionGuard {
  const state: State = { ...deps, peers: new Map() };
  return Object.freeze({
    limits: deps.limits,
    admit: (socket) => admit(state, socket),
    accept: (socket, begin) => accept(state, socket, begin),
    refused: (reason, address, detail) => report(state, reason, address, detail),
    isDistrusted: (address) =>
      (state.peers.get(networkOf(address))?.distrustedUntilMs ?? 0) > deps.clock.monotonicMs(),
    distrust(address) {
      const until = deps.clock.monotonicMs() + deps.limits.distrustedMs;
      peerOf(state, address).distrustedUntilMs = until;
    },
  } satisfies ConnectionGuard);
}

function admit(state: State, socket: Socket): boolean {
  const { remoteAddress } = socket;
  const most = state.connectionsPerPeerMax;
  const peer = peerOf(state, remoteAddress);
  if (peer.open >= most) return refuse(state, "address-connections", socket);
  const rate = { cost: 1, most, perSecond: most / 10 };
  if (!take(peer.rate, rate, state.clock.monotonicMs()))
    return refuse(state, "connection-rate", socket);
  peer.open++;
  socket.once("close", () => {
    peer.open--;
  });
  return true;
}

function refuse(state: State, reason: Refusal, socket: Socket): false {
  report(state, reason, socket.remoteAddress);
  socket.destroy();
  return false;
}

function accept(state: State, socket: Socket, begin: () => void): void {
  const { clock, limits, peers } = state;
  const until = peers.get(networkOf(socket.remoteAddress))?.distrustedUntilMs ?? 0;
  if (until <= clock.monotonicMs()) {
    begin();
    return;
  }
  const timer = clock.after(limits.distrustedDelayMs, () => {
    if (!socket.destroyed) begin();
  });
  socket.once("close", () => timer.cancel());
}

function report(
  state: State,
  reason: Refusal,
  address: string | undefined,
  detail: string | undefined = undefined,
): void {
  state.onRefused?.(reason);
  const { reported } = peerOf(state, address);
  const nowMs = state.clock.monotonicMs();
  const last = reported.get(reason);
  if (last && nowMs - last.atMs < LOGGED_EVERY_MS) {
    last.count++;
    return;
  }
  const count = (last?.count ?? 0) + 1;
  reported.set(reason, { atMs: nowMs, count: 0 });
  const more = detail === undefined ? "" : ` (${detail})`;
  state.log.warn(
    { event: "peer.refused", reason, address, count },
    `${address ?? "a peer that is gone"} was refused: ${REFUSALS[reason]}${more}`,
  );
}

function peerOf(state: State, address: string | undefined): Peer {
  const { peers, clock, connectionsPerPeerMax } = state;
  const name = networkOf(address);
  const known = peers.get(name);
  if (known) return known;
  const made: Peer = {
    open: 0,
    rate: { left: connectionsPerPeerMax, countedAtMs: clock.monotonicMs() },
    distrustedUntilMs: 0,
    reported: new Map(),
  };
  peers.set(name, made);
  if (peers.size > PEERS_MAX) dropOldest(peers);
  return made;
}

function dropOldest(peers: Map<string, Peer>): void {
  for (const [name, { open }] of peers) {
    if (open > 0) continue;
    peers.delete(name);
    return;
  }
}
