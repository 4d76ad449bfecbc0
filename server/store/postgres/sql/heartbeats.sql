-- Heartbeats. A heartbeat is of a session and renews all of its leases.

-- name: store_heartbeats
-- Purpose: Stores the heartbeats of sessions. It precedes leases_of_heartbeats.
-- Params: Parallel arrays, one element per session: :session text[] (hex), :namespace_id integer[],
--   :agent_id text[], :agent_version text[].
-- Locks: Rows in key order; waits for passes that read them (last_heartbeats) and for other servers.
-- Result: Only sessions that belong to another namespace than :namespace_id says, with the right one;
--   nothing is stored for them. A session belongs to the namespace of its first heartbeat. namespace_id is
--   null if the row is not visible yet.
-- Note: The time of the last heartbeat does not go back. This statement may have waited while another
--   server stored a later heartbeat of the session and answered its agent. A stored time ahead of the
--   database's clock is replaced, because the clock was set back. Updates are HOT: no changed column is
--   indexed.
with asked as materialized (
  select decode(u.session, 'hex') as session, u.namespace_id, u.agent_id, u.agent_version
  from unnest(:session::text[], :namespace_id::integer[], :agent_id::text[], :agent_version::text[])
    as u (session, namespace_id, agent_id, agent_version)
),
stored as (
  insert into drover.agent_session as s (session, namespace_id, agent_id, agent_version, last_heartbeat_at)
  select decode(u.session, 'hex'), u.namespace_id, u.agent_id, u.agent_version, now()
  from unnest(:session::text[], :namespace_id::integer[], :agent_id::text[], :agent_version::text[])
    as u (session, namespace_id, agent_id, agent_version)
  order by 1
  on conflict (session) do update
    set last_heartbeat_at = case when s.last_heartbeat_at > excluded.last_heartbeat_at
        then least(s.last_heartbeat_at, drover.clock_time(s.session)) else excluded.last_heartbeat_at end,
      agent_version = excluded.agent_version
    where s.namespace_id = excluded.namespace_id
  returning s.session
)
select encode(a.session, 'hex') as session, s.namespace_id
from asked as a
left join drover.agent_session as s on s.session = a.session
where a.session not in (select s.session from stored as s);

-- name: last_heartbeats
-- Purpose: Reads the last heartbeats of sessions, for passes that may end their leases.
-- Params: :sessions text[] (hex).
-- Locks: Rows in the order of the sessions, shared. A heartbeat that arrives now waits for the pass and
--   then finds that its lease has ended.
-- Plan: agent_session by key.
-- Result: last_heartbeat_at is null if there was no heartbeat.
select encode(s.session, 'hex') as session, s.last_heartbeat_at
from unnest(:sessions::text[]) as u (session)
join drover.agent_session as s on s.session = decode(u.session, 'hex')
order by s.session
for share of s;

-- name: leases_of_heartbeats
-- Purpose: Finds the leases that heartbeats report (:run_id to :session), and leases that their session has
--   forgotten. A session in :all_session has listed every lease that it was granted up to a poll and still
--   holds; what it leaves out it has forgotten.
-- Params: Parallel arrays, one element per report: :run_id uuid[], :step_no integer[] (step key), :fence
--   integer[], :secret text[] (hex), :session text[] (hex). Parallel arrays: :all_session text[] (hex),
--   :lists_all_to bigint[] (number of the poll).
-- Plan: lease by key; lease_session, one probe a session that lists all.
-- Result: place is the position of the report, from 1; a report without a row has lost its lease. place is
--   null for a forgotten lease. The reports of one session in one batch count as one list.
with asked as materialized (
  select *
  from unnest(:run_id::uuid[], :step_no::integer[], :fence::integer[], :secret::text[],
    :session::text[]) with ordinality
    as a (run_id, step_no, fence, secret, session, place)
)
select a.place, l.heartbeat_ms, l.cancel, null::uuid as run_id, null::smallint as partition,
  null::integer as step_no, null::integer as fence, null::text as secret
from asked as a
join drover.lease as l on l.run_id = a.run_id and l.step_no = a.step_no
  and l.fence = a.fence and l.secret = decode(a.secret, 'hex')
  and l.session = decode(a.session, 'hex')
union all
select null, null, null, l.run_id, l.partition, l.step_no, l.fence, encode(l.secret, 'hex')
from unnest(:all_session::text[], :lists_all_to::bigint[]) as w (session, lists_all_to)
cross join lateral (
  select x.*
  from drover.lease as x
  where x.session = decode(w.session, 'hex') and x.poll_seq <= w.lists_all_to
  offset 0
) as l
where not exists (
  select from asked as a
  where a.run_id = l.run_id and a.step_no = l.step_no and a.secret = encode(l.secret, 'hex')
);
