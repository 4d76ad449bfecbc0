// Room for calls that wait: polls of agents, WaitRun and watches. They are counted apart from all
// other calls, so that heartbeats and reports are never refused because other calls wait. They are
// also counted by address and by namespace, so that one of these leaves room for the others.
//
//   poll: room → it waits for tasks
//         no room → it pauses, and is answered empty
//         no room for that either → OVERLOADED
//
// Paused polls take at most half as much room as there is for polls, and nothing of dispatch.
import { DroverError } from "../../errors.ts";
import { networkOf } from "./peer-network.ts";

export interface WaitingLimits {
  readonly waitingCallsMax: number;
  readonly waitingCallsPerPeerMax: number;
  readonly waitingCallsPerNamespaceMax: number;
}

interface WaitingCalls {
  /** Counts a call in, or throws OVERLOADED. `mayPause`: it may be answered with nothing. */
  enter(peer: string, namespace: string, mayPause: boolean): WaitingCall;
}

export interface WaitingCall {
  /** There is no room for the call to wait: it is answered with nothing after a pause. */
  readonly pauses: boolean;
  /** Counts the call out, once. */
  leave(): void;
}

/** `onFull`: called with the reason when a call finds no room. */
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
  /** Why there is no room; null: there is room. */
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

/** Removes a count of 0, so that past names take no memory. */
function add(counts: Map<string, number>, key: string, change: number): void {
  const count = (counts.get(key) ?? 0) + change;
  if (count === 0) counts.delete(key);
  else counts.set(key, count);
}

/** Without the port. */
function addressOf(peer: string): string {
  const address = peer
    .replace(/^ipv[46]:/, "")
    .replace(/:\d+$/, "")
    .replace(/^\[(.*)\]$/, "$1");
  return networkOf(address);
}
