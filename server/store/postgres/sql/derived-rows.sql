-- What is derived from the pages of runs: ready rows, leases and wake-ups.

-- name: delete_ready
-- Plan: ready by key.
with met as (
  delete from drover.ready as r
  using unnest($1::uuid[], $2::integer[]) as u (run_id, step_no)
  where r.run_id = u.run_id and r.step_no = u.step_no
  returning r.step_no
)
select drover.expect_rows(count(*), cardinality($1::uuid[]), 'the removal of ready rows') from met;

-- name: move_ready
-- Plan: ready by key.
update drover.ready as r
set until = to_timestamp(u.until / 1e3::float8)
from unnest($1::uuid[], $2::integer[], $3::float8[]) as u (run_id, step_no, until)
where r.run_id = u.run_id and r.step_no = u.step_no;

-- name: insert_ready
-- The order within a priority is (transaction, number): rows of one transaction keep their order. Those
-- of a paused workflow go where no claim looks; those that a pin keeps for one version of agents, into
-- the lane of its class. Whether there is any pause or pin is asked once, so that a row pays next to
-- nothing where there is none. Returns the lanes that claims will find them in.
-- Plan: run by key; version_pin, lane by key.
with made as (
  insert into drover.ready (run_id, step_no, partition, lane, priority, ordinal, ready_at, until)
  select u.run_id, u.step_no, u.partition,
    case when w.is_paused then -1 else 1 end * coalesce(k.lane, u.lane), u.priority, u.ordinal,
    to_timestamp(u.ready_at / 1e3::float8), to_timestamp(u.until / 1e3::float8)
  from (
    select unnest($1::uuid[]) as run_id, unnest($2::integer[]) as step_no,
      unnest($3::smallint[]) as partition, unnest($4::integer[]) as lane,
      unnest($5::smallint[]) as priority, unnest($6::float8[]) as ready_at,
      unnest($7::float8[]) as until, unnest($8::integer[]) as namespace_id,
      unnest($9::bigint[]) as definition_id, generate_subscripts($1::uuid[], 1) as ordinal
  ) as u
  left join lateral (
    select r.workflow, exists (
      select from drover.paused_workflow as p
      where p.namespace_id = u.namespace_id and p.name = r.workflow
    ) as is_paused
    from drover.run as r
    where ((select exists (select from drover.paused_workflow))
      or (select exists (select from drover.version_pin))) and r.id = u.run_id
    offset 0
  ) as w on true
  left join lateral (
    select t.id as lane
    from (
      select x.queue, x.class, x.definition_id
      from drover.version_pin as x
      where (select exists (select from drover.version_pin)) and x.namespace_id = u.namespace_id
        and x.workflow = w.workflow and x.definition_id in (0, u.definition_id)
      offset 0
    ) as v
    join drover.lane as l on l.id = u.lane and l.queue = v.queue
    join drover.lane as t on t.namespace_id = l.namespace_id and t.queue = l.queue and t.task = l.task
      and t.class = v.class
    order by v.definition_id desc
    limit 1
  ) as k on true
  returning lane
)
select distinct m.lane from made as m where m.lane > 0;

-- name: insert_leases
-- With a row for a session that holds a task and was never heard of: sessions are watched. One that has a
-- row is written only if it was found idle, or to lower the time by which it is watched (release_sessions).
-- Plan: lane, agent_session by key.
with watched as (
  insert into drover.agent_session as s (session, namespace_id, agent_id, agent_version, heartbeat_ms)
  select distinct on (u.session) decode(u.session, 'hex'), l.namespace_id, u.agent_id, '', u.heartbeat_ms
  from unnest($4::integer[], $6::text[], $10::integer[], $11::text[])
    as u (lane, session, heartbeat_ms, agent_id)
  join drover.lane as l on l.id = u.lane
  where (
    select x.heartbeat_ms <= u.heartbeat_ms and x.idle_at is null
    from drover.agent_session as x
    where x.session = decode(u.session, 'hex')
  ) is not true
  order by u.session, u.heartbeat_ms
  on conflict (session) do update
    set heartbeat_ms = least(s.heartbeat_ms, excluded.heartbeat_ms), idle_at = null
    where s.idle_at is not null or s.heartbeat_ms is null or s.heartbeat_ms > excluded.heartbeat_ms
)
insert into drover.lease (run_id, step_no, partition, lane, fence, session, secret, poll_seq, granted_at,
  heartbeat_ms, cancel)
select u.run_id, u.step_no, u.partition, u.lane, u.fence, decode(u.session, 'hex'), decode(u.secret, 'hex'),
  u.poll_seq, to_timestamp(u.granted_at / 1e3::float8), u.heartbeat_ms, u.cancel
from unnest($1::uuid[], $2::integer[], $3::smallint[], $4::integer[], $5::integer[], $6::text[],
  $7::text[], $8::bigint[], $9::float8[], $10::integer[], $12::text[])
  as u (run_id, step_no, partition, lane, fence, session, secret, poll_seq, granted_at, heartbeat_ms,
    cancel);

-- name: cancel_leases
-- Plan: lease by key.
update drover.lease as l
set cancel = u.cancel
from unnest($1::uuid[], $2::integer[], $3::text[]) as u (run_id, step_no, cancel)
where l.run_id = u.run_id and l.step_no = u.step_no;

-- name: delete_leases
-- Plan: lease by key.
with met as (
  delete from drover.lease as l
  using unnest($1::uuid[], $2::integer[]) as u (run_id, step_no)
  where l.run_id = u.run_id and l.step_no = u.step_no
  returning l.step_no
)
select drover.expect_rows(count(*), cardinality($1::uuid[]), 'the removal of leases') from met;

-- name: end_leases
-- The same, of tasks that have ended. Returns the lanes of queues with limits that they were of, in which
-- others may be handed out now. Plan: lease by key.
with gone as (
  delete from drover.lease as l
  using unnest($1::uuid[], $2::integer[], $3::text[]) as u (run_id, step_no, secret)
  where l.run_id = u.run_id and l.step_no = u.step_no and l.secret = decode(u.secret, 'hex')
  returning l.lane
)
select drover.expect_rows(count(*), cardinality($1::uuid[]), 'the end of leases'),
  (
    select coalesce(array_agg(distinct o.id), '{}')
    from gone as g
    join drover.limited_lane as f on f.lane = g.lane
    join drover.lane as o on o.namespace_id = f.namespace_id and o.queue = f.queue
  ) as freed
from gone;

-- name: derived_rows_of_runs
-- Plan: ready, lease by the run's key.
select r.run_id, 'ready' as of, r.step_no, null as secret, r.until, 'none' as cancel
from drover.ready as r
where r.run_id = any ($1::uuid[])
union all
select l.run_id, 'lease', l.step_no, encode(l.secret, 'hex'), null, l.cancel
from drover.lease as l
where l.run_id = any ($1::uuid[]);

-- name: remove_derived_rows
-- Plan: ready, lease by the run's key.
with ready as (
  delete from drover.ready as r where r.run_id = any ($1::uuid[])
)
delete from drover.lease as l where l.run_id = any ($1::uuid[]);

-- name: set_wake_ups
-- Plan: run_page by key.
update drover.run_page as p
set wake_at = coalesce(to_timestamp(u.wake_at / 1e3::float8), case when u.no = 0 then timestamptz 'infinity' end)
from unnest($1::uuid[], $2::integer[], $3::float8[]) as u (run_id, no, wake_at)
where p.run_id = u.run_id and p.no = u.no;
