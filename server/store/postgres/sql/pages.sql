-- The pages of runs, and what has no room in them: large payloads and the attempt log. A page number is `no`,
-- a step key `step_no`.

-- name: lock_runs_skip
-- Purpose: Locks the first pages of open runs.
-- Params: Parallel arrays: :partition smallint[], :run_id uuid[], :known integer[] (version of the page
--   that the server knows; 0: none).
-- Locks: Pages in the order of run ids, without waiting: a page that another transaction holds is left out.
-- Plan: run_page by key.
-- Result: state is null if the page has the version :known. wake_at is null if nothing happens by itself.
--   No row: the run has ended, or its page is locked.
-- Note: The page number is a column. With a constant, the planner could read a whole index of open runs.
select p.run_id, p.no, p.partition, p.version, nullif(p.wake_at, 'infinity') as wake_at,
  case when p.version <> u.known then p.state end as state
from (
  select u.partition, u.run_id, u.known, 0 as no
  from unnest(:partition::smallint[], :run_id::uuid[], :known::integer[]) as u (partition, run_id, known)
  offset 0
) as u
join drover.run_page as p on p.run_id = u.run_id and p.no = u.no and p.partition = u.partition
where p.ended_at is null
order by p.run_id
for no key update of p skip locked;

-- name: lock_runs_wait
-- Purpose: As lock_runs_skip.
-- Params: Parallel arrays: :partition smallint[], :run_id uuid[], :known integer[] (version; 0: none).
-- Locks: Pages in the order of run ids; waits for other transactions up to lock_timeout.
-- Plan: run_page by key.
-- Result: As lock_runs_skip. No row: the run has ended.
select p.run_id, p.no, p.partition, p.version, nullif(p.wake_at, 'infinity') as wake_at,
  case when p.version <> u.known then p.state end as state
from (
  select u.partition, u.run_id, u.known, 0 as no
  from unnest(:partition::smallint[], :run_id::uuid[], :known::integer[]) as u (partition, run_id, known)
  offset 0
) as u
join drover.run_page as p on p.run_id = u.run_id and p.no = u.no and p.partition = u.partition
where p.ended_at is null
order by p.run_id
for no key update of p;

-- name: hold_known_runs
-- Purpose: Locks the first pages of open runs, and fails the transaction with DR001 unless all are as the
--   server knows them. It also fails if the assumed time differs from the database's by more than :off_max
--   ms.
-- Params: Parallel arrays: :partition smallint[], :run_id uuid[], :known integer[] (version). For all: :now
--   float8 (ms since 1970; the time by which the transaction is decided), :off_max integer (ms).
-- Locks: Pages in the order of run ids, without waiting: a page that another transaction holds fails the
--   transaction.
-- Plan: run_page by key.
select drover.expect_known(
  count(*) = cardinality(:run_id::uuid[])
    and abs(extract(epoch from now()) * 1e3 - :now::float8) <= :off_max::integer, 'a run')
from (
  select p.run_id
  from (
    select u.partition, u.run_id, u.known, 0 as no
    from unnest(:partition::smallint[], :run_id::uuid[], :known::integer[]) as u (partition, run_id, known)
    offset 0
  ) as u
  join drover.run_page as p on p.run_id = u.run_id and p.no = u.no and p.partition = u.partition
  where p.ended_at is null and p.version = u.known
  order by p.run_id
  for no key update of p skip locked
) as held;

-- name: lock_ended_runs
-- Purpose: Locks the first pages of runs that have ended. A transaction locks them after open runs, and
--   then locks no more open runs.
-- Params: Parallel arrays: :partition smallint[], :run_id uuid[], :known integer[] (version; 0: none).
-- Locks: Pages in the order of run ids; waits.
-- Plan: run_page by key.
-- Result: As lock_runs_skip. No row: the run is open or does not exist.
select p.run_id, p.no, p.partition, p.version, nullif(p.wake_at, 'infinity') as wake_at,
  case when p.version <> u.known then p.state end as state
from unnest(:partition::smallint[], :run_id::uuid[], :known::integer[]) as u (partition, run_id, known)
join drover.run_page as p on p.run_id = u.run_id and p.no = 0 and p.partition = u.partition
where p.ended_at is not null
order by p.run_id
for no key update of p;

-- name: load_pages
-- Purpose: Locks and reads further pages of locked runs.
-- Params: Parallel arrays: :run_id uuid[], :no integer[].
-- Locks: Pages in key order; waits. A claim or a heartbeat may hold one; they wait for no other
--   transaction.
-- Plan: run_page by key.
-- Result: No row: the page is not stored.
select p.run_id, p.no, p.partition, p.version, nullif(p.wake_at, 'infinity') as wake_at, p.state
from unnest(:run_id::uuid[], :no::integer[]) as u (run_id, no)
join drover.run_page as p on p.run_id = u.run_id and p.no = u.no
order by p.run_id, p.no
for no key update of p;

-- name: lock_pages_skip
-- Purpose: Locks and reads pages of which heartbeats report something new.
-- Params: Parallel arrays: :run_id uuid[], :no integer[].
-- Locks: Pages in key order, without waiting: a page that another transaction holds is left out.
-- Plan: run_page by key.
select p.run_id, p.no, p.partition, p.version, nullif(p.wake_at, 'infinity') as wake_at, p.state
from unnest(:run_id::uuid[], :no::integer[]) as u (run_id, no)
join drover.run_page as p on p.run_id = u.run_id and p.no = u.no
order by p.run_id, p.no
for no key update of p skip locked;

-- name: read_pages
-- Purpose: Reads pages without a lock.
-- Params: Parallel arrays: :run_id uuid[], :no integer[].
-- Plan: run_page by key.
select p.run_id, p.no, p.partition, p.version, nullif(p.wake_at, 'infinity') as wake_at, p.state
from unnest(:run_id::uuid[], :no::integer[]) as u (run_id, no)
join drover.run_page as p on p.run_id = u.run_id and p.no = u.no;

-- name: load_whole_runs
-- Purpose: Locks and reads all further pages of locked runs, except pages of items that are settled.
-- Params: :run_ids uuid[].
-- Locks: Pages in key order; waits.
-- Plan: run_page by the run's key.
select p.run_id, p.no, p.partition, p.version, nullif(p.wake_at, 'infinity') as wake_at, p.state
from drover.run_page as p
where p.run_id = any (:run_ids::uuid[]) and p.no > 0
  and (not drover.is_item_page(p.no) or not p.settled)
order by p.run_id, p.no
for no key update of p;

-- name: insert_pages
-- Purpose: Inserts pages, of a run that begins or of its further steps and items.
-- Params: Parallel arrays: :run_id uuid[], :no integer[], :wake_at float8[] (ms since 1970; null: no
--   timer), :run_state smallint[] (code; of page 0), :waits smallint[] (bits; of page 0), :ended_at
--   float8[] (ms since 1970; null: open), :settled boolean[] (of an item), :partition smallint[],
--   :namespace_id integer[], :definition_id bigint[] (of page 0). :states text: the texts of the pages,
--   joined by U+0001.
-- Plan: none, values alone.
-- Note: The first page of an open run always has a wake-up time: infinity if it has no timer.
insert into drover.run_page (run_id, no, partition, version, wake_at, namespace_id, definition_id,
  run_state, waits, ended_at, settled, state)
select u.run_id, u.no, u.partition, 1,
  case when u.no = 0 and u.ended_at is null and u.wake_at is null then 'infinity'
    else to_timestamp(u.wake_at / 1e3::float8) end,
  u.namespace_id, u.definition_id, u.run_state, u.waits, to_timestamp(u.ended_at / 1e3::float8), u.settled,
  u.state
from (
  select unnest(:run_id::uuid[]) as run_id, unnest(:no::integer[]) as no, unnest(:wake_at::float8[]) as wake_at,
    unnest(:run_state::smallint[]) as run_state, unnest(:waits::smallint[]) as waits,
    unnest(:ended_at::float8[]) as ended_at,
    unnest(:settled::boolean[]) as settled, unnest(:partition::smallint[]) as partition,
    unnest(:namespace_id::integer[]) as namespace_id, unnest(:definition_id::bigint[]) as definition_id,
    unnest(string_to_array(:states::text, E'\x01')) as state
) as u;

-- name: update_pages
-- Purpose: Writes pages in the version that was read. If one of them has another version, the transaction
--   fails.
-- Params: Parallel arrays: :run_id uuid[], :no integer[], :wake_at float8[] (ms since 1970; null: no
--   timer), :run_state smallint[] (code; of page 0), :waits smallint[] (bits; of page 0), :ended_at
--   float8[] (ms since 1970; null: open), :settled boolean[] (of an item), :version integer[] (that was
--   read). :states text: the texts of the pages, joined by U+0001.
-- Plan: run_page by key.
-- Note: The first page of an open run always has a wake-up time: infinity if it has no timer. The update is
--   HOT unless the wake-up time moves or the run waits for something else.
with met as (
  update drover.run_page as p
  set version = p.version + 1, state = u.state, run_state = u.run_state, waits = u.waits,
    settled = u.settled,
    wake_at = case when u.no = 0 and u.ended_at is null and u.wake_at is null then 'infinity'
      else to_timestamp(u.wake_at / 1e3::float8) end,
    ended_at = to_timestamp(u.ended_at / 1e3::float8)
  from (
    select unnest(:run_id::uuid[]) as run_id, unnest(:no::integer[]) as no,
      unnest(:wake_at::float8[]) as wake_at,
      unnest(:run_state::smallint[]) as run_state, unnest(:waits::smallint[]) as waits,
      unnest(:ended_at::float8[]) as ended_at,
      unnest(:settled::boolean[]) as settled, unnest(:version::integer[]) as version,
      unnest(string_to_array(:states::text, E'\x01')) as state
  ) as u
  where p.run_id = u.run_id and p.no = u.no and p.version = u.version
  returning p.no
)
select drover.expect_rows(count(*), cardinality(:run_id::uuid[]), 'a write of pages') from met;

-- name: write_payloads
-- Purpose: Stores payloads. The details that a heartbeat reports replace those that it reported before.
-- Params: Parallel arrays: :run_id uuid[], :step_no integer[], :fence integer[], :kind text[], :n integer[]
--   (of the attempt), :what text[] (output or details), :type text[] (content type), :json text[], :data
--   bytea[] (one of both).
insert into drover.payload (run_id, step_no, fence, kind, n, what, type, json, data)
select u.run_id, u.step_no, u.fence, u.kind, u.n, u.what, u.type, u.json, u.data
from unnest(:run_id::uuid[], :step_no::integer[], :fence::integer[], :kind::text[], :n::integer[],
  :what::text[], :type::text[],
  :json::text[], :data::bytea[]) as u (run_id, step_no, fence, kind, n, what, type, json, data)
on conflict (run_id, step_no, fence, kind, n, what) do update
set type = excluded.type, json = excluded.json, data = excluded.data;

-- name: insert_logged_attempts
-- Purpose: Moves attempts into the log. One that is there stays as it is.
-- Params: Parallel arrays: :run_id uuid[], :step_no integer[], :fence integer[], :kind text[], :n
--   integer[], :attempt text[] (JSON).
insert into drover.attempt_log (run_id, step_no, fence, kind, n, attempt)
select u.run_id, u.step_no, u.fence, u.kind, u.n, u.attempt
from unnest(:run_id::uuid[], :step_no::integer[], :fence::integer[], :kind::text[], :n::integer[],
  :attempt::text[])
  as u (run_id, step_no, fence, kind, n, attempt)
on conflict (run_id, step_no, fence, kind, n) do nothing;

-- name: settle_logged_attempts
-- Purpose: Gives attempts that had ended with an unknown outcome the one that their agent reported after
--   all: end, outcome, digest and charge are those of :attempt, the rest stays.
-- Params: Parallel arrays: :run_id uuid[], :step_no integer[], :fence integer[], :kind text[], :n
--   integer[], :attempt text[] (JSON).
-- Plan: attempt_log by key.
-- Result: One row for each changed attempt.
with settled as materialized (
  select u.run_id, u.step_no, u.fence, u.kind, u.n, jsonb_strip_nulls(jsonb_build_object(
      'e', u.attempt::jsonb -> 'e', 'o', u.attempt::jsonb -> 'o', 'd', u.attempt::jsonb -> 'd',
      'c', u.attempt::jsonb -> 'c'
    )) as reported
  from unnest(:run_id::uuid[], :step_no::integer[], :fence::integer[], :kind::text[], :n::integer[],
    :attempt::text[])
    as u (run_id, step_no, fence, kind, n, attempt)
)
update drover.attempt_log as a
set attempt = ((a.attempt::jsonb - '{o,c}'::text[]) || x.reported)::text
from settled as x
where a.run_id = x.run_id and a.step_no = x.step_no and a.fence = x.fence and a.kind = x.kind
  and a.n = x.n
returning a.step_no;

-- name: attempts_in_log
-- Purpose: Reads the logged attempts at steps, the oldest first.
-- Params: Parallel arrays: :run_id uuid[], :step_no integer[].
-- Plan: attempt_log by key.
select a.run_id, a.step_no, a.attempt
from unnest(:run_id::uuid[], :step_no::integer[]) as u (run_id, step_no)
join drover.attempt_log as a on a.run_id = u.run_id and a.step_no = u.step_no
order by a.run_id, a.step_no, a.fence, a.kind, a.n;

-- name: payloads
-- Purpose: Reads payloads that have a row of their own.
-- Params: Parallel arrays: :run_id uuid[], :step_no integer[], :fence integer[], :kind text[], :n
--   integer[], :what text[].
-- Plan: payload by key.
-- Result: json or data is null. No row: the payload is not there.
select u.run_id, u.step_no, u.fence, u.kind, u.n, u.what, x.type, x.json, x.data
from unnest(:run_id::uuid[], :step_no::integer[], :fence::integer[], :kind::text[], :n::integer[],
  :what::text[])
  as u (run_id, step_no, fence, kind, n, what)
cross join lateral (
  select p.type, p.json, p.data
  from drover.payload as p
  where p.run_id = u.run_id and p.step_no = u.step_no and p.fence = u.fence and p.kind = u.kind and p.n = u.n
    and p.what = u.what
  limit 1
) as x;

-- name: open_runs_after
-- Purpose: Reads the next :limit open runs of these partitions, by partition and id.
-- Params: :partitions smallint[], :partition smallint and :run_id uuid (the last run of the previous page;
--   null: the first page), :limit integer.
-- Plan: run_page_open_partition.
select p.run_id, p.partition
from drover.run_page as p
where p.no = 0 and p.ended_at is null and p.partition = any (:partitions::smallint[])
  and (:partition::smallint is null or (p.partition, p.run_id) > (:partition::smallint, :run_id::uuid))
order by p.partition, p.run_id
limit :limit::integer;

-- name: pages_of_runs
-- Purpose: Reads the pages of runs without a lock, except pages of items that are settled.
-- Params: :run_ids uuid[].
-- Plan: run_page by the run's key.
select p.run_id, p.no, p.partition, p.version, nullif(p.wake_at, 'infinity') as wake_at, p.state
from drover.run_page as p
where p.run_id = any (:run_ids::uuid[]) and (not drover.is_item_page(p.no) or not p.settled)
order by p.run_id, p.no;
