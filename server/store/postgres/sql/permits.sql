-- Permits of concurrency keys (table permit). A transaction that reads or writes permits of a key holds the
-- lock of the key.

-- name: concurrency_of_runs
-- Purpose: Reads the concurrency keys of runs.
-- Params: :run_ids uuid[].
-- Plan: run by key.
-- Result: No row: the run has no concurrency key.
select r.id as run_id, r.concurrency_key, r.concurrency_limit, r.concurrency_policy
from drover.run as r
where r.id = any (:run_ids::uuid[]) and r.concurrency_key is not null;

-- name: lock_concurrency_keys
-- Purpose: Locks concurrency keys until the end of the transaction.
-- Params: Parallel arrays: :namespace_id integer[], :key text[].
-- Locks: Advisory locks in the order of their numbers; waits. An unused key has no row that could be
--   locked, and none is left behind.
-- Note: Two keys with the same number only wait for each other. The oid makes the numbers of another schema
--   differ.
select pg_advisory_xact_lock(k.number)
from (
  select distinct hashtextextended(u.namespace_id || '/' || u.key,
    'drover.permit'::regclass::oid::bigint) as number
  from unnest(:namespace_id::integer[], :key::text[]) as u (namespace_id, key)
  order by 1
  offset 0
) as k;

-- name: permits_of_keys
-- Purpose: Reads the permits of locked keys: all that are held, and the first :waiters_max runs that wait,
--   in their order.
-- Params: Parallel arrays: :namespace_id integer[], :key text[]. For all: :waiters_max integer (for each
--   key).
-- Plan: permit_of_key.
select u.namespace_id, u.key, s.run_id, s.max_holders, s.priority, s.since, s.holds, s.leaving
from unnest(:namespace_id::integer[], :key::text[]) as u (namespace_id, key)
cross join lateral (
  (
    select x.*
    from drover.permit as x
    where x.namespace_id = u.namespace_id and x.key = u.key and x.holds
  )
  union all
  (
    select x.*
    from drover.permit as x
    where x.namespace_id = u.namespace_id and x.key = u.key and not x.holds
    order by x.priority, x.since, x.run_id
    limit :waiters_max::integer
  )
) as s;

-- name: write_permits
-- Purpose: Writes permits of locked keys.
-- Params: Parallel arrays: :namespace_id integer[], :key text[], :run_id uuid[], :max_holders integer[],
--   :priority smallint[], :since bigint[] (ms since 1970), :holds boolean[], :leaving boolean[] (a newer
--   run has had this one cancelled).
insert into drover.permit (namespace_id, key, run_id, max_holders, priority, since, holds, leaving)
select u.namespace_id, u.key, u.run_id, u.max_holders, u.priority, to_timestamp(u.since / 1e3::float8),
  u.holds, u.leaving
from unnest(:namespace_id::integer[], :key::text[], :run_id::uuid[], :max_holders::integer[],
  :priority::smallint[], :since::bigint[],
  :holds::boolean[], :leaving::boolean[])
  as u (namespace_id, key, run_id, max_holders, priority, since, holds, leaving)
on conflict (run_id) do update set holds = excluded.holds, leaving = excluded.leaving;

-- name: delete_permits
-- Purpose: Deletes the permits of runs. The keys are locked.
-- Params: :run_ids uuid[].
-- Plan: permit by key.
-- Result: One row for each permit.
delete from drover.permit as s where s.run_id = any (:run_ids::uuid[]) returning s.run_id;
