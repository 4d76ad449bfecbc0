-- The lines that handlers have logged.

-- name: pages_of_logs
-- Purpose: Reads the pages that contain the attempts of tasks, without a lock.
-- Params: Parallel arrays: :run_id uuid[], :no integer[] (page).
-- Plan: run_page by key.
-- Result: now: the time of the statement. definition_id and namespace_id are those of the run.
select p.run_id, p.no, p.version, p.state, h.definition_id, h.namespace_id, now() as now
from unnest(:run_id::uuid[], :no::integer[]) as u (run_id, no)
cross join lateral (
  select x.* from drover.run_page as x where x.run_id = u.run_id and x.no = u.no limit 1
) as p
cross join lateral (
  select x.definition_id, x.namespace_id from drover.run_page as x where x.run_id = u.run_id and x.no = 0 limit 1
) as h;

-- name: lock_handler_logs
-- Purpose: Locks the logs of runs until the end of the transaction.
-- Params: :run_ids uuid[].
-- Locks: Advisory locks in the order of their numbers; waits.
-- Note: Two runs with the same number only wait for each other. The oid makes the numbers of another schema
--   differ.
select pg_advisory_xact_lock(k.number)
from (
  select distinct hashtextextended(u.run_id::text, 'drover.handler_log'::regclass::oid::bigint) as number
  from unnest(:run_ids::uuid[]) as u (run_id)
  order by 1
  offset 0
) as k;

-- name: ends_of_logs
-- Purpose: Reads the last stored line of attempts. Their runs are locked (lock_handler_logs).
-- Params: Parallel arrays: :run_id uuid[], :step_no integer[] (step key), :fence integer[], :kind text[],
--   :n integer[].
-- Plan: handler_log_attempt, backwards.
-- Result: place is the position of the attempt, from 1. An attempt without a line has no row.
select u.place::integer as place, e.line, e.stored_bytes
from unnest(:run_id::uuid[], :step_no::integer[], :fence::integer[], :kind::text[], :n::integer[])
  with ordinality as u (run_id, step_no, fence, kind, n, place)
cross join lateral (
  select l.line, l.stored_bytes
  from drover.handler_log as l
  where l.run_id = u.run_id and l.step_no = u.step_no and l.fence = u.fence and l.kind = u.kind and l.n = u.n
  order by l.run_id desc, l.step_no desc, l.fence desc, l.kind desc, l.n desc, l.line desc
  limit 1
) as e;

-- name: insert_handler_logs
-- Purpose: Stores lines, in their order. Their runs are locked (lock_handler_logs). Lines of a run that was
--   deleted meanwhile are dropped.
-- Params: Parallel arrays: :run_id uuid[], :step_no integer[] (step key), :fence integer[], :kind text[],
--   :n integer[], :line integer[], :attempt integer[], :stored_bytes integer[], :at bigint[] (ms), :level
--   text[], :message text[], :fields text[] (JSON; null: none).
-- Plan: run_page by key.
insert into drover.handler_log (run_id, step_no, fence, kind, n, line, attempt, stored_bytes, at, level,
  message, fields)
select k.run_id, k.step_no, k.fence, k.kind, k.n, k.line, k.attempt, k.stored_bytes,
  to_timestamp(k.at / 1000.0), k.level, k.message, k.fields::jsonb
from (
  select u.*
  from unnest(:run_id::uuid[], :step_no::integer[], :fence::integer[], :kind::text[], :n::integer[],
    :line::integer[], :attempt::integer[], :stored_bytes::integer[], :at::bigint[], :level::text[],
    :message::text[], :fields::text[])
    with ordinality as u (run_id, step_no, fence, kind, n, line, attempt, stored_bytes, at, level, message,
      fields, place)
  cross join lateral (
    select from drover.run_page as x where x.run_id = u.run_id and x.no = 0 limit 1
  ) as h
  offset 0
) as k
order by k.place;

-- name: run_log
-- Purpose: Reads the next :limit lines of a run, in the order in which they became visible.
-- Params: :run_id uuid, :after bigint (id of the last line of the previous page), :limit integer.
-- Plan: handler_log by key.
select l.id, l.step_no, l.fence, l.kind, l.n, l.line, l.attempt, l.stored_bytes, l.at, l.level, l.message,
  l.fields
from drover.handler_log as l
where l.run_id = :run_id::uuid and l.id > :after::bigint
order by l.run_id, l.id
limit :limit::integer;

-- name: attempt_lines
-- Purpose: Reads the next :limit lines of an attempt.
-- Params: :run_id uuid, :step_no integer (step key), :fence integer, :kind text, :n integer, :after integer
--   (number of the last line of the previous page), :limit integer.
-- Plan: handler_log_attempt.
select l.id, l.step_no, l.fence, l.kind, l.n, l.line, l.attempt, l.stored_bytes, l.at, l.level, l.message,
  l.fields
from drover.handler_log as l
where l.run_id = :run_id::uuid and l.step_no = :step_no::integer and l.fence = :fence::integer
  and l.kind = :kind::text and l.n = :n::integer and l.line > :after::integer
order by l.run_id, l.step_no, l.fence, l.kind, l.n, l.line
limit :limit::integer;

-- name: forget_handler_logs
-- Purpose: Deletes lines that were stored more than :retention ms ago.
-- Params: :rows_max integer, :retention bigint (ms).
-- Plan: handler_log_age, then rows by their place.
-- Result: One row. more: :rows_max rows were deleted, so there may be more.
-- Note: A place is that of one partition. A row at the same place in another one is deleted too if it is as
--   old.
with gone as (
  delete from drover.handler_log as l
  where l.stored_at < now() - :retention::bigint * interval '1 millisecond'
    and l.ctid = any (array(
      select o.ctid
      from drover.handler_log as o
      where o.stored_at < now() - :retention::bigint * interval '1 millisecond'
      order by o.stored_at
      limit :rows_max::integer
    ))
  returning 1
)
select count(*) >= :rows_max::integer as more from gone;
