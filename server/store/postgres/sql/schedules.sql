-- Cron schedules and their occurrences (table occurrence). A transaction that acts on a schedule locks its
--   row, so
-- one transaction at a time reads and writes its occurrences. `nominal_time` is the nominal time of an
--   occurrence
-- in ms, `at` its time in ms since 1970.

-- name: create_schedule
-- Purpose: Creates a schedule.
-- Params: :id uuid, :namespace_id integer, :name text, :partition smallint, :workflow text, :spec text
--   (JSON), :next_nominal_time bigint, :next_at bigint (ms since 1970; null: no next occurrence), :wake_at bigint (ms since 1970;
--   null: no next occurrence, or paused), :pause_reason text (null: not paused).
-- Result: No row: the name is taken.
insert into drover.schedule (id, namespace_id, name, partition, workflow, spec, next_nominal_time, next_at,
  wake_at, paused_at, pause_reason)
values (:id::uuid, :namespace_id::integer, :name::text, :partition::smallint, :workflow::text, :spec::text,
  :next_nominal_time::bigint,
  to_timestamp(:next_at::bigint / 1e3::float8), to_timestamp(:wake_at::bigint / 1e3::float8),
  case when :pause_reason::text is not null then now() end, :pause_reason::text)
on conflict (namespace_id, name) where deleted_at is null do nothing
returning id;

-- name: find_schedule
-- Purpose: Finds a schedule by name.
-- Params: :namespace_id integer, :name text.
-- Plan: schedule_by_name.
-- Result: No row: there is none, or it is deleted.
select s.*, n.name as namespace, n.region, p.paused_at as workflow_paused_at, p.reason as workflow_reason
from drover.schedule as s
join drover.namespace as n on n.id = s.namespace_id
left join lateral (
  select w.paused_at, w.reason from drover.paused_workflow as w
  where w.namespace_id = s.namespace_id and w.name = s.workflow
  limit 1
) as p on true
where s.namespace_id = :namespace_id::integer and s.name = :name::text and s.deleted_at is null;

-- name: schedules_by_id
-- Purpose: Reads schedules, also deleted ones.
-- Params: :ids uuid[].
-- Plan: schedule by key.
select s.*, n.name as namespace, n.region
from drover.schedule as s
join drover.namespace as n on n.id = s.namespace_id
where s.id = any (:ids::uuid[]);

-- name: list_schedules
-- Purpose: Lists the schedules of a namespace by name.
-- Params: :namespace_id integer, :after text (the last name of the previous page; null: the first page),
--   :limit integer.
-- Plan: schedule_by_name.
select s.*, n.name as namespace, n.region, p.paused_at as workflow_paused_at, p.reason as workflow_reason
from drover.schedule as s
join drover.namespace as n on n.id = s.namespace_id
left join lateral (
  select w.paused_at, w.reason from drover.paused_workflow as w
  where w.namespace_id = s.namespace_id and w.name = s.workflow
  limit 1
) as p on true
where s.namespace_id = :namespace_id::integer and s.deleted_at is null
  and (:after::text is null or s.name collate "C" > :after::text)
order by s.name collate "C"
limit :limit::integer;

-- name: list_schedules_of_workflow
-- Purpose: Lists the schedules of a namespace that start a workflow, by name.
-- Params: :namespace_id integer, :workflow text, :after text (the last name of the previous page; null: the
--   first page), :limit integer.
-- Plan: schedule_by_workflow.
select s.*, n.name as namespace, n.region, p.paused_at as workflow_paused_at, p.reason as workflow_reason
from drover.schedule as s
join drover.namespace as n on n.id = s.namespace_id
left join lateral (
  select w.paused_at, w.reason from drover.paused_workflow as w
  where w.namespace_id = s.namespace_id and w.name = s.workflow
  limit 1
) as p on true
where s.namespace_id = :namespace_id::integer and s.workflow = :workflow::text and s.deleted_at is null
  and (:after::text is null or s.name collate "C" > :after::text)
order by s.name collate "C"
limit :limit::integer;

-- name: lock_schedules_skip
-- Purpose: Locks and reads schedules, also deleted ones.
-- Params: :ids uuid[].
-- Locks: Schedules in the order of ids, without waiting: a row that another transaction holds is left out.
-- Plan: schedule by key.
select s.*, n.name as namespace, n.region
from drover.schedule as s
join drover.namespace as n on n.id = s.namespace_id
where s.id = any (:ids::uuid[])
order by s.id
for no key update of s skip locked;

-- name: lock_schedules_wait
-- Purpose: As lock_schedules_skip.
-- Params: :ids uuid[].
-- Locks: Schedules in the order of ids; waits up to lock_timeout.
select s.*, n.name as namespace, n.region
from drover.schedule as s
join drover.namespace as n on n.id = s.namespace_id
where s.id = any (:ids::uuid[])
order by s.id
for no key update of s;

-- name: move_schedules
-- Purpose: Stores the next occurrence of locked schedules.
-- Params: Parallel arrays: :id uuid[], :next_nominal_time bigint[], :next_at bigint[], :wake_at bigint[] (ms
--   since 1970; null: no next occurrence).
-- Plan: schedule by key.
-- Result: One row for each schedule.
update drover.schedule as s
set next_nominal_time = u.next_nominal_time, next_at = to_timestamp(u.next_at / 1e3::float8),
  wake_at = to_timestamp(u.wake_at / 1e3::float8)
from unnest(:id::uuid[], :next_nominal_time::bigint[], :next_at::bigint[], :wake_at::bigint[])
  as u (id, next_nominal_time, next_at, wake_at)
where s.id = u.id
returning s.id;

-- name: change_schedule
-- Purpose: Stores what a person has changed of a locked schedule.
-- Params: :id uuid, :workflow text, :spec text (JSON), :series integer, :next_nominal_time bigint, :next_at
--   bigint (ms since 1970; null: no next occurrence), :wake_at bigint (ms since 1970; null: no next
--   occurrence, or paused), :paused_at bigint (ms since 1970; null: not paused), :pause_reason text.
-- Plan: schedule by key.
-- Result: No row: there is none.
update drover.schedule as s
set workflow = :workflow::text, spec = :spec::text, series = :series::integer, revision = s.revision + 1,
  next_nominal_time = :next_nominal_time::bigint,
  next_at = to_timestamp(:next_at::bigint / 1e3::float8),
    wake_at = to_timestamp(:wake_at::bigint / 1e3::float8),
  paused_at = to_timestamp(:paused_at::bigint / 1e3::float8), pause_reason = :pause_reason::text,
    changed_at = now()
where s.id = :id::uuid
returning s.id;

-- name: delete_schedule
-- Purpose: Marks a schedule as deleted. Its occurrences are deleted later, in small batches.
-- Params: :namespace_id integer, :name text.
-- Plan: schedule_by_name.
-- Result: No row: there is none.
update drover.schedule as s
set deleted_at = now(), wake_at = null
where s.namespace_id = :namespace_id::integer and s.name = :name::text and s.deleted_at is null
returning s.id;

-- name: load_occurrences
-- Purpose: Reads occurrences of locked schedules.
-- Params: Parallel arrays: :schedule_id uuid[], :series integer[], :nominal_time bigint[].
-- Plan: occurrence by key.
-- Result: No row: there is no such occurrence yet.
select f.*
from unnest(:schedule_id::uuid[], :series::integer[], :nominal_time::bigint[])
  as u (schedule_id, series, nominal_time)
cross join lateral (
  select * from drover.occurrence as x
  where x.schedule_id = u.schedule_id and x.series = u.series and x.nominal_time = u.nominal_time
  order by x.schedule_id, x.series, x.nominal_time
  limit 1
) as f;

-- name: write_occurrences
-- Purpose: Writes occurrences of locked schedules. An occurrence that has a run stays as it is.
-- Params: Parallel arrays: :schedule_id uuid[], :series integer[], :nominal_time bigint[], :at bigint[], :cause
--   smallint[], :outcome smallint[] (codes), :run_id uuid[] (null: no run), :message text[], :missed_count
--   integer[], :missed_until bigint[] (ms since 1970; null: no mark of missed occurrences), :node uuid[],
--   :epoch bigint[] (of the supervisor; null: a person acted).
-- Result: One row for each occurrence that was written.
insert into drover.occurrence as f (schedule_id, series, nominal_time, at, cause, outcome, run_id, message,
  missed_count, missed_until, node, epoch)
select u.schedule_id, u.series, u.nominal_time, to_timestamp(u.at / 1e3::float8), u.cause, u.outcome, u.run_id,
  u.message, u.missed_count, to_timestamp(u.missed_until / 1e3::float8), u.node, u.epoch
from unnest(:schedule_id::uuid[], :series::integer[], :nominal_time::bigint[], :at::bigint[],
  :cause::smallint[], :outcome::smallint[], :run_id::uuid[], :message::text[], :missed_count::integer[],
    :missed_until::bigint[], :node::uuid[], :epoch::bigint[])
  as u (schedule_id, series, nominal_time, at, cause, outcome, run_id, message, missed_count, missed_until,
    node, epoch)
on conflict (schedule_id, series, nominal_time) do update
  set at = excluded.at, handled_at = excluded.handled_at, cause = excluded.cause, outcome = excluded.outcome,
    run_id = excluded.run_id, message = excluded.message,
    missed_count = excluded.missed_count, missed_until = excluded.missed_until,
    node = excluded.node, epoch = excluded.epoch
  where f.run_id is null
returning f.schedule_id;

-- name: last_occurrences
-- Purpose: Reads the newest :limit occurrences of each schedule, with the states of their runs.
-- Params: :ids uuid[], :limit integer (for each schedule).
-- Plan: occurrence_by_time; run_page by key.
-- Result: run_state is a code; null: the occurrence has no run, or the run is deleted.
select f.*, p.run_state
from unnest(:ids::uuid[]) as u (id)
cross join lateral (
  select * from drover.occurrence as x
  where x.schedule_id = u.id
  order by x.schedule_id, x.at desc
  limit :limit::integer
) as f
left join lateral (
  select x.run_state from drover.run_page as x where x.run_id = f.run_id and x.no = 0 limit 1
) as p on true
order by f.schedule_id, f.at desc, f.series desc;

-- name: forget_schedules
-- Purpose: Deletes the occurrences of one deleted schedule, and then the schedule. One call handles one
--   schedule.
-- Params: :rows_max integer (occurrences).
-- Plan: schedule_deleted; occurrence by key.
-- Result: One row. more: there was a deleted schedule, so there may be more to do.
with gone as (
  select s.id
  from drover.schedule as s
  where s.deleted_at <= now()
  order by s.deleted_at
  limit 1
),
deleted as (
  delete from drover.occurrence as f
  where (f.schedule_id, f.series, f.nominal_time) in (
    select x.schedule_id, x.series, x.nominal_time
    from gone as g
    join drover.occurrence as x on x.schedule_id = g.id
    limit :rows_max::integer
  )
  returning f.schedule_id
),
emptied as (
  delete from drover.schedule as s
  using gone as g
  where s.id = g.id and (select count(*) from deleted) < :rows_max::integer
)
select count(*) > 0 as more from gone;
