-- Agent sessions as the servers report them. No other file writes rows of agent.

-- name: mark_agents
-- Purpose: Stores what a server has seen of agent sessions. A value that this server has not seen (null)
--   leaves the stored one. A session that was silent is no longer silent once it has called since.
-- Params: :server text (its address). Parallel arrays, one element per session: :session text[] (hex),
--   :namespace_id integer[], :agent_id text[], :agent_version text[], :labels text[] (JSON), :queues text[]
--   and :tasks text[] (JSON, of the last poll here; null: none), :ago bigint[] (ms since the session was
--   last seen: it called, or its poll was parked), :succeeded_ago bigint[] (ms since its last accepted
--   success; null: none here), :called_ago bigint[] (ms since its last call).
-- Locks: Rows in key order; waits for other servers.
-- Note: A session that belongs to another namespace stays as it is. Updates are HOT, because no changed
--   column is indexed, unless the session was silent.
insert into drover.agent as a (session, namespace_id, agent_id, agent_version, labels, queues, tasks, server,
  seen_at, succeeded_at, called_at)
select decode(u.session, 'hex'), u.namespace_id, u.agent_id, u.agent_version, u.labels::jsonb,
  u.queues::jsonb, u.tasks::jsonb, :server::text, now() - u.ago_ms * interval '1 millisecond',
  now() - u.succeeded_ago_ms * interval '1 millisecond',
  now() - u.called_ago_ms * interval '1 millisecond'
from unnest(:session::text[], :namespace_id::integer[], :agent_id::text[], :agent_version::text[],
  :labels::text[], :queues::text[], :tasks::text[],
  :ago::bigint[], :succeeded_ago::bigint[], :called_ago::bigint[])
  as u (session, namespace_id, agent_id, agent_version, labels, queues, tasks, ago_ms, succeeded_ago_ms,
    called_ago_ms)
order by u.session
on conflict (session) do update
set agent_version = excluded.agent_version, labels = excluded.labels,
  queues = coalesce(excluded.queues, a.queues), tasks = coalesce(excluded.tasks, a.tasks),
  server = excluded.server, seen_at = greatest(a.seen_at, excluded.seen_at),
  succeeded_at = greatest(a.succeeded_at, excluded.succeeded_at),
  called_at = greatest(a.called_at, excluded.called_at),
  silent_since = case when excluded.called_at < a.silent_since then a.silent_since end
where a.namespace_id = excluded.namespace_id;

-- name: mark_silent
-- Purpose: Marks sessions as silent. A session that lost a lease (:session to :heartbeat_ms) is silent if
--   it had sent no heartbeat within the timeout of that lease before. A session whose connection closed
--   (:closed_session, :closed_ago) is silent if it holds no lease; where it holds one, the lease decides. A
--   session that has called since is not silent.
-- Params: Parallel arrays: :session text[] (hex), :at bigint[] (ms since 1970, when the lease was lost),
--   :heartbeat_ms bigint[] (timeout of the lease). Parallel arrays: :closed_session text[] (hex),
--   :closed_ago bigint[] (ms since the connection closed).
-- Locks: Rows of agent in key order; waits for other servers.
-- Plan: agent, agent_session by key, lease_session.
-- Note: Times of leases are whole milliseconds, so a call in the same millisecond counts as earlier.
with said as (
  select decode(u.session, 'hex') as session, to_timestamp(u.at / 1e3::float8) as since, u.heartbeat_ms
  from unnest(:session::text[], :at::bigint[], :heartbeat_ms::bigint[]) as u (session, at, heartbeat_ms)
  union all
  select decode(u.session, 'hex'), now() - u.ago_ms * interval '1 millisecond', null
  from unnest(:closed_session::text[], :closed_ago::bigint[]) as u (session, ago_ms)
),
found as materialized (
  select a.session, s.since
  from said as s
  join drover.agent as a on a.session = s.session
  left join drover.agent_session as b on b.session = s.session
  cross join lateral (
    select (select true from drover.lease as l where l.session = s.session limit 1) as holds
  ) as h
  where a.silent_since is null
    and date_trunc('milliseconds', coalesce(a.called_at, a.first_seen_at)) <= s.since and case
    when s.heartbeat_ms is null then h.holds is null
    else (b.last_heartbeat_at > s.since - s.heartbeat_ms * interval '1 millisecond') is not true
  end
  order by a.session
  for update of a
)
update drover.agent as a
set silent_since = f.since
from found as f
where a.session = f.session;

-- name: list_agents
-- Purpose: Lists agent sessions of a namespace by agent id and session.
-- Params: :namespace_id integer, :agent_id text (null: all), :session text (hex; null: all),
--   :after_agent_id text and :after_session text (hex; the last row of the previous page, null: the first
--   page), :limit integer, :held_max integer.
-- Plan: agent_by_name, lease_session.
-- Result: queues is null if the session has not polled yet, last_heartbeat_at if it has sent no heartbeat,
--   silent_since if it is not silent. held counts its leases, up to :held_max.
with page as (
  select a.*
  from drover.agent as a
  where a.namespace_id = :namespace_id::integer
    and (:agent_id::text is null or a.agent_id = :agent_id::text)
    and (:session::text is null or a.session = decode(:session::text, 'hex'))
    and (:after_agent_id::text is null or (a.agent_id, a.session) > (:after_agent_id::text,
      decode(:after_session::text, 'hex')))
  order by a.agent_id, a.session
  limit :limit::integer
)
select encode(a.session, 'hex') as session, a.agent_id, a.agent_version, a.labels, a.queues, a.tasks,
  a.server, a.first_seen_at, a.seen_at, a.succeeded_at, a.silent_since,
  s.last_heartbeat_at,
  (select count(*) from (
    select from drover.lease as l where l.session = a.session limit :held_max::integer
  ) as counted)::integer as held
from page as a
left join drover.agent_session as s on s.session = a.session
order by a.agent_id, a.session;

-- name: held_tasks
-- Purpose: Lists the tasks that a session holds, the longest held first.
-- Params: :session text (hex), :limit integer.
-- Plan: lease_session; run, run_page by key.
-- Result: One row for each lease, with the page of its step. The caller reads all else from the page.
with held as materialized (
  select l.*
  from drover.lease as l
  where l.session = decode(:session::text, 'hex')
  order by l.granted_at, l.run_id, l.step_no
  limit :limit::integer
)
select l.run_id, l.step_no, n.queue, n.task, r.workflow, r.definition_id, (
  select p.state from drover.run_page as p where p.run_id = l.run_id and p.no = drover.page_of(l.step_no)
) as page
from held as l
join drover.lane as n on n.id = l.lane
cross join lateral (
  select x.workflow, x.definition_id from drover.run as x where x.id = l.run_id offset 0
) as r
order by l.granted_at, l.run_id, l.step_no;

-- name: forget_agents
-- Purpose: Deletes sessions that were not seen for :retention ms and hold no lease.
-- Params: :rows_max integer, :retention bigint (ms).
-- Plan: lease_session.
-- Result: One row. more: :rows_max rows were deleted, so there may be more.
with gone as (
  delete from drover.agent as a
  where a.session in (
    select o.session
    from drover.agent as o
    left join lateral (
      select true as holds from drover.lease as l where l.session = o.session limit 1
    ) as h on true
    where o.seen_at < now() - :retention::bigint * interval '1 millisecond' and h.holds is null
    limit :rows_max::integer
  )
  returning 1
)
select count(*) = :rows_max::integer as more from gone;
