-- Failures of steps for operators: `count_failures` writes to failure_delta in the transaction of the
-- failures, `fold_failures` moves these rows into failure_count. A sum is over both tables, read by one
-- statement.

-- name: count_failures
-- Purpose: Counts failures of steps.
-- Params: Parallel arrays: :run_id uuid[] (the last run), :namespace_id integer[], :step text[] (its id),
--   :undo boolean[], :code text[], :message text[], :attempts integer[], :steps integer[].
-- Plan: run by key; the limit keeps the planner on it.
insert into drover.failure_delta (at, run_id, namespace_id, attempts, steps, undo, workflow, step, code,
  message)
select drover.transaction_time(u.run_id), u.run_id, u.namespace_id, u.attempts, u.steps, u.undo, r.workflow, u.step, u.code, u.message
from unnest(:run_id::uuid[], :namespace_id::integer[], :step::text[], :undo::boolean[], :code::text[],
  :message::text[], :attempts::integer[], :steps::integer[])
  as u (run_id, namespace_id, step, undo, code, message, attempts, steps)
cross join lateral (select x.workflow from drover.run as x where x.id = u.run_id limit 1) as r;

-- name: failing_steps
-- Purpose: Sums the failures of a namespace by workflow, step and error code. Groups with steps that failed for
--   good come first, those with the most failures before others.
-- Params: :namespace_id integer, :since bigint (ms since 1970; minutes that began then or later), :limit
--   integer.
-- Plan: failure_count by key.
-- Result: run_id and message are the last ones.
select x.workflow, x.step, x.undo, x.code, sum(x.attempts)::integer as attempts,
  sum(x.steps)::integer as steps, min(x.first_at) as first_at, max(x.last_at) as last_at,
  (array_agg(x.run_id order by x.last_at desc))[1] as run_id,
  (array_agg(x.message order by x.last_at desc))[1] as message
from (
  select c.workflow, c.step, c.undo, c.code, c.attempts, c.steps, c.first_at, c.last_at, c.run_id, c.message
  from drover.failure_count as c
  where c.namespace_id = :namespace_id::integer and c.minute >= to_timestamp(:since::bigint / 1e3::float8)
  union all
  select d.workflow, d.step, d.undo, d.code, d.attempts, d.steps, d.at, d.at, d.run_id, d.message
  from drover.failure_delta as d
  where d.namespace_id = :namespace_id::integer and d.at >= to_timestamp(:since::bigint / 1e3::float8)
) as x
group by x.workflow, x.step, x.undo, x.code
order by sum(x.steps) desc, sum(x.attempts) desc, x.workflow, x.step, x.code
limit :limit::integer;

-- name: failing_steps_of
-- Purpose: Sums the failures of a workflow by step and error code, in the order of failing_steps.
-- Params: :namespace_id integer, :workflow text, :since bigint (ms since 1970; minutes that began then or
--   later), :limit integer.
-- Plan: failure_count_workflow.
-- Result: As of failing_steps.
select x.workflow, x.step, x.undo, x.code, sum(x.attempts)::integer as attempts,
  sum(x.steps)::integer as steps, min(x.first_at) as first_at, max(x.last_at) as last_at,
  (array_agg(x.run_id order by x.last_at desc))[1] as run_id,
  (array_agg(x.message order by x.last_at desc))[1] as message
from (
  select c.workflow, c.step, c.undo, c.code, c.attempts, c.steps, c.first_at, c.last_at, c.run_id, c.message
  from drover.failure_count as c
  where c.namespace_id = :namespace_id::integer and c.workflow = :workflow::text
    and c.minute >= to_timestamp(:since::bigint / 1e3::float8)
  union all
  select d.workflow, d.step, d.undo, d.code, d.attempts, d.steps, d.at, d.at, d.run_id, d.message
  from drover.failure_delta as d
  where d.namespace_id = :namespace_id::integer and d.workflow = :workflow::text
    and d.at >= to_timestamp(:since::bigint / 1e3::float8)
) as x
group by x.workflow, x.step, x.undo, x.code
order by sum(x.steps) desc, sum(x.attempts) desc, x.workflow, x.step, x.code
limit :limit::integer;

-- name: fold_failures
-- Purpose: Moves up to :rows_max rows of failure_delta into failure_count.
-- Params: :rows_max integer.
-- Locks: The moved rows, without waiting: a row that another server moves is skipped. Rows of failure_count in
--   key order, because several servers add to the same rows; waits for them.
-- Result: One row. more: :rows_max rows were moved, so there may be more.
with moved as (
  delete from drover.failure_delta as d
  where d.ctid = any (array(
    select x.ctid from drover.failure_delta as x limit :rows_max::integer for update skip locked
  ))
  returning d.*
),
summed as (
  select date_bin('1 minute', m.at, timestamptz 'epoch') as minute, m.namespace_id, m.workflow, m.step, m.undo,
    m.code, sum(m.attempts) as attempts, sum(m.steps) as steps, min(m.at) as first_at, max(m.at) as last_at,
    (array_agg(m.run_id order by m.at desc))[1] as run_id,
    (array_agg(m.message order by m.at desc))[1] as message
  from moved as m
  group by 1, m.namespace_id, m.workflow, m.step, m.undo, m.code
),
added as (
  insert into drover.failure_count as c (minute, first_at, last_at, run_id, namespace_id, attempts, steps, undo,
    workflow, step, code, message)
  select s.minute, s.first_at, s.last_at, s.run_id, s.namespace_id, s.attempts, s.steps, s.undo, s.workflow,
    s.step, s.code, s.message
  from summed as s
  order by s.namespace_id, s.minute, s.workflow, s.step, s.undo, s.code
  on conflict (namespace_id, minute, workflow, step, undo, code) do update
    set attempts = c.attempts + excluded.attempts, steps = c.steps + excluded.steps,
      first_at = least(c.first_at, excluded.first_at), last_at = greatest(c.last_at, excluded.last_at),
      run_id = case when excluded.last_at >= c.last_at then excluded.run_id else c.run_id end,
      message = case when excluded.last_at >= c.last_at then excluded.message else c.message end
)
select count(*) = :rows_max::integer as more from moved;

-- name: forget_failures
-- Purpose: Deletes sums of minutes that began more than :retention ms ago.
-- Params: :rows_max integer, :retention bigint (ms).
-- Locks: The deleted rows, without waiting: a locked row is skipped.
-- Plan: failure_count by key.
-- Result: One row. more: :rows_max rows were deleted, so there may be more.
with gone as (
  delete from drover.failure_count as c
  where c.ctid = any (array(
    select o.ctid
    from drover.namespace as n
    cross join lateral (
      select x.ctid
      from drover.failure_count as x
      where x.namespace_id = n.id and x.minute < now() - :retention::bigint * interval '1 millisecond'
      order by x.minute
      limit :rows_max::integer
      for update skip locked
    ) as o
    limit :rows_max::integer
  ))
  returning 1
)
select count(*) = :rows_max::integer as more from gone;
