-- What nobody will ask for again, in small batches, each of which says whether there may be more.
-- Everything of a run goes with its range instead.

-- name: release_sessions
-- Sessions that hold nothing and have been silent for $2 milliseconds are watched no longer, in two steps.
-- A transaction that is under way may grant a lease without writing the session's row, which says already
-- that it is watched; so at first the row says that the session was found idle, which every later grant
-- clears (insert_leases). After $3 milliseconds no earlier transaction is left, and its lease would be seen.
-- Rows that somebody holds are left for the next time.
-- Plan: agent_session_watched; lease_session, one probe a session that is silent.
with idle as materialized (
  select o.session
  from drover.agent_session as o
  left join lateral (
    select true as holds from drover.lease as l where l.session = o.session limit 1
  ) as h on true
  where o.heartbeat_ms is not null
    and coalesce(o.last_heartbeat_at, o.started_at) < now() - $2::bigint * interval '1 millisecond'
    and (o.idle_at is null or o.idle_at < now() - $3::bigint * interval '1 millisecond')
    and h.holds is null
  limit $1::integer
  for no key update of o skip locked
),
released as (
  update drover.agent_session as s
  set heartbeat_ms = case when s.idle_at is null then s.heartbeat_ms end,
    idle_at = coalesce(s.idle_at, now())
  where s.session in (select i.session from idle as i)
  returning 1
)
select count(*) = $1::integer as more from released;

-- name: forget_sessions
-- Sessions that are not watched (release_sessions) and have been silent for $2 milliseconds.
with old as materialized (
  select o.session
  from drover.agent_session as o
  where o.heartbeat_ms is null
    and coalesce(o.last_heartbeat_at, o.started_at) < now() - $2::bigint * interval '1 millisecond'
  limit $1::integer
  for update skip locked
),
gone as (
  delete from drover.agent_session as s
  where s.session in (select o.session from old as o)
  returning 1
)
select count(*) = $1::integer as more from gone;

-- name: forget_lane_pollers
-- Pollers not seen for $2 milliseconds: what is evaluated by them is a minute old at most.
with gone as (
  delete from drover.lane_poller as p
  where (p.lane, p.node) in (
    select o.lane, o.node
    from drover.lane_poller as o
    where o.seen_at < now() - $2::bigint * interval '1 millisecond'
    limit $1::integer
  )
  returning 1
)
select count(*) = $1::integer as more from gone;

-- name: forget_triggered
-- Of the next $1 behind $3, those of runs that ended more than $2 milliseconds ago: nothing asks how many
-- triggers stand behind one once every end in its partition that is as old has set off what it sets off;
-- children end before it. Ids begin with the milliseconds of their making. With the last that was looked
-- at: those that stay are passed over. Plan: triggered, run_page by key.
with page as materialized (
  select o.run_id
  from drover.triggered as o
  where o.run_id > $3::uuid and o.run_id
    < rpad(lpad(to_hex((extract(epoch from now()) * 1000)::bigint - $2::bigint), 12, '0'), 32, '0')::uuid
  order by o.run_id
  limit $1::integer
),
gone as (
  delete from drover.triggered as t
  where t.run_id in (
    select o.run_id
    from page as o
    left join lateral (
      select x.partition, x.ended_at from drover.run_page as x where x.run_id = o.run_id and x.no = 0 limit 1
    ) as r on true
    where (r.partition is null or r.ended_at <= now() - $2::bigint * interval '1 millisecond')
      and not exists (
        select
        from drover.trigger_end as e
        cross join lateral (
          select x.ended_at from drover.run_page as x where x.run_id = e.run_id and x.no = 0 limit 1
        ) as w
        where e.partition = r.partition and w.ended_at <= r.ended_at
      )
  )
)
select count(*) = $1::integer as more,
  (select x.run_id from page as x order by x.run_id desc limit 1) as last
from page;

-- name: forget_writers
-- Writer rows of processes that are long gone and own no partition. Those of an owner stay: a take-over
-- deletes them, and waits for the batch that holds one.
delete from drover.writer as w
where not exists (select from drover.node as n where n.id = w.node)
  and not exists (select from drover.partition_lease as l where l.node = w.node);

-- name: forget_keys
-- Of the next $1 keys that have expired, behind a place ($2 to $4), those of runs that have ended. With the
-- last that was looked at: a key of an open run stays, and is passed over. One that is reserved again
-- meanwhile has another expiry. Plan: idempotency_expiry, and one probe of the key of run_page a key.
with page as materialized (
  select o.namespace_id, o.key, o.run_id, o.expires_at
  from drover.idempotency as o
  where o.expires_at < now() and o.expires_at >= $2::text::timestamptz
    and (o.expires_at, o.namespace_id, o.key) > ($2::text::timestamptz, $3::integer, $4::text)
  order by o.expires_at, o.namespace_id, o.key
  limit $1::integer
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
from (select count(*) = $1::integer as more from page) as c
left join (
  select x.expires_at::text as expires_at, x.namespace_id, x.key
  from page as x
  order by x.expires_at desc, x.namespace_id desc, x.key desc
  limit 1
) as l on true;

-- name: incarnation
-- Another one after a restart, on another server, and in a database that was restored.
select concat_ws(' ', pg_postmaster_start_time(), w.stats_reset) as incarnation from pg_stat_wal as w;

-- name: restamp_ready
-- Of up to $2 lanes behind $1, up to $3 ready rows that are of a transaction which has not begun yet: their
-- number was given by another cluster, from which the rows were restored or replicated. They would stand
-- behind all that become ready until this one has come as far. They get a number of today, in their order.
-- Plan: ready_lane, ready by key.
with lanes as materialized (
  select l.id from drover.lane as l where l.id > $1::integer order by l.id limit $2::integer
),
strange as materialized (
  select x.run_id, x.step_no, x.ordered_by, x.ordinal
  from lanes as l
  cross join unnest(array[l.id, -l.id]) as k (lane)
  cross join generate_series(1, 9) as w (priority)
  cross join lateral (
    select r.run_id, r.step_no, r.ordered_by, r.ordinal
    from drover.ready as r
    where r.lane = k.lane and r.priority = w.priority
      and r.ordered_by >= pg_snapshot_xmax(pg_current_snapshot())
    order by r.ordered_by, r.ordinal
    limit $3::integer
    for update skip locked
  ) as x
  limit $3::integer
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
