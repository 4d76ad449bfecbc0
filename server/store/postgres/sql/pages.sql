-- The pages of runs, and what has no room in them.

-- name: lock_runs_skip
-- Locks the first pages of open runs in the order of their ids; leaves out what another transaction
-- holds. The text of a page is left out where its version is the one that is known ($3). The number of the
-- page is a column: with a constant, an index of open runs would do, and be walked from end to end.
-- Plan: run_page by key.
select p.run_id, p.no, p.partition, p.version, nullif(p.wake_at, 'infinity') as wake_at,
  case when p.version <> u.known then p.state end as state
from (
  select u.partition, u.run_id, u.known, 0 as no
  from unnest($1::smallint[], $2::uuid[], $3::integer[]) as u (partition, run_id, known)
  offset 0
) as u
join drover.run_page as p on p.run_id = u.run_id and p.no = u.no and p.partition = u.partition
where p.ended_at is null
order by p.run_id
for no key update of p skip locked;

-- name: lock_runs_wait
-- The same, waiting for who holds them up to lock_timeout. Plan: run_page by key.
select p.run_id, p.no, p.partition, p.version, nullif(p.wake_at, 'infinity') as wake_at,
  case when p.version <> u.known then p.state end as state
from (
  select u.partition, u.run_id, u.known, 0 as no
  from unnest($1::smallint[], $2::uuid[], $3::integer[]) as u (partition, run_id, known)
  offset 0
) as u
join drover.run_page as p on p.run_id = u.run_id and p.no = u.no and p.partition = u.partition
where p.ended_at is null
order by p.run_id
for no key update of p;

-- name: hold_known_runs
-- The same, of runs that are open in the version that is known ($3). Refused where one of them is not, where
-- another transaction holds it, or where the time by which the transaction is decided ($4, in milliseconds
-- since 1970) is more than $5 milliseconds from the database's. Plan: run_page by key.
select drover.expect_known(
  count(*) = cardinality($2::uuid[])
    and abs(extract(epoch from now()) * 1e3 - $4::float8) <= $5::integer, 'a run')
from (
  select p.run_id
  from (
    select u.partition, u.run_id, u.known, 0 as no
    from unnest($1::smallint[], $2::uuid[], $3::integer[]) as u (partition, run_id, known)
    offset 0
  ) as u
  join drover.run_page as p on p.run_id = u.run_id and p.no = u.no and p.partition = u.partition
  where p.ended_at is null and p.version = u.known
  order by p.run_id
  for no key update of p skip locked
) as held;

-- name: lock_ended_runs
-- The same of runs that have ended. They are asked for after those that are open, and nobody who holds
-- one asks for an open run again. Plan: run_page by key.
select p.run_id, p.no, p.partition, p.version, nullif(p.wake_at, 'infinity') as wake_at,
  case when p.version <> u.known then p.state end as state
from unnest($1::smallint[], $2::uuid[], $3::integer[]) as u (partition, run_id, known)
join drover.run_page as p on p.run_id = u.run_id and p.no = 0 and p.partition = u.partition
where p.ended_at is not null
order by p.run_id
for no key update of p;

-- name: load_pages
-- Further pages of locked runs, locked: a claim or a heartbeat holds one at most, and waits for nobody.
-- Plan: run_page by key.
select p.run_id, p.no, p.partition, p.version, nullif(p.wake_at, 'infinity') as wake_at, p.state
from unnest($1::uuid[], $2::integer[]) as u (run_id, no)
join drover.run_page as p on p.run_id = u.run_id and p.no = u.no
order by p.run_id, p.no
for no key update of p;

-- name: lock_pages_skip
-- Pages of which a heartbeat says something new; one that somebody else holds is left out.
-- Plan: run_page by key.
select p.run_id, p.no, p.partition, p.version, nullif(p.wake_at, 'infinity') as wake_at, p.state
from unnest($1::uuid[], $2::integer[]) as u (run_id, no)
join drover.run_page as p on p.run_id = u.run_id and p.no = u.no
order by p.run_id, p.no
for no key update of p skip locked;

-- name: read_pages
-- Plan: run_page by key.
select p.run_id, p.no, p.partition, p.version, nullif(p.wake_at, 'infinity') as wake_at, p.state
from unnest($1::uuid[], $2::integer[]) as u (run_id, no)
join drover.run_page as p on p.run_id = u.run_id and p.no = u.no;

-- name: load_whole_runs
-- All further pages of locked runs but those of items that are done for good. Plan: run_page by the run's
-- key.
select p.run_id, p.no, p.partition, p.version, nullif(p.wake_at, 'infinity') as wake_at, p.state
from drover.run_page as p
where p.run_id = any ($1::uuid[]) and p.no > 0 and (p.no < 512 or not p.settled)
order by p.run_id, p.no
for no key update of p;

-- name: insert_pages
-- Of a run that begins, or the next steps and items of one. Their texts come joined by U+0001.
-- Plan: none, values alone.
insert into drover.run_page (run_id, no, partition, version, wake_at, namespace_id, definition_id,
  run_state, ended_at, settled, state)
select u.run_id, u.no, u.partition, 1,
  case when u.no = 0 and u.ended_at is null and u.wake_at is null then 'infinity'
    else to_timestamp(u.wake_at / 1e3::float8) end,
  u.namespace_id, u.definition_id, u.run_state, to_timestamp(u.ended_at / 1e3::float8), u.settled, u.state
from (
  select unnest($1::uuid[]) as run_id, unnest($2::integer[]) as no, unnest($3::float8[]) as wake_at,
    unnest($4::smallint[]) as run_state, unnest($5::float8[]) as ended_at,
    unnest($6::boolean[]) as settled, unnest($7::smallint[]) as partition,
    unnest($8::integer[]) as namespace_id, unnest($9::bigint[]) as definition_id,
    unnest(string_to_array($10::text, E'\x01')) as state
) as u;

-- name: update_pages
-- Only in the version that was read; else the transaction fails. The texts come joined by U+0001. The first
-- page of an open run always has a wake-up: infinity, where nothing happens by itself. Plan: run_page by key.
-- HOT unless the wake-up moves.
with met as (
  update drover.run_page as p
  set version = p.version + 1, state = u.state, run_state = u.run_state, settled = u.settled,
    wake_at = case when u.no = 0 and u.ended_at is null and u.wake_at is null then 'infinity'
      else to_timestamp(u.wake_at / 1e3::float8) end,
    ended_at = to_timestamp(u.ended_at / 1e3::float8)
  from (
    select unnest($1::uuid[]) as run_id, unnest($2::integer[]) as no, unnest($3::float8[]) as wake_at,
      unnest($4::smallint[]) as run_state, unnest($5::float8[]) as ended_at,
      unnest($6::boolean[]) as settled, unnest($7::integer[]) as version,
      unnest(string_to_array($8::text, E'\x01')) as state
  ) as u
  where p.run_id = u.run_id and p.no = u.no and p.version = u.version
  returning p.no
)
select drover.expect_rows(count(*), cardinality($1::uuid[]), 'a write of pages') from met;

-- name: write_payloads
-- What heartbeats say of one attempt replaces what they have said before.
insert into drover.payload (run_id, step_no, fence, kind, n, what, type, json, data)
select u.run_id, u.step_no, u.fence, u.kind, u.n, u.what, u.type, u.json, u.data
from unnest($1::uuid[], $2::integer[], $3::integer[], $4::text[], $5::integer[], $6::text[], $7::text[],
  $8::text[], $9::bytea[]) as u (run_id, step_no, fence, kind, n, what, type, json, data)
on conflict (run_id, step_no, fence, kind, n, what) do update
set type = excluded.type, json = excluded.json, data = excluded.data;

-- name: insert_logged_attempts
-- One that is there already stays as it is.
insert into drover.attempt_log (run_id, step_no, fence, kind, n, attempt)
select u.run_id, u.step_no, u.fence, u.kind, u.n, u.attempt
from unnest($1::uuid[], $2::integer[], $3::integer[], $4::text[], $5::integer[], $6::text[])
  as u (run_id, step_no, fence, kind, n, attempt)
on conflict (run_id, step_no, fence, kind, n) do nothing;

-- name: settle_logged_attempts
-- An attempt that had ended open counts as its agent says after all: its end, outcome, digest and charge
-- are those of $6, the rest stays. Plan: attempt_log by key.
update drover.attempt_log as a
set attempt = ((a.attempt::jsonb - '{o,c}'::text[]) || jsonb_strip_nulls(jsonb_build_object(
  'e', x.of -> 'e', 'o', x.of -> 'o', 'd', x.of -> 'd', 'c', x.of -> 'c'
)))::text
from (
  select u.run_id, u.step_no, u.fence, u.kind, u.n, u.attempt::jsonb as of
  from unnest($1::uuid[], $2::integer[], $3::integer[], $4::text[], $5::integer[], $6::text[])
    as u (run_id, step_no, fence, kind, n, attempt)
) as x
where a.run_id = x.run_id and a.step_no = x.step_no and a.fence = x.fence and a.kind = x.kind
  and a.n = x.n
returning a.step_no;

-- name: attempts_in_log
-- Plan: attempt_log by key.
select a.run_id, a.step_no, a.attempt
from unnest($1::uuid[], $2::integer[]) as u (run_id, step_no)
join drover.attempt_log as a on a.run_id = u.run_id and a.step_no = u.step_no
order by a.run_id, a.step_no, a.fence, a.kind, a.n;

-- name: payloads
-- What has a row of its own. Plan: payload by key.
select u.run_id, u.step_no, u.fence, u.kind, u.n, u.what, x.type, x.json, x.data
from unnest($1::uuid[], $2::integer[], $3::integer[], $4::text[], $5::integer[], $6::text[])
  as u (run_id, step_no, fence, kind, n, what)
cross join lateral (
  select p.type, p.json, p.data
  from drover.payload as p
  where p.run_id = u.run_id and p.step_no = u.step_no and p.fence = u.fence and p.kind = u.kind and p.n = u.n
    and p.what = u.what
  limit 1
) as x;

-- name: open_runs_after
-- The next $4 open runs of partitions ($1) behind a place ($2, $3) in the order of partition and id.
-- Plan: run_page_open_partition.
select p.run_id, p.partition
from drover.run_page as p
where p.no = 0 and p.ended_at is null and p.partition = any ($1::smallint[])
  and ($2::smallint is null or (p.partition, p.run_id) > ($2::smallint, $3::uuid))
order by p.partition, p.run_id
limit $4::integer;

-- name: pages_of_runs
-- But those of items that are done for good. Plan: run_page by the run's key.
select p.run_id, p.no, p.partition, p.version, nullif(p.wake_at, 'infinity') as wake_at, p.state
from drover.run_page as p
where p.run_id = any ($1::uuid[]) and (p.no < 512 or not p.settled)
order by p.run_id, p.no;
