// The poll query on PostgreSQL. Transaction numbers have 64 bits and are sent as text.
import type { EpochMs } from "../../core/model/attempt.ts";
import type { CircuitVersion } from "../circuits.ts";
import {
  type PollQuery,
  type PollQueryResult,
  SILENT_MAX,
  SILENT_REPORTED_MS,
} from "../poll-query.ts";
import { rangesOf } from "../watermarks.ts";
import { columns } from "./columns.ts";
import type { Query } from "./transaction.ts";

interface PollQueryRow {
  readonly kind: "lane" | "run" | "watermark" | "circuits" | "silent";
  readonly lane: number | null;
  readonly run_id: string | null;
  readonly version: number | null;
  readonly priority: number | null;
  readonly first: string | null;
  readonly oldest: string | null;
  readonly incarnation: string | null;
  readonly now: EpochMs | null;
  readonly mark: string | null;
  readonly watched: number[] | null;
}

export async function pollQuery(query: Query, asked: PollQuery): Promise<PollQueryResult> {
  const { lanes, runs, watermarks, circuitsMs = null } = asked;
  const ranges = rangesOf(lanes, watermarks).flat();
  const rows = await query<PollQueryRow>("poll_query", {
    lane: ranges.map(({ lane }) => lane),
    ...columns(runs, { partition: (run) => run.partition, run_id: (run) => run.runId }),
    ...columns(ranges, {
      priority: ({ priority }) => priority,
      first: ({ from }) => String(from),
      last: ({ lastPriority }) => lastPriority,
    }),
    ...columns(watermarks, {
      mark_lane: (mark) => mark.lane,
      mark_priority: (mark) => mark.priority,
      mark: (mark) => String(mark.from),
    }),
    circuits: circuitsMs,
    silent_max: SILENT_MAX,
    silent_within: SILENT_REPORTED_MS,
  });
  const of = (kind: PollQueryRow["kind"]): readonly PollQueryRow[] =>
    rows.filter((row) => row.kind === kind);
  return {
    lanes: [...new Set(of("lane").map((row) => row.lane ?? 0))],
    runs: of("run").map((row) => ({ runId: row.run_id ?? "", version: row.version ?? 0 })),
    watermarks: marksSeen(of("watermark")),
    circuits: of("circuits").map(signOf)[0] ?? null,
    silent: of("silent").flatMap(({ mark }) => mark ?? []),
  };
}

/** For a read between two poll ticks. */
export async function circuitSign(query: Query, circuitsMs: number): Promise<CircuitVersion> {
  const { circuits } = await pollQuery(query, { lanes: [], runs: [], watermarks: [], circuitsMs });
  if (!circuits) throw new Error("the circuits were read without their row");
  return circuits;
}

function signOf({ now, mark: changeToken, watched }: PollQueryRow): CircuitVersion {
  return { now: now ?? 0, changeToken: changeToken ?? "", watched: watched ?? [] };
}

function marksSeen(rows: readonly PollQueryRow[]): PollQueryResult["watermarks"] {
  const [any] = rows;
  if (!any?.oldest) return null;
  return {
    watermarks: rows.map(({ lane, priority, first }) => {
      const known = first === null ? null : BigInt(first);
      return { lane: lane ?? 0, priority: priority ?? 0, first: known };
    }),
    oldest: BigInt(any.oldest),
    incarnation: any.incarnation ?? "",
  };
}
