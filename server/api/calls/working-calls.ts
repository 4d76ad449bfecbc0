// Room for calls that work, by namespace. While there is plenty, the first who comes is served. In
// the last eighth, a namespace is admitted only up to its part: the whole, divided by weight among
// the namespaces that have calls in progress. So a namespace with thousands of calls cannot keep
// out one that has few, and a namespace that is alone may have all.
//
//   room → admitted
//   last eighth → admitted if the namespace has less than its part, else OVERLOADED
//   none → OVERLOADED
import { DroverError } from "../../errors.ts";

interface WorkingCalls {
  /** Counts a call in, or throws OVERLOADED. Returns what counts it out, once. */
  enter(namespace: string): () => void;
}

const FREE_FOR_ALL = 7 / 8;

export function createWorkingCalls(
  callsMax: number,
  weightOf: (namespace: string) => number,
): WorkingCalls {
  const counts = new Map<string, number>();
  let all = 0;

  /** Calls that the namespace may have at the same time when there is little room. */
  function partOf(namespace: string): number {
    const weight = weightOf(namespace);
    let weights = counts.has(namespace) ? 0 : weight;
    for (const name of counts.keys()) weights += weightOf(name);
    return Math.max(1, Math.floor((callsMax * weight) / weights));
  }

  function expectRoom(namespace: string): void {
    if (all >= callsMax)
      throw overloaded(`This server is already processing ${callsMax} calls`, callsMax);
    if (all < Math.floor(callsMax * FREE_FOR_ALL)) return;
    const own = counts.get(namespace) ?? 0;
    const part = partOf(namespace);
    if (own < part) return;
    const most = `of ${callsMax} calls that it may, and the namespace "${namespace}" has its part, ${part}`;
    throw overloaded(`This server is processing ${all} ${most}`, part);
  }

  return Object.freeze({
    enter(namespace: string) {
      expectRoom(namespace);
      all++;
      counts.set(namespace, (counts.get(namespace) ?? 0) + 1);
      let inside = true;
      return () => {
        if (!inside) return;
        inside = false;
        all--;
        const left = (counts.get(namespace) ?? 1) - 1;
        if (left === 0) counts.delete(namespace);
        else counts.set(namespace, left);
      };
    },
  });
}

function overloaded(what: string, most: number): DroverError {
  return new DroverError("OVERLOADED", `${what}: repeat it later, or on another.`, {
    metadata: { limit: "calls", most: String(most) },
  });
}
