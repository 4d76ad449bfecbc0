-- The integrity sweep: rows as they stand, whatever they say.

-- name: walk_open_runs
-- In the order of the index, so that no row beyond the limit is read.
-- Plan: step by the run's key; run_open_pkey.
select o.run_id, o.partition, o.version, s.rows
from (
  select x.run_id, x.partition, x.version
  from run_open as x
  where x.partition = any ($1::smallint[]) and (x.partition, x.run_id) > ($2::smallint, $3::uuid)
  order by x.partition, x.run_id
  limit $4::integer
) as o
cross join lateral (
  select count(*)::integer as rows from step as x where x.run_id = o.run_id offset 0
) as s
order by o.partition, o.run_id;

-- name: stored_places
-- Each place of the runs that has any row, with all of them; one look, so that a claim is seen before or
-- after. Plan: step, ready, lease and due by the run's key.
select k.run_id, k.no as place, s.run_id is not null as is_stored, s.no, s.forward, s.undo, s.held,
  s.waiting_for, s.needs_ok, s.needs_skipped, s.strategies, s.fence, s.attempt, s.lost, s.tries, s.doubt,
  s.verifies, s.first_ready_at, s.settle_until, s.result_fence, s.result_kind, s.result_n, s.items,
  d.kind as due_kind, d.wake_at as due_at,
  l.kind as lease_kind, l.fence as lease_fence, l.attempt as lease_attempt,
  encode(l.secret, 'hex') as secret, encode(l.session, 'hex') as session, l.agent_id, l.poll_seq,
  l.granted_at, l.attempt_by, l.heartbeat_ms, l.cancel_ms, l.stall_ms, l.progress_at, l.cancel,
  l.cancel_cause, l.cancel_asked_at, l.cancel_by, l.suspect_at, l.wake_at as lease_wake_at,
  r.kind as ready_kind, r.fence as ready_fence, r.attempt as ready_attempt, r.ready_at, r.until,
  encode(r.avoid_session, 'hex') as avoid_session, r.avoid_until, r.alarms, r.wake_at as ready_wake_at,
  exists (select from lane as n where n.id = abs(r.lane)) as is_lane
from (
  select x.run_id, x.no from step as x where x.run_id = any ($1::uuid[])
  union
  select x.run_id, x.step_no from ready as x where x.run_id = any ($1::uuid[])
  union
  select x.run_id, x.step_no from lease as x where x.run_id = any ($1::uuid[])
  union
  select x.run_id, x.step_no from due as x where x.run_id = any ($1::uuid[])
) as k
left join lateral (
  select * from step as x where x.run_id = k.run_id and x.no = k.no offset 0
) as s on true
left join lateral (
  select * from due as x where x.run_id = k.run_id and x.step_no = k.no offset 0
) as d on true
left join lateral (
  select * from lease as x where x.run_id = k.run_id and x.step_no = k.no offset 0
) as l on true
left join lateral (
  select * from ready as x where x.run_id = k.run_id and x.step_no = k.no offset 0
) as r on true
order by k.run_id, k.no;

-- name: stored_runs
-- What is said of each run: by its open row, the row that stays, its slot, its messages, of which some
-- ($3) tell it of its slot. Plan: run_open, run, slot and message by key.
select now() as now, u.run_id as asked_id, u.partition as asked_partition, o.*, r.id is not null as is_there,
  r.state is not null as has_ended, r.namespace_id as run_namespace_id,
  r.definition_id as run_definition_id, r.priority as run_priority, r.created_at,
  r.concurrency_key is not null as run_keyed, r.parent_id,
  s.holds, s.namespace_id as slot_namespace_id, s.key as slot_key, m.messages, m.slot_told
from unnest($1::smallint[], $2::uuid[]) as u (partition, run_id)
left join run_open as o on o.partition = u.partition and o.run_id = u.run_id
left join run as r on r.id = u.run_id
left join lateral (
  select * from slot as x where x.run_id = u.run_id offset 0
) as s on true
cross join lateral (
  select count(*)::integer as messages, count(*) filter (where x.kind = any ($3::smallint[])) > 0 as slot_told
  from message as x where x.run_id = u.run_id
) as m;

-- name: stored_family
-- Of runs whose open row is gone: how many parents are above them, and how often they have asked.
-- Plan: run and escalation by the run's key.
select u.run_id, (
    with recursive above as (
      select r.parent_id from run as r where r.id = u.run_id
      union
      select r.parent_id from above as a join run as r on r.id = a.parent_id
    )
    select count(a.parent_id)::integer from above as a
  ) as depth,
  (select coalesce(max(e.n), 0) from escalation as e where e.run_id = u.run_id) as escalations
from unnest($1::uuid[]) as u (run_id);

-- name: stored_children
-- Of steps that wait for a child, those whose child has ended, or is not there, and which no message
-- tells of it. Plan: run by key, message by the run's key.
select u.run_id, u.step_no, u.fence
from unnest($1::uuid[], $2::integer[], $3::integer[], $4::uuid[]) as u (run_id, step_no, fence, child_id)
left join lateral (
  select x.id, x.state from run as x where x.id = u.child_id offset 0
) as r on true
where (r.id is null or r.state is not null)
  and not exists (
    select from message as m
    where m.run_id = u.run_id and m.step_key = u.step_no and m.fence = u.fence
  );

-- name: stored_questions
-- Plan: escalation by the run's key.
select e.run_id, e.n, e.step_no, e.reason, e.wake_at, e.deadline_at
from unnest($1::uuid[]) as u (run_id)
cross join lateral (
  select * from escalation as x where x.run_id = u.run_id offset 0
) as e
where e.closed_at is null
order by e.run_id, e.n;

-- name: stored_attempts
-- Tasks that ended ($2) of places that have no step. Plan: attempt and step by the run's key.
select a.run_id, a.step_no, a.kind, a.fence, a.n, a.outcome
from attempt as a
left join step as s on s.run_id = a.run_id and s.no = a.step_no
where a.run_id = any ($1::uuid[]) and a.kind = any ($2::smallint[]) and s.run_id is null
order by a.run_id, a.step_no, a.fence, a.n;

-- name: stray_runs
-- Whether the runs of the next $2 rows of each table are open, or may have such a row although they are
-- not: a run that was ever there takes its messages, and a question for one reason ($3) may outlive it.
-- Plan: ready, lease, due, message, escalation and run by the run's key.
with next as (
  (select 0 as of, x.run_id, x.partition, false as may from ready as x
    where x.run_id > $1::uuid order by x.run_id limit $2::integer)
  union all
  (select 1, x.run_id, x.partition, false from lease as x
    where x.run_id > $1::uuid order by x.run_id limit $2::integer)
  union all
  (select 2, x.run_id, x.partition, false from due as x
    where x.run_id > $1::uuid order by x.run_id limit $2::integer)
  union all
  (select 3, x.run_id, x.partition, (select count(*) from run as r where r.id = x.run_id) > 0
    from message as x
    where x.run_id > $1::uuid order by x.run_id limit $2::integer)
  union all
  (select 4, x.run_id, null, false from slot as x
    where x.run_id > $1::uuid order by x.run_id limit $2::integer)
  union all
  (select 5, x.run_id, x.partition,
      x.closed_at is not null or (x.reason = $3::smallint and x.wake_at is not null)
    from escalation as x
    where x.run_id > $1::uuid order by x.run_id limit $2::integer)
),
horizon as (
  select min(f.last) as at
  from (
    select max(n.run_id::text) as last from next as n group by n.of having count(*) >= $2::integer
  ) as f
)
select n.run_id, min(coalesce(n.partition, p.partition)) as partition, h.at as last,
  bool_and(n.may or o.run_id is not null) as is_open
from next as n
cross join horizon as h
left join lateral (
  select r.partition from run as r where n.partition is null and r.id = n.run_id
) as p on true
left join run_open as o
  on o.partition = coalesce(n.partition, p.partition) and o.run_id = n.run_id
where h.at is null or n.run_id::text <= h.at
group by n.run_id, h.at;

-- name: unopened_runs
-- Of the next $2 runs, those that have not ended and have no open row. Plan: run and run_open by key.
with next as (
  select r.id, r.partition, r.state
  from run as r
  where r.id > $1::uuid
  order by r.id
  limit $2::integer
)
select n.id as run_id, n.partition, false as is_last
from next as n
left join run_open as o on o.partition = n.partition and o.run_id = n.id
where n.state is null and o.run_id is null
union all
(select n.id, n.partition, true from next as n order by n.id desc limit 1);

-- name: remove_steps
-- Plan: step by key.
delete from step as s
using unnest($1::uuid[], $2::integer[]) as u (run_id, no)
where s.run_id = u.run_id and s.no = u.no
returning s.no;

-- name: remove_ready
-- Plan: ready by key.
delete from ready as r
using unnest($1::uuid[], $2::integer[]) as u (run_id, step_no)
where r.run_id = u.run_id and r.step_no = u.step_no
returning r.step_no;

-- name: remove_leases
-- Plan: lease by key.
delete from lease as l
using unnest($1::uuid[], $2::integer[]) as u (run_id, step_no)
where l.run_id = u.run_id and l.step_no = u.step_no
returning l.step_no;

-- name: remove_due
-- Plan: due by key.
delete from due as d
using unnest($1::uuid[], $2::integer[]) as u (run_id, step_no)
where d.run_id = u.run_id and d.step_no = u.step_no
returning d.step_no;

-- name: remove_open_runs
-- What is left of runs that are not open, and never will be. Plan: run_open and message by key.
with messages as (
  delete from message as m where m.run_id = any ($2::uuid[])
)
delete from run_open as o
using unnest($1::smallint[], $2::uuid[]) as u (partition, run_id)
where o.partition = u.partition and o.run_id = u.run_id;

-- name: restore_lanes
-- Lanes that tasks are in and that are gone, under the numbers that they had; and those of the same tasks
-- for single versions of agents.
with restored as (
  insert into lane (id, namespace_id, queue, task)
  select u.id, u.namespace_id, u.queue, u.task
  from unnest($1::integer[], $2::integer[], $3::text[], $4::text[])
    as u (id, namespace_id, queue, task)
  on conflict do nothing
)
insert into lane (namespace_id, queue, task, class)
select distinct u.namespace_id, u.queue, u.task, c.class
from unnest($2::integer[], $3::text[], $4::text[]) as u (namespace_id, queue, task)
join version_class as c on c.namespace_id = u.namespace_id and c.queue = u.queue
on conflict do nothing;
