-- Partitions: which node watches which share of the runs.
--
-- The first of the two keys of an advisory lock is the oid of a table, so that other schemas of the database
-- use other locks. The oid of `partition_lease` is for partitions, that of `node` for the numbers of live
-- nodes.

-- name: join_node
-- Purpose: Stores a node that joins.
-- Params: :id uuid, :process uuid, :address text, :regions smallint[] (that it watches; null: all), :standby boolean.
-- Result: The number of the node.
insert into drover.node (id, process, address, regions, standby, last_seen_at)
values (:id::uuid, :process::uuid, :address::text, :regions::smallint[], :standby::boolean, now())
returning number;

-- name: live_node
-- Purpose: Takes the advisory lock that shows that the node lives. Its session holds the lock until the
--   session ends.
-- Params: :number integer (of the node).
-- Locks: The advisory lock of the number.
select pg_advisory_lock('drover.node'::regclass::oid::integer, :number::integer);

-- name: join_writers
-- Purpose: Creates the writer rows of a node, numbered from 0.
-- Params: :node uuid, :writers integer (how many).
insert into drover.writer (node, number) select :node::uuid, s from generate_series(0,
  :writers::integer - 1) as s;

-- name: hold_writer
-- Purpose: The first statement of a supervisor's batch: locks a writer row, and reads which of these
--   partitions the node still owns in these epochs.
-- Params: :node uuid, :number smallint (of the writer). Parallel arrays: :partition smallint[], :epoch
--   bigint[] (what the node believes to own).
-- Locks: The writer row; waits.
-- Result: The partitions that the node owns. No row: it owns none of them, or a take-over has deleted the
--   writer row and so fenced this process.
-- Note: partition_lease is read without a lock, for which a take-over would wait. The rows may be as old as
--   the statement. A take-over that changes one later waits for this writer row, and a hand-over is made by
--   this process itself.
select l.partition, l.epoch
from unnest(:partition::smallint[], :epoch::bigint[]) as o (partition, epoch)
join drover.partition_lease as l on l.partition = o.partition and l.epoch = o.epoch
join drover.writer as w on w.node = l.node
where w.node = :node::uuid and w.number = :number::smallint
for no key update of w;

-- name: poll_partitions
-- Purpose: Keeps the session and the node row alive, and reads which partitions are held and which nodes
--   live. A node lives while its session holds the lock of its number, so the death of a killed process
--   shows at once.
-- Params: :node uuid.
-- Result: One row. held: partitions whose advisory lock some session holds. live: live nodes (JSON), in the
--   order in which they joined. regions: all regions. backend: the process id of this session's backend.
with seen as (
  update drover.node set last_seen_at = now() where id = :node::uuid
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
-- Purpose: Takes the advisory locks of those partitions that are free.
-- Params: :partitions integer[].
-- Locks: Advisory locks of the session, without waiting.
-- Result: The partitions that are locked now.
select p as partition
from unnest(:partitions::integer[]) as p
where pg_try_advisory_lock('drover.partition_lease'::regclass::oid::integer, p);

-- name: unlock
-- Purpose: Releases advisory locks of partitions.
-- Params: :partitions integer[].
select pg_advisory_unlock('drover.partition_lease'::regclass::oid::integer, p)
from unnest(:partitions::integer[]) as p;

-- name: lock_partition_leases
-- Purpose: The first statement of a take-over. Of two take-overs at once the second sees the first one as
--   the owner, and fences it.
-- Params: :partitions smallint[].
-- Locks: Rows of partition_lease in the order of partitions; waits.
select from drover.partition_lease as l
where l.partition = any (:partitions::smallint[])
order by l.partition
for update;

-- name: fence_former_owners
-- Purpose: Fences the former owners of locked partitions: deletes their writer rows. Later batches of these
--   processes find no row.
-- Params: :partitions smallint[], :node uuid (the new owner).
-- Locks: The writer rows; waits for the batch that holds one.
delete from drover.writer as w
using (
  select distinct l.node
  from drover.partition_lease as l
  where l.partition = any (:partitions::smallint[]) and l.node is not null and l.node <> :node::uuid
) as former
where w.node = former.node;

-- name: take_partitions
-- Purpose: Makes a node the owner of locked partitions, with the next epoch. Of the history the last
--   :hand_overs_max rows stay. The row of the owner before is ended, if it had not given the partition back.
-- Params: :partitions smallint[], :node uuid, :hand_overs_max integer.
-- Plan: partition_history by key.
-- Result: The partitions with their new epochs, why they were free, and when they were taken: note_hand_overs
--   stores it.
-- Note: The new epoch begins now and not at the start of the transaction: a batch of the former owner may
--   have begun in between, which the fence has waited for.
with fenced as materialized (
  select t.at, date_trunc('milliseconds', t.at) as at_ms from (select clock_timestamp() as at offset 0) as t
),
before as materialized (
  select l.partition, l.epoch, l.node from drover.partition_lease as l
    where l.partition = any (:partitions::smallint[])
),
taken as (
  update drover.partition_lease as l
  set node = :node::uuid, epoch = l.epoch + 1, taken_at = f.at
  from fenced as f
  where l.partition = any (:partitions::smallint[])
  returning l.partition, l.epoch
),
ended as (
  update drover.partition_history as h
  set left_at = f.at
  from before as b, fenced as f
  where h.partition = b.partition and h.epoch = b.epoch and h.left_at is null
),
trimmed as (
  delete from drover.partition_history as h
  using taken as t
  where h.partition = t.partition and h.epoch <= t.epoch - :hand_overs_max::integer
)
select t.partition, t.epoch,
  case when b.epoch = 0 then :hand_over_why.first when b.node is null then :hand_over_why.given-back
    else :hand_over_why.lost end as why,
  f.at_ms as taken_at
from taken as t
cross join fenced as f
join before as b on b.partition = t.partition;

-- name: note_hand_overs
-- Purpose: Stores rows of history of partitions that a node has taken.
-- Params: Parallel arrays: :partition smallint[], :epoch bigint[], :why smallint[] (code). For all: :node uuid,
--   :taken_at bigint (ms since 1970).
-- Note: A row that the history has already must not prevent the take-over.
insert into drover.partition_history (partition, epoch, node, process, address, why, taken_at)
select u.partition, u.epoch, :node::uuid, n.process, n.address, u.why,
  to_timestamp(:taken_at::bigint / 1e3::float8)
from unnest(:partition::smallint[], :epoch::bigint[], :why::smallint[]) as u (partition, epoch, why)
left join drover.node as n on n.id = :node::uuid
on conflict (partition, epoch) do update
set node = excluded.node, process = excluded.process, address = excluded.address, why = excluded.why,
  taken_at = excluded.taken_at, left_at = null;

-- name: clear_partitions
-- Purpose: Gives partitions of a node back, so that the next owner has no one to fence.
-- Params: :partitions smallint[], :node uuid.
-- Locks: Rows of partition_lease in the order of partitions, then the writer rows of the node; waits for
--   each batch that holds one. A batch whose answer was lost may still be about to commit.
with mine as materialized (
  select l.partition, l.epoch
  from drover.partition_lease as l
  where l.partition = any (:partitions::smallint[]) and l.node = :node::uuid
  order by l.partition
  for update
),
held as materialized (
  select w.number
  from drover.writer as w
  where w.node = :node::uuid and exists (select from mine)
  order by w.number
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
-- Purpose: Deletes the writer rows of a node that leaves.
-- Params: :node uuid.
delete from drover.writer where node = :node::uuid;

-- name: leave_node
-- Purpose: Deletes a node that leaves.
-- Params: :id uuid.
delete from drover.node where id = :id::uuid;

-- name: forget_old_nodes
-- Purpose: Deletes nodes that were not seen for a minute.
delete from drover.node where last_seen_at < now() - interval '1 minute';
