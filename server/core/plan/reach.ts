// Which steps the end of another may open at once: its successors, and theirs if a successor may be
// skipped or have its signal already. A pass loads these steps, so no other code may decide which
// steps can end at once.
import type { Definition } from "../definition/definition.ts";

/** By number of the step. */
export function reachOf(
  definition: Definition,
  needs: readonly (readonly number[])[],
  successors: readonly (readonly number[])[],
): readonly (readonly number[])[] {
  // A signal may have come early, so a step that waits for one may end at once.
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
      // Its other needs may have been skipped before, by a rule or by a person's answer.
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
