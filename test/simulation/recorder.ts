// Records the history as it happens, in the form of history.ts.
import type { EpochMs } from "../../server/core/model/attempt.ts";
import type {
  Answer,
  CircuitRecord,
  EffectRecord,
  FaultRecord,
  HistoryRecord,
  OwnerRecord,
  Request,
} from "./history.ts";

export interface Recorder {
  readonly records: readonly HistoryRecord[];
  /** Returns the number of the call. */
  call(process: string, server: string, request: Request): number;
  answer(process: string, call: number, answer: Answer, canaries: readonly string[]): void;
  fault(fault: FaultRecord["fault"], target: string, server: boolean): void;
  effect(effect: Omit<EffectRecord, "at" | "process" | "kind">): void;
  webhook(id: string, url: string, body: string): void;
  owner(process: string, owner: Omit<OwnerRecord, "at" | "process" | "kind">): void;
  circuit(process: string, circuit: Omit<CircuitRecord, "at" | "process" | "kind">): void;
}

export function createRecorder(now: () => EpochMs): Recorder {
  const records: HistoryRecord[] = [];
  let calls = 0;
  return Object.freeze({
    records,
    call(process: string, server: string, request: Request) {
      const call = ++calls;
      records.push({ kind: "call", at: now(), process, call, server, request });
      return call;
    },
    answer(process: string, call: number, answer: Answer, canaries: readonly string[]) {
      records.push({ kind: "answer", at: now(), process, call, answer, canaries });
    },
    fault(fault: FaultRecord["fault"], target: string, server: boolean) {
      records.push({ kind: "fault", at: now(), process: "simulator", fault, target, server });
    },
    effect(effect: Omit<EffectRecord, "at" | "process" | "kind">) {
      records.push({ kind: "effect", at: now(), process: "remote", ...effect });
    },
    webhook(id: string, url: string, body: string) {
      records.push({ kind: "webhook", at: now(), process: "receiver", id, url, body });
    },
    owner(process: string, owner: Omit<OwnerRecord, "at" | "process" | "kind">) {
      records.push({ kind: "owner", at: now(), process, ...owner });
    },
    circuit(process: string, circuit: Omit<CircuitRecord, "at" | "process" | "kind">) {
      records.push({ kind: "circuit", at: now(), process, ...circuit });
    },
  } satisfies Recorder);
}
