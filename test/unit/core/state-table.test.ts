/** The state table as a whole: what the property tests cannot see in single transitions. */
import { describe, expect, test } from "vitest";
import type { Edge } from "../../../server/core/model/state-table.ts";
import { FORWARD_EDGES, RUN_EDGES, UNDO_EDGES } from "../../../server/core/model/state-table.ts";

interface Table {
  readonly edges: readonly Edge<string, string>[];
  readonly first: string;
  readonly states: readonly string[];
  readonly final: readonly string[];
}

const tables: Readonly<Record<string, Table>> = {
  run: {
    edges: RUN_EDGES,
    first: "PENDING",
    states: ["PENDING", "RUNNING", "PAUSED", "STOPPING", "COMPENSATING", "FINISHING", "ESCALATED"],
    final: ["COMPLETED", "FAILED", "COMPENSATED", "CANCELLED"],
  },
  forward: {
    edges: FORWARD_EDGES,
    first: "BLOCKED",
    states: [
      "BLOCKED",
      "READY",
      "LEASED",
      "BACKOFF",
      "WAITING",
      "HELD",
      "MAPPING",
      "UNDOING",
      "ESCALATED",
    ],
    final: ["SUCCEEDED", "FAILED", "SKIPPED", "CANCELLED"],
  },
  undo: {
    edges: UNDO_EDGES,
    first: "NONE",
    states: [
      "NONE",
      "PENDING",
      "READY",
      "LEASED",
      "BACKOFF",
      "HELD",
      "WAITING",
      "MAPPING",
      "FAILED",
    ],
    final: ["DONE"],
  },
};

describe.each(Object.entries(tables))("the table of %s states", (_of, table) => {
  test("has each row once, with a reason", () => {
    const rows = table.edges.map(({ from, on, to }) => `${from} ${on} ${to}`);
    expect(new Set(rows).size).toBe(rows.length);
    expect(table.edges.filter(({ why }) => why.length < 10)).toEqual([]);
  });

  test("leads to every state and to no other", () => {
    const reached = new Set([table.first, ...table.edges.map(({ to }) => to)]);
    expect([...reached].sort()).toEqual([...table.states, ...table.final].sort());
  });

  test("leads out of every state that is not final, and out of none that is", () => {
    const left = new Set(table.edges.map(({ from }) => from));
    expect([...left].sort()).toEqual([...table.states].sort());
  });
});
