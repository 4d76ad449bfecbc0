-- What is derived from the pages of runs: ready rows, leases (leases.sql) and wake-up times. They are
-- written in the transaction that writes the page.

-- name: delete_ready
-- Purpose: Deletes ready rows. If one does not exist, the transaction fails.
-- Params: Parallel arrays: :run_id uuid[], :step_no integer[] (step key).
-- Plan: ready by key.
with met as (
  delete from drover.ready as r
  using unnest(:run_id::uuid[], :step_no::integer[]) as u (run_id, step_no)
  where r.run_id = u.run_id and r.step_no = u.step_no
  returning r.step_no
)
select drover.expect_rows(count(*), cardinality(:run_id::uuid[]), 'the removal of ready rows') from met;

-- name: move_ready
-- Purpose: Changes the time until which ready tasks may run.
-- Params: Parallel arrays: :run_id uuid[], :step_no integer[] (step key), :until float8[] (ms since 1970;
--   null: no bound).
-- Plan: ready by key.
update drover.ready as r
set until = to_timestamp(u.until / 1e3::float8)
from unnest(:run_id::uuid[], :step_no::integer[], :until::float8[]) as u (run_id, step_no, until)
where r.run_id = u.run_id and r.step_no = u.step_no;

-- name: insert_ready
-- Purpose: Inserts ready rows. A row of a paused workflow says so, and no claim reads it. A row that a pin
--   gives to one version of agents gets the lane of that class.
-- Params: Parallel arrays: :run_id uuid[], :step_no integer[] (step key), :partition smallint[], :lane
--   integer[] (class 0), :priority smallint[] (1 first, 9 last), :ready_at float8[], :until float8[] (ms
--   since 1970; null: no bound), :namespace_id integer[], :definition_id bigint[].
-- Plan: run by key; version_pin, lane by key.
-- Result: Of each row the lane in which claims find it; null: a row of a paused workflow.
-- Note: The order within a priority is (transaction, number), so rows of one transaction keep their order.
--   Whether there is any pause or pin is read once, so a row costs next to nothing where there is none.
insert into drover.ready (run_id, ordered_by, step_no, partition, lane, priority, paused, ordinal, ready_at,
  until)
select u.run_id, drover.transaction_number(u.run_id), u.step_no, u.partition, coalesce(k.lane, u.lane), u.priority,
  coalesce(w.is_paused, false), u.ordinal,
  to_timestamp(u.ready_at / 1e3::float8), to_timestamp(u.until / 1e3::float8)
from (
  select unnest(:run_id::uuid[]) as run_id, unnest(:step_no::integer[]) as step_no,
    unnest(:partition::smallint[]) as partition, unnest(:lane::integer[]) as lane,
    unnest(:priority::smallint[]) as priority, unnest(:ready_at::float8[]) as ready_at,
    unnest(:until::float8[]) as until, unnest(:namespace_id::integer[]) as namespace_id,
    unnest(:definition_id::bigint[]) as definition_id, generate_subscripts(:run_id::uuid[], 1) as ordinal
) as u
left join lateral (
  select r.workflow, exists (
    select from drover.paused_workflow as p
    where p.namespace_id = u.namespace_id and p.name = r.workflow
  ) as is_paused
  from drover.run as r
  where ((select exists (select from drover.paused_workflow))
    or (select exists (select from drover.version_pin))) and r.id = u.run_id
  offset 0
) as w on true
left join lateral (
  select t.id as lane
  from (
    select x.queue, x.class, x.definition_id
    from drover.version_pin as x
    where (select exists (select from drover.version_pin)) and x.namespace_id = u.namespace_id
      and x.workflow = w.workflow and x.definition_id in (0, u.definition_id)
    offset 0
  ) as v
  join drover.lane as l on l.id = u.lane and l.queue = v.queue
  join drover.lane as t on t.namespace_id = l.namespace_id and t.queue = l.queue and t.task = l.task
    and t.class = v.class
  order by v.definition_id desc
  limit 1
) as k on true
returning case when not paused then lane end as lane;

-- name: derived_rows_of_runs
-- Purpose: Reads the ready rows and leases of runs, for the consistency check.
-- Params: :run_ids uuid[].
-- Plan: ready, lease by the run's key.
-- Result: of is ready or lease. secret (hex) is null for a ready row, until for a lease.
select r.run_id, 'ready' as of, r.step_no, null as secret, r.until, 'none' as cancel
from drover.ready as r
where r.run_id = any (:run_ids::uuid[])
union all
select l.run_id, 'lease', l.step_no, encode(l.secret, 'hex'), null, l.cancel
from drover.lease as l
where l.run_id = any (:run_ids::uuid[]);

-- name: remove_derived_rows
-- Purpose: Deletes all ready rows and leases of locked runs, before they are written again.
-- Params: :run_ids uuid[].
-- Plan: ready, lease by the run's key.
with ready as (
  delete from drover.ready as r where r.run_id = any (:run_ids::uuid[])
)
delete from drover.lease as l where l.run_id = any (:run_ids::uuid[]);

-- name: set_wake_ups
-- Purpose: Stores the wake-up times of pages of locked runs, without a new version.
-- Params: Parallel arrays: :run_id uuid[], :no integer[] (page), :wake_at float8[] (ms since 1970; null: no
--   timer).
-- Plan: run_page by key.
update drover.run_page as p
set wake_at = coalesce(to_timestamp(u.wake_at / 1e3::float8),
  case when u.no = 0 then timestamptz 'infinity' end)
from unnest(:run_id::uuid[], :no::integer[], :wake_at::float8[]) as u (run_id, no, wake_at)
where p.run_id = u.run_id and p.no = u.no;
