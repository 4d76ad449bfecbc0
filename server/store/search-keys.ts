// Search keys of a run: texts by which a list finds it in an index. A label has the key NAME=VALUE.
// What failed in a run has three keys: its step, its error code, and both together, because another
// step of the same run may have failed with another code.
import type { Effect } from "../core/model/effect.ts";
import { withoutItem } from "../core/plan/item-name.ts";
import type { PassRecord } from "./pass-record.ts";
import type { RunHead } from "./run-head.ts";

/** A step that failed for good, or about which a person was asked. `null`: any. */
export interface FailureFilter {
  readonly step: string | null;
  readonly code: string | null;
}

/** `step hotel`, `error sold-out`, `step hotel error sold-out`; null: neither is asked for. */
export function failureKey({ step, code }: FailureFilter): string | null {
  const parts = [step === null ? [] : ["step", step], code === null ? [] : ["error", code]].flat();
  return parts.length === 0 ? null : parts.join(" ");
}

export function labelKeys(labels: Readonly<Record<string, string>>): readonly string[] {
  return Object.entries(labels).map(([name, value]) => `${name}=${value}`);
}

interface SearchKey {
  readonly head: RunHead;
  readonly key: string;
}

/** The keys of what these passes found to have failed; each once. */
export function failureKeys(
  records: readonly Pick<PassRecord, "head" | "effects">[],
): readonly SearchKey[] {
  return records.flatMap(({ head, effects }) => {
    const keys = new Set(effects.flatMap(keysOf));
    return [...keys].map((key) => ({ head, key }));
  });
}

function keysOf(effect: Effect): readonly string[] {
  if (effect.kind !== "failed" && effect.kind !== "escalated") return [];
  const step = withoutItem(effect.id);
  const code = effect.code === "" ? null : effect.code;
  const filters = [
    { step, code: null },
    { step: null, code },
    ...(code === null ? [] : [{ step, code }]),
  ];
  return filters.flatMap((filter) => failureKey(filter) ?? []);
}
