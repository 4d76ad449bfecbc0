// Where a server's CPU goes: its profile as V8 writes it, by the part of the program that a sample
// // belongs to. A sample belongs to the innermost frame that is of a package or of a folder of the
// server, so what Node does for the driver counts as the driver.
import { readdirSync, readFileSync } from "node:fs";
import type { Profiler } from "node:inspector";
import { join } from "node:path";

/** Below this share of the CPU a part is counted among the others. */
const SHARE_MIN = 0.01;
const OTHERS = "other";

/** Parts with their share of the CPU that the servers have used, the largest first. */
export function stagesOf(folder: string): readonly { part: string; share: number }[] {
  const spent = new Map<string, number>();
  for (const file of readdirSync(folder)) {
    const profile: unknown = JSON.parse(readFileSync(join(folder, file), "utf8"));
    if (!isProfile(profile)) throw new Error(`${file} is not a profile as V8 writes it`);
    const { samples = [], timeDeltas = [] } = profile;
    const partOf = partsOf(profile);
    for (const [at, id] of samples.entries()) {
      const part = partOf.get(id);
      if (part) spent.set(part, (spent.get(part) ?? 0) + (timeDeltas[at] ?? 0));
    }
  }
  const total = [...spent.values()].reduce((sum, us) => sum + us, 0);
  const shares = new Map<string, number>();
  for (const [part, us] of spent) {
    const share = us / total;
    const name = share < SHARE_MIN ? OTHERS : part;
    shares.set(name, (shares.get(name) ?? 0) + share);
  }
  return [...shares].map(([part, share]) => ({ part, share })).sort((a, b) => b.share - a.share);
}

function isProfile(value: unknown): value is Profiler.Profile {
  return (
    typeof value === "object" &&
    value !== null &&
    "nodes" in value &&
    "samples" in value &&
    "timeDeltas" in value
  );
}

/** By node; one that is idle is left out. */
function partsOf({ nodes }: Profiler.Profile): ReadonlyMap<number, string> {
  const parents = new Map(
    nodes.flatMap(({ id, children = [] }) =>
      children.map((child): [number, number] => [child, id]),
    ),
  );
  const byId = new Map(nodes.map((node) => [node.id, node]));
  const parts = new Map<number, string>();
  for (const { id, callFrame } of nodes) {
    const own = partOf(callFrame);
    if (own === "(idle)") continue;
    let part = own;
    for (let up = parents.get(id); part === null && up !== undefined; up = parents.get(up)) {
      const frame = byId.get(up)?.callFrame;
      part = frame ? partOf(frame) : null;
    }
    parts.set(id, part ?? "node");
  }
  return parts;
}

function partOf({ functionName, url }: { functionName: string; url: string }): string | null {
  if (functionName === "(garbage collector)") return "garbage collection";
  if (functionName === "(idle)") return functionName;
  if (url.startsWith("node:internal/modules")) return "start of the program";
  const [, library] = /\/node_modules\/((?:@[^/]+\/)?[^/]+)(?!.*\/node_modules\/)/.exec(url) ?? [];
  if (library !== undefined) return library;
  const [, folder] = /\/(server\/(?:[a-z-]+\/(?:postgres\/)?)?)[^/]+\.ts$/.exec(url) ?? [];
  return folder?.replace(/\/$/, "") ?? null;
}
