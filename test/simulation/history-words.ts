// What people say about more than one run, in the words of the history.
import type { Moment } from "../../server/core/attempt.ts";

/** What a person says about a schedule. */
export type ScheduleWord = { readonly schedule: string } & (
  | { readonly did: "create" | "pause" | "resume" | "delete" }
  | { readonly did: "run"; readonly requestId: string }
  | { readonly did: "backfill"; readonly from: Moment; readonly until: Moment }
);

/** What people may hold back beside single runs: by a pause, a cordon, a circuit that they open. */
export interface Held {
  readonly what: "queue" | "workflow" | "namespace" | "agent" | "circuit";
  /** Of a circuit its queue and its task, as `bank/charge`. */
  readonly name: string;
}

/** The rules have moved a circuit: of an agent in a lane, or (agentId "") of the lane. */
export interface CircuitMove {
  readonly lane: number;
  readonly agentId: string;
  readonly state: "open" | "trying" | "closed";
}
