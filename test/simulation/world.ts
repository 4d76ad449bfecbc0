// What every part of one simulated world shares.
import type { Chance } from "./chance.ts";
import type { Faults } from "./faults.ts";
import type { Network } from "./network.ts";
import type { Recorder } from "./recorder.ts";
import type { Remote } from "./remote.ts";
import type { ServerProcess } from "./server-process.ts";
import type { VirtualTime } from "./virtual-time.ts";

export interface World {
  readonly time: VirtualTime;
  readonly chance: Chance;
  readonly faults: Faults;
  readonly recorder: Recorder;
  readonly network: Network;
  readonly remote: Remote;
  readonly servers: readonly ServerProcess[];
  /** A word for each namespace that is in all of its payloads, keys and labels. */
  readonly canaries: readonly { readonly namespace: string; readonly word: string }[];
}

export function canaryOf(world: World, namespace: string): string {
  return world.canaries.find((one) => one.namespace === namespace)?.word ?? "";
}

export function canaryWords(world: World): readonly string[] {
  return world.canaries.map(({ word }) => word);
}
