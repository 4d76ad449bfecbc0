-- The watch that watches the watching: what is overdue, and who is there to act.

-- name: overdue
-- Rows whose moment has passed by more than $2 milliseconds: up to $3 of each kind and partition, counted
-- by kind, and the earliest, from the moment $4 on, or all if it is null.
-- Plan: the wake index of each table, one probe a partition.
with mine as materialized (
  select p.partition from unnest($1::smallint[]) as p (partition)
),
late as (
  select now() - $2::bigint * interval '1 millisecond' as at,
    coalesce(to_timestamp($4::bigint / 1e3::float8), '-infinity') as since
)
select now() as now, 0 as kind, count(*)::integer as rows, min(x.wake_at) as oldest_at
from mine as m cross join late cross join lateral (
  select l.wake_at from lease as l
  where l.partition = m.partition and l.wake_at >= late.since and l.wake_at < late.at
  order by l.wake_at limit $3::integer
) as x
union all
select now(), 1, count(*)::integer, min(x.wake_at)
from mine as m cross join late cross join lateral (
  select r.wake_at from ready as r
  where r.partition = m.partition and r.wake_at >= late.since and r.wake_at < late.at
  order by r.wake_at limit $3::integer
) as x
union all
select now(), 2, count(*)::integer, min(x.wake_at)
from mine as m cross join late cross join lateral (
  select d.wake_at from due as d
  where d.partition = m.partition and d.wake_at >= late.since and d.wake_at < late.at
  order by d.wake_at limit $3::integer
) as x
union all
select now(), 3, count(*)::integer, min(x.wake_at)
from mine as m cross join late cross join lateral (
  select e.wake_at from escalation as e
  where e.partition = m.partition and e.wake_at >= late.since and e.wake_at < late.at
  order by e.wake_at limit $3::integer
) as x
union all
select now(), 4, count(*)::integer, min(x.wake_at)
from mine as m cross join late cross join lateral (
  select o.wake_at from run_open as o
  where o.partition = m.partition and o.wake_at >= late.since and o.wake_at < late.at
  order by o.wake_at limit $3::integer
) as x
union all
select now(), 5, count(*)::integer, min(x.wake_at)
from mine as m cross join late cross join lateral (
  select g.wake_at from message as g
  where g.partition = m.partition and g.wake_at >= late.since and g.wake_at < late.at
  order by g.wake_at limit $3::integer
) as x
union all
select now(), 6, count(*)::integer, min(x.wake_at)
from mine as m cross join late cross join lateral (
  select s.wake_at from schedule as s
  where s.partition = m.partition and s.wake_at >= late.since and s.wake_at < late.at
  order by s.wake_at limit $3::integer
) as x
union all
select now(), 7, count(*)::integer, min(x.next_at)
from mine as m cross join late cross join lateral (
  select t.next_at from trigger_end as t
  where t.partition = m.partition and t.next_at >= late.since and t.next_at < late.at
  order by t.next_at limit $3::integer
) as x;

-- name: unowned_partitions
-- Of the regions in use, those partitions whose owner was not seen for $2 milliseconds.
select u.name as region, count(*)::integer as partitions
from region_use as u
join unnest($1::smallint[]) as m (partition) on m.partition / 256 = u.id
left join partition_lease as p on p.partition = m.partition
left join node as n on n.id = p.node and n.last_seen_at > now() - $2::integer * interval '1 millisecond'
where u.used and n.id is null
group by u.id, u.name
order by u.id;
