-- What nobody will ask for again, in small batches, each of which says whether there may be more.
-- Everything of a run goes with its range instead.

-- name: forget_sessions
-- Sessions that hold nothing and have been silent for $2 milliseconds. Plan: lease_session, one probe a
-- session.
with gone as (
  delete from agent_session as s
  where s.session in (
    select o.session
    from agent_session as o
    left join lateral (
      select true as holds from lease as l where l.session = o.session limit 1
    ) as h on true
    where o.last_beat_at < now() - $2::bigint * interval '1 millisecond' and h.holds is null
    limit $1::integer
  )
  returning 1
)
select count(*) = $1::integer as more from gone;

-- name: forget_lane_pollers
-- Pollers not seen for $2 milliseconds: what is judged by them is a minute old at most.
with gone as (
  delete from lane_poller as p
  where (p.lane, p.node) in (
    select o.lane, o.node
    from lane_poller as o
    where o.seen_at < now() - $2::bigint * interval '1 millisecond'
    limit $1::integer
  )
  returning 1
)
select count(*) = $1::integer as more from gone;

-- name: forget_triggered
-- Of runs that ended more than $2 milliseconds ago: nothing asks how many triggers stand behind one once
-- every end in its partition that is as old has set off what it sets off; children end before it. Ids
-- begin with the milliseconds of their making. Plan: triggered, run by key.
with gone as (
  delete from triggered as t
  where t.run_id in (
    select o.run_id
    from triggered as o
    left join lateral (
      select x.partition, x.ended_at from run as x where x.id = o.run_id limit 1
    ) as r on true
    where o.run_id
        < rpad(lpad(to_hex((extract(epoch from now()) * 1000)::bigint - $2::bigint), 12, '0'), 32, '0')::uuid
      and (r.partition is null or r.ended_at <= now() - $2::bigint * interval '1 millisecond')
      and not exists (
        select
        from trigger_end as e
        cross join lateral (select x.ended_at from run as x where x.id = e.run_id limit 1) as w
        where e.partition = r.partition and w.ended_at <= r.ended_at
      )
    order by o.run_id
    limit $1::integer
  )
  returning 1
)
select count(*) = $1::integer as more from gone;

-- name: forget_writers
-- Writer rows of processes that are long gone and own no partition. Those of an owner stay: a take-over
-- deletes them, and waits for the flight that holds one.
delete from writer as w
where not exists (select from node as n where n.id = w.node)
  and not exists (select from partition_lease as l where l.node = w.node);

-- name: forget_keys
-- Expired keys of runs that have ended. Plan: idempotency_expiry, and one probe of run_default_pkey a key.
with gone as (
  delete from idempotency as i
  where (i.namespace_id, i.key) in (
    select o.namespace_id, o.key
    from idempotency as o
    where o.expires_at < now()
      and (select r.state is null from run as r where r.id = o.run_id) is not true
    order by o.expires_at
    limit $1::integer
  )
  returning 1
)
select count(*) = $1::integer as more from gone;
