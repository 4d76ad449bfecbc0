-- Queues: what people say about them. A claim reads it in the statement that locks ready rows.

-- name: pause_queue
-- No row: it is paused already.
insert into queue as q (namespace_id, name, paused_at, pause_reason)
values ($1::integer, $2::text, now(), $3::text)
on conflict (namespace_id, name) do update
set paused_at = excluded.paused_at, pause_reason = excluded.pause_reason
where q.paused_at is null
returning q.paused_at;

-- name: queue_pause
select q.paused_at, q.pause_reason
from queue as q
where q.namespace_id = $1::integer and q.name = $2::text and q.paused_at is not null;

-- name: resume_queue
update queue
set paused_at = null, pause_reason = null
where namespace_id = $1::integer and name = $2::text and paused_at is not null;

-- name: queue_lanes
-- All of the namespace, if the name is empty. Plan: lane by its unique key.
select l.id as lane
from lane as l
where l.namespace_id = $1::integer and ($2::text = '' or l.queue = $2::text);

-- name: claims_under_way
-- Transactions that have locked ready rows, or are about to: a statement locks the table before it takes
-- the snapshot in which it looks.
select distinct l.virtualtransaction as transaction
from pg_locks as l
where l.locktype = 'relation' and l.relation = 'ready'::regclass and l.granted
  and l.mode in ('RowShareLock', 'RowExclusiveLock') and l.pid <> pg_backend_pid()
  and l.database = (select d.oid from pg_database as d where d.datname = current_database());

-- name: list_queues
-- Those that are known, or that are asked for ($2), by name, after $3. Plan: ready_lane, lease_lane.
with named as (
  select l.queue as name
  from lane as l
  where l.namespace_id = $1::integer and ($2::text[] is null or l.queue = any ($2::text[]))
  union
  select q.name
  from queue as q
  where q.namespace_id = $1::integer and q.name <> ''
    and ($2::text[] is null or q.name = any ($2::text[]))
  union
  select n.name from unnest($2::text[]) as n (name)
),
page as (
  select n.name
  from named as n
  where $3::text is null or n.name > $3::text
  order by n.name
  limit $4::integer
)
select p.name, q.paused_at, q.pause_reason,
  coalesce(sum(c.ready), 0)::integer as ready, coalesce(sum(c.leased), 0)::integer as leased
from page as p
left join queue as q on q.namespace_id = $1::integer and q.name = p.name
left join lane as l on l.namespace_id = $1::integer and l.queue = p.name
left join lateral (
  select
    (select count(*) from (select from ready as r where r.lane = l.id limit $5::integer) as counted)
      as ready,
    (select count(*) from lease as e where e.lane = l.id) as leased
) as c on true
group by p.name, q.namespace_id, q.name
order by p.name;
