// The Scheduler: accepts work and is the only one that decides what happens next.
// This is what `rpc` sees of it; the parts are register.ts, schedule.ts, advance.ts and watch.ts.
import type { Definition } from "../core/definition.ts";
import type { Answer, RunEvent } from "../core/event.ts";
import type { Payload } from "../core/payload.ts";
import type { Namespace, RunRef } from "../store/store.ts";

export interface ScheduleRequest {
  readonly namespace: Namespace;
  readonly target:
    | {
        readonly kind: "named";
        readonly name: string /** 0: the default one. */;
        readonly version: number;
      }
    | { readonly kind: "inline"; readonly definition: Definition };
  readonly input: Payload | null;
  /** The caller's own name for the run; null: the call is not idempotent. */
  readonly key: string | null;
  /** 1 first to 9 last. */
  readonly priority: number;
  readonly labels: Readonly<Record<string, string>>;
  /**
   * SHA-256, hex, of the request as sent: maps sorted, defaults not filled in, version as named.
   */
  readonly digest: string;
}

/** What the outside world may say to a run through the Scheduler. */
export type ToldEvent = Extract<
  RunEvent,
  { kind: "callback" | "signal" | "decide" | "answer" | "cancel" | "pause" | "resume" }
>;

export interface Scheduler {
  /** The definition is one that `definitionProblems` finds nothing wrong with. */
  registerWorkflow(
    namespace: Namespace,
    definition: Definition,
    keepDefault: boolean,
  ): Promise<{ readonly version: number; readonly created: boolean }>;
  schedule(
    request: ScheduleRequest,
  ): Promise<{ readonly runId: string; readonly created: boolean }>;
  /** Brings an event to a run: a callback, a signal, a person's command or answer. */
  tell(run: RunRef, event: ToldEvent): Promise<Answer>;
  /**
   * Resolves when the run has moved past `version` or has ended, or the signal is aborted; never
   * rejects. Woken in this process at once, by another server's change within a second.
   */
  runChange(run: RunRef, version: number, signal: AbortSignal): Promise<void>;
}
