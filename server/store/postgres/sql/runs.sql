-- Runs: their keys, their locks, their beginning, their changes and their end.

-- name: reserve_keys
-- Reserves keys in key order; waits for another transaction that is reserving the same one. An expired
-- key is free again once its run has ended. Returns those that are now ours. `not exists` would read
-- the whole of run, once for each call that repeats a key. Plan: run by key.
insert into idempotency as i (namespace_id, key, run_id, digest, expires_at)
select u.namespace_id, u.key, u.run_id, decode(u.digest, 'hex'),
  now() + u.keep_ms * interval '1 millisecond'
from unnest($1::integer[], $2::text[], $3::uuid[], $4::text[], $5::bigint[])
  as u (namespace_id, key, run_id, digest, keep_ms)
order by u.namespace_id, u.key
on conflict (namespace_id, key) do update
  set run_id = excluded.run_id, digest = excluded.digest, expires_at = excluded.expires_at
  where i.expires_at < now()
    and (select r.state is null from run as r where r.id = i.run_id) is not true
returning namespace_id, key;

-- name: key_holders
-- Plan: idempotency by key.
select i.namespace_id, i.key, i.run_id, encode(i.digest, 'hex') as digest
from unnest($1::integer[], $2::text[]) as u (namespace_id, key)
join idempotency as i on i.namespace_id = u.namespace_id and i.key = u.key;

-- name: release_keys
-- Reservations of this transaction, whose runs it does not begin. Plan: idempotency by key.
delete from idempotency as i
using unnest($1::integer[], $2::text[], $3::uuid[]) as u (namespace_id, key, run_id)
where i.namespace_id = u.namespace_id and i.key = u.key and i.run_id = u.run_id;

-- name: lock_runs_skip
-- Locks open runs in id order; leaves out what another transaction holds. Plan: run_open by key.
select o.*
from unnest($1::smallint[], $2::uuid[]) as u (partition, run_id)
join run_open as o on o.partition = u.partition and o.run_id = u.run_id
order by o.run_id
for no key update of o skip locked;

-- name: lock_runs_wait
-- The same, waiting for who holds them up to lock_timeout.
select o.*
from unnest($1::smallint[], $2::uuid[]) as u (partition, run_id)
join run_open as o on o.partition = u.partition and o.run_id = u.run_id
order by o.run_id
for no key update of o;

-- name: parents_of_runs
-- Whose children they are. Plan: run by key.
select r.id as run_id, r.parent_id, r.parent_step_key, r.parent_fence, r.parent_until
from run as r
where r.id = any ($1::uuid[]);

-- name: ended_runs
-- Runs whose end is written, and which nobody removes meanwhile. A late report may still open a question,
-- so theirs are counted. Plan: run, escalation by key.
select r.id as run_id, r.partition, r.namespace_id, r.definition_id, r.priority, r.state, r.reason,
  r.last_version, r.warnings,
  (select coalesce(max(e.n), 0) from escalation as e where e.run_id = r.id) as escalations
from run as r
where r.id = any ($1::uuid[]) and r.state is not null
for key share of r;

-- name: insert_runs
-- Written at the start and at the end, and not in between; with what each is found by. They are counted.
with begun as (
  insert into run (id, namespace_id, partition, definition_id, workflow, version, key, priority, labels,
    input_type, input_json, input_data, created_at, notify_hook, notify_url, concurrency_key,
    concurrency_limit, concurrency_policy, parent_id, parent_step, parent_step_key, parent_fence,
    parent_until, traceparent, tracestate)
  select u.id, u.namespace_id, u.partition, u.definition_id, u.workflow, u.version, u.key, u.priority,
    u.labels::jsonb, u.input_type, u.input_json, u.input_data,
    to_timestamp(u.created_at / 1e3::float8), u.notify_hook, u.notify_url, u.concurrency_key,
    u.concurrency_limit, u.concurrency_policy, u.parent_id, u.parent_step,
    u.parent_step_key, u.parent_fence, to_timestamp(u.parent_until / 1e3::float8), u.traceparent,
    u.tracestate
  from (
    select unnest($1::uuid[]) as id, unnest($2::integer[]) as namespace_id,
      unnest($3::smallint[]) as partition, unnest($4::bigint[]) as definition_id,
      unnest($5::text[]) as workflow, unnest($6::integer[]) as version, unnest($7::text[]) as key,
      unnest($8::smallint[]) as priority, unnest($9::text[]) as labels,
      unnest($10::text[]) as input_type, unnest($11::text[]) as input_json,
      unnest($12::bytea[]) as input_data, unnest($13::bigint[]) as created_at,
      unnest($14::text[]) as notify_hook, unnest($15::text[]) as notify_url,
      unnest($16::text[]) as concurrency_key, unnest($17::integer[]) as concurrency_limit,
      unnest($18::smallint[]) as concurrency_policy, unnest($19::uuid[]) as parent_id,
      unnest($20::text[]) as parent_step, unnest($21::integer[]) as parent_step_key,
      unnest($22::integer[]) as parent_fence, unnest($23::bigint[]) as parent_until,
      unnest($24::text[]) as traceparent, unnest($25::text[]) as tracestate
  ) as u
  returning id, namespace_id, workflow, created_at, labels
),
counted as (
  insert into run_count_delta (minute, namespace_id, runs, event, workflow)
  select b.minute, b.namespace_id, count(*), -1, b.workflow
  from (
    select date_bin('1 minute', x.created_at, timestamptz 'epoch') as minute, x.namespace_id, x.workflow
    from begun as x
  ) as b
  group by b.minute, b.namespace_id, b.workflow
)
insert into run_mark (namespace_id, mark, run_id)
select b.namespace_id, l.key || '=' || l.value, b.id
from begun as b
cross join lateral jsonb_each_text(b.labels) as l
where b.labels <> '{}';

-- name: insert_reruns
insert into rerun (run_id, of_run, from_step)
select u.run_id, u.of_run, u.from_step
from unnest($1::uuid[], $2::uuid[], $3::text[]) as u (run_id, of_run, from_step);

-- name: insert_kept
-- Written with the first pass of a run, and never changed.
insert into step_kept (run_id, step_no, of_run)
select u.run_id, u.step_no, u.of_run
from unnest($1::uuid[], $2::integer[], $3::uuid[]) as u (run_id, step_no, of_run);

-- name: insert_open_runs
-- Presence is what open means: written with `insert_runs`, gone with `end_runs`.
insert into run_open (partition, run_id, namespace_id, definition_id, priority, state, version, steps_left,
  finally_left, moving, asking, undos_left, undone, warnings, escalations, pivoted, keyed,
  verdict_undoes, verdict, ends_as, stage, deadline, left_ms, since, settle_until, wake_at, depth)
select u.partition, u.run_id, u.namespace_id, u.definition_id, u.priority, u.state, u.version,
  u.steps_left, u.finally_left, u.moving, u.asking, u.undos_left, u.undone, u.warnings,
  u.escalations, u.pivoted, u.keyed, u.verdict_undoes, u.verdict, u.ends_as, u.stage,
  to_timestamp(u.deadline / 1e3::float8), u.left_ms, to_timestamp(u.since / 1e3::float8),
  to_timestamp(u.settle_until / 1e3::float8), to_timestamp(u.wake_at / 1e3::float8), u.depth
from (
  select unnest($1::smallint[]) as partition, unnest($2::uuid[]) as run_id,
    unnest($3::smallint[]) as state, unnest($4::integer[]) as version,
    unnest($5::smallint[]) as steps_left, unnest($6::smallint[]) as finally_left,
    unnest($7::smallint[]) as moving, unnest($8::smallint[]) as asking,
    unnest($9::smallint[]) as undos_left, unnest($10::smallint[]) as undone,
    unnest($11::smallint[]) as warnings, unnest($12::smallint[]) as escalations,
    unnest($13::boolean[]) as pivoted, unnest($14::boolean[]) as keyed,
    unnest($15::boolean[]) as verdict_undoes, unnest($16::smallint[]) as verdict,
    unnest($17::smallint[]) as ends_as, unnest($18::smallint[]) as stage,
    unnest($19::bigint[]) as deadline, unnest($20::bigint[]) as left_ms, unnest($21::bigint[]) as since,
    unnest($22::bigint[]) as settle_until, unnest($23::bigint[]) as wake_at,
    unnest($24::integer[]) as namespace_id, unnest($25::bigint[]) as definition_id,
    unnest($26::smallint[]) as priority, unnest($27::smallint[]) as depth
) as u;

-- name: update_open_runs
-- The rows are locked by this transaction. Plan: run_open by key. HOT unless the run's moment moves.
update run_open as o
set state = u.state, version = u.version, steps_left = u.steps_left, finally_left = u.finally_left,
  moving = u.moving, asking = u.asking, undos_left = u.undos_left, undone = u.undone,
  warnings = u.warnings, escalations = u.escalations, pivoted = u.pivoted, keyed = u.keyed,
  verdict_undoes = u.verdict_undoes, verdict = u.verdict, ends_as = u.ends_as, stage = u.stage,
  deadline = to_timestamp(u.deadline / 1e3::float8), left_ms = u.left_ms,
  since = to_timestamp(u.since / 1e3::float8), settle_until = to_timestamp(u.settle_until / 1e3::float8),
  wake_at = to_timestamp(u.wake_at / 1e3::float8)
from (
  select unnest($1::smallint[]) as partition, unnest($2::uuid[]) as run_id,
    unnest($3::smallint[]) as state, unnest($4::integer[]) as version,
    unnest($5::smallint[]) as steps_left, unnest($6::smallint[]) as finally_left,
    unnest($7::smallint[]) as moving, unnest($8::smallint[]) as asking,
    unnest($9::smallint[]) as undos_left, unnest($10::smallint[]) as undone,
    unnest($11::smallint[]) as warnings, unnest($12::smallint[]) as escalations,
    unnest($13::boolean[]) as pivoted, unnest($14::boolean[]) as keyed,
    unnest($15::boolean[]) as verdict_undoes, unnest($16::smallint[]) as verdict,
    unnest($17::smallint[]) as ends_as, unnest($18::smallint[]) as stage,
    unnest($19::bigint[]) as deadline, unnest($20::bigint[]) as left_ms, unnest($21::bigint[]) as since,
    unnest($22::bigint[]) as settle_until, unnest($23::bigint[]) as wake_at
) as u
where o.partition = u.partition and o.run_id = u.run_id
returning o.run_id;

-- name: end_runs
-- The open row goes, the outcome is written, and hooks are told: those that want each end, and the one
-- that Schedule named; triggers that wait for the workflow have a row each. One that is not COMPLETED is
-- found by its state. They are counted by their end. Plan: run_open, run, hook by key, trigger_by_workflow.
with ended as (
  select *
  from unnest($1::smallint[], $2::uuid[], $3::smallint[], $4::smallint[], $5::integer[], $6::smallint[])
    as u (partition, run_id, state, reason, version, warnings)
),
closed as (
  delete from run_open as o using ended as u
  where o.partition = u.partition and o.run_id = u.run_id
),
changed as (
  update run as r
  set state = u.state, reason = u.reason, last_version = u.version, warnings = u.warnings,
    ended_at = now()
  from ended as u
  where r.id = u.run_id
  returning r.id, r.namespace_id, r.partition, r.notify_hook, r.notify_url, r.workflow, r.state
),
marked as (
  insert into run_mark (namespace_id, mark, run_id)
  select c.namespace_id, m.mark, c.id
  from changed as c
  cross join lateral (values (c.state::text), (c.state || ' ' || c.workflow)) as m (mark)
  where c.state <> 4
  on conflict do nothing
),
counted as (
  insert into run_count_delta (minute, namespace_id, runs, event, workflow)
  select date_bin('1 minute', now(), timestamptz 'epoch'), c.namespace_id, count(*), c.state, c.workflow
  from changed as c
  group by c.namespace_id, c.state, c.workflow
),
waited as (
  insert into trigger_end (partition, namespace_id, trigger, run_id)
  select c.partition, c.namespace_id, t.name, c.id
  from changed as c
  join trigger as t on t.namespace_id = c.namespace_id and t.workflow = c.workflow
    and (cardinality(t.states) = 0 or c.state = any (t.states))
)
insert into outbox (kind, run_id, n, namespace_id, partition, hook, url, cause)
select 3, c.id, 0, c.namespace_id, c.partition, h.name,
  case when h.name = c.notify_hook then c.notify_url end, c.id::text
from changed as c
join hook as h on h.namespace_id = c.namespace_id and (h.name = c.notify_hook or 3 = any (h.events));

-- name: note_cancels
update run as r
set cancel_note = u.note
from unnest($1::uuid[], $2::text[]) as u (run_id, note)
where r.id = u.run_id;
