-- Agent sessions as the servers report them, and how their attempts ended. No other file writes rows of
-- agent.

-- name: mark_agents
-- Purpose: Stores what a server has seen of agent sessions. A value that this server has not seen (null)
--   leaves the stored one. A session that was silent is no longer silent once it has called since.
-- Params: :server text (its address). Parallel arrays, one element per session: :session text[] (hex),
--   :namespace_id integer[], :agent_id text[], :agent_version text[], :labels text[] (JSON), :queues text[]
--   and :tasks text[] (JSON, of the last poll here; null: none), :ago bigint[] (ms since the session was
--   last seen: it called, or its poll was parked), :succeeded_ago bigint[] (ms since its last accepted
--   success; null: none here), :called_ago bigint[] (ms since its last call), :host text[] (null: not
--   stated here), :pid integer[], :capacity integer[], :started_ago bigint[] (ms since the session began),
--   :clock_ahead bigint[] (ms).
-- Locks: Rows in key order; waits for other servers.
-- Note: A session that belongs to another namespace stays as it is. Updates are HOT, because no changed
--   column is indexed, unless the session was silent.
insert into drover.agent as a (session, namespace_id, agent_id, agent_version, labels, queues, tasks, server,
  seen_at, succeeded_at, called_at, host, pid, capacity, started_at, clock_ahead_ms)
select decode(u.session, 'hex'), u.namespace_id, u.agent_id, u.agent_version, u.labels::jsonb,
  u.queues::jsonb, u.tasks::jsonb, :server::text, now() - u.ago_ms * interval '1 millisecond',
  now() - u.succeeded_ago_ms * interval '1 millisecond',
  now() - u.called_ago_ms * interval '1 millisecond', coalesce(u.host, ''), u.pid, u.capacity,
  now() - u.started_ago_ms * interval '1 millisecond', u.clock_ahead_ms
from unnest(:session::text[], :namespace_id::integer[], :agent_id::text[], :agent_version::text[],
  :labels::text[], :queues::text[], :tasks::text[],
  :ago::bigint[], :succeeded_ago::bigint[], :called_ago::bigint[], :host::text[], :pid::integer[],
  :capacity::integer[], :started_ago::bigint[], :clock_ahead::bigint[])
  as u (session, namespace_id, agent_id, agent_version, labels, queues, tasks, ago_ms, succeeded_ago_ms,
    called_ago_ms, host, pid, capacity, started_ago_ms, clock_ahead_ms)
order by u.session
on conflict (session) do update
set agent_version = excluded.agent_version, labels = excluded.labels,
  queues = coalesce(excluded.queues, a.queues), tasks = coalesce(excluded.tasks, a.tasks),
  server = excluded.server, seen_at = greatest(a.seen_at, excluded.seen_at),
  succeeded_at = greatest(a.succeeded_at, excluded.succeeded_at),
  called_at = greatest(a.called_at, excluded.called_at),
  silent_since = case when excluded.called_at < a.silent_since then a.silent_since end,
  host = coalesce(nullif(excluded.host, ''), a.host), pid = coalesce(excluded.pid, a.pid),
  capacity = coalesce(excluded.capacity, a.capacity), started_at = coalesce(a.started_at, excluded.started_at),
  clock_ahead_ms = coalesce(excluded.clock_ahead_ms, a.clock_ahead_ms)
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
  a.server, a.first_seen_at, a.seen_at, a.succeeded_at, a.silent_since, a.host, a.pid, a.capacity,
  a.started_at, a.clock_ahead_ms, s.last_heartbeat_at,
  (select count(*) from (
    select from drover.lease as l where l.session = a.session limit :held_max::integer
  ) as counted)::integer as held
from page as a
left join drover.agent_session as s on s.session = a.session
order by a.agent_id, a.session;

-- name: count_attempts
-- Purpose: Adds to how the attempts of sessions ended in the current five minutes.
-- Params: Parallel arrays, one element per session and lane: :session text[] (hex), :lane integer[], :ended
--   integer[], :failed integer[], :unknown integer[] (counts). :failing_share float8 (of the attempts: from
--   this share on the row is mostly_failed).
-- Locks: Rows in key order, because several servers add to the same rows; waits for them.
-- Plan: lane by key.
-- Note: Updates are HOT while mostly_failed stays the same.
insert into drover.session_attempts as s (session, lane, at, ended, failed, unknown, mostly_failed)
select decode(u.session, 'hex') as session, u.lane,
  date_bin('5 minutes', drover.transaction_time(u.lane), timestamptz 'epoch'),
  u.ended, u.failed, u.unknown, u.failed + u.unknown >= :failing_share::float8 * u.ended
from unnest(:session::text[], :lane::integer[], :ended::integer[], :failed::integer[], :unknown::integer[])
  as u (session, lane, ended, failed, unknown)
join drover.lane as l on l.id = u.lane
order by 1, 2
on conflict (session, lane, at) do update
set ended = s.ended + excluded.ended, failed = s.failed + excluded.failed,
  unknown = s.unknown + excluded.unknown,
  mostly_failed = s.failed + excluded.failed + s.unknown + excluded.unknown
    >= :failing_share::float8 * (s.ended + excluded.ended);

-- name: attempts_of_sessions
-- Purpose: Sums how the attempts of sessions ended in the last hour, by queue and task, those with most
--   failures first.
-- Params: :session text[] (hex).
-- Plan: session_attempts, lane by key.
select u.session, l.queue, l.task, sum(c.ended)::integer as ended, sum(c.failed)::integer as failed,
  sum(c.unknown)::integer as unknown
from unnest(:session::text[]) as u (session)
cross join lateral (
  select x.lane, sum(x.ended) as ended, sum(x.failed) as failed, sum(x.unknown) as unknown
  from drover.session_attempts as x
  where x.session = decode(u.session, 'hex') and x.at > now() - interval '1 hour'
  group by x.lane
) as c
join drover.lane as l on l.id = c.lane
group by u.session, l.queue, l.task
order by u.session, sum(c.failed) + sum(c.unknown) desc, l.queue, l.task;

-- name: failing_sessions
-- Purpose: Lists what may be live sessions that fail: those with a row in which most attempts failed. Of each
--   task of such a session: its attempts of the last hour, and those of all sessions.
-- Params: :namespace_id integer (null: all), :limit integer.
-- Plan: session_attempts_failing, session_attempts_lane; agent, lane by key.
-- Result: By queue, task and session. The caller applies the rule (core/model/failing-agent.ts).
with suspect as materialized (
  select distinct a.namespace_id, l.queue, l.task, s.session, a.agent_id, a.agent_version, a.host, a.pid
  from drover.session_attempts as s
  cross join lateral (select x.* from drover.agent as x where x.session = s.session limit 1) as a
  join drover.lane as l on l.id = s.lane
  where s.mostly_failed and s.at > now() - interval '1 hour'
    and (:namespace_id::integer is null or a.namespace_id = :namespace_id::integer)
    and a.seen_at > now() - interval '1 minute' and a.silent_since is null
  order by a.namespace_id, l.queue, l.task, s.session
  limit :limit::integer
),
counted as materialized (
  select t.namespace_id, t.queue, t.task, x.session, sum(x.ended) as ended, sum(x.failed) as failed,
    sum(x.unknown) as unknown
  from (select distinct s.namespace_id, s.queue, s.task from suspect as s) as t
  join drover.lane as l on l.namespace_id = t.namespace_id and l.queue = t.queue and l.task = t.task
  cross join lateral (
    select y.session, y.ended, y.failed, y.unknown
    from drover.session_attempts as y
    where y.lane = l.id and y.at > now() - interval '1 hour'
  ) as x
  group by t.namespace_id, t.queue, t.task, x.session
),
total as (
  select c.namespace_id, c.queue, c.task, sum(c.ended) as ended, sum(c.failed) as failed,
    sum(c.unknown) as unknown
  from counted as c
  group by c.namespace_id, c.queue, c.task
)
select s.queue, s.task, encode(s.session, 'hex') as session, s.agent_id, s.agent_version, s.host, s.pid,
  c.ended::integer, c.failed::integer, c.unknown::integer, t.ended::integer as all_ended,
  t.failed::integer as all_failed, t.unknown::integer as all_unknown
from suspect as s
join counted as c using (namespace_id, queue, task, session)
join total as t using (namespace_id, queue, task)
order by s.namespace_id, s.queue, s.task, s.session;

-- name: hosts_of_sessions
-- Purpose: Reads on which host sessions run, as their agents stated it.
-- Params: :session text[] (hex).
-- Plan: agent by key.
select u.session, a.host
from unnest(:session::text[]) as u (session)
cross join lateral (
  select x.host from drover.agent as x where x.session = decode(u.session, 'hex') limit 1
) as a
where a.host <> '';

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
-- Purpose: Deletes sessions that were not seen for :retention ms and hold no lease, with their cordons.
-- Params: :rows_max integer, :retention bigint (ms).
-- Plan: lease_session.
-- Result: One row. more: :rows_max rows were deleted, so there may be more.
with gone as (
  delete from drover.agent as a
  where a.session = any (array(
    select o.session
    from drover.agent as o
    left join lateral (
      select true as holds from drover.lease as l where l.session = o.session limit 1
    ) as h on true
    where o.seen_at < now() - :retention::bigint * interval '1 millisecond' and h.holds is null
    limit :rows_max::integer
  ))
  returning a.session, a.namespace_id
),
uncordoned as (
  delete from drover.cordon as o
  using gone as g
  where o.namespace_id = g.namespace_id and o.kind = :cordon_kind.session
    and o.name = encode(g.session, 'hex')
)
select count(*) = :rows_max::integer as more from gone;

-- name: forget_attempt_counts
-- Purpose: Deletes counts of attempts whose five minutes began more than :retention ms ago.
-- Params: :rows_max integer, :retention bigint (ms).
-- Locks: The deleted rows, without waiting: a locked row is skipped.
-- Plan: session_attempts_at.
-- Result: One row. more: :rows_max rows were deleted, so there may be more.
with gone as (
  delete from drover.session_attempts as s
  where s.ctid = any (array(
    select o.ctid
    from drover.session_attempts as o
    where o.at < now() - :retention::bigint * interval '1 millisecond'
    order by o.at
    limit :rows_max::integer
    for update skip locked
  ))
  returning 1
)
select count(*) = :rows_max::integer as more from gone;
