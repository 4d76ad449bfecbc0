// A sixth correct history: the runs of the third one are those of a schedule that comes
// each second. It is paused and resumed; an occurrence is overlapped, and one that passed is
// backfilled.
import { type Mutable, must } from "./damage.ts";
import { PERMIT_KEY, permitsHistory } from "./good-history-permits.ts";
import { type History, historyOf, historyText } from "./history.ts";
import type { ScheduleCommand } from "./history-facts.ts";
import type { FinalOccurrence } from "./history-rows.ts";

export const SCHEDULE = "clock";
const EVERY_MS = 1_000;
const ACTOR = { node: "node-1", epoch: 1 };

export function schedulesHistory(): History {
  const text = historyText(permitsHistory()).replaceAll(PERMIT_KEY, `schedule/${SCHEDULE}`);
  const history = structuredClone(historyOf(text)) as Mutable<History>;
  const startAt = must(history.records[0], "record").at;
  let calls = 500;
  const change = (at: number, command: ScheduleCommand): void => {
    const request = { rpc: "ChangeSchedule", namespace: "blue", ...command } as const;
    const call = calls++;
    const own = { process: "keeper", call };
    history.records.push({ kind: "call", at, server: "node-1", ...own, request });
    const answer = { kind: "done", run: null, repeated: false } as const;
    history.records.push({ kind: "answer", at: at + 10, ...own, answer, canaries: [] });
  };
  const second = (no: number): number => startAt + no * EVERY_MS;
  const about = { scheduleId: "c1", series: 1, missed: null, actor: ACTOR } as const;
  const occurrence = (
    no: number,
    what: Pick<FinalOccurrence, "outcome" | "runId">,
  ): FinalOccurrence => {
    const at = second(no);
    return { ...about, nominalTime: at, at, cause: "calendar", handledAt: at + 15, ...what };
  };
  change(startAt - 20, { schedule: SCHEDULE, did: "create" });
  change(second(1) + 500, { schedule: SCHEDULE, did: "pause" });
  change(second(3) + 500, { schedule: SCHEDULE, did: "resume" });
  const past = { did: "backfill", from: second(2), until: second(3) } as const;
  change(second(4) + 500, { schedule: SCHEDULE, ...past });
  const owner = { partition: 7, node: ACTOR.node, epoch: ACTOR.epoch, did: "took" } as const;
  history.records.push({ kind: "owner", at: startAt - 30, process: "node-1", ...owner });
  history.records.sort((a, b) => a.at - b.at);
  const resumedAt = second(3) + 505;
  const passed = { outcome: "paused", runId: null } as const;
  const mark = { series: -1, actor: null, missed: { count: 2, until: resumedAt } } as const;
  const backfilled = { cause: "backfill", actor: null, handledAt: second(4) + 505 } as const;
  history.final.occurrences = [
    occurrence(0, { outcome: "started", runId: "q1" }),
    occurrence(1, { outcome: "overlapped", runId: null }),
    { ...occurrence(2, passed), ...mark, handledAt: resumedAt },
    occurrence(4, { outcome: "started", runId: "q2" }),
    { ...occurrence(2, { outcome: "started", runId: "q3" }), ...backfilled },
  ];
  for (const run of history.final.runs) run.scheduledBy = SCHEDULE;
  const next = { nominalTime: second(5), at: second(5), wakeAt: second(5) };
  history.final.schedules.push({
    id: "c1",
    namespace: "blue",
    name: SCHEDULE,
    partition: 7,
    createdAt: startAt - 15,
    spec: {
      calendar: { kind: "interval", everyMs: EVERY_MS, offsetMs: startAt % EVERY_MS },
      overlap: "skip",
      catchUpMs: 10_000,
      jitterMs: 0,
    },
    current: { next, pause: null },
  });
  return history as History;
}
