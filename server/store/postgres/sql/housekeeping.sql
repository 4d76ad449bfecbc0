-- Deletes data that no caller will ask for again, in small batches. A batch returns whether there may be
-- more. Rows of a run are deleted with the run instead (namespaces.sql), or with its range.

-- name: release_sessions
-- Purpose: Stops watching sessions that hold no lease and have been silent for :silent ms, in two steps.
--   The first step sets idle_at; every later grant clears it (insert_leases). The second step, after
--   :grant_max ms, clears heartbeat_ms.
-- Params: :rows_max integer, :silent bigint (ms), :grant_max bigint (ms; no transaction that grants leases
--   takes longer).
-- Locks: Sessions, without waiting: a locked row is left for the next call.
-- Plan: agent_session_watched; lease_session, one probe a session that is silent.
-- Result: One row. more: :rows_max rows were changed, so there may be more.
-- Note: A running transaction may grant a lease without writing the row of a session that is watched
--   already. So the first step alone would miss that lease; after :grant_max ms no such transaction is
--   left, and its lease is visible.
with idle as materialized (
  select o.session, now() as now
  from drover.agent_session as o
  left join lateral (
    select true as holds from drover.lease as l where l.session = o.session limit 1
  ) as h on true
  where o.heartbeat_ms is not null
    and coalesce(o.last_heartbeat_at, o.started_at) < now() - :silent::bigint * interval '1 millisecond'
    and (o.idle_at is null or o.idle_at < now() - :grant_max::bigint * interval '1 millisecond')
    and h.holds is null
  limit :rows_max::integer
  for no key update of o skip locked
),
released as (
  update drover.agent_session as s
  set heartbeat_ms = case when s.idle_at is null then s.heartbeat_ms end,
    idle_at = coalesce(s.idle_at, i.now)
  from idle as i
  where s.session = i.session
  returning 1
)
select count(*) = :rows_max::integer as more from released;

-- name: forget_sessions
-- Purpose: Deletes sessions that are not watched (release_sessions) and have been silent for :retention ms.
-- Params: :rows_max integer, :retention bigint (ms).
-- Locks: Sessions, without waiting: a locked row is skipped.
-- Result: One row. more: :rows_max rows were deleted, so there may be more.
with old as materialized (
  select o.session
  from drover.agent_session as o
  where o.heartbeat_ms is null
    and coalesce(o.last_heartbeat_at, o.started_at) < now() - :retention::bigint * interval '1 millisecond'
  limit :rows_max::integer
  for update skip locked
),
gone as (
  delete from drover.agent_session as s
  where s.session in (select o.session from old as o)
  returning 1
)
select count(*) = :rows_max::integer as more from gone;

-- name: forget_lane_pollers
-- Purpose: Deletes pollers that were not seen for :retention ms. Evaluators use polls of the last minute at
--   most.
-- Params: :rows_max integer, :retention bigint (ms).
-- Locks: The deleted rows, without waiting: a locked row is skipped.
-- Result: One row. more: :rows_max rows were deleted, so there may be more.
with gone as (
  delete from drover.lane_poller as p
  where p.ctid = any (array(
    select o.ctid
    from drover.lane_poller as o
    where o.seen_at < now() - :retention::bigint * interval '1 millisecond'
    limit :rows_max::integer
    for update skip locked
  ))
  returning 1
)
select count(*) = :rows_max::integer as more from gone;

-- name: forget_triggered
-- Purpose: Reads the next :limit rows after :after, and deletes those of runs that ended more than
--   :retention ms ago. A row stays while an end of its partition that is not later still waits for its
--   triggers, because they may ask for the depth. Child runs end before their parent.
-- Params: :limit integer, :retention bigint (ms), :after uuid (run).
-- Plan: triggered, run_page by key.
-- Result: more: the page was full. last: the last run of the page, where the next page begins; rows that
--   stay are passed; null: the page is empty.
-- Note: Run ids begin with their creation time in ms, so runs that began less than :retention ms ago are
--   not read.
with page as materialized (
  select o.run_id
  from drover.triggered as o
  where o.run_id > :after::uuid and o.run_id
    < rpad(lpad(to_hex((extract(epoch from now()) * 1000)::bigint - :retention::bigint), 12, '0'), 32,
      '0')::uuid
  order by o.run_id
  limit :limit::integer
),
gone as (
  delete from drover.triggered as t
  where t.run_id = any (array(
    select o.run_id
    from page as o
    left join lateral (
      select x.partition, x.ended_at from drover.run_page as x where x.run_id = o.run_id and x.no = 0 limit 1
    ) as r on true
    where (r.partition is null or r.ended_at <= now() - :retention::bigint * interval '1 millisecond')
      and not exists (
        select
        from drover.trigger_end as e
        cross join lateral (
          select x.ended_at from drover.run_page as x where x.run_id = e.run_id and x.no = 0 limit 1
        ) as w
        where e.partition = r.partition and w.ended_at <= r.ended_at
      )
  ))
)
select count(*) = :limit::integer as more,
  (select x.run_id from page as x order by x.run_id desc limit 1) as last
from page;

-- name: forget_writers
-- Purpose: Deletes writer rows of processes that are gone and own no partition. Rows of an owner stay: a
--   take-over deletes them and waits for the batch that holds one.
delete from drover.writer as w
where not exists (select from drover.node as n where n.id = w.node)
  and not exists (select from drover.partition_lease as l where l.node = w.node);

-- name: forget_keys
-- Purpose: Reads the next :limit expired keys after the last page, and deletes those whose run has ended. A
--   key that was reserved again meanwhile has another expiry and stays.
-- Params: :limit integer, :expires_at text (timestamp), :namespace_id integer, :key text (the last key of
--   the previous page).
-- Plan: idempotency_expiry, and one probe of the key of run_page a key.
-- Result: One row. more: the page was full. The other columns are the last key of the page, where the next
--   page begins; null: the page is empty. Keys of open runs are passed.
with page as materialized (
  select o.namespace_id, o.key, o.run_id, o.expires_at
  from drover.idempotency as o
  where o.expires_at < now() and o.expires_at >= :expires_at::text::timestamptz
    and (o.expires_at, o.namespace_id, o.key) > (:expires_at::text::timestamptz, :namespace_id::integer,
      :key::text)
  order by o.expires_at, o.namespace_id, o.key
  limit :limit::integer
),
ended as materialized (
  select p.*
  from page as p
  where (select x.ended_at is null from drover.run_page as x where x.run_id = p.run_id and x.no = 0) is not true
),
gone as (
  delete from drover.idempotency as i
  using ended as e
  where i.namespace_id = e.namespace_id and i.key = e.key and i.expires_at = e.expires_at
)
select c.more, l.expires_at, l.namespace_id, l.key
from (select count(*) = :limit::integer as more from page) as c
left join (
  select x.expires_at::text as expires_at, x.namespace_id, x.key
  from page as x
  order by x.expires_at desc, x.namespace_id desc, x.key desc
  limit 1
) as l on true;

-- name: incarnation
-- Purpose: Reads the incarnation of the database. It differs after a restart, on another server, and in a
--   database that was restored.
select concat_ws(' ', pg_postmaster_start_time(), w.stats_reset) as incarnation from pg_stat_wal as w;

-- name: renumber_ready
-- Purpose: Reads up to :lanes_max lanes after :after, and gives up to :rows_max ready rows a new
--   transaction number: rows with the number of a transaction that has not begun here. Another cluster gave
--   them that number, before they were restored or replicated. Otherwise they would wait behind all new
--   ready rows until this cluster reaches the number. Their order stays.
-- Params: :after integer (lane; 0: the first page), :lanes_max integer, :rows_max integer.
-- Locks: Ready rows, without waiting: a locked row is skipped.
-- Plan: ready_lane, ready by key.
-- Result: last: the last lane of the page (null: no lane is left). lanes: how many it had. moved: how many
--   rows were changed.
with lanes as materialized (
  select l.id from drover.lane as l where l.id > :after::integer order by l.id limit :lanes_max::integer
),
strange as materialized (
  select x.run_id, x.step_no, x.ordered_by, x.ordinal
  from lanes as l
  cross join unnest(array[false, true]) as k (paused)
  cross join generate_series(1, 9) as w (priority)
  cross join lateral (
    select r.run_id, r.step_no, r.ordered_by, r.ordinal
    from drover.ready as r
    where r.lane = l.id and r.paused = k.paused and r.priority = w.priority
      and r.ordered_by >= pg_snapshot_xmax(pg_current_snapshot())
    order by r.ordered_by, r.ordinal
    limit :rows_max::integer
    for update skip locked
  ) as x
  limit :rows_max::integer
),
ranked as (
  select s.run_id, s.step_no, row_number() over (order by s.ordered_by, s.ordinal) as place
  from strange as s
),
moved as (
  update drover.ready as r
  set ordered_by = pg_current_xact_id(), ordinal = m.place
  from ranked as m
  where r.run_id = m.run_id and r.step_no = m.step_no
  returning 1
)
select (select max(l.id) from lanes as l) as last, (select count(*) from lanes)::integer as lanes,
  (select count(*) from moved)::integer as moved;
