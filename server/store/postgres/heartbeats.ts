// Sessions of agents. The heartbeats of many are stored in two statements. A third one, in a
// transaction of its own, is for tasks with something new to store, and for those that have to
// stop: their pages change. Polls that ended without an answer have leases that no agent holds.

import type { LeaseCancel } from "../../core/model/model.ts";
import type { PayloadRow } from "../../core/page/apply-pass.ts";
import { applyHeartbeat } from "../../core/page/hand-out.ts";
import type {
  HeartbeatAnswer,
  HeartbeatReport,
  HeartbeatStore,
  HeartbeatsStored,
  LostPolls,
  SessionHeartbeat,
  SessionLease,
} from "../heartbeats.ts";
import type { RunId } from "../store.ts";
import { columns } from "./columns.ts";
import type { PageCache } from "./page-cache.ts";
import { createPages, type Pages } from "./pages.ts";
import type { Query, Transact, Transaction } from "./transaction.ts";
import { writePayloads } from "./write-attempts.ts";

interface HeldRow {
  readonly place: number;
  readonly heartbeat_ms: number;
  readonly cancel: LeaseCancel["kind"];
}

interface ForgottenRow {
  readonly place: null;
  readonly run_id: string;
  readonly partition: number;
  readonly step_no: number;
  readonly fence: number;
  readonly secret: string;
}

export function heartbeatsOf(query: Query, transact: Transact, cache: PageCache): HeartbeatStore {
  const store: StoreReports = async (reports) => {
    const { answers, committed } = await transact({ fate: "unasked" }, async (transaction) => {
      const pages = createPages(transaction, cache);
      const answers = await storeReports(transaction, pages, reports);
      void pages.flush();
      return { answers, committed: pages.committed };
    });
    committed();
    return answers;
  };
  return {
    heartbeat: (heartbeats) => heartbeat(query, store, heartbeats),
    undelivered: (lost) => undelivered(query, lost),
  };
}

async function heartbeat(
  query: Query,
  store: StoreReports,
  heartbeats: readonly SessionHeartbeat[],
): Promise<HeartbeatsStored> {
  const sessions = [...new Map(heartbeats.map((one) => [one.session, one])).values()];
  const others = await query<{ session: string; namespace_id: number | null }>(
    "store_heartbeats",
    columns(sessions, {
      session: (one) => one.session,
      namespace_id: (one) => one.namespaceId,
      agent_id: (one) => one.agentId,
      agent_version: (one) => one.agentVersion,
    }),
  );
  const bound = new Map(sessions.map(({ session, namespaceId }) => [session, namespaceId]));
  for (const { session, namespace_id: namespaceId } of others) bound.set(session, namespaceId ?? 0);
  const foreign = new Set(
    heartbeats.filter(({ session, namespaceId }) => bound.get(session) !== namespaceId),
  );
  const own = heartbeats.filter((one) => !foreign.has(one));
  const reports = own.flatMap(({ session, reports: of }) => of.map((one) => ({ ...one, session })));
  const rows = await heldTasks(query, own, reports);
  const held = new Map(rows.flatMap((row) => (row.place === null ? [] : [[row.place, row]])));
  const changing = reports.filter((report, at) => {
    const row = held.get(at + 1);
    return row && (row.cancel !== "none" || report.progress !== null || report.details !== null);
  });
  const stored = changing.length === 0 ? new Map() : await store(changing);
  let place = 0;
  return {
    answers: heartbeats.map((one) =>
      one.reports.map((): HeartbeatAnswer => {
        if (foreign.has(one)) return { kind: "lease-lost" };
        const report = reports[place];
        place += 1;
        const row = held.get(place);
        if (!row) return { kind: "lease-lost" };
        const answer = report && stored.get(report);
        return answer ?? { kind: "carry-on", leaseMs: row.heartbeat_ms };
      }),
    ),
    foreign,
    forgotten: rows.flatMap((row) => {
      if (row.place !== null) return [];
      const { run_id: runId, partition, step_no: step, fence, secret } = row;
      return [{ runId, partition, step, fence, secret }];
    }),
  };
}

interface TaskReport extends HeartbeatReport {
  readonly session: string;
}

/** Writes the reports of tasks into their pages. */
type StoreReports = (
  reports: readonly TaskReport[],
) => Promise<ReadonlyMap<TaskReport, HeartbeatAnswer>>;

/** The work of that transaction. A page held by another is `busy`: the report is repeated. */
async function storeReports(
  { now, send }: Pick<Transaction, "now" | "send">,
  pages: Pages,
  reports: readonly TaskReport[],
): Promise<ReadonlyMap<TaskReport, HeartbeatAnswer>> {
  await pages.lockPages(reports);
  const payloads: (PayloadRow & { readonly runId: RunId })[] = [];
  const answers = new Map<TaskReport, HeartbeatAnswer>();
  for (const report of reports) {
    const { runId, step, session } = report;
    let answer: HeartbeatAnswer = { kind: "lease-lost" };
    const found = pages.change(runId, step, (was) => {
      const applied = applyHeartbeat(was, session, report, now);
      if (!applied) return was;
      payloads.push(...applied.payloads.map((row) => ({ ...row, runId })));
      answer = applied.answer;
      return applied.step;
    });
    answers.set(report, found ? answer : { kind: "busy" });
  }
  writePayloads(send, payloads);
  return answers;
}

async function heldTasks(
  query: Query,
  heartbeats: readonly SessionHeartbeat[],
  reports: readonly TaskReport[],
): Promise<readonly (HeldRow | ForgottenRow)[]> {
  const whole = new Map<string, number>();
  for (const { session, listsAllTo = 0 } of heartbeats)
    if (listsAllTo > (whole.get(session) ?? 0)) whole.set(session, listsAllTo);
  if (reports.length === 0 && whole.size === 0) return [];
  return query<HeldRow | ForgottenRow>("leases_of_heartbeats", {
    ...columns(reports, {
      run_id: (report) => report.runId,
      step_no: (report) => report.step,
      fence: (report) => report.fence,
      secret: (report) => report.secret,
      session: (report) => report.session,
    }),
    ...columns([...whole], {
      all_session: ([session]) => session,
      lists_all_to: ([, listsAllTo]) => listsAllTo,
    }),
  });
}

async function undelivered(
  query: Query,
  lost: readonly LostPolls[],
): Promise<readonly SessionLease[]> {
  const polls = lost.flatMap(({ polls: of, ...whose }) => of.map((poll) => ({ ...whose, poll })));
  if (polls.length === 0) return [];
  const rows = await query<{
    run_id: string;
    partition: number;
    step_no: number;
    fence: number;
    secret: string;
  }>(
    "undelivered_leases",
    columns(polls, {
      namespace_id: ({ namespaceId }) => namespaceId,
      session: ({ session }) => session,
      poll_seq: ({ poll }) => poll,
    }),
  );
  return rows.map((row) => ({
    runId: row.run_id,
    partition: row.partition,
    step: row.step_no,
    fence: row.fence,
    secret: row.secret,
  }));
}
