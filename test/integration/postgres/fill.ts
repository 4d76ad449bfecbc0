// Thousands of runs by plain SQL, so that the planner has something to weigh: each with a step that
// is ready, leased, backing off or done, its attempts, and a few rows of everything else.
import pg from "pg";
import type { Forward } from "../../../server/core/model/model.ts";
import { stepKeyOf } from "../../../server/core/model/step-key.ts";
import { encodePage } from "../../../server/core/page/codec.ts";
import type { Page } from "../../../server/core/page/page.ts";
import {
  attemptWith,
  headWith,
  leaseWith,
  pagesWith,
  readyWith,
  stepWith,
  TERMS,
} from "../../support/pages.ts";

/** The timers that are in the pages. */
export const LATER = Date.now() + 3_600_000;
/** What step 1 of a run does, by the run's kind. */
const KINDS: readonly Forward[] = [
  readyWith({ wakeAt: LATER }),
  leaseWith({ wakeAt: LATER }),
  { kind: "BACKOFF", task: "perform", cause: "retry", wakeAt: LATER },
  { kind: "SUCCEEDED" },
];

/** The text of the page of a run of each kind; the definition is to be put into it. */
const TEXTS = KINDS.map((forward) => {
  const isDone = forward.kind === "SUCCEEDED";
  const head = isDone
    ? headWith({ endedAt: Date.now() }, { state: { kind: "COMPLETED", reason: "DONE" } })
    : headWith({}, { state: { kind: "RUNNING", deadline: LATER } });
  const attempts = [attemptWith(), attemptWith({ fence: 2 })];
  const result = { fence: 2, kind: "perform", n: 0 } as const;
  const done = { forward: { kind: "SUCCEEDED" }, fence: 2, attempt: 1, result } as const;
  const terms = isDone ? null : TERMS;
  return textOf(
    pagesWith(head, [
      stepWith(0, done, { attempts }),
      stepWith(1, { forward, fence: 1, attempt: 1 }, { terms }),
    ])[0],
  );
});

function textOf(page: Page | undefined): string {
  if (!page) throw new Error("a run has a first page");
  return encodePage(page).text;
}

const RUNS = `
create temp table made as
select
  n,
  (lpad(to_hex((extract(epoch from now()) * 1000)::bigint - n * 1000), 12, '0')
    || '7' || lpad(to_hex(n % 4096), 3, '0') || '8' || substr(md5(n::text), 1, 15))::uuid as run_id,
  (n % 256)::smallint as partition,
  n % 4 as kind
from generate_series(1, $1::integer) as n`;

const ROWS = [
  `insert into drover.definition (namespace_id, digest, body)
   select 1, sha256(n::text::bytea), '{"workflow":"w","steps":[{"id":"a"},{"id":"b"}]}'
   from generate_series(1, 20) as n`,
  `insert into drover.lane (namespace_id, queue, task)
   select 1, 'default', 'task-' || n from generate_series(1, 40) as n`,
  `insert into drover.run (id, namespace_id, partition, definition_id, workflow, version, priority, labels,
     created_at)
   select run_id, 1, partition, 1 + n % 20, 'w', 1, 5, '{}', now() from made`,
  `insert into drover.run_count (minute, namespace_id, runs, event, workflow)
   select date_bin('1 minute', now(), timestamptz 'epoch') - n * interval '1 minute', 1 + n % 20, 1,
     3 + n % 5, 'w-' || n % 100
   from made`,
  `insert into drover.run_count_delta (at, namespace_id, runs, event, workflow, took)
   select now(), 1 + n % 20, 1, 3 + n % 5, 'w', array[n % 10]::smallint[] from made`,
  `insert into drover.run_hour_count (hour, last_at, namespace_id, runs, event, took, workflow)
   select date_bin('1 hour', now(), timestamptz 'epoch') - n % 25 * interval '1 hour', now(), 1 + n % 20, 1,
     3 + n % 5, n / 1000, 'w-' || n % 100
   from made
   on conflict do nothing`,
  `insert into drover.failure_count (minute, first_at, last_at, run_id, namespace_id, attempts, steps, undo,
     workflow, step, code, message)
   select date_bin('1 minute', now(), timestamptz 'epoch') - n * interval '1 minute', now(), now(), run_id,
     1 + n % 20, 1, 1, false, 'w-' || n % 100, 'a', 'broken', ''
   from made`,
  `insert into drover.run_mark (namespace_id, mark, run_id)
   select 1, mark, run_id from made cross join (values ('city=Bern'), ('tier=gold')) as m (mark)`,
  `insert into drover.run_page (run_id, no, partition, version, wake_at, namespace_id, definition_id, run_state,
     ended_at, settled, state)
   select run_id, 0, partition, 2, case when kind <> 3 then now() + n % 60 * interval '1 second' end, 1,
     1 + n % 20, case when kind = 3 then 4 else 0 end, case when kind = 3 then now() end, false,
     replace(($1::text[])[kind + 1], '"of":[1,1,5]', format('"of":[1,%s,5]', 1 + n % 20))
   from made`,
  `insert into drover.attempt_log (run_id, step_no, fence, kind, n, attempt)
   select run_id, 1, fence, 'perform', 0, '{}' from made cross join generate_series(1, 2) as fence
   where n % 10 = 0`,
  `insert into drover.handler_log (run_id, step_no, fence, kind, n, line, attempt, stored_bytes, at, level, message)
   select run_id, 0, fence, 'perform', 0, line, fence, 32 * line, now(), 'info', 'x'
   from made cross join generate_series(1, 2) as fence cross join generate_series(1, 2) as line`,
  `insert into drover.payload (run_id, step_no, fence, kind, n, what, type, json)
   select run_id, 0, fence, 'perform', 0, what, 'application/json', '1'
   from made cross join generate_series(1, 2) as fence cross join (values ('output'), ('details')) as w (what)`,
  `insert into drover.ready (run_id, step_no, partition, lane, priority, ordinal, ready_at)
   select run_id, 1, partition, 1 + n % 40, 5, 1, now()
   from made where kind = 0`,
  `insert into drover.lease (run_id, step_no, partition, lane, fence, session, secret, poll_seq, granted_at,
     heartbeat_ms, cancel)
   select run_id, 1, partition, 1 + n % 40, 1, sha256((n % 200)::text::bytea), sha256('x'), 1, now(), 30000, 'none'
   from made where kind = 1`,
  `insert into drover.agent_session (session, namespace_id, agent_id, agent_version, last_heartbeat_at,
     heartbeat_ms)
   select sha256(n::text::bytea), 1, 'a', '1', now(), 30000 from generate_series(0, 199) as n`,
  `insert into drover.idempotency (namespace_id, key, run_id, digest, expires_at)
   select 1, 'k' || n, run_id, sha256('x'), now() + interval '30 days' from made`,
  `insert into drover.intervention (run_id, step_no, fence, rule, n, partition, saw, did, due_at, acted_at,
     namespace_id)
   select run_id, 0, 1, rule, 0, partition, 'x', 'y', now(), now() - r * interval '1 second', 1
   from (select run_id, partition, n as r from made) as made cross join generate_series(0, 14) as rule`,
  `insert into drover.agent (session, namespace_id, agent_id, agent_version, labels, queues, tasks, server,
     seen_at)
   select sha256(n::text::bytea), 1, 'a', '1', '{}', '["default"]', '["task-1"]', 'here', now()
   from generate_series(0, 199) as n`,
  `insert into drover.session_attempts (session, lane, at, ended, failed, unknown, mostly_failed)
   select sha256(n::text::bytea), lane, date_bin('5 minutes', now(), 'epoch') - slot * interval '5 minutes',
     10, case when n = 0 then 10 else 0 end, 0, n = 0
   from generate_series(0, 199) as n cross join (select id as lane from drover.lane limit 2) as l
   cross join generate_series(0, 11) as slot`,
  `insert into drover.escalation (run_id, n, namespace_id, step_no, reason, message, opened_at, closed_at)
   select run_id, n, 1, 0, 0, 'x', now(), case when r % 10 > 0 then now() end
   from (select run_id, made.n as r from made) as made cross join generate_series(1, 2) as n`,
  `insert into drover.signal (run_id, seq, id, name, at)
   select run_id, seq, seq::text, 'go', now()
   from made cross join generate_series(1, 2) as seq where n % 10 = 0`,
  `insert into drover.decision (run_id, step_no, approver, verified, approved, comment, at)
   select run_id, 0, 'zoe', false, true, '', now() from made where n % 10 = 0`,
  `insert into drover.step_override (run_id, step_no, strategy)
   select run_id, 0, 1 from made where n % 10 = 0`,
  `insert into drover.step_reused (run_id, step_no, of_run)
   select run_id, 0, run_id from made where n % 10 = 0`,
  `insert into drover.rerun (run_id, of_run) select run_id, run_id from made where n % 10 = 0`,
  `insert into drover.hook (namespace_id, name, url, events, secret, secret_digest)
   select n, 'h', 'http://there', '{0,3}', 'x', 'y' from generate_series(1, 20) as n`,
  `insert into drover.outbox (partition, namespace_id, kind, run_id, n, hook, cause)
   select partition, 1, 3, run_id, 0, 'h', run_id::text from made where n % 10 = 0`,
  `insert into drover.schedule (id, namespace_id, name, partition, workflow, spec, next_nominal_time, next_at, wake_at, deleted_at)
   select run_id, 1 + n % 20, 'nightly-' || n, partition, 'w-' || n % 100, '{}', n, now(),
     case when kind <> 3 then now() + interval '1 hour' end, case when n % 100 = 0 then now() end
   from made`,
  `insert into drover.occurrence (schedule_id, series, nominal_time, at, cause, outcome, run_id)
   select run_id, 1, no, now() - no * interval '1 hour', 0, 0, run_id
   from made cross join generate_series(1, 5) as no`,
  `insert into drover.delivery (partition, namespace_id, kind, run_id, n, hook, cause, count, state, ended_at,
     next_try_at)
   select partition, 1, 3, run_id, 0, 'h', run_id::text, 1, case when kind = 3 then 1 else 0 end,
     case when kind = 3 then now() end, case when kind <> 3 then now() end
   from made`,
  `insert into drover.message (run_id, partition, source, kind, wake_at)
   select run_id, partition, run_id, 1, now() from made where n % 10 = 0`,
  `insert into drover.permit (run_id, namespace_id, key, max_holders, priority, since, holds, leaving)
   select run_id, 1, 'key-' || n % 40, 1, 5, now(), n < 40, false from made where n % 4 = 0`,
  "analyze",
];

const MAP_ROWS = [
  `create temp table item as
   select n, 512 * n as place, '01900000-0000-7000-8000-000000000000'::uuid as run_id, n % 3 as kind
   from generate_series(0, $1::integer) as n`,
  `insert into drover.definition (namespace_id, digest, body) values (1, sha256('map'), '{}')`,
  `insert into drover.lane (namespace_id, queue, task) values (1, 'default', 'item')`,
  `insert into drover.run (id, namespace_id, partition, definition_id, workflow, version, priority, labels,
     created_at)
   select run_id, 1, 0, d.id, 'map', 1, 5, '{}', now() from item, drover.definition as d where n = 0`,
  `insert into drover.run_page (run_id, no, partition, version, wake_at, namespace_id, definition_id, run_state,
     settled, state)
   select run_id, place, 0, 2, now(), case when n = 0 then 1 end, case when n = 0 then d.id end,
     case when n = 0 then 0 end, n > 0 and kind = 0, case
       when n = 0 then replace(($1::text[])[4], '"of":[1,1,5]', format('"of":[1,%s,5]', d.id))
       else replace(replace(($1::text[])[kind + 1], '"n":512', '"n":' || place), '"512"', '"' || place || '"')
     end
   from item, drover.definition as d`,
  `insert into drover.ready (run_id, step_no, partition, lane, priority, ordinal, ready_at)
   select run_id, place, 0, l.id, 5, 1, now() from item, drover.lane as l where kind = 1`,
  `insert into drover.lease (run_id, step_no, partition, lane, fence, session, secret, poll_seq, granted_at,
     heartbeat_ms, cancel)
   select run_id, place, 0, l.id, 1, sha256('s'), sha256('x'), 1, now(), 30000, 'none'
   from item, drover.lane as l where kind = 2`,
];

/** Of an item that is done, in its queue, or with an agent; the last one is of the run itself. */
const MAP_TEXTS = [
  ...([{ kind: "SUCCEEDED" }, ...KINDS.slice(0, 2)] satisfies Forward[]).map((forward) => {
    const stepKey = stepKeyOf(0, 1);
    const terms = forward.kind === "SUCCEEDED" ? null : TERMS;
    const step = stepWith(stepKey, { forward, fence: 1, attempt: 1 }, { terms });
    return textOf({ no: stepKey, head: null, steps: new Map([[stepKey, step]]) });
  }),
  textOf(
    pagesWith(headWith({ hasMore: true }), [stepWith(0, { forward: { kind: "MAPPING" } })])[0],
  ),
];

export async function fill(connectionString: string, runs: number): Promise<void> {
  const client = new pg.Client({ connectionString });
  await client.connect();
  try {
    await client.query(RUNS, [runs]);
    for (const text of ROWS) await client.query(text, text.includes("$1") ? [TEXTS] : []);
  } finally {
    await client.end();
  }
}

/** A run of a map of so many items, done, in their queue or with an agent; without statistics. */
export async function fillMap(connectionString: string, items: number): Promise<void> {
  const client = new pg.Client({ connectionString });
  await client.connect();
  try {
    const [made = "", ...rows] = MAP_ROWS;
    await client.query(made, [items]);
    for (const text of rows) await client.query(text, text.includes("$1") ? [MAP_TEXTS] : []);
  } finally {
    await client.end();
  }
}
