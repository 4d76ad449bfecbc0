-- Steps of locked runs, and the rows beside them.

-- name: load_steps
-- Of runs named whole ($1) the steps, and the items that are not done for good ($4, $5: the states in
-- which a side is); and the steps and items at places ($2, $3). With their lease, locked, and their due
-- row.
-- A step that is OPEN and has no lease here has a ready row, or was claimed a moment ago: see
-- lock_ready_rows. Plan: step, lease and due by key, step once by the run's key.
select s.run_id, s.no, s.forward, s.undo, s.held, s.waiting_for, s.needs_ok, s.needs_skipped, s.strategies,
  s.fence, s.attempt, s.lost, s.tries, s.doubt, s.verifies, s.first_ready_at, s.settle_until,
  s.result_fence, s.result_kind, s.result_n, s.items, d.kind as due_kind, d.wake_at as due_at,
  h.kind as lease_kind, h.fence as lease_fence, h.attempt as lease_attempt,
  encode(h.secret, 'hex') as secret, encode(h.session, 'hex') as session, h.agent_id, h.poll_seq,
  h.granted_at, h.attempt_by, h.heartbeat_ms, h.cancel_ms, h.stall_ms, h.progress_at, h.cancel,
  h.cancel_cause, h.cancel_asked_at, h.cancel_by, h.suspect_at, h.wake_at as lease_wake_at
from (
  select s.run_id, s.no
  from unnest($1::uuid[]) as a (run_id)
  join step as s on s.run_id = a.run_id
  where s.no < 512 or s.forward <> all ($4::smallint[]) or s.undo <> all ($5::smallint[])
    or s.settle_until is not null
  union
  select w.run_id, w.no
  from unnest($2::uuid[], $3::integer[]) as w (run_id, no)
) as w
cross join lateral (
  select *
  from step as x
  where x.run_id = w.run_id and x.no = w.no
  limit 1
) as s
left join lateral (
  select *
  from lease as x
  where x.run_id = s.run_id and x.step_no = s.no
  for update
) as h on true
left join lateral (
  select x.kind, x.wake_at
  from due as x
  where x.run_id = s.run_id and x.step_no = s.no
  limit 1
) as d on true;

-- name: items_to_undo
-- Of maps ($1, $2) the items that are undone next, at most so many ($3). Plan: step by key.
select s.run_id, s.no
from unnest($1::uuid[], $2::integer[], $3::integer[]) as m (run_id, no, most)
join step as t on t.run_id = m.run_id and t.no = m.no
cross join lateral (select (t.items ->> 'undoFrom')::integer as item) as f
cross join lateral (
  select i.run_id, i.no
  from step as i
  where i.run_id = m.run_id and i.no % 512 = m.no
    and i.no >= 512 * greatest(1, f.item - m.most + 1) and i.no < 512 * (f.item + 1)
  offset 0
) as s;

-- name: lock_ready_rows
-- Waits for a claim that is moving the row; then the row is gone and its lease is there.
-- Plan: ready by key.
select r.run_id, r.step_no, r.kind, r.fence, r.attempt, r.ready_at, r.until,
  encode(r.avoid_session, 'hex') as avoid_session, r.avoid_until, r.alarms, r.wake_at
from unnest($1::uuid[], $2::integer[]) as u (run_id, step_no)
join ready as r on r.run_id = u.run_id and r.step_no = u.step_no
order by r.run_id, r.step_no
for update of r;

-- name: lock_leases
-- Plan: lease by key.
select l.run_id, l.step_no, l.kind as lease_kind, l.fence as lease_fence, l.attempt as lease_attempt,
  encode(l.secret, 'hex') as secret, encode(l.session, 'hex') as session, l.agent_id, l.poll_seq,
  l.granted_at, l.attempt_by, l.heartbeat_ms, l.cancel_ms, l.stall_ms, l.progress_at, l.cancel,
  l.cancel_cause, l.cancel_asked_at, l.cancel_by, l.suspect_at, l.wake_at as lease_wake_at
from unnest($1::uuid[], $2::integer[]) as u (run_id, step_no)
join lease as l on l.run_id = u.run_id and l.step_no = u.step_no
order by l.run_id, l.step_no
for update of l;

-- name: load_attempts
-- What late reports are judged by: the tasks ($4) that ended with a fence. Plan: attempt by key.
select a.run_id, a.step_no, a.kind, a.fence, a.n, a.attempt, encode(a.secret, 'hex') as secret, a.agent_id,
  encode(a.session, 'hex') as session, a.started_at, a.outcome, a.class, a.charged,
  encode(a.digest, 'hex') as digest
from unnest($1::uuid[], $2::integer[], $3::integer[]) as u (run_id, step_no, fence)
cross join lateral (
  select *
  from attempt as x
  where x.run_id = u.run_id and x.step_no = u.step_no and x.fence = u.fence
    and x.kind = any ($4::smallint[]) and x.secret is not null
  offset 0
) as a
order by a.run_id, a.step_no, a.fence, a.kind, a.n;

-- name: insert_steps
-- A step has its row from the end of its first need on. Not `on conflict`, which costs a row as much
-- again: whether it is there is known under the lock of its run.
insert into step (run_id, no, forward, undo, held, waiting_for, needs_ok, needs_skipped, strategies, fence,
  attempt, lost, tries, doubt, verifies, first_ready_at, settle_until, result_fence, result_kind,
  result_n, items)
select u.run_id, u.no, u.forward, u.undo, u.held, u.waiting_for, u.needs_ok, u.needs_skipped,
  u.strategies::smallint[], u.fence, u.attempt, u.lost, u.tries::smallint[], u.doubt, u.verifies,
  to_timestamp(u.first_ready_at / 1e3::float8), to_timestamp(u.settle_until / 1e3::float8), u.result_fence,
  u.result_kind, u.result_n, u.items::jsonb
from (
  select unnest($1::uuid[]) as run_id, unnest($2::integer[]) as no, unnest($3::smallint[]) as forward,
    unnest($4::smallint[]) as undo, unnest($5::smallint[]) as held,
    unnest($6::smallint[]) as waiting_for, unnest($7::smallint[]) as needs_ok,
    unnest($8::smallint[]) as needs_skipped, unnest($9::text[]) as strategies,
    unnest($10::integer[]) as fence, unnest($11::smallint[]) as attempt,
    unnest($12::smallint[]) as lost, unnest($13::text[]) as tries, unnest($14::text[]) as doubt,
    unnest($15::smallint[]) as verifies, unnest($16::bigint[]) as first_ready_at,
    unnest($17::bigint[]) as settle_until, unnest($18::integer[]) as result_fence,
    unnest($19::smallint[]) as result_kind, unnest($20::integer[]) as result_n,
    unnest($21::text[]) as items
) as u;

-- name: update_steps
-- Plan: step by key. HOT.
update step as s
set forward = u.forward, undo = u.undo, held = u.held, waiting_for = u.waiting_for,
  needs_ok = u.needs_ok, needs_skipped = u.needs_skipped, strategies = u.strategies::smallint[],
  fence = u.fence, attempt = u.attempt, lost = u.lost, tries = u.tries::smallint[], doubt = u.doubt,
  verifies = u.verifies, first_ready_at = to_timestamp(u.first_ready_at / 1e3::float8),
  settle_until = to_timestamp(u.settle_until / 1e3::float8), result_fence = u.result_fence,
  result_kind = u.result_kind, result_n = u.result_n, items = u.items::jsonb
from (
  select unnest($1::uuid[]) as run_id, unnest($2::integer[]) as no, unnest($3::smallint[]) as forward,
    unnest($4::smallint[]) as undo, unnest($5::smallint[]) as held,
    unnest($6::smallint[]) as waiting_for, unnest($7::smallint[]) as needs_ok,
    unnest($8::smallint[]) as needs_skipped, unnest($9::text[]) as strategies,
    unnest($10::integer[]) as fence, unnest($11::smallint[]) as attempt,
    unnest($12::smallint[]) as lost, unnest($13::text[]) as tries, unnest($14::text[]) as doubt,
    unnest($15::smallint[]) as verifies, unnest($16::bigint[]) as first_ready_at,
    unnest($17::bigint[]) as settle_until, unnest($18::integer[]) as result_fence,
    unnest($19::smallint[]) as result_kind, unnest($20::integer[]) as result_n,
    unnest($21::text[]) as items
) as u
where s.run_id = u.run_id and s.no = u.no
returning s.no;

-- name: delete_ready
-- Plan: ready by key.
delete from ready as r
using unnest($1::uuid[], $2::integer[], $3::smallint[], $4::integer[], $5::smallint[])
  as u (run_id, step_no, kind, fence, attempt)
where r.run_id = u.run_id and r.step_no = u.step_no and r.kind = u.kind
  and r.fence = u.fence and r.attempt = u.attempt
returning r.step_no;

-- name: insert_ready
-- The order within a priority is (transaction, number): rows of one transaction keep their order. Those
-- of a paused workflow go where no claim looks; those that a pin keeps for one version of agents, into
-- the lane of its class. Whether there is any pin is asked once, and pins are looked for before lanes, so
-- that a row pays next to nothing where there is none. Returns the lanes that claims will find them in.
with made as (
  insert into ready (run_id, step_no, partition, lane, priority, ordinal, kind, fence, attempt, ready_at,
    until, avoid_session, avoid_until, alarms, attempt_ms, heartbeat_ms, cancel_ms, stall_ms, slow_ms,
    wake_at, plain)
  select u.run_id, u.step_no, u.partition,
    case when p.name is null then 1 else -1 end * coalesce(k.lane, u.lane), u.priority, u.ordinal, u.kind,
    u.fence, u.attempt,
    to_timestamp(u.ready_at / 1e3::float8), to_timestamp(u.until / 1e3::float8), decode(u.avoid_session, 'hex'),
    to_timestamp(u.avoid_until / 1e3::float8), u.alarms, u.attempt_ms, u.heartbeat_ms, u.cancel_ms,
    u.stall_ms, u.slow_ms, to_timestamp(u.wake_at / 1e3::float8), u.plain
  from (
    select unnest($1::uuid[]) as run_id, unnest($2::integer[]) as step_no,
      unnest($3::smallint[]) as partition, unnest($4::integer[]) as lane,
      unnest($5::smallint[]) as priority, unnest($6::smallint[]) as kind,
      unnest($7::integer[]) as fence, unnest($8::smallint[]) as attempt,
      unnest($9::bigint[]) as ready_at, unnest($10::bigint[]) as until,
      unnest($11::text[]) as avoid_session, unnest($12::bigint[]) as avoid_until,
      unnest($13::smallint[]) as alarms, unnest($14::bigint[]) as attempt_ms,
      unnest($15::integer[]) as heartbeat_ms, unnest($16::integer[]) as cancel_ms,
      unnest($17::bigint[]) as stall_ms, unnest($18::bigint[]) as slow_ms,
      unnest($19::bigint[]) as wake_at, unnest($20::integer[]) as namespace_id,
      unnest($21::text[]) as workflow, unnest($22::bigint[]) as definition_id,
      unnest($23::boolean[]) as plain, generate_subscripts($1::uuid[], 1) as ordinal
  ) as u
  left join paused_workflow as p on p.namespace_id = u.namespace_id and p.name = u.workflow
  left join lateral (
    select t.id as lane
    from (
      select x.queue, x.class, x.definition_id
      from version_pin as x
      where (select exists (select from version_pin)) and x.namespace_id = u.namespace_id
        and x.workflow = u.workflow and x.definition_id in (0, u.definition_id)
      offset 0
    ) as v
    join lane as l on l.id = u.lane and l.queue = v.queue
    join lane as t on t.namespace_id = l.namespace_id and t.queue = l.queue and t.task = l.task
      and t.class = v.class
    order by v.definition_id desc
    limit 1
  ) as k on true
  returning lane
)
select distinct m.lane from made as m where m.lane > 0;

-- name: move_ready
-- Plan: ready by key.
update ready as r
set alarms = u.alarms, wake_at = to_timestamp(u.wake_at / 1e3::float8),
  until = to_timestamp(u.until / 1e3::float8)
from unnest($1::uuid[], $2::integer[], $3::smallint[], $4::integer[], $5::smallint[], $6::smallint[],
  $7::bigint[], $8::bigint[])
  as u (run_id, step_no, kind, fence, attempt, alarms, wake_at, until)
where r.run_id = u.run_id and r.step_no = u.step_no and r.kind = u.kind
  and r.fence = u.fence and r.attempt = u.attempt
returning r.step_no;

-- name: move_leases
-- Plan: lease by key.
update lease as l
set cancel = u.cancel, cancel_cause = u.cause,
  cancel_asked_at = coalesce(to_timestamp(u.asked_at / 1e3::float8), l.cancel_asked_at),
  suspect_at = to_timestamp(u.suspect_at / 1e3::float8), wake_at = to_timestamp(u.wake_at / 1e3::float8)
from unnest($1::uuid[], $2::integer[], $3::text[], $4::smallint[], $5::smallint[], $6::bigint[],
  $7::bigint[], $8::bigint[])
  as u (run_id, step_no, secret, cancel, cause, asked_at, suspect_at, wake_at)
where l.run_id = u.run_id and l.step_no = u.step_no
  and l.secret = decode(u.secret, 'hex')
returning l.step_no;

-- name: delete_due
-- Plan: due by key.
delete from due as d
using unnest($1::uuid[], $2::integer[], $3::smallint[]) as u (run_id, step_no, kind)
where d.run_id = u.run_id and d.step_no = u.step_no and d.kind = u.kind
returning d.step_no;

-- name: insert_due
-- What a step waits for that has no row of its own, by its kind (codes.ts).
insert into due (run_id, step_no, partition, kind, wake_at)
select u.run_id, u.step_no, u.partition, u.kind, to_timestamp(u.wake_at / 1e3::float8)
from unnest($1::uuid[], $2::integer[], $3::smallint[], $4::smallint[], $5::bigint[])
  as u (run_id, step_no, partition, kind, wake_at);
