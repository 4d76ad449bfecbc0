-- Slots of concurrency keys. Whoever looks at them holds the lock of their key.

-- name: concurrency_of_runs
-- Plan: run by key.
select r.id as run_id, r.concurrency_key, r.concurrency_limit, r.concurrency_policy
from drover.run as r
where r.id = any ($1::uuid[]) and r.concurrency_key is not null;

-- name: lock_concurrency_keys
-- Until the end of the transaction, in one order; waits for others. There is no row to lock for a key
-- that nobody uses yet, and none is left behind. Two keys of one number only wait for each other;
-- the oid makes that of another schema another number.
select pg_advisory_xact_lock(k.number)
from (
  select distinct hashtextextended(u.namespace_id || '/' || u.key, 'drover.slot'::regclass::oid::bigint) as number
  from unnest($1::integer[], $2::text[]) as u (namespace_id, key)
  order by 1
  offset 0
) as k;

-- name: slots_of_keys
-- All that are held, and the first $3 that wait, in their turn. Plan: slot_of_key.
select u.namespace_id, u.key, s.run_id, s.max_holders, s.priority, s.since, s.holds, s.leaving
from unnest($1::integer[], $2::text[]) as u (namespace_id, key)
cross join lateral (
  (
    select x.*
    from drover.slot as x
    where x.namespace_id = u.namespace_id and x.key = u.key and x.holds
  )
  union all
  (
    select x.*
    from drover.slot as x
    where x.namespace_id = u.namespace_id and x.key = u.key and not x.holds
    order by x.priority, x.since, x.run_id
    limit $3::integer
  )
) as s;

-- name: write_slots
-- Slots that are asked for, and those that are given or left. The key is locked.
insert into drover.slot (namespace_id, key, run_id, max_holders, priority, since, holds, leaving)
select u.namespace_id, u.key, u.run_id, u.max_holders, u.priority, to_timestamp(u.since / 1e3::float8),
  u.holds, u.leaving
from unnest($1::integer[], $2::text[], $3::uuid[], $4::integer[], $5::smallint[], $6::bigint[],
  $7::boolean[], $8::boolean[])
  as u (namespace_id, key, run_id, max_holders, priority, since, holds, leaving)
on conflict (run_id) do update set holds = excluded.holds, leaving = excluded.leaving;

-- name: delete_slots
-- Plan: slot by key.
delete from drover.slot as s where s.run_id = any ($1::uuid[]) returning s.run_id;
