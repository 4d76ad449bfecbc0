-- Due work: the moments of leases, ready rows, due rows, escalations, runs, messages and schedules.

-- name: due_rows
-- Rows whose moment has come, earliest first: up to $3 of each kind and partition, $2 in all; so that a
-- backlog of any length costs a look no more than that. That of a schedule has its id for a run's. A
-- lane counts as polled for $4 milliseconds, unless those that polled it are silent since. With the lane of a ready row, and the version of agents that it
-- is for. What a held snapshot keeps of rows that are gone is walked over: so a look begins at the moment
-- $5, and what is more than $6 milliseconds ahead is not looked for; null: at all. Rows that rest after a failure
-- are left out: by table ($7), run or schedule ($8), and step or number ($9).
-- And one row without a run: the time, the earliest moment still to come, and what else of these
-- partitions waits for their owner (store/due.ts).
-- Plan: the wake index of each table, two probes a partition; inbox_waiting, outbox_partition, delivery_due,
-- trigger_end_due.
with mine as materialized (
  select p.partition, coalesce(to_timestamp($5::bigint / 1e3::float8), '-infinity') as since,
    coalesce(now() + $6::integer * interval '1 millisecond', 'infinity') as ahead
  from unnest($1::smallint[]) as p (partition)
),
resting as materialized (
  select r.kind, r.id, r.place
  from unnest($7::smallint[], $8::uuid[], $9::integer[]) as r (kind, id, place)
),
due_now as (
  select 0 as kind, null::smallint as due_kind, x.run_id, m.partition, x.step_no, x.fence, x.wake_at,
    null::integer as lane
  from mine as m
  cross join lateral (
    select l.run_id, l.step_no, l.fence, l.wake_at
    from lease as l
    where l.partition = m.partition and l.wake_at >= m.since and l.wake_at <= now()
      and (l.run_id, l.step_no) not in (select x.id, x.place from resting as x where x.kind = 0)
    order by l.wake_at
    limit $3::integer
  ) as x
  union all
  select 1, null, x.run_id, m.partition, x.step_no, x.fence, x.wake_at, x.lane
  from mine as m
  cross join lateral (
    select r.run_id, r.step_no, r.fence, r.wake_at, r.lane
    from ready as r
    where r.partition = m.partition and r.wake_at >= m.since and r.wake_at <= now()
      and (r.run_id, r.step_no) not in (select x.id, x.place from resting as x where x.kind = 1)
    order by r.wake_at
    limit $3::integer
  ) as x
  union all
  select 2, x.kind, x.run_id, m.partition, x.step_no, 0, x.wake_at, null
  from mine as m
  cross join lateral (
    select d.run_id, d.step_no, d.kind, d.wake_at
    from due as d
    where d.partition = m.partition and d.wake_at >= m.since and d.wake_at <= now()
      and (d.run_id, d.step_no) not in (select x.id, x.place from resting as x where x.kind = 2)
    order by d.wake_at
    limit $3::integer
  ) as x
  union all
  select 5, null, x.run_id, m.partition, x.step_no, x.n, x.wake_at, null
  from mine as m
  cross join lateral (
    select e.run_id, e.step_no, e.n, e.wake_at
    from escalation as e
    where e.partition = m.partition and e.wake_at >= m.since and e.wake_at <= now()
      and (e.run_id, e.n) not in (select x.id, x.place from resting as x where x.kind = 5)
    order by e.wake_at
    limit $3::integer
  ) as x
  union all
  select 3, null, x.run_id, m.partition, -1, 0, x.wake_at, null
  from mine as m
  cross join lateral (
    select o.run_id, o.wake_at
    from run_open as o
    where o.partition = m.partition and o.wake_at >= m.since and o.wake_at <= now()
      and o.run_id not in (select x.id from resting as x where x.kind = 3)
    order by o.wake_at
    limit $3::integer
  ) as x
  union all
  select 4, null, x.run_id, m.partition, -1, 0, x.wake_at, null
  from mine as m
  cross join lateral (
    select g.run_id, g.wake_at
    from message as g
    where g.partition = m.partition and g.wake_at >= m.since and g.wake_at <= now()
      and g.run_id not in (select x.id from resting as x where x.kind = 4)
    order by g.wake_at
    limit $3::integer
  ) as x
  union all
  select 6, null, x.id, m.partition, -1, 0, x.wake_at, null
  from mine as m
  cross join lateral (
    select s.id, s.wake_at
    from schedule as s
    where s.partition = m.partition and s.wake_at >= m.since and s.wake_at <= now()
      and s.id not in (select x.id from resting as x where x.kind = 6)
    order by s.wake_at
    limit $3::integer
  ) as x
),
silent as materialized (
  select s.lane
  from (select distinct d.lane from due_now as d where d.lane > 0) as d
  join silent_lane as s on s.lane = d.lane
  where coalesce(s.seen_at, '-infinity') <= now() - greatest($4::integer, 60000) * interval '1 millisecond'
)
(select d.kind, d.due_kind, d.run_id, d.partition, d.step_no, d.fence, d.wake_at,
  (exists (
    select from lane_poller as p
    where p.lane = d.lane and p.seen_at > now() - $4::integer * interval '1 millisecond'
  ) and not exists (select from silent as s where s.lane = d.lane)) or coalesce(d.lane < 0, false) or exists (select from paused_lane as p where p.lane = d.lane)
    or exists (select from open_lane as o where o.lane = d.lane) as polled, abs(d.lane) as lane,
  (select v.agent_version from version_lane as v where v.lane = abs(d.lane)) as agent_version,
  null::timestamptz as now, null::text[] as outside
from due_now as d
order by d.wake_at
limit $2::integer)
union all
select null, null, null, null, null, null, n.next_at, null, null, null, now(), array_remove(
  array[
    case when exists (
      select from inbox as i
      where i.refused_at is null and (i.taken_until is null or i.taken_until < now())
    ) then 'inbox' end,
    case when exists (select from outbox as o where o.partition = any ($1::smallint[]))
      or exists (
        select from delivery as y
        where y.partition = any ($1::smallint[]) and y.next_try_at <= now()
      )
    then 'deliveries' end,
    case when exists (
      select from trigger_end as t
      where t.partition = any ($1::smallint[]) and t.next_at <= now()
    ) then 'triggers' end
  ],
  null
)
from (
  select min(x.wake_at) as next_at
  from mine as m
  cross join lateral (
    (select l.wake_at from lease as l where l.partition = m.partition and l.wake_at > now()
        and l.wake_at <= m.ahead
      order by l.wake_at limit 1)
    union all
    (select r.wake_at from ready as r where r.partition = m.partition and r.wake_at > now()
        and r.wake_at <= m.ahead
      order by r.wake_at limit 1)
    union all
    (select d.wake_at from due as d where d.partition = m.partition and d.wake_at > now()
        and d.wake_at <= m.ahead
      order by d.wake_at limit 1)
    union all
    (select e.wake_at from escalation as e where e.partition = m.partition and e.wake_at > now()
        and e.wake_at <= m.ahead
      order by e.wake_at limit 1)
    union all
    (select o.wake_at from run_open as o where o.partition = m.partition and o.wake_at > now()
        and o.wake_at <= m.ahead
      order by o.wake_at limit 1)
    union all
    (select g.wake_at from message as g where g.partition = m.partition and g.wake_at > now()
        and g.wake_at <= m.ahead
      order by g.wake_at limit 1)
    union all
    (select s.wake_at from schedule as s where s.partition = m.partition and s.wake_at > now()
        and s.wake_at <= m.ahead
      order by s.wake_at limit 1)
  ) as x
) as n;

-- name: move_beaten
-- Of the due leases, up to $3 of each partition and $2 in all, those whose session has beaten since, and
-- of which nothing else is due, wait for their next moment (core/evolve.ts, leaseWakeAt). What a pass or
-- a beat holds is left as it is: the pass for it will look. Those that came before the moment $4 are
-- left, too, as a look leaves them. Plan: lease_wake; agent_session by key.
with due_now as materialized (
  select x.run_id, x.step_no
  from unnest($1::smallint[]) as m (partition)
  cross join lateral (
    select l.run_id, l.step_no
    from lease as l
    where l.partition = m.partition and l.wake_at <= now()
      and l.wake_at >= coalesce(to_timestamp($4::bigint / 1e3::float8), '-infinity')
    order by l.wake_at
    limit $3::integer
  ) as x
  limit $2::integer
),
beaten as (
  select l.run_id, l.step_no, least(
    greatest(l.granted_at, s.last_beat_at) + l.heartbeat_ms * interval '1 millisecond',
    l.attempt_by, l.progress_at + l.stall_ms * interval '1 millisecond',
    case when l.suspect_at is null then l.granted_at + l.slow_ms * interval '1 millisecond' end
  ) as wake_at
  from due_now as d
  join lease as l on l.run_id = d.run_id and l.step_no = d.step_no
  join agent_session as s on s.session = l.session
  where l.cancel = 0 and l.attempt_by > now()
    and greatest(l.granted_at, s.last_beat_at) + l.heartbeat_ms * interval '1 millisecond' > now()
    and (l.stall_ms is null or l.progress_at + l.stall_ms * interval '1 millisecond' > now())
    and (l.slow_ms is null or l.suspect_at is not null
      or l.granted_at + l.slow_ms * interval '1 millisecond' > now())
  for update of l skip locked
)
update lease as l
set wake_at = b.wake_at
from beaten as b
where l.run_id = b.run_id and l.step_no = b.step_no
returning l.run_id, l.step_no, l.wake_at;
