// What an agent session lets hear of itself and of its tasks, and what it is answered.
import type { Payload } from "../core/payload.ts";
import type { RunId } from "./run-head.ts";

export interface BeatReport {
  readonly runId: RunId;
  readonly step: number;
  readonly fence: number;
  readonly secret: string;
  /** What the agent said; null leaves what is stored. */
  readonly progress: string | null;
  readonly details: Payload | null;
}

export interface SessionBeat {
  readonly namespaceId: number;
  readonly session: string;
  readonly agentId: string;
  readonly agentVersion: string;
  readonly reports: readonly BeatReport[];
}

export type BeatAnswer =
  | { readonly kind: "carry-on"; readonly leaseMs: number }
  | { readonly kind: "cancel"; readonly withinMs: number }
  | { readonly kind: "lease-lost" }
  /** An advance holds the row: ask again in the next gathering. */
  | { readonly kind: "busy" };
