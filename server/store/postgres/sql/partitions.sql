-- Partitions: who watches which share of the runs.
--
-- The first of the two keys of an advisory lock is the oid of a table: no other schema of the database has
-- the same. That of `partition_lease` is for partitions, that of `node` for the numbers of nodes that live.

-- name: join_node
insert into drover.node (id, address, regions, standby, last_seen_at)
values ($1::uuid, $2::text, $3::smallint[], $4::boolean, now())
returning number;

-- name: live_node
select pg_advisory_lock('drover.node'::regclass::oid::integer, $1::integer);

-- name: join_writers
insert into drover.writer (node, slot) select $1::uuid, s from generate_series(0, $2::integer - 1) as s;

-- name: hold_writer
-- The first statement of a supervisor's batch: what its node owns still, of what it believes. No row
-- of the writer: a take-over has fenced this process. The leases are read without a lock, which a
-- take-over would wait for; they may be as old as the statement, and whoever changes one since waits
-- for this row, or for the process.
select l.partition, l.epoch
from unnest($3::smallint[], $4::bigint[]) as o (partition, epoch)
join drover.partition_lease as l on l.partition = o.partition and l.epoch = o.epoch
join drover.writer as w on w.node = l.node
where w.node = $1::uuid and w.slot = $2::smallint
for no key update of w;

-- name: look
-- The ping of the session, its sign of life, and who holds what. A node lives while its session holds
-- the lock of its number: one that was killed is seen to be gone at once.
with seen as (
  update drover.node set last_seen_at = now() where id = $1::uuid
),
locked as materialized (
  select l.classid, l.objid::integer as id
  from pg_locks as l
  where l.locktype = 'advisory' and l.objsubid = 2 and l.granted
    and l.classid in ('drover.partition_lease'::regclass, 'drover.node'::regclass)
    and l.database = (select d.oid from pg_database as d where d.datname = current_database())
)
select
  (select coalesce(array_agg(l.id), '{}') from locked as l
    where l.classid = 'drover.partition_lease'::regclass) as held,
  (select coalesce(
      json_agg(
        json_build_object('node', n.id, 'regions', n.regions, 'standby', n.standby) order by n.number
      ),
      '[]'
    )
    from drover.node as n
    where n.number in (select l.id from locked as l where l.classid = 'drover.node'::regclass)
  ) as live,
  (select array_agg(r.id order by r.id) from drover.region as r) as regions,
  pg_backend_pid() as backend;

-- name: try_lock
select p as partition
from unnest($1::integer[]) as p
where pg_try_advisory_lock('drover.partition_lease'::regclass::oid::integer, p);

-- name: unlock
select pg_advisory_unlock('drover.partition_lease'::regclass::oid::integer, p)
from unnest($1::integer[]) as p;

-- name: lock_partition_leases
-- First of a take-over, so that of two at once the second sees, and fences, the first.
select from drover.partition_lease as l
where l.partition = any ($1::smallint[])
order by l.partition
for update;

-- name: fence_former_owners
-- Waits for the batch that each writer row is in; later batches of that process get no row.
delete from drover.writer as w
using (
  select distinct l.node
  from drover.partition_lease as l
  where l.partition = any ($1::smallint[]) and l.node is not null and l.node <> $2::uuid
) as former
where w.node = former.node;

-- name: take_partitions
-- Each with a row of its history, of which the last $3 stay; whoever had it before has left it now, if he
-- had not given it back ($4 to $6: why it was free). The rows are locked. Plan: partition_history by key.
with before as materialized (
  select l.partition, l.epoch, l.node from drover.partition_lease as l where l.partition = any ($1::smallint[])
),
taken as (
  update drover.partition_lease as l
  set node = $2::uuid, epoch = l.epoch + 1, taken_at = now()
  where l.partition = any ($1::smallint[])
  returning l.partition, l.epoch
),
ended as (
  update drover.partition_history as h
  set left_at = now()
  from before as b
  where h.partition = b.partition and h.epoch = b.epoch and h.left_at is null
),
trimmed as (
  delete from drover.partition_history as h
  using taken as t
  where h.partition = t.partition and h.epoch <= t.epoch - $3::integer
),
noted as (
  insert into drover.partition_history (partition, epoch, node, address, why, taken_at)
  select t.partition, t.epoch, $2::uuid, n.address,
    case when b.epoch = 0 then $4::smallint when b.node is null then $5::smallint else $6::smallint end,
    date_trunc('milliseconds', now())
  from taken as t
  join before as b on b.partition = t.partition
  left join drover.node as n on n.id = $2::uuid
  -- Whatever the history says, it is no reason not to watch.
  on conflict (partition, epoch) do update
  set node = excluded.node, address = excluded.address, why = excluded.why,
    taken_at = excluded.taken_at, left_at = null
)
select t.partition, t.epoch from taken as t;

-- name: clear_partitions
-- A clean hand-over: nobody is left to be fenced. It waits for each batch that holds a writer row: one
-- whose answer was lost may still be about to commit.
with mine as materialized (
  select l.partition, l.epoch
  from drover.partition_lease as l
  where l.partition = any ($1::smallint[]) and l.node = $2::uuid
  order by l.partition
  for update
),
held as materialized (
  select w.slot
  from drover.writer as w
  where w.node = $2::uuid and exists (select from mine)
  order by w.slot
  for no key update
),
ended as (
  update drover.partition_history as h
  set left_at = now()
  from mine as m
  where h.partition = m.partition and h.epoch = m.epoch
)
update drover.partition_lease as l
set node = null
from mine as m
where l.partition = m.partition and (select count(*) from held) >= 0;

-- name: leave_writers
delete from drover.writer where node = $1::uuid;

-- name: leave_node
delete from drover.node where id = $1::uuid;

-- name: forget_old_nodes
delete from drover.node where last_seen_at < now() - interval '1 minute';
