-- The timer scan: due timers of pages, silent sessions, escalations, messages between runs, and cron
-- schedules.

-- name: due_rows
-- Purpose: Reads what is due in these partitions, earliest first: up to :of_partition_max rows of each kind
--   and partition, :limit in all. So the cost of a scan has a bound, however long the backlog is. Of runs
--   it returns pages, in which the caller finds the timers.
-- Params: :partitions smallint[], :limit integer, :of_partition_max integer, :since bigint (ms since 1970;
--   the scan begins there, so that it does not pass dead entries that an old snapshot retains; null: at the
--   first row), :ahead integer (ms; how far ahead the next due time is searched; null: any time). Parallel
--   arrays, rows that are left out because they are suspended after a failure: :kind text[], :id uuid[]
--   (run or schedule), :place integer[] (number of the page or of the escalation).
-- Plan: the wake index of each table, two probes a partition; inbox_waiting, outbox_partition,
--   delivery_due, trigger_end_due.
-- Result: kind is page, escalation, message or schedule. run_id is the id of the schedule for a schedule.
--   place is the number of the page, the step key of an escalation, or -1. n is the number of the
--   escalation. One more row has run_id null: the time of the scan, in wake_at the earliest due time still
--   to come (null: none), and in outside what else waits for the owner of these partitions (store/due.ts).
with mine as materialized (
  select p.partition, coalesce(to_timestamp(:since::bigint / 1e3::float8), '-infinity') as since,
    coalesce(now() + :ahead::integer * interval '1 millisecond', timestamptz '294000-01-01') as ahead
  from unnest(:partitions::smallint[]) as p (partition)
),
suspended as materialized (
  select r.kind, r.id, r.place
  from unnest(:kind::text[], :id::uuid[], :place::integer[]) as r (kind, id, place)
),
due_now as (
  select 'page' as kind, x.run_id, m.partition, x.no as place, null::integer as n, x.wake_at, x.version, x.state
  from mine as m
  cross join lateral (
    select p.run_id, p.no, p.wake_at, p.version, p.state
    from drover.run_page as p
    where p.partition = m.partition and p.wake_at >= m.since and p.wake_at <= now()
      and (p.run_id, p.no) not in (select x.id, x.place from suspended as x where x.kind = 'page')
    order by p.wake_at
    limit :of_partition_max::integer
  ) as x
  union all
  select 'escalation', x.run_id, m.partition, x.step_no, x.n, x.wake_at, null, null
  from mine as m
  cross join lateral (
    select e.run_id, e.step_no, e.n, e.wake_at
    from drover.escalation as e
    where e.partition = m.partition and e.wake_at >= m.since and e.wake_at <= now()
      and (e.run_id, e.n) not in (select x.id, x.place from suspended as x where x.kind = 'escalation')
    order by e.wake_at
    limit :of_partition_max::integer
  ) as x
  union all
  select 'message', x.run_id, m.partition, -1, 0, x.wake_at, null, null
  from mine as m
  cross join lateral (
    select g.run_id, g.wake_at
    from drover.message as g
    where g.partition = m.partition and g.wake_at >= m.since and g.wake_at <= now()
      and g.run_id not in (select x.id from suspended as x where x.kind = 'message')
    order by g.wake_at
    limit :of_partition_max::integer
  ) as x
  union all
  select 'schedule', x.id, m.partition, -1, 0, x.wake_at, null, null
  from mine as m
  cross join lateral (
    select s.id, s.wake_at
    from drover.schedule as s
    where s.partition = m.partition and s.wake_at >= m.since and s.wake_at <= now()
      and s.id not in (select x.id from suspended as x where x.kind = 'schedule')
    order by s.wake_at
    limit :of_partition_max::integer
  ) as x
)
(select d.kind, d.run_id, d.partition, d.place, d.n, d.wake_at, d.version, d.state,
  null::timestamptz as now, null::text[] as outside
from due_now as d
order by d.wake_at
limit :limit::integer)
union all
select null, null, null, null, null, n.next_at, null, null, now(), array_remove(
  array[
    case when exists (
      select from drover.inbox as i
      where i.refused_at is null and (i.taken_until is null or i.taken_until < now())
    ) then 'inbox' end,
    case when exists (select from drover.outbox as o where o.partition = any (:partitions::smallint[]))
      or exists (
        select from drover.delivery as y
        where y.partition = any (:partitions::smallint[]) and y.next_try_at <= now()
      )
    then 'deliveries' end,
    case when exists (
      select from drover.trigger_end as t
      where t.partition = any (:partitions::smallint[]) and t.next_at <= now()
    ) then 'triggers' end
  ],
  null
)
from (
  select min(x.wake_at) as next_at
  from mine as m
  cross join lateral (
    (select p.wake_at from drover.run_page as p where p.partition = m.partition and p.wake_at > now()
        and p.wake_at <= m.ahead
      order by p.wake_at limit 1)
    union all
    (select e.wake_at from drover.escalation as e where e.partition = m.partition and e.wake_at > now()
        and e.wake_at <= m.ahead
      order by e.wake_at limit 1)
    union all
    (select g.wake_at from drover.message as g where g.partition = m.partition and g.wake_at > now()
        and g.wake_at <= m.ahead
      order by g.wake_at limit 1)
    union all
    (select s.wake_at from drover.schedule as s where s.partition = m.partition and s.wake_at > now()
        and s.wake_at <= m.ahead
      order by s.wake_at limit 1)
  ) as x
) as n;

-- name: suspended_pages
-- Purpose: Reads pages with a timer that is suspended after a failure: their other timers may be due.
-- Params: Parallel arrays: :run_id uuid[], :no integer[] (page).
-- Plan: run_page by key.
-- Result: wake_at is null if the page has no timer.
select p.run_id, p.no, p.partition, p.version, nullif(p.wake_at, 'infinity') as wake_at, p.state
from unnest(:run_id::uuid[], :no::integer[]) as u (run_id, no)
join drover.run_page as p on p.run_id = u.run_id and p.no = u.no;

-- name: ready_takers
-- Purpose: Reads, for due timers of ready tasks, the lane of the task, whether agents ask for it, and the
--   version of agents that it is for.
-- Params: Parallel arrays: :run_id uuid[], :step_no integer[] (step key). For all: :polled integer (ms; how
--   long a lane counts as polled after a poll, unless the agents that polled it have fallen silent since).
-- Plan: ready by key.
-- Result: polled is also true for a lane that lets nothing through: paused, or with an open circuit.
--   agent_version is null for a lane of all agents. No row: the task is no longer ready.
with waiting as materialized (
  select r.run_id, r.step_no, r.lane, r.paused
  from unnest(:run_id::uuid[], :step_no::integer[]) as u (run_id, step_no)
  join drover.ready as r on r.run_id = u.run_id and r.step_no = u.step_no
),
silent as materialized (
  select s.lane
  from (select distinct w.lane from waiting as w where not w.paused) as d
  join drover.silent_lane as s on s.lane = d.lane
  where coalesce(s.seen_at, '-infinity') <= now() - greatest(:polled::integer, 60000) * interval '1 millisecond'
)
select w.run_id, w.step_no, w.lane,
  (exists (
    select from drover.lane_poller as p
    where p.lane = w.lane and p.seen_at > now() - :polled::integer * interval '1 millisecond'
  ) and not exists (select from silent as s where s.lane = w.lane)) or w.paused
    or exists (select from drover.paused_lane as p where p.lane = w.lane)
    or exists (select from drover.open_lane as o where o.lane = w.lane) as polled,
  (select v.agent_version from drover.version_lane as v where v.lane = w.lane) as agent_version
from waiting as w;

-- name: silent_leases
-- Purpose: Finds up to :limit leases whose session has been silent for longer than the lease allows, or
--   will have been within :ahead ms, earliest first. If an agent has received the request to stop, its lease
--   is left out, because it ends at the time that the agent has for that.
-- Params: Parallel arrays: :partition smallint[], :since float8[] (ms since 1970; silence is counted from
--   then at the earliest). For all: :limit integer, :ahead integer (ms; null: any time).
-- Plan: agent_session_watched; lease_session, one probe a session that is silent.
-- Result: silent_at is when the heartbeat timeout of the lease passes.
-- Note: The statement reads no lease of a session that has sent a heartbeat within its shortest timeout.
select l.run_id, l.partition, l.step_no, l.fence, x.silent_at, now() as now
from drover.agent_session as s
cross join lateral (
  select x.*
  from drover.lease as x
  where x.session = s.session and x.heartbeat_ms <= coalesce(
    extract(epoch from now() - s.last_heartbeat_at) * 1000 + coalesce(:ahead::integer, 2000000000), 2147483647
  )::bigint
  offset 0
) as l
join unnest(:partition::smallint[], :since::float8[]) as m (partition, since) on m.partition = l.partition
cross join lateral (
  select greatest(l.granted_at, s.last_heartbeat_at, to_timestamp(m.since / 1e3::float8))
    + l.heartbeat_ms * interval '1 millisecond' as silent_at
) as x
where s.heartbeat_ms is not null
  and coalesce(s.last_heartbeat_at, '-infinity') + s.heartbeat_ms * interval '1 millisecond'
    <= now() + coalesce(:ahead::integer, 2000000000) * interval '1 millisecond'
  and l.cancel <> 'received'
  and x.silent_at <= now() + coalesce(:ahead::integer, 2000000000) * interval '1 millisecond'
order by x.silent_at
limit :limit::integer;

-- name: raise_wake_ups
-- Purpose: Stores later wake-up times of pages that the scan has read too early.
-- Params: Parallel arrays: :run_id uuid[], :no integer[] (page), :version integer[] (that was read),
--   :wake_at float8[] (ms since 1970; null: the page has no timer).
-- Locks: Pages, without waiting. A page that is locked, or that has changed since it was read, stays as it
--   is.
-- Plan: run_page by key.
update drover.run_page as p
set wake_at = coalesce(to_timestamp(u.wake_at / 1e3::float8),
  case when u.no = 0 then timestamptz 'infinity' end)
from unnest(:run_id::uuid[], :no::integer[], :version::integer[], :wake_at::float8[]) as u (run_id, no,
  version, wake_at)
where (p.run_id, p.no) in (
    select x.run_id, x.no
    from drover.run_page as x
    where x.run_id = u.run_id and x.no = u.no and x.version = u.version
    for no key update skip locked
  )
  and p.run_id = u.run_id and p.no = u.no;
