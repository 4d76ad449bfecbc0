-- Steps of locked runs, and the rows beside them.

-- name: load_steps
-- Steps of runs named whole ($1) or by number ($2, $3), with their lease, locked, and their due row.
-- A step that is OPEN and has no lease here has a ready row, or was claimed a moment ago: see
-- lock_ready_rows. Plan: step, lease and due by key.
with wanted as materialized (
  select s.run_id, s.no
  from unnest($1::uuid[]) as a (run_id)
  join step as s on s.run_id = a.run_id
  union
  select w.run_id, w.no
  from unnest($2::uuid[], $3::smallint[]) as w (run_id, no)
),
held as materialized (
  select l.*
  from wanted as w
  join lease as l on l.run_id = w.run_id and l.step_no = w.no and l.item = 0
  for update of l
)
select s.run_id, s.no, s.forward, s.undo, s.waiting_for, s.effect, s.fence, s.attempt, s.lost, s.tries,
  s.first_ready_at, s.settle_until, s.result_fence, d.wake_at as due_at,
  h.kind as lease_kind, h.fence as lease_fence, h.attempt as lease_attempt,
  encode(h.secret, 'hex') as secret, encode(h.session, 'hex') as session, h.agent_id, h.poll_seq,
  h.granted_at, h.attempt_by, h.heartbeat_ms, h.cancel_ms, h.cancel, h.cancel_cause, h.cancel_asked_at, h.cancel_by,
  h.wake_at as lease_wake_at
from wanted as w
join step as s on s.run_id = w.run_id and s.no = w.no and s.item = 0
left join held as h on h.run_id = s.run_id and h.step_no = s.no
left join due as d on d.run_id = s.run_id and d.step_no = s.no and d.item = 0;

-- name: lock_ready_rows
-- Waits for a claim that is moving the row; then the row is gone and its lease is there.
-- Plan: ready by key.
select r.run_id, r.step_no, r.kind, r.fence, r.attempt, r.ready_at, r.until,
  encode(r.avoid_session, 'hex') as avoid_session, r.avoid_until, r.alarms, r.wake_at
from unnest($1::uuid[], $2::smallint[]) as u (run_id, step_no)
join ready as r on r.run_id = u.run_id and r.step_no = u.step_no and r.item = 0
order by r.run_id, r.step_no
for update of r;

-- name: lock_leases
-- Plan: lease by key.
select l.run_id, l.step_no, l.kind as lease_kind, l.fence as lease_fence, l.attempt as lease_attempt,
  encode(l.secret, 'hex') as secret, encode(l.session, 'hex') as session, l.agent_id, l.poll_seq,
  l.granted_at, l.attempt_by, l.heartbeat_ms, l.cancel_ms, l.cancel, l.cancel_cause, l.cancel_asked_at, l.cancel_by,
  l.wake_at as lease_wake_at
from unnest($1::uuid[], $2::smallint[]) as u (run_id, step_no)
join lease as l on l.run_id = u.run_id and l.step_no = u.step_no and l.item = 0
order by l.run_id, l.step_no
for update of l;

-- name: load_attempts
-- What late reports are judged by. Plan: attempt by key.
select a.run_id, a.step_no, a.kind, a.fence, a.attempt, encode(a.secret, 'hex') as secret,
  a.started_at, a.outcome, a.code, encode(a.digest, 'hex') as digest
from unnest($1::uuid[], $2::smallint[], $3::integer[], $4::smallint[])
  as u (run_id, step_no, fence, kind)
join attempt as a on a.run_id = u.run_id and a.step_no = u.step_no and a.item = 0
  and a.fence = u.fence and a.kind = u.kind and a.n = 0;

-- name: write_steps
-- A step has its row from the end of its first need on.
insert into step (run_id, no, forward, undo, waiting_for, effect, fence, attempt, lost, tries,
  first_ready_at, settle_until, result_fence)
select u.run_id, u.no, u.forward, u.undo, u.waiting_for, u.effect, u.fence, u.attempt, u.lost,
  u.tries::smallint[], to_timestamp(u.first_ready_at / 1000.0),
  to_timestamp(u.settle_until / 1000.0), u.result_fence
from unnest($1::uuid[], $2::smallint[], $3::smallint[], $4::smallint[], $5::smallint[], $6::smallint[],
  $7::integer[], $8::smallint[], $9::smallint[], $10::text[], $11::bigint[], $12::bigint[],
  $13::integer[])
  as u (run_id, no, forward, undo, waiting_for, effect, fence, attempt, lost, tries, first_ready_at,
    settle_until, result_fence)
on conflict (run_id, no, item) do update
set forward = excluded.forward, undo = excluded.undo, waiting_for = excluded.waiting_for,
  effect = excluded.effect, fence = excluded.fence, attempt = excluded.attempt,
  lost = excluded.lost, tries = excluded.tries, first_ready_at = excluded.first_ready_at,
  settle_until = excluded.settle_until, result_fence = excluded.result_fence;

-- name: delete_ready
-- Plan: ready by key.
delete from ready as r
using unnest($1::uuid[], $2::smallint[]) as u (run_id, step_no)
where r.run_id = u.run_id and r.step_no = u.step_no and r.item = 0
returning r.step_no;

-- name: insert_ready
-- The order within a priority is (transaction, number): rows of one transaction keep their order.
insert into ready (run_id, step_no, partition, lane, priority, ordinal, kind, fence, attempt, ready_at,
  until, avoid_session, avoid_until, alarms, attempt_ms, heartbeat_ms, cancel_ms, wake_at)
select u.run_id, u.step_no, u.partition, u.lane, u.priority, u.ordinal, u.kind, u.fence, u.attempt,
  to_timestamp(u.ready_at / 1000.0), to_timestamp(u.until / 1000.0), decode(u.avoid_session, 'hex'),
  to_timestamp(u.avoid_until / 1000.0), u.alarms, u.attempt_ms, u.heartbeat_ms, u.cancel_ms,
  to_timestamp(u.wake_at / 1000.0)
from unnest($1::uuid[], $2::smallint[], $3::smallint[], $4::integer[], $5::smallint[], $6::smallint[],
  $7::integer[], $8::smallint[], $9::bigint[], $10::bigint[], $11::text[], $12::bigint[],
  $13::smallint[], $14::bigint[], $15::integer[], $16::integer[], $17::bigint[])
  with ordinality
  as u (run_id, step_no, partition, lane, priority, kind, fence, attempt, ready_at, until,
    avoid_session, avoid_until, alarms, attempt_ms, heartbeat_ms, cancel_ms, wake_at, ordinal);

-- name: move_ready
-- Plan: ready by key.
update ready as r
set alarms = u.alarms, wake_at = to_timestamp(u.wake_at / 1000.0)
from unnest($1::uuid[], $2::smallint[], $3::smallint[], $4::bigint[])
  as u (run_id, step_no, alarms, wake_at)
where r.run_id = u.run_id and r.step_no = u.step_no and r.item = 0
returning r.step_no;

-- name: move_leases
-- Plan: lease by key.
update lease as l
set cancel = u.cancel, cancel_cause = u.cause,
  cancel_asked_at = coalesce(to_timestamp(u.asked_at / 1000.0), l.cancel_asked_at),
  wake_at = to_timestamp(u.wake_at / 1000.0)
from unnest($1::uuid[], $2::smallint[], $3::integer[], $4::smallint[], $5::smallint[], $6::bigint[],
  $7::bigint[])
  as u (run_id, step_no, fence, cancel, cause, asked_at, wake_at)
where l.run_id = u.run_id and l.step_no = u.step_no and l.item = 0 and l.fence = u.fence
returning l.step_no;

-- name: end_attempts
-- Ends leases ($1 to $3) and appends what ended, with the progress and details that the lease had.
-- A late report that is known already stays as it is. Returns how many leases have gone.
-- Plan: lease by key.
with gone as (
  delete from lease as l
  using unnest($1::uuid[], $2::smallint[], $3::integer[]) as u (run_id, step_no, fence)
  where l.run_id = u.run_id and l.step_no = u.step_no and l.item = 0 and l.fence = u.fence
  returning l.run_id, l.step_no, l.fence, l.kind, l.progress, l.details_type, l.details_json,
    l.details_data
),
kept as (
  insert into attempt (run_id, step_no, fence, kind, attempt, agent_id, session, secret, started_at,
    ended_at, outcome, class, code, message, no_effect, retry_after_ms, digest, output_type,
    output_json, output_data, progress, details_type, details_json, details_data, n)
  select u.run_id, u.step_no, u.fence, u.kind, u.attempt, u.agent_id, decode(u.session, 'hex'),
    decode(u.secret, 'hex'), to_timestamp(u.started_at / 1000.0), to_timestamp(u.ended_at / 1000.0),
    u.outcome, u.class, u.code, u.message, u.no_effect, u.retry_after_ms, decode(u.digest, 'hex'),
    u.output_type, u.output_json, u.output_data, g.progress, g.details_type, g.details_json,
    g.details_data, u.n
  from unnest($4::uuid[], $5::smallint[], $6::integer[], $7::smallint[], $8::smallint[], $9::text[],
    $10::text[], $11::text[], $12::bigint[], $13::bigint[], $14::smallint[], $15::smallint[],
    $16::text[], $17::text[], $18::boolean[], $19::bigint[], $20::text[], $21::text[], $22::text[],
    $23::bytea[], $24::integer[])
    as u (run_id, step_no, fence, kind, attempt, agent_id, session, secret, started_at, ended_at,
      outcome, class, code, message, no_effect, retry_after_ms, digest, output_type, output_json,
      output_data, n)
  left join gone as g on g.run_id = u.run_id and g.step_no = u.step_no and g.fence = u.fence
    and g.kind = u.kind
  on conflict (run_id, step_no, item, fence, kind, n) do nothing
)
select count(*)::integer as gone from gone;

-- name: settle_attempts
-- An attempt that had ended open counts as its agent says after all. Plan: attempt by key.
update attempt as a
set outcome = u.outcome, class = u.class, code = u.code, message = u.message,
  no_effect = u.no_effect, retry_after_ms = u.retry_after_ms, digest = decode(u.digest, 'hex'),
  output_type = u.output_type,
  output_json = u.output_json, output_data = u.output_data,
  ended_at = to_timestamp(u.ended_at / 1000.0)
from unnest($1::uuid[], $2::smallint[], $3::integer[], $4::smallint[], $5::bigint[], $6::smallint[],
  $7::smallint[], $8::text[], $9::text[], $10::boolean[], $11::bigint[], $12::text[], $13::text[],
  $14::text[], $15::bytea[])
  as u (run_id, step_no, fence, kind, ended_at, outcome, class, code, message, no_effect,
    retry_after_ms, digest, output_type, output_json, output_data)
where a.run_id = u.run_id and a.step_no = u.step_no and a.item = 0 and a.fence = u.fence
  and a.kind = u.kind and a.n = 0;

-- name: delete_due
-- Plan: due by key.
delete from due as d
using unnest($1::uuid[], $2::smallint[]) as u (run_id, step_no)
where d.run_id = u.run_id and d.step_no = u.step_no and d.item = 0
returning d.step_no;

-- name: insert_due
insert into due (run_id, step_no, partition, kind, wake_at)
select u.run_id, u.step_no, u.partition, 0, to_timestamp(u.wake_at / 1000.0)
from unnest($1::uuid[], $2::smallint[], $3::smallint[], $4::bigint[])
  as u (run_id, step_no, partition, wake_at);

-- name: insert_interventions
-- Unique by what it is about, so that no two supervisors record one action.
insert into intervention (run_id, step_no, fence, rule, n, partition, saw, did, due_at, acted_at, node,
  epoch)
select u.run_id, u.step_no, u.fence, u.rule, u.n, u.partition, u.saw, u.did,
  to_timestamp(u.due_at / 1000.0), to_timestamp(u.acted_at / 1000.0), u.node, u.epoch
from unnest($1::uuid[], $2::smallint[], $3::integer[], $4::smallint[], $5::integer[], $6::smallint[],
  $7::text[], $8::text[], $9::bigint[], $10::bigint[], $11::uuid[], $12::bigint[])
  as u (run_id, step_no, fence, rule, n, partition, saw, did, due_at, acted_at, node, epoch)
on conflict (run_id, step_no, item, fence, rule, n) do nothing;

-- name: open_escalations
-- Numbered within the run, which is locked.
insert into escalation (run_id, n, step_no, reason, message, opened_at, closed_at, closed_by)
select u.run_id,
  coalesce((select max(e.n) from escalation as e where e.run_id = u.run_id), 0)
    + row_number() over (partition by u.run_id order by u.step_no),
  u.step_no, u.reason, u.message, now(), case when u.closed_by is not null then now() end,
  u.closed_by
from unnest($1::uuid[], $2::smallint[], $3::smallint[], $4::text[], $5::text[])
  as u (run_id, step_no, reason, message, closed_by);

-- name: close_escalations
update escalation as e
set closed_at = now(), closed_by = u.closed_by
from unnest($1::uuid[], $2::smallint[], $3::text[]) as u (run_id, step_no, closed_by)
where e.run_id = u.run_id and e.step_no = u.step_no and e.closed_at is null;
