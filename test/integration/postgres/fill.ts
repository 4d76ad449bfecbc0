// Thousands of runs by plain SQL, so that the planner has something to weigh: each with a step that
// is ready, leased, backing off or done, its attempts, and a few rows of everything else.
import pg from "pg";

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
  `insert into definition (namespace_id, digest, body)
   select 1, sha256(n::text::bytea), '{"workflow":"w","steps":[{"id":"a"},{"id":"b"}]}'
   from generate_series(1, 20) as n`,
  `insert into lane (namespace_id, queue, task)
   select 1, 'default', 'task-' || n from generate_series(1, 40) as n`,
  `insert into run (id, namespace_id, partition, definition_id, workflow, version, priority, labels,
     created_at, state, reason, last_version, ended_at)
   select run_id, 1, partition, 1 + n % 20, 'w', 1, 5, '{}', now(),
     case when kind = 3 then 4 end, case when kind = 3 then 0 end, case when kind = 3 then 5 end,
     case when kind = 3 then now() end
   from made`,
  `insert into run_count (minute, namespace_id, runs, event, workflow)
   select date_bin('1 minute', now(), timestamptz 'epoch') - n * interval '1 minute', 1 + n % 20, 1,
     3 + n % 5, 'w-' || n % 100
   from made`,
  `insert into run_count_delta (minute, namespace_id, runs, event, workflow)
   select date_bin('1 minute', now(), timestamptz 'epoch'), 1 + n % 20, 1, 3 + n % 5, 'w' from made`,
  `insert into run_mark (namespace_id, mark, run_id)
   select 1, mark, run_id from made cross join (values ('city=Bern'), ('tier=gold')) as m (mark)`,
  `insert into run_open (partition, run_id, namespace_id, definition_id, priority, state, version,
     steps_left, finally_left, moving, asking, undos_left, undone, warnings, escalations, pivoted,
     deadline, wake_at)
   select partition, run_id, 1, 1 + n % 20, 5, 0, 2, 1, 0, 1, 0, 0, 0, 0, 0, false,
     now() + interval '7 days', now() + interval '7 days'
   from made where kind <> 3`,
  `insert into step (run_id, no, forward, undo, waiting_for, needs_ok, needs_skipped, strategies, fence,
     attempt, lost, tries, verifies, result_fence, result_kind, result_n)
   select run_id, no, case when no = 0 or kind = 3 then 4 when kind = 2 then 2 else 1 end, 0, 0, 0, 0,
     '{0}', 1, 1, 0, '{}', 0, 1, 0, 0
   from made cross join generate_series(0, 1) as no`,
  `insert into attempt (run_id, step_no, fence, kind, attempt, secret, started_at, ended_at, outcome)
   select run_id, 0, fence, 0, 1, sha256('x'), now(), now(), 0
   from made cross join generate_series(1, 2) as fence`,
  `insert into ready (run_id, step_no, partition, lane, priority, ordinal, kind, fence, attempt,
     ready_at, alarms, attempt_ms, heartbeat_ms, cancel_ms, wake_at)
   select run_id, 1, partition, 1 + n % 40, 5, 1, 0, 1, 1, now(), 0, 60000, 30000, 10000,
     now() + interval '5 minutes'
   from made where kind = 0`,
  `insert into lease (run_id, step_no, partition, lane, kind, fence, attempt, secret, session, agent_id,
     poll_seq, granted_at, attempt_by, heartbeat_ms, cancel_ms, progress_at, wake_at)
   select run_id, 1, partition, 1 + n % 40, 0, 1, 1, sha256('x'), sha256((n % 200)::text::bytea), 'a', 1,
     now(), now() + interval '1 hour', 30000, 10000, now(), now() + n % 60 * interval '1 second'
   from made where kind = 1`,
  `insert into due (run_id, step_no, partition, kind, wake_at)
   select run_id, 1, partition, 0, now() + n % 60 * interval '1 second' from made where kind = 2`,
  `insert into agent_session (session, namespace_id, agent_id, agent_version, last_beat_at)
   select sha256(n::text::bytea), 1, 'a', '1', now() from generate_series(0, 199) as n`,
  `insert into idempotency (namespace_id, key, run_id, digest, expires_at)
   select 1, 'k' || n, run_id, sha256('x'), now() + interval '30 days' from made`,
  `insert into intervention (run_id, step_no, fence, rule, n, partition, saw, did, due_at, acted_at,
     namespace_id)
   select run_id, 0, 1, rule, 0, partition, 'x', 'y', now(), now() - r * interval '1 second', 1
   from (select run_id, partition, n as r from made) as made cross join generate_series(0, 14) as rule`,
  `insert into agent (session, namespace_id, agent_id, agent_version, labels, queues, tasks, server,
     seen_at)
   select sha256(n::text::bytea), 1, 'a', '1', '{}', '["default"]', '["task-1"]', 'here', now()
   from generate_series(0, 199) as n`,
  `insert into escalation (run_id, n, namespace_id, step_no, reason, message, opened_at, closed_at)
   select run_id, n, 1, 0, 0, 'x', now(), case when r % 10 > 0 then now() end
   from (select run_id, made.n as r from made) as made cross join generate_series(1, 2) as n`,
  `insert into signal (run_id, seq, id, name, at)
   select run_id, seq, seq::text, 'go', now()
   from made cross join generate_series(1, 2) as seq where n % 10 = 0`,
  `insert into decision (run_id, step_no, approver, approved, comment, at)
   select run_id, 0, 'zoe', true, '', now() from made where n % 10 = 0`,
  `insert into step_override (run_id, step_no, strategy)
   select run_id, 0, 1 from made where n % 10 = 0`,
  `insert into step_kept (run_id, step_no, of_run)
   select run_id, 0, run_id from made where n % 10 = 0`,
  `insert into rerun (run_id, of_run) select run_id, run_id from made where n % 10 = 0`,
  `insert into hook (namespace_id, name, url, events, secret, secret_digest)
   select n, 'h', 'http://there', '{0,3}', 'x', 'y' from generate_series(1, 20) as n`,
  `insert into outbox (partition, namespace_id, kind, run_id, n, hook, cause)
   select partition, 1, 3, run_id, 0, 'h', run_id::text from made where n % 10 = 0`,
  `insert into schedule (id, namespace_id, name, partition, spec, next_moment, next_at, wake_at, deleted_at)
   select run_id, 1 + n % 20, 'nightly-' || n, partition, '{}', n, now(),
     case when kind <> 3 then now() + interval '1 hour' end, case when n % 100 = 0 then now() end
   from made`,
  `insert into fire (schedule_id, series, moment, at, cause, outcome, run_id)
   select run_id, 1, moment, now() - moment * interval '1 hour', 0, 0, run_id
   from made cross join generate_series(1, 5) as moment`,
  `insert into delivery (partition, namespace_id, kind, run_id, n, hook, cause, count, state, ended_at,
     next_try_at)
   select partition, 1, 3, run_id, 0, 'h', run_id::text, 1, case when kind = 3 then 1 else 0 end,
     case when kind = 3 then now() end, case when kind <> 3 then now() end
   from made`,
  `insert into message (run_id, partition, source, kind, wake_at)
   select run_id, partition, run_id, 1, now() from made where n % 10 = 0`,
  `insert into slot (run_id, namespace_id, key, max_holders, priority, since, holds, leaving)
   select run_id, 1, 'key-' || n % 40, 1, 5, now(), n < 40, false from made where n % 4 = 0`,
  "analyze",
];

const MAP_ROWS = [
  `create temp table item as
   select n, 512 * n as place, '01900000-0000-7000-8000-000000000000'::uuid as run_id, n % 3 as kind
   from generate_series(0, $1::integer) as n`,
  `insert into definition (namespace_id, digest, body) values (1, sha256('map'), '{}')`,
  `insert into lane (namespace_id, queue, task) values (1, 'default', 'item')`,
  `insert into run (id, namespace_id, partition, definition_id, workflow, version, priority, labels,
     created_at)
   select run_id, 1, 0, d.id, 'map', 1, 5, '{}', now() from item, definition as d where n = 0`,
  `insert into run_open (partition, run_id, namespace_id, definition_id, priority, state, version,
     steps_left, finally_left, moving, asking, undos_left, undone, warnings, escalations, pivoted,
     deadline, wake_at)
   select 0, run_id, 1, d.id, 5, 0, 2, 1, 0, 1, 0, 0, 0, 0, 0, false, now(), now()
   from item, definition as d where n = 0`,
  `insert into step (run_id, no, forward, undo, waiting_for, needs_ok, needs_skipped, strategies, fence,
     attempt, lost, tries, verifies, result_fence, result_kind, result_n)
   select run_id, place, 1, 0, 0, 0, 0, '{0}', 1, 1, 0, '{}', 0, 1, 0, 0 from item`,
  `insert into attempt (run_id, step_no, fence, kind, attempt, secret, started_at, ended_at, outcome)
   select run_id, place, 1, 0, 1, sha256('x'), now(), now(), 0 from item`,
  `insert into ready (run_id, step_no, partition, lane, priority, ordinal, kind, fence, attempt,
     ready_at, alarms, attempt_ms, heartbeat_ms, cancel_ms, wake_at)
   select run_id, place, 0, l.id, 5, 1, 0, 1, 1, now(), 0, 60000, 30000, 10000, now()
   from item, lane as l where kind = 1`,
  `insert into lease (run_id, step_no, partition, lane, kind, fence, attempt, secret, session, agent_id,
     poll_seq, granted_at, attempt_by, heartbeat_ms, cancel_ms, progress_at, wake_at)
   select run_id, place, 0, l.id, 0, 1, 1, sha256('x'), sha256('s'), 'a', 1, now(), now(), 30000, 10000,
     now(), now()
   from item, lane as l where kind = 2`,
];

export async function fill(connectionString: string, runs: number): Promise<void> {
  const client = new pg.Client({ connectionString });
  await client.connect();
  try {
    await client.query(RUNS, [runs]);
    for (const statement of ROWS) await client.query(statement);
  } finally {
    await client.end();
  }
}

/** A run of a map of so many items, done, in their queue or with an agent; without statistics. */
export async function fillMap(connectionString: string, items: number): Promise<void> {
  const client = new pg.Client({ connectionString });
  await client.connect();
  try {
    for (const text of MAP_ROWS) await client.query(text, text.includes("$1") ? [items] : []);
  } finally {
    await client.end();
  }
}
