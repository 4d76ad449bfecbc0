-- What nobody will ask for again, in small batches. Everything of a run goes with its range instead.

-- name: forget_sessions
-- Sessions that hold nothing and have been silent for 10 minutes.
delete from agent_session as s
where s.session in (
  select o.session
  from agent_session as o
  where o.last_beat_at < now() - interval '10 minutes'
    and not exists (select from lease as l where l.session = o.session)
  limit $1::integer
);

-- name: forget_lane_pollers
delete from lane_poller as p
where (p.lane, p.node) in (
  select o.lane, o.node
  from lane_poller as o
  where o.seen_at < now() - interval '5 minutes'
  limit $1::integer
);

-- name: forget_keys
-- Expired keys of runs that have ended. Plan: idempotency_expiry.
delete from idempotency as i
where (i.namespace_id, i.key) in (
  select o.namespace_id, o.key
  from idempotency as o
  where o.expires_at < now()
    and not exists (select from run as r where r.id = o.run_id and r.state is null)
  order by o.expires_at
  limit $1::integer
);
