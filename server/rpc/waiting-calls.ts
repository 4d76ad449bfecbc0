// Room for calls that wait: polls of agents, WaitRun and watches. They are counted apart from all
// other calls, so that heartbeats and reports are never refused because others wait, and by
// address and namespace, so that one of them leaves room for the rest.
//
//   poll: room → it waits for tasks; none → it pauses, and is answered empty; none for that either
//   → OVERLOADED
//
// A poll that pauses takes half the room that there is for polls at most, and nothing of dispatch.
import { DroverError } from "../errors.ts";

export interface WaitingLimits {
  readonly waitingCallsMax: number;
  readonly waitingCallsPerPeerMax: number;
  readonly waitingCallsPerNamespaceMax: number;
}

export interface WaitingCalls {
  /** Counts a call in, or throws OVERLOADED. `mayPause`: it may be answered with nothing. */
  enter(peer: string, namespace: string, mayPause: boolean): WaitingCall;
}

export interface WaitingCall {
  /** There is no room for it to wait: it is answered with nothing after a while. */
  readonly pauses: boolean;
  /** Counts it out, once. */
  leave(): void;
}

/** `onFull`: hears why a call found no room. */
export function createWaitingCalls(
  limits: WaitingLimits,
  onFull: (why: string) => void,
): WaitingCalls {
  const waiting = createRoom(limits);
  const pausing = createRoom({
    waitingCallsMax: halfOf(limits.waitingCallsMax),
    waitingCallsPerPeerMax: halfOf(limits.waitingCallsPerPeerMax),
    waitingCallsPerNamespaceMax: halfOf(limits.waitingCallsPerNamespaceMax),
  });

  return Object.freeze({
    enter(peer: string, namespace: string, mayPause: boolean): WaitingCall {
      const address = addressOf(peer);
      const full = waiting.full(address, namespace);
      if (full === null) return { pauses: false, leave: waiting.enter(address, namespace) };
      onFull(full);
      if (mayPause && pausing.full(address, namespace) === null)
        return { pauses: true, leave: pausing.enter(address, namespace) };
      throw new DroverError("OVERLOADED", `${full}: repeat it later, or on another server.`);
    },
  });
}

interface Room {
  /** Why there is none; null: there is. */
  full(address: string, namespace: string): string | null;
  enter(address: string, namespace: string): () => void;
}

function createRoom(limits: WaitingLimits): Room {
  const byPeer = new Map<string, number>();
  const byNamespace = new Map<string, number>();
  let all = 0;

  return {
    full(address, namespace) {
      const counts = [
        ["This server", all, limits.waitingCallsMax],
        [`The address ${address}`, byPeer.get(address) ?? 0, limits.waitingCallsPerPeerMax],
        [
          `The namespace "${namespace}"`,
          byNamespace.get(namespace) ?? 0,
          limits.waitingCallsPerNamespaceMax,
        ],
      ] as const;
      const over = counts.find(([, count, limit]) => count >= limit);
      if (!over) return null;
      const [who, count] = over;
      return `${who} has ${count} polls, waits and watches here, as many as may wait`;
    },
    enter(address, namespace) {
      all++;
      add(byPeer, address, 1);
      add(byNamespace, namespace, 1);
      let inside = true;
      return () => {
        if (!inside) return;
        inside = false;
        all--;
        add(byPeer, address, -1);
        add(byNamespace, namespace, -1);
      };
    },
  };
}

function halfOf(limit: number): number {
  return Math.ceil(limit / 2);
}

/** Forgets what is at 0, so that names of the past take no memory. */
function add(counts: Map<string, number>, key: string, change: number): void {
  const count = (counts.get(key) ?? 0) + change;
  if (count === 0) counts.delete(key);
  else counts.set(key, count);
}

/** Without the port: a peer may open as many connections as it likes. */
function addressOf(peer: string): string {
  return peer
    .replace(/^ipv[46]:/, "")
    .replace(/:\d+$/, "")
    .replace(/^\[(.*)\]$/, "$1")
    .replace(/^::ffff:/, "");
}
