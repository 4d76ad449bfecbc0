-- Leases: the derived row of each task that is with an agent. They are written in the transaction that
-- writes the page.

-- name: insert_leases
-- Purpose: Inserts leases, and makes their sessions watched. A session without a row gets one. A row of a
--   session is written only if the session was found idle (release_sessions) or if its heartbeat timeout is
--   longer than that of the lease.
-- Params: Parallel arrays: :run_id uuid[], :step_no integer[] (step key), :partition smallint[], :lane
--   integer[], :fence integer[], :session text[] (hex), :secret text[] (hex), :poll_seq bigint[] (number of
--   the poll), :granted_at float8[] (ms since 1970), :heartbeat_ms integer[], :agent_id text[], :cancel
--   text[] (none, asked or received).
-- Plan: lane, agent_session by key.
with watched as (
  insert into drover.agent_session as s (session, namespace_id, agent_id, agent_version, started_at, heartbeat_ms)
  select distinct on (u.session) decode(u.session, 'hex'), l.namespace_id, u.agent_id, '',
    drover.transaction_time(l.id), u.heartbeat_ms
  from unnest(:lane::integer[], :session::text[], :heartbeat_ms::integer[], :agent_id::text[])
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
from unnest(:run_id::uuid[], :step_no::integer[], :partition::smallint[], :lane::integer[],
  :fence::integer[], :session::text[],
  :secret::text[], :poll_seq::bigint[], :granted_at::float8[], :heartbeat_ms::integer[], :cancel::text[])
  as u (run_id, step_no, partition, lane, fence, session, secret, poll_seq, granted_at, heartbeat_ms,
    cancel);

-- name: cancel_leases
-- Purpose: Stores whether the agents of leases have to stop.
-- Params: Parallel arrays: :run_id uuid[], :step_no integer[] (step key), :cancel text[] (none, asked or
--   received).
-- Plan: lease by key.
update drover.lease as l
set cancel = u.cancel
from unnest(:run_id::uuid[], :step_no::integer[], :cancel::text[]) as u (run_id, step_no, cancel)
where l.run_id = u.run_id and l.step_no = u.step_no;

-- name: delete_leases
-- Purpose: Deletes leases. If one does not exist, the transaction fails.
-- Params: Parallel arrays: :run_id uuid[], :step_no integer[] (step key).
-- Plan: lease by key.
with met as (
  delete from drover.lease as l
  using unnest(:run_id::uuid[], :step_no::integer[]) as u (run_id, step_no)
  where l.run_id = u.run_id and l.step_no = u.step_no
  returning l.step_no
)
select drover.expect_rows(count(*), cardinality(:run_id::uuid[]), 'the removal of leases') from met;

-- name: end_leases
-- Purpose: Deletes leases of tasks that have ended. If one does not exist, the transaction fails.
-- Params: Parallel arrays: :run_id uuid[], :step_no integer[] (step key), :secret text[] (hex).
-- Plan: lease by key.
-- Result: freed: all lanes of the queues with limits of which a lease ended. Claims may take more there
--   now.
with gone as (
  delete from drover.lease as l
  using unnest(:run_id::uuid[], :step_no::integer[], :secret::text[]) as u (run_id, step_no, secret)
  where l.run_id = u.run_id and l.step_no = u.step_no and l.secret = decode(u.secret, 'hex')
  returning l.lane
)
select drover.expect_rows(count(*), cardinality(:run_id::uuid[]), 'the end of leases'),
  (
    select coalesce(array_agg(distinct o.id), '{}')
    from gone as g
    join drover.limited_lane as f on f.lane = g.lane
    join drover.lane as o on o.namespace_id = f.namespace_id and o.queue = f.queue
  ) as freed
from gone;
