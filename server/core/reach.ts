// Which steps the end of another may reach at once: its successors, and theirs where one may be
// skipped or have its signal already. A pass loads these, so no other rule decides what may pass.
import type { Definition } from "./definition.ts";

/** By number of the step. */
export function reachOf(
  definition: Definition,
  needs: readonly (readonly number[])[],
  successors: readonly (readonly number[])[],
): readonly (readonly number[])[] {
  // A signal may have come early.
  const known = new Map<number, boolean>();
  const mayPassAtOnce = (no: number): boolean => {
    const before = known.get(no);
    if (before !== undefined) return before;
    const step = definition.steps[no];
    const of = needs[no] ?? [];
    const may =
      step?.when !== undefined ||
      (step?.runIf ?? "ended") !== "ended" ||
      step?.kind === "signal" ||
      // Its other needs may have been skipped before: by a rule, or by a person's word.
      of.some(mayPassAtOnce);
    known.set(no, may);
    return may;
  };
  return successors.map((of) => {
    const reached = new Set<number>();
    const open = [...of];
    for (let no = open.pop(); no !== undefined; no = open.pop()) {
      if (reached.has(no)) continue;
      reached.add(no);
      if (mayPassAtOnce(no)) open.push(...(successors[no] ?? []));
    }
    return [...reached].sort((a, b) => a - b);
  });
}
