-- What an overview counts. Runs are counted by `insert_runs` and `end_runs`, in run_count_delta; a number
-- is the sum of run_count and of what was not added to it yet, both read by one statement.

-- name: run_counts
-- By minute and event, from $2 on. Plan: run_count by key.
select x.minute, x.event, sum(x.runs)::integer as runs
from (
  select c.minute, c.event, c.runs
  from drover.run_count as c
  where c.namespace_id = $1::integer and c.minute >= to_timestamp($2::bigint / 1e3::float8)
  union all
  select d.minute, d.event, d.runs
  from drover.run_count_delta as d
  where d.namespace_id = $1::integer and d.minute >= to_timestamp($2::bigint / 1e3::float8)
) as x
group by x.minute, x.event
order by x.minute, x.event;

-- name: unsuccessful_workflows
-- Workflows of which runs ended otherwise than COMPLETED (4), from $2 on: those with most of them first.
-- Plan: run_count by key.
select x.workflow,
  coalesce(sum(x.runs) filter (where x.event = 4), 0)::integer as completed,
  coalesce(sum(x.runs) filter (where x.event = 5), 0)::integer as failed,
  coalesce(sum(x.runs) filter (where x.event = 6), 0)::integer as compensated,
  coalesce(sum(x.runs) filter (where x.event = 7), 0)::integer as cancelled
from (
  select c.workflow, c.event, c.runs
  from drover.run_count as c
  where c.namespace_id = $1::integer and c.minute >= to_timestamp($2::bigint / 1e3::float8)
  union all
  select d.workflow, d.event, d.runs
  from drover.run_count_delta as d
  where d.namespace_id = $1::integer and d.minute >= to_timestamp($2::bigint / 1e3::float8)
) as x
where x.event >= 4
group by x.workflow
having bool_or(x.event > 4)
order by sum(x.runs) filter (where x.event > 4) desc, x.workflow
limit $3::integer;

-- name: fold_run_counts
-- Moves up to $1 rows into run_count. Rows that another server moves are left to it. In key order: servers
-- add to the same rows.
with moved as (
  delete from drover.run_count_delta as d
  where d.ctid = any (array(
    select x.ctid from drover.run_count_delta as x limit $1::integer for update skip locked
  ))
  returning d.minute, d.namespace_id, d.runs, d.event, d.workflow
),
added as (
  insert into drover.run_count as c (minute, namespace_id, runs, event, workflow)
  select m.minute, m.namespace_id, sum(m.runs), m.event, m.workflow
  from moved as m
  group by m.namespace_id, m.minute, m.event, m.workflow
  order by m.namespace_id, m.minute, m.event, m.workflow
  on conflict (namespace_id, minute, event, workflow) do update set runs = c.runs + excluded.runs
)
select count(*) = $1::integer as more from moved;

-- name: forget_run_counts
-- Sums of minutes that began more than $2 milliseconds ago. Plan: run_count by key.
with gone as (
  delete from drover.run_count as c
  where c.ctid = any (array(
    select o.ctid
    from drover.namespace as n
    cross join lateral (
      select x.ctid
      from drover.run_count as x
      where x.namespace_id = n.id and x.minute < now() - $2::bigint * interval '1 millisecond'
      order by x.minute
      limit $1::integer
      for update skip locked
    ) as o
    limit $1::integer
  ))
  returning 1
)
select count(*) = $1::integer as more from gone;

-- name: count_open_runs
-- Up to $1 of each partition: runs are spread over them evenly. Plan: run_page_open_partition, whose order
-- keeps the planner to it.
select o.state, count(*)::integer as runs, bool_or(o.counted = $1::integer) as more
from drover.partition_lease as p
cross join lateral (
  select c.state, row_number() over () as counted
  from (
    select r.run_state as state
    from drover.run_page as r
    where r.partition = p.partition and r.no = 0 and r.ended_at is null
    order by r.partition, r.run_id
    limit $1::integer
  ) as c
) as o
group by o.state;

-- name: count_states_of
-- Up to $1 of the namespace $2. Plan: run_page_open, whose order keeps the planner to it.
select o.state, count(*)::integer as runs, bool_or(o.counted = $1::integer) as more
from (
  select c.state, row_number() over () as counted
  from (
    select r.run_state as state
    from drover.run_page as r
    where r.namespace_id = $2::integer and r.no = 0 and r.ended_at is null
    order by r.namespace_id, r.definition_id, r.run_id
    limit $1::integer
  ) as c
) as o
group by o.state;

-- name: count_interventions
-- Of each rule ($2), from $3 on, up to $4: by the index that each range of runs has.
select u.of_rule as rule, n.counted::integer as counted
from unnest($2::smallint[]) as u (of_rule)
cross join lateral (
  select count(*) as counted
  from (
    select from drover.intervention as x
    where x.namespace_id = $1::integer and x.rule = u.of_rule
      and x.acted_at >= to_timestamp($3::bigint / 1e3::float8)
    limit $4::integer
  ) as c
) as n
where n.counted > 0;
