-- Heartbeats belong to the session.

-- name: store_heartbeats
-- Written first, in key order. HOT: no index on what changes. The time of the last heartbeat does not go back:
-- this statement may have waited for a row while a later heartbeat of the session was stored by another server,
-- and its agent was told to carry on from there. A time that lies ahead of the clock does not stay: the
-- clock was set back. A session belongs to the namespace of its first heartbeat: what names another one stores
-- nothing, and is the answer, with the right namespace.
with asked as materialized (
  select decode(u.session, 'hex') as session, u.namespace_id, u.agent_id, u.agent_version
  from unnest($1::text[], $2::integer[], $3::text[], $4::text[])
    as u (session, namespace_id, agent_id, agent_version)
),
stored as (
  insert into drover.agent_session as s (session, namespace_id, agent_id, agent_version, last_heartbeat_at)
  select a.session, a.namespace_id, a.agent_id, a.agent_version, now()
  from asked as a
  order by a.session
  on conflict (session) do update
    set last_heartbeat_at = least(greatest(s.last_heartbeat_at, excluded.last_heartbeat_at), clock_timestamp()),
      agent_version = excluded.agent_version
    where s.namespace_id = excluded.namespace_id
  returning s.session
)
select encode(a.session, 'hex') as session, s.namespace_id
from asked as a
left join drover.agent_session as s on s.session = a.session
where a.session not in (select s.session from stored as s);

-- name: last_heartbeats
-- For passes that may end leases of silent sessions: a heartbeat that comes now waits for them, and finds
-- its leases gone. In the order of the sessions. Plan: agent_session by key.
select encode(s.session, 'hex') as session, s.last_heartbeat_at
from unnest($1::text[]) as u (session)
join drover.agent_session as s on s.session = decode(u.session, 'hex')
order by s.session
for share of s;

-- name: leases_of_heartbeats
-- Of what heartbeats name ($1 to $5) the leases that are there. A session that lists all of what it was
-- granted up to a poll ($6, $7) has forgotten what it leaves out: such a lease is answered without a place.
-- Those of a session in one gathering are one list.
-- Plan: lease by key; lease_session, one probe a session that lists all.
with asked as materialized (
  select *
  from unnest($1::uuid[], $2::integer[], $3::integer[], $4::text[], $5::text[]) with ordinality
    as a (run_id, step_no, fence, secret, session, place)
)
select a.place, l.heartbeat_ms, l.cancel, null::uuid as run_id, null::smallint as partition,
  null::integer as step_no, null::integer as fence, null::text as secret
from asked as a
join drover.lease as l on l.run_id = a.run_id and l.step_no = a.step_no
  and l.fence = a.fence and l.secret = decode(a.secret, 'hex')
  and l.session = decode(a.session, 'hex')
union all
select null, null, null, l.run_id, l.partition, l.step_no, l.fence, encode(l.secret, 'hex')
from unnest($6::text[], $7::bigint[]) as w (session, lists_all_to)
cross join lateral (
  select x.*
  from drover.lease as x
  where x.session = decode(w.session, 'hex') and x.poll_seq <= w.lists_all_to
  offset 0
) as l
where not exists (
  select from asked as a
  where a.run_id = l.run_id and a.step_no = l.step_no and a.secret = encode(l.secret, 'hex')
);
