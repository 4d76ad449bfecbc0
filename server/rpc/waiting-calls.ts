// Room for calls that wait: polls of agents, WaitRun and watches. They are counted apart from all
// other calls, so that heartbeats and reports are never refused because others wait, and by
// address and namespace, so that one of them leaves room for the rest.
import { DroverError } from "../errors.ts";

export interface WaitingLimits {
  readonly waitingCallsMax: number;
  readonly waitingCallsPerPeerMax: number;
  readonly waitingCallsPerNamespaceMax: number;
}

export interface WaitingCalls {
  /** Counts a call in, or throws OVERLOADED; the returned function counts it out, once. */
  enter(peer: string, namespace: string): () => void;
}

export function createWaitingCalls(limits: WaitingLimits): WaitingCalls {
  const byPeer = new Map<string, number>();
  const byNamespace = new Map<string, number>();
  let all = 0;

  function enter(peer: string, namespace: string): () => void {
    const address = addressOf(peer);
    refuseOver(all, limits.waitingCallsMax, "This server");
    refuseOver(byPeer.get(address) ?? 0, limits.waitingCallsPerPeerMax, `The address ${address}`);
    refuseOver(
      byNamespace.get(namespace) ?? 0,
      limits.waitingCallsPerNamespaceMax,
      `The namespace "${namespace}"`,
    );
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
  }

  return Object.freeze({ enter });
}

function refuseOver(count: number, limit: number, who: string): void {
  if (count < limit) return;
  throw new DroverError(
    "OVERLOADED",
    `${who} has ${count} polls, waits and watches here, as many as may wait: repeat it later, or on another server.`,
  );
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
