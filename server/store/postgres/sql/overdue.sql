-- The health check of the supervisors: what is overdue, and which partitions have no live owner.

-- name: overdue
-- Purpose: Counts rows that were due more than :by ms ago, up to :rows_max of each kind and partition.
--   Timers of pages are read by late_pages, and silent sessions by late_leases.
-- Params: :partitions smallint[], :by bigint (ms), :rows_max integer, :since bigint (ms since 1970; earlier
--   due times are left out; null: none is).
-- Plan: escalation_wake, message_wake, schedule_wake, trigger_end_due, one probe a partition.
-- Result: One row for each kind. oldest_at is null if no row is overdue.
with mine as materialized (
  select p.partition from unnest(:partitions::smallint[]) as p (partition)
),
late as (
  select now() - :by::bigint * interval '1 millisecond' as at,
    coalesce(to_timestamp(:since::bigint / 1e3::float8), '-infinity') as since
)
select now() as now, 'escalation' as kind, count(*)::integer as rows, min(x.wake_at) as oldest_at
from mine as m cross join late cross join lateral (
  select e.wake_at from drover.escalation as e
  where e.partition = m.partition and e.wake_at >= late.since and e.wake_at < late.at
  order by e.wake_at limit :rows_max::integer
) as x
union all
select now(), 'message', count(*)::integer, min(x.wake_at)
from mine as m cross join late cross join lateral (
  select g.wake_at from drover.message as g
  where g.partition = m.partition and g.wake_at >= late.since and g.wake_at < late.at
  order by g.wake_at limit :rows_max::integer
) as x
union all
select now(), 'schedule', count(*)::integer, min(x.wake_at)
from mine as m cross join late cross join lateral (
  select s.wake_at from drover.schedule as s
  where s.partition = m.partition and s.wake_at >= late.since and s.wake_at < late.at
  order by s.wake_at limit :rows_max::integer
) as x
union all
select now(), 'run-end', count(*)::integer, min(x.next_at)
from mine as m cross join late cross join lateral (
  select t.next_at from drover.trigger_end as t
  where t.partition = m.partition and t.next_at >= late.since and t.next_at < late.at
  order by t.next_at limit :rows_max::integer
) as x;

-- name: late_leases
-- Purpose: Counts, by partition, leases whose session has been silent for longer than they allow, by more
--   than :by ms. Silence counts only from the take-over of the partition and from the start of the
--   database, because no process could receive a heartbeat before.
-- Params: :partitions smallint[], :by bigint (ms), :rows_max integer (for each partition), :since bigint
--   (ms since 1970; null: no bound).
-- Plan: agent_session_watched, lease_session, partition_lease by key.
-- Result: One row for each partition with such leases.
-- Note: The statement reads no lease of a session that has sent a heartbeat within its shortest timeout.
select x.partition, least(count(*), :rows_max::integer)::integer as rows, min(x.silent_at) as oldest_at
from (
  select l.partition, greatest(l.granted_at, s.last_heartbeat_at, w.taken_at, pg_postmaster_start_time())
    + l.heartbeat_ms * interval '1 millisecond' as silent_at
  from drover.agent_session as s
  cross join lateral (
    select y.*
    from drover.lease as y
    where y.session = s.session and y.heartbeat_ms
      <= coalesce(extract(epoch from now() - s.last_heartbeat_at) * 1000 - :by::bigint, 2147483647)::bigint
    offset 0
  ) as l
  left join lateral (
    select p.taken_at from drover.partition_lease as p where p.partition = l.partition limit 1
  ) as w on true
  where s.heartbeat_ms is not null and l.partition = any (:partitions::smallint[]) and l.cancel <> 'received'
    and coalesce(s.last_heartbeat_at, '-infinity') + s.heartbeat_ms * interval '1 millisecond'
      < now() - :by::bigint * interval '1 millisecond'
) as x
where x.silent_at < now() - :by::bigint * interval '1 millisecond'
  and x.silent_at >= coalesce(to_timestamp(:since::bigint / 1e3::float8), '-infinity')
group by x.partition;

-- name: late_pages
-- Purpose: Reads, for each partition, the next :limit pages whose wake-up time was more than :by ms ago.
--   That time may be too early, so the caller searches the page for late timers.
-- Params: Parallel arrays, one element per partition: :partition smallint[], :wake_at text[] (timestamp),
--   :run_id uuid[], :no integer[] (the last page of the previous call; null: from the first). For all: :by
--   bigint (ms), :limit integer.
-- Plan: run_page_wake, one probe a partition.
-- Result: late_at is the time before which a timer is late.
select m.partition, x.run_id, x.no, x.wake_at::text as wake_at, x.state as page,
  now() - :by::bigint * interval '1 millisecond' as late_at
from unnest(:partition::smallint[], :wake_at::text[], :run_id::uuid[], :no::integer[]) as m (partition,
  wake_at, run_id, no)
cross join lateral (
  select p.run_id, p.no, p.wake_at, p.state
  from drover.run_page as p
  where p.partition = m.partition and p.wake_at < now() - :by::bigint * interval '1 millisecond'
    and p.wake_at >= coalesce(m.wake_at::timestamptz, '-infinity')
    and (
      m.wake_at is null or (p.wake_at, p.run_id, p.no) > (m.wake_at::timestamptz, m.run_id, m.no)
    )
  order by p.partition, p.wake_at, p.run_id, p.no
  limit :limit::integer
) as x
order by m.partition, x.wake_at, x.run_id, x.no;

-- name: unowned_partitions
-- Purpose: Counts, for each region in use, the partitions among :partitions whose owner was not seen for
--   :owner_lost ms.
-- Params: :partitions smallint[], :owner_lost integer (ms).
-- Result: A region whose partitions all have an owner has no row.
select u.name as region, count(*)::integer as partitions
from drover.region_use as u
join unnest(:partitions::smallint[]) as m (partition) on m.partition / 256 = u.id
left join drover.partition_lease as p on p.partition = m.partition
left join drover.node as n on n.id = p.node
  and n.last_seen_at > now() - :owner_lost::integer * interval '1 millisecond'
where u.used and n.id is null
group by u.id, u.name
order by u.id;
