// What every part of one simulated world shares.

import type { Chance } from "../../simulator/chance.ts";
import type { VirtualTime } from "../../simulator/virtual-time.ts";
import type { Callbacks } from "./callbacks.ts";
import type { DatabaseClock } from "./database-clock.ts";
import type { Faults } from "./faults.ts";
import type { Network } from "./network.ts";
import type { Recorder } from "./recorder.ts";
import type { Remote } from "./remote.ts";
import type { ServerProcess } from "./server-process.ts";

export interface World {
  readonly time: VirtualTime;
  readonly databaseClock: DatabaseClock;
  readonly chance: Chance;
  readonly faults: Faults;
  readonly recorder: Recorder;
  readonly network: Network;
  readonly remote: Remote;
  /** Runs whose agent has fallen silent over them, the last one last. */
  readonly silentRuns: string[];
  /** Runs whose agent has fallen silent over an undo that it will report as failed. */
  readonly silentUndos: string[];
  readonly servers: readonly ServerProcess[];
  /** The callbacks of the remote service, by namespace. */
  readonly callbacks: ReadonlyMap<string, Callbacks>;
  /** A text for each namespace that is in all of its payloads, keys and labels. */
  readonly canaries: readonly { readonly namespace: string; readonly word: string }[];
}

export function canaryOf(world: World, namespace: string): string {
  return world.canaries.find((one) => one.namespace === namespace)?.word ?? "";
}

export function canaryWords(world: World): readonly string[] {
  return world.canaries.map(({ word }) => word);
}
