-- What has come due: timers of pages, silent sessions, escalations, messages between runs and schedules.

-- name: due_rows
-- What has come due, earliest first: up to $3 of each kind and partition, $2 in all; so that a backlog of
-- any length costs a look no more than that. Of runs their pages, in which the timers are found. That of a
-- schedule has its id for a run's. What a held snapshot keeps of rows that are gone is walked over: so a
-- look begins at the time $4, and what is more than $5 milliseconds ahead is not looked for; null: at all.
-- Rows that rest after a failure are left out: by kind ($6), run or schedule ($7), and page or number ($8).
-- And one row without a run: the time, the earliest time still to come, and what else of these partitions
-- waits for their owner (store/due.ts).
-- Plan: the wake index of each table, two probes a partition; inbox_waiting, outbox_partition, delivery_due,
-- trigger_end_due.
with mine as materialized (
  select p.partition, coalesce(to_timestamp($4::bigint / 1e3::float8), '-infinity') as since,
    coalesce(now() + $5::integer * interval '1 millisecond', timestamptz '294000-01-01') as ahead
  from unnest($1::smallint[]) as p (partition)
),
resting as materialized (
  select r.kind, r.id, r.place
  from unnest($6::smallint[], $7::uuid[], $8::integer[]) as r (kind, id, place)
),
due_now as (
  select 0 as kind, x.run_id, m.partition, x.no as place, null::integer as n, x.wake_at, x.version, x.state
  from mine as m
  cross join lateral (
    select p.run_id, p.no, p.wake_at, p.version, p.state
    from drover.run_page as p
    where p.partition = m.partition and p.wake_at >= m.since and p.wake_at <= now()
      and (p.run_id, p.no) not in (select x.id, x.place from resting as x where x.kind = 0)
    order by p.wake_at
    limit $3::integer
  ) as x
  union all
  select 1, x.run_id, m.partition, x.step_no, x.n, x.wake_at, null, null
  from mine as m
  cross join lateral (
    select e.run_id, e.step_no, e.n, e.wake_at
    from drover.escalation as e
    where e.partition = m.partition and e.wake_at >= m.since and e.wake_at <= now()
      and (e.run_id, e.n) not in (select x.id, x.place from resting as x where x.kind = 1)
    order by e.wake_at
    limit $3::integer
  ) as x
  union all
  select 2, x.run_id, m.partition, -1, 0, x.wake_at, null, null
  from mine as m
  cross join lateral (
    select g.run_id, g.wake_at
    from drover.message as g
    where g.partition = m.partition and g.wake_at >= m.since and g.wake_at <= now()
      and g.run_id not in (select x.id from resting as x where x.kind = 2)
    order by g.wake_at
    limit $3::integer
  ) as x
  union all
  select 3, x.id, m.partition, -1, 0, x.wake_at, null, null
  from mine as m
  cross join lateral (
    select s.id, s.wake_at
    from drover.schedule as s
    where s.partition = m.partition and s.wake_at >= m.since and s.wake_at <= now()
      and s.id not in (select x.id from resting as x where x.kind = 3)
    order by s.wake_at
    limit $3::integer
  ) as x
)
(select d.kind, d.run_id, d.partition, d.place, d.n, d.wake_at, d.version, d.state,
  null::timestamptz as now, null::text[] as outside
from due_now as d
order by d.wake_at
limit $2::integer)
union all
select null, null, null, null, null, n.next_at, null, null, now(), array_remove(
  array[
    case when exists (
      select from drover.inbox as i
      where i.refused_at is null and (i.taken_until is null or i.taken_until < now())
    ) then 'inbox' end,
    case when exists (select from drover.outbox as o where o.partition = any ($1::smallint[]))
      or exists (
        select from drover.delivery as y
        where y.partition = any ($1::smallint[]) and y.next_try_at <= now()
      )
    then 'deliveries' end,
    case when exists (
      select from drover.trigger_end as t
      where t.partition = any ($1::smallint[]) and t.next_at <= now()
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

-- name: resting_pages
-- Pages of which some timer rests after a failure: others of them may be due. Plan: run_page by key.
select p.run_id, p.no, p.partition, p.version, nullif(p.wake_at, 'infinity') as wake_at, p.state
from unnest($1::uuid[], $2::integer[]) as u (run_id, no)
join drover.run_page as p on p.run_id = u.run_id and p.no = u.no;

-- name: ready_takers
-- Of ready tasks that are due: where they wait, whether somebody may take them, and the version of agents
-- that they are for. A lane counts as polled for $3 milliseconds, unless those that polled it are silent
-- since; one that lets nothing through counts as polled, too. Plan: ready by key.
with waiting as materialized (
  select r.run_id, r.step_no, r.lane
  from unnest($1::uuid[], $2::integer[]) as u (run_id, step_no)
  join drover.ready as r on r.run_id = u.run_id and r.step_no = u.step_no
),
silent as materialized (
  select s.lane
  from (select distinct w.lane from waiting as w where w.lane > 0) as d
  join drover.silent_lane as s on s.lane = d.lane
  where coalesce(s.seen_at, '-infinity') <= now() - greatest($3::integer, 60000) * interval '1 millisecond'
)
select w.run_id, w.step_no, abs(w.lane) as lane,
  (exists (
    select from drover.lane_poller as p
    where p.lane = w.lane and p.seen_at > now() - $3::integer * interval '1 millisecond'
  ) and not exists (select from silent as s where s.lane = w.lane)) or w.lane < 0
    or exists (select from drover.paused_lane as p where p.lane = w.lane)
    or exists (select from drover.open_lane as o where o.lane = w.lane) as polled,
  (select v.agent_version from drover.version_lane as v where v.lane = abs(w.lane)) as agent_version
from waiting as w;

-- name: silent_leases
-- Leases of partitions ($1) whose session has been silent for longer than they allow, or will have been
-- within $4 milliseconds (null: at any time), counted from $2 at the earliest; up to $3, earliest first.
-- An agent that has heard that it should stop is watched by the time that it has for that.
-- No lease is read of a session that holds none, or has sent a heartbeat within its shortest timeout.
-- Plan: agent_session_watched; lease_session, one probe a session that is silent.
select l.run_id, l.partition, l.step_no, l.fence, x.silent_at, now() as now
from drover.agent_session as s
cross join lateral (
  select x.*
  from drover.lease as x
  where x.session = s.session and x.heartbeat_ms <= coalesce(
    extract(epoch from now() - s.last_heartbeat_at) * 1000 + coalesce($4::integer, 2000000000), 2147483647
  )::bigint
  offset 0
) as l
join unnest($1::smallint[], $2::float8[]) as m (partition, since) on m.partition = l.partition
cross join lateral (
  select greatest(l.granted_at, s.last_heartbeat_at, to_timestamp(m.since / 1e3::float8))
    + l.heartbeat_ms * interval '1 millisecond' as silent_at
) as x
where s.heartbeat_ms is not null
  and coalesce(s.last_heartbeat_at, '-infinity') + s.heartbeat_ms * interval '1 millisecond'
    <= now() + coalesce($4::integer, 2000000000) * interval '1 millisecond'
  and l.cancel <> 'heard'
  and x.silent_at <= now() + coalesce($4::integer, 2000000000) * interval '1 millisecond'
order by x.silent_at
limit $3::integer;

-- name: raise_wake_ups
-- Pages that were looked at too early. One that has changed since, or that somebody holds, stays as it is.
-- Plan: run_page by key.
update drover.run_page as p
set wake_at = coalesce(to_timestamp(u.wake_at / 1e3::float8), case when u.no = 0 then timestamptz 'infinity' end)
from unnest($1::uuid[], $2::integer[], $3::integer[], $4::float8[]) as u (run_id, no, version, wake_at)
where (p.run_id, p.no) in (
    select x.run_id, x.no
    from drover.run_page as x
    where x.run_id = u.run_id and x.no = u.no and x.version = u.version
    for no key update skip locked
  )
  and p.run_id = u.run_id and p.no = u.no;
