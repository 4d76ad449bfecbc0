// The lists that simulated people read, over all rows of the memory store, with the filters that
// they use. Only the PostgreSQL store has the other filters.
import type { Lists } from "../../server/store/lists.ts";
import type { StoredRows } from "../../server/store/memory/rows.ts";

export type SimulatedLists = Pick<Lists, "runs" | "searchedTo" | "escalations">;

export function simulatedLists(rows: StoredRows): SimulatedLists {
  return Object.freeze({
    async runs(namespaceId, { filter: { states, ...filter }, order, limit, after }) {
      const { workflow, parent, labels, createdAfter, createdBefore } = filter;
      const isPlain = [workflow, parent, createdAfter, createdBefore].every((one) => one === null);
      if (!isPlain || Object.keys(labels).length > 0 || after !== null || order !== "created-desc")
        throw new Error("a simulated list of runs is filtered by states alone, and has one page");
      return (await rows.runs(namespaceId))
        .toReversed()
        .filter(({ state }) => states.length === 0 || states.includes(state))
        .slice(0, limit);
    },
    searchedTo: async () => null,
    async escalations(namespaceId, { openOnly, limit, after }) {
      if (!openOnly || after !== null)
        throw new Error("a simulated list of escalations has open ones alone, and one page");
      return (await rows.openEscalations(namespaceId)).slice(0, limit);
    },
  } satisfies SimulatedLists);
}
