-- Counts for the overview. `insert_runs` and `end_runs` write to run_count_delta, in the transaction that
-- accepts or ends the runs. `fold_run_counts` moves these rows into run_count and run_hour_count. A count is
-- the sum over the rows that were moved and those that were not, read by one statement.

-- name: run_counts
-- Purpose: Counts the runs of a namespace that were accepted or that ended, by minute and event.
-- Params: :namespace_id integer, :since bigint (ms since 1970; minutes that began then or later).
-- Plan: run_count by key.
-- Result: One row for each minute and event with runs, oldest minute first. event is -1 for accepted, else
--   the code of the state in which the runs ended.
select x.minute, x.event, sum(x.runs)::integer as runs
from (
  select c.minute, c.event, c.runs
  from drover.run_count as c
  where c.namespace_id = :namespace_id::integer and c.minute >= to_timestamp(:since::bigint / 1e3::float8)
  union all
  select date_bin('1 minute', d.at, timestamptz 'epoch'), d.event, d.runs
  from drover.run_count_delta as d
  where d.namespace_id = :namespace_id::integer and d.at >= to_timestamp(:since::bigint / 1e3::float8)
) as x
group by x.minute, x.event
order by x.minute, x.event;

-- name: unsuccessful_workflows
-- Purpose: Lists the workflows of a namespace with runs that ended otherwise than COMPLETED. The
--   workflow with the most such runs comes first.
-- Params: :namespace_id integer, :since bigint (ms since 1970; minutes that began then or later), :limit
--   integer.
-- Plan: run_count by key.
-- Result: One row for each workflow, with the number of runs for each state in which runs end.
select x.workflow,
  coalesce(sum(x.runs) filter (where x.event = :run_state.COMPLETED), 0)::integer as completed,
  coalesce(sum(x.runs) filter (where x.event = :run_state.FAILED), 0)::integer as failed,
  coalesce(sum(x.runs) filter (where x.event = :run_state.COMPENSATED), 0)::integer as compensated,
  coalesce(sum(x.runs) filter (where x.event = :run_state.CANCELLED), 0)::integer as cancelled
from (
  select c.workflow, c.event, c.runs
  from drover.run_count as c
  where c.namespace_id = :namespace_id::integer and c.minute >= to_timestamp(:since::bigint / 1e3::float8)
  union all
  select d.workflow, d.event, d.runs
  from drover.run_count_delta as d
  where d.namespace_id = :namespace_id::integer and d.at >= to_timestamp(:since::bigint / 1e3::float8)
) as x
where x.event in (:run_state.COMPLETED, :run_state.FAILED, :run_state.COMPENSATED, :run_state.CANCELLED)
group by x.workflow
having bool_or(x.event <> :run_state.COMPLETED)
order by sum(x.runs) filter (where x.event <> :run_state.COMPLETED) desc, x.workflow
limit :limit::integer;

-- name: workflow_run_counts
-- Purpose: Counts the ended runs of workflows, by state and by how long they took.
-- Params: :namespace_id integer, :workflows text[] (names), :since bigint (ms since 1970; hours that began
--   then or later).
-- Plan: run_hour_count by key.
-- Result: One row for each workflow, event (code of the state) and bucket (took) with runs. last_at: when the
--   last of them ended.
select x.workflow, x.event, x.took, sum(x.runs)::integer as runs, max(x.last_at) as last_at
from (
  select c.workflow, c.event, c.took, c.runs, c.last_at
  from drover.run_hour_count as c
  where c.namespace_id = :namespace_id::integer and c.workflow = any (:workflows::text[])
    and c.hour >= to_timestamp(:since::bigint / 1e3::float8)
  union all
  select d.workflow, d.event, t.took, 1, d.at
  from drover.run_count_delta as d
  cross join lateral unnest(d.took) as t (took)
  where d.namespace_id = :namespace_id::integer and d.workflow = any (:workflows::text[])
    and d.at >= to_timestamp(:since::bigint / 1e3::float8)
) as x
group by x.workflow, x.event, x.took;

-- name: fold_run_counts
-- Purpose: Moves up to :rows_max rows of run_count_delta into run_count, and of ended runs also into
--   run_hour_count.
-- Params: :rows_max integer.
-- Locks: The moved rows, without waiting: a row that another server moves is skipped. Rows of run_count and
--   then of run_hour_count, both in key order, because several servers add to the same rows; waits for them.
-- Result: One row. more: :rows_max rows were moved, so there may be more.
with moved as (
  delete from drover.run_count_delta as d
  where d.ctid = any (array(
    select x.ctid from drover.run_count_delta as x limit :rows_max::integer for update skip locked
  ))
  returning d.at, d.namespace_id, d.runs, d.event, d.workflow, d.took
),
added as (
  insert into drover.run_count as c (minute, namespace_id, runs, event, workflow)
  select date_bin('1 minute', m.at, timestamptz 'epoch') as minute, m.namespace_id, sum(m.runs), m.event,
    m.workflow
  from moved as m
  group by 1, m.namespace_id, m.event, m.workflow
  order by m.namespace_id, minute, m.event, m.workflow
  on conflict (namespace_id, minute, event, workflow) do update set runs = c.runs + excluded.runs
  returning 1
),
added_by_hour as (
  insert into drover.run_hour_count as c (hour, last_at, namespace_id, runs, event, took, workflow)
  select date_bin('1 hour', m.at, timestamptz 'epoch') as hour, max(m.at), m.namespace_id, count(*), m.event,
    t.took, m.workflow
  from moved as m
  cross join lateral unnest(m.took) as t (took)
  where (select count(*) from added) >= 0
  group by 1, m.namespace_id, m.event, t.took, m.workflow
  order by m.namespace_id, m.workflow, hour, m.event, t.took
  on conflict (namespace_id, workflow, hour, event, took) do update
    set runs = c.runs + excluded.runs, last_at = greatest(c.last_at, excluded.last_at)
)
select count(*) = :rows_max::integer as more from moved;

-- name: forget_run_counts
-- Purpose: Deletes sums of minutes that began more than :retention ms ago.
-- Params: :rows_max integer, :retention bigint (ms).
-- Locks: The deleted rows, without waiting: a locked row is skipped.
-- Plan: run_count by key.
-- Result: One row. more: :rows_max rows were deleted, so there may be more.
with gone as (
  delete from drover.run_count as c
  where c.ctid = any (array(
    select o.ctid
    from drover.namespace as n
    cross join lateral (
      select x.ctid
      from drover.run_count as x
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

-- name: forget_run_hours
-- Purpose: Deletes sums of hours that began more than :retention ms ago.
-- Params: :rows_max integer, :retention bigint (ms).
-- Locks: The deleted rows, without waiting: a locked row is skipped.
-- Plan: run_hour_count_hour.
-- Result: One row. more: :rows_max rows were deleted, so there may be more.
with gone as (
  delete from drover.run_hour_count as c
  where c.ctid = any (array(
    select x.ctid
    from drover.run_hour_count as x
    where x.hour < now() - :retention::bigint * interval '1 millisecond'
    order by x.hour
    limit :rows_max::integer
    for update skip locked
  ))
  returning 1
)
select count(*) = :rows_max::integer as more from gone;

-- name: count_open_runs
-- Purpose: Counts the open runs of all namespaces by state, up to :runs_max in each partition. Runs are
--   spread evenly over the partitions.
-- Params: :runs_max integer (for each partition).
-- Plan: run_page_open_partition; the order clause keeps the planner on it.
-- Result: One row for each state with open runs. more: a partition has reached :runs_max, so there may be
--   more runs.
select o.state, count(*)::integer as runs, bool_or(o.counted = :runs_max::integer) as more
from drover.partition_lease as p
cross join lateral (
  select c.state, row_number() over () as counted
  from (
    select r.run_state as state
    from drover.run_page as r
    where r.partition = p.partition and r.no = 0 and r.ended_at is null
    order by r.partition, r.run_id
    limit :runs_max::integer
  ) as c
) as o
group by o.state;

-- name: count_states_of
-- Purpose: Counts the open runs of one namespace by state, up to :runs_max in all.
-- Params: :runs_max integer, :namespace_id integer.
-- Plan: run_page_open; the order clause keeps the planner on it.
-- Result: One row for each state with open runs. more: :runs_max is reached, so there may be more runs.
select o.state, count(*)::integer as runs, bool_or(o.counted = :runs_max::integer) as more
from (
  select c.state, row_number() over () as counted
  from (
    select r.run_state as state
    from drover.run_page as r
    where r.namespace_id = :namespace_id::integer and r.no = 0 and r.ended_at is null
    order by r.namespace_id, r.definition_id, r.run_id
    limit :runs_max::integer
  ) as c
) as o
group by o.state;

-- name: count_substates_of
-- Purpose: Counts the open runs of one namespace by substate, up to :runs_max of each. For working and agent,
--   at most :tasks_max tasks are read.
-- Params: :runs_max integer, :tasks_max integer, :namespace_id integer.
-- Plan: For each kind of wait its index of run_page; ready and lease by lane.
-- Result: One row for each substate: working, agent, or a bit of run_page.waits as text. more: there are more
--   runs than were counted.
with task as (
  select 'agent' as substate, t.run_id
  from (
    select x.run_id
    from drover.lane as l
    cross join lateral (
      select o.run_id from drover.ready as o where o.lane = l.id limit :tasks_max::integer
    ) as x
    where l.namespace_id = :namespace_id::integer
    limit :tasks_max::integer
  ) as t
  union all
  select 'working', t.run_id
  from (
    select x.run_id
    from drover.lane as l
    cross join lateral (
      select o.run_id from drover.lease as o where o.lane = l.id limit :tasks_max::integer
    ) as x
    where l.namespace_id = :namespace_id::integer
    limit :tasks_max::integer
  ) as t
)
select t.substate, least(count(distinct t.run_id), :runs_max::integer)::integer as runs,
  count(distinct t.run_id) > :runs_max::integer or count(*) = :tasks_max::integer as more
from task as t
group by t.substate
union all
select w.bit::text, least(w.runs, :runs_max::integer)::integer, w.runs > :runs_max::integer
from (
  select 1 as bit, (select count(*) from (select from drover.run_page as p
    where p.namespace_id = :namespace_id::integer and p.waits & 1 <> 0 limit :runs_max::integer + 1) as c) as runs
  union all
  select 2, (select count(*) from (select from drover.run_page as p
    where p.namespace_id = :namespace_id::integer and p.waits & 2 <> 0 limit :runs_max::integer + 1) as c)
  union all
  select 4, (select count(*) from (select from drover.run_page as p
    where p.namespace_id = :namespace_id::integer and p.waits & 4 <> 0 limit :runs_max::integer + 1) as c)
  union all
  select 8, (select count(*) from (select from drover.run_page as p
    where p.namespace_id = :namespace_id::integer and p.waits & 8 <> 0 limit :runs_max::integer + 1) as c)
  union all
  select 16, (select count(*) from (select from drover.run_page as p
    where p.namespace_id = :namespace_id::integer and p.waits & 16 <> 0 limit :runs_max::integer + 1) as c)
  union all
  select 32, (select count(*) from (select from drover.run_page as p
    where p.namespace_id = :namespace_id::integer and p.waits & 32 <> 0 limit :runs_max::integer + 1) as c)
  union all
  select 64, (select count(*) from (select from drover.run_page as p
    where p.namespace_id = :namespace_id::integer and p.waits & 64 <> 0 limit :runs_max::integer + 1) as c)
) as w
where w.runs > 0;

-- name: count_interventions
-- Purpose: Counts the interventions of a namespace by rule, up to :counted_max for each rule.
-- Params: :namespace_id integer, :rules smallint[] (codes), :since bigint (ms since 1970; acted then or
--   later), :counted_max integer.
-- Plan: In each range of runs the index on namespace, rule and time.
-- Result: One row for each rule with interventions.
select u.of_rule as rule, n.counted::integer as counted
from unnest(:rules::smallint[]) as u (of_rule)
cross join lateral (
  select count(*) as counted
  from (
    select from drover.intervention as x
    where x.namespace_id = :namespace_id::integer and x.rule = u.of_rule
      and x.acted_at >= to_timestamp(:since::bigint / 1e3::float8)
    limit :counted_max::integer
  ) as c
) as n
where n.counted > 0;
