// The tables of circuits and cordons.
import type { EpochMs } from "../../core/model/attempt.ts";
import type { Outage, Tally } from "../../core/model/circuit.ts";
import type { Circuit, CircuitRef, Cordon, CordonRef, Probe } from "../circuits.ts";
import { createTable, type NumberedTable, numbered, type Table } from "./table.ts";
import type { Journal } from "./transactions.ts";

export interface CircuitRow extends Circuit {
  readonly changedAt: EpochMs;
  readonly probe: Pick<Probe, "runId" | "step" | "fence" | "secret"> | null;
}

interface OutageRow extends Outage {
  readonly lane: number;
}

interface OutcomeCountRow extends Tally {
  readonly lane: number;
  /** Begin of its interval of 5 seconds. */
  readonly at: EpochMs;
  readonly lastAt: EpochMs;
}

/** Of the first shard. */
export interface CircuitTables {
  /** The numbers of this table are the versions of circuits. */
  readonly circuit: NumberedTable<CircuitRow, "lane">;
  readonly circuitOutage: Table<OutageRow, "lane">;
  readonly circuitEnd: Table<OutcomeCountRow, "lane">;
}

/** Of all shards. */
export interface CordonTables {
  readonly cordon: Table<Cordon, never>;
}

export function circuitKey({ lane, agentId }: CircuitRef): string {
  return `${lane}/${agentId}`;
}

export function cordonKey({ namespaceId, kind, name }: CordonRef): string {
  return `${namespaceId}/${kind}/${name}`;
}

export function endKey({ lane, agentId, at }: CircuitRef & { readonly at: EpochMs }): string {
  return `${lane}/${agentId}/${at}`;
}

export function createTablesOfCircuits(journal: Journal): CircuitTables {
  return {
    circuit: numbered(
      createTable<CircuitRow, "lane">(journal, {
        name: "circuit",
        key: circuitKey,
        indexes: { lane: (row) => row.lane },
      }),
    ),
    circuitOutage: createTable<OutageRow, "lane">(journal, {
      name: "circuit_outage",
      key: (row) => `${row.lane}/${row.from}`,
      indexes: { lane: (row) => row.lane },
    }),
    circuitEnd: createTable<OutcomeCountRow, "lane">(journal, {
      name: "circuit_end",
      key: endKey,
      indexes: { lane: (row) => row.lane },
    }),
  };
}

export function createTablesOfCordons(journal: Journal): CordonTables {
  return {
    cordon: createTable<Cordon, never>(journal, {
      name: "cordon",
      key: cordonKey,
      indexes: {},
    }),
  };
}
