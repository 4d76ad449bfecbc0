-- Shares of the limits of queues, in a store with several shards. Each shard claims by its own row of
-- queue_share, which it locks first; an allotment moves units between the rows (store/queue-shares.ts).

-- name: read_shares
-- Purpose: Reads the share of each queue with limits, with what the shard does with it.
-- Params: :waiting_max integer (tasks counted of each lane).
-- Plan: queue_share by key; lease_lane, ready_lane.
-- Result: A shard that has no share yet has none of its columns. leased is 0 without leases_max, and waiting
--   if the queue is paused.
select q.namespace_id, q.name, q.leases_max, q.rate, q.burst, s.slots, s.burst as share_burst, s.served_at, now() as now,
  (
    select coalesce(sum((
      select count(*) from (select from drover.lease as e where e.lane = l.id limit coalesce(q.leases_max, 0)) as counted
    )), 0)::integer
    from drover.lane as l
    where l.namespace_id = q.namespace_id and l.queue = q.name
  ) as leased,
  (
    select coalesce(sum((
      select count(*)
      from (select from drover.ready as r where r.lane = l.id and not r.paused limit :waiting_max::integer) as counted
    )), 0)::integer
    from drover.lane as l
    where l.namespace_id = q.namespace_id and l.queue = q.name
      and not exists (
        select from drover.queue as p
        where p.namespace_id = q.namespace_id and p.name in (q.name, '') and p.paused_at is not null
      )
  ) as waiting
from drover.queue as q
left join drover.queue_share as s on s.namespace_id = q.namespace_id and s.name = q.name
where q.leases_max is not null or q.rate is not null
order by q.namespace_id, q.name;

-- name: lock_allotted
-- Purpose: Locks those of these queues that have limits, and reads the limits and the tokens that no shard
--   has got yet.
-- Params: Parallel arrays: :namespace_id integer[], :name text[].
-- Locks: Queues; waits for a change of their limits.
-- Result: A queue without limits has no row. tokens is null if the queue has no rate. allotment is the number
--   of the last one.
select q.namespace_id, q.name, q.allotment, q.leases_max, q.rate, q.burst, q.tokens
from unnest(:namespace_id::integer[], :name::text[]) as u (namespace_id, name)
join drover.queue as q on q.namespace_id = u.namespace_id and q.name = u.name
where q.leases_max is not null or q.rate is not null
order by q.namespace_id, q.name
for no key update of q;

-- name: begin_allotments
-- Purpose: Numbers an allotment of each of these queues, which are locked, and takes their tokens.
-- Params: Parallel arrays: :namespace_id integer[], :name text[], :allotment bigint[] (its number).
update drover.queue as q
set allotment = u.allotment, tokens = case when q.rate is not null then 0 end
from unnest(:namespace_id::integer[], :name::text[], :allotment::bigint[]) as u (namespace_id, name, allotment)
where q.namespace_id = u.namespace_id and q.name = u.name;

-- name: make_shares
-- Purpose: Creates the rows of queues of which the shard has no share yet, so that they can be locked.
-- Params: Parallel arrays: :namespace_id integer[], :name text[].
insert into drover.queue_share (namespace_id, name)
select u.namespace_id, u.name
from unnest(:namespace_id::integer[], :name::text[]) as u (namespace_id, name)
order by u.namespace_id, u.name
on conflict (namespace_id, name) do nothing;

-- name: lock_shares
-- Purpose: Locks the shares of queues that have limits, and reads them with the limits.
-- Params: Parallel arrays: :namespace_id integer[], :name text[].
-- Locks: Rows of queue_share in key order; waits.
-- Plan: queue, queue_share by key.
-- Result: A queue without limits has no row. A queue without a share has none of its columns: nothing of it
--   may be claimed.
select q.namespace_id, q.name, q.leases_max, q.rate, q.burst, s.slots, s.burst as share_burst, s.tokens,
  s.filled_at, s.served_at, s.allotment, now() as now
from (
  select x.namespace_id, x.name
  from unnest(:namespace_id::integer[], :name::text[]) as x (namespace_id, name)
  order by x.namespace_id, x.name
) as u
join drover.queue as q on q.namespace_id = u.namespace_id and q.name = u.name
left join lateral (
  select x.slots, x.burst, x.tokens, x.filled_at, x.served_at, x.allotment
  from drover.queue_share as x
  where x.namespace_id = u.namespace_id and x.name = u.name
  for no key update
) as s on true
where q.leases_max is not null or q.rate is not null;

-- name: write_shares
-- Purpose: Writes locked shares as an allotment has changed them.
-- Params: Parallel arrays: :namespace_id integer[], :name text[], :slots integer[], :burst integer[], :tokens
--   double precision[] and :filled_at bigint[] (ms since 1970; null: no rate), :served_at bigint[] (ms since
--   1970; null: never), :allotment bigint[] (its number).
-- Plan: queue_share by key.
update drover.queue_share as s
set slots = u.slots, burst = u.burst, tokens = u.tokens, filled_at = to_timestamp(u.filled_at / 1e3::float8),
  served_at = to_timestamp(u.served_at / 1e3::float8), allotment = u.allotment
from unnest(:namespace_id::integer[], :name::text[], :slots::integer[], :burst::integer[],
  :tokens::double precision[], :filled_at::bigint[], :served_at::bigint[], :allotment::bigint[])
  as u (namespace_id, name, slots, burst, tokens, filled_at, served_at, allotment)
where s.namespace_id = u.namespace_id and s.name = u.name;

-- name: write_buckets_of_shares
-- Purpose: Writes the buckets of locked shares after a claim.
-- Params: Parallel arrays: :namespace_id integer[], :name text[], :tokens double precision[], :filled_at
--   bigint[] (ms since 1970).
-- Plan: queue_share by key.
-- Result: One row for each queue.
update drover.queue_share as s
set tokens = u.tokens, filled_at = to_timestamp(u.filled_at / 1e3::float8)
from unnest(:namespace_id::integer[], :name::text[], :tokens::double precision[], :filled_at::bigint[])
  as u (namespace_id, name, tokens, filled_at)
where s.namespace_id = u.namespace_id and s.name = u.name
returning s.name;
