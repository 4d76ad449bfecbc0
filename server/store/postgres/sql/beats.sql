-- Heartbeats belong to the session; nothing else locks agent_session.

-- name: beat_sessions
-- Written first, in key order. HOT: no index on what changes. The time of the last beat does not go back:
-- this statement may have waited for a row while a later beat of the session was stored by another server,
-- and its agent was told to carry on from there. A time that lies ahead of the clock does not stay: the
-- clock was set back. A session belongs to the namespace of its first beat: what names another one stores
-- nothing, and is the answer, with the right namespace.
with asked as materialized (
  select decode(u.session, 'hex') as session, u.namespace_id, u.agent_id, u.agent_version
  from unnest($1::text[], $2::integer[], $3::text[], $4::text[])
    as u (session, namespace_id, agent_id, agent_version)
),
stored as (
  insert into agent_session as s (session, namespace_id, agent_id, agent_version, last_beat_at)
  select a.session, a.namespace_id, a.agent_id, a.agent_version, now()
  from asked as a
  order by a.session
  on conflict (session) do update
    set last_beat_at = least(greatest(s.last_beat_at, excluded.last_beat_at), clock_timestamp())
    where s.namespace_id = excluded.namespace_id
  returning s.session
)
select encode(a.session, 'hex') as session, s.namespace_id
from asked as a
left join agent_session as s on s.session = a.session
where a.session not in (select s.session from stored as s);

-- name: last_beats
-- Plan: agent_session by key.
select encode(s.session, 'hex') as session, s.last_beat_at
from unnest($1::text[]) as u (session)
join agent_session as s on s.session = decode(u.session, 'hex');

-- name: beat_leases
-- Stores what is new and marks cancels as heard; a lease that a pass holds is told apart (busy) and
-- asked about again. Every lease is locked, also one that nothing changes: a pass that has read the last
-- beat before this one may be about to end it, and nobody may be told to carry on who has just lost.
-- A lease of another session, or one that is gone, is missing from the answer.
-- A session that lists all of what it was granted up to a poll has forgotten what it leaves out: such a
-- lease is answered without a place. Those of a session in one gathering are one list.
-- What is known of a place is put together by grouping: nobody can estimate how many rows there are, and
-- joined one by one 5,000 reports took 7 s. Plan: lease by key; lease_session, one probe a session that lists all.
with asked as materialized (
  select *
  from unnest($1::uuid[], $2::integer[], $3::integer[], $4::text[], $5::text[], $6::text[], $7::text[],
    $8::text[], $9::bytea[]) with ordinality
    as a (run_id, step_no, fence, secret, session, progress, details_type, details_json, details_data,
      place)
),
standing as materialized (
  select a.place, l.run_id, l.step_no, l.cancel, l.cancel_by, l.cancel_ms, l.heartbeat_ms,
    l.cancel = 1 or (a.progress is not null and a.progress is distinct from l.progress)
      or a.details_type is not null as changes
  from asked as a
  join lease as l on l.run_id = a.run_id and l.step_no = a.step_no
    and l.fence = a.fence and l.secret = decode(a.secret, 'hex')
    and l.session = decode(a.session, 'hex')
),
held as materialized (
  select s.place, l.run_id, l.step_no, s.changes
  from standing as s
  join lease as l on l.run_id = s.run_id and l.step_no = s.step_no
  for no key update of l skip locked
),
beaten as (
  update lease as l
  set cancel = case when l.cancel = 1 then 2 else l.cancel end,
    cancel_by = case when l.cancel = 1 then now() + l.cancel_ms * interval '1 millisecond'
      else l.cancel_by end,
    wake_at = case when l.cancel = 1 then now() + l.cancel_ms * interval '1 millisecond'
      else l.wake_at end,
    progress = coalesce(a.progress, l.progress),
    progress_at = case when a.progress is distinct from l.progress and a.progress is not null
      then now() else l.progress_at end,
    details_type = coalesce(a.details_type, l.details_type),
    details_json = case when a.details_type is null then l.details_json else a.details_json end,
    details_data = case when a.details_type is null then l.details_data else a.details_data end
  from held as h
  join asked as a on a.place = h.place
  where h.changes and l.run_id = h.run_id and l.step_no = h.step_no
    and l.fence = a.fence and l.secret = decode(a.secret, 'hex')
  returning h.place, l.cancel, l.cancel_by
),
forgotten as materialized (
  select l.run_id, l.partition, l.step_no, l.fence, encode(l.secret, 'hex') as secret
  from unnest($10::text[], $11::bigint[]) as w (session, lists_all_to)
  join lease as l on l.session = decode(w.session, 'hex') and l.poll_seq <= w.lists_all_to
  where not exists (
    select from asked as a
    where a.run_id = l.run_id and a.step_no = l.step_no and a.secret = encode(l.secret, 'hex')
  )
)
select x.place, max(x.heartbeat_ms) as heartbeat_ms,
  not bool_or(x.held) or (bool_or(x.changes) and not bool_or(x.beaten)) as busy,
  max(x.cancel) as cancel,
  greatest(0, extract(epoch from max(x.cancel_by) - now()) * 1000)::bigint as cancel_left_ms,
  null::uuid as run_id, null::smallint as partition, null::integer as step_no, null::integer as fence,
  null::text as secret
from (
  select s.place, s.heartbeat_ms, s.changes, s.cancel, s.cancel_by, false as held, false as beaten
  from standing as s
  union all
  select h.place, null, null, null, null, true, false
  from held as h
  union all
  select b.place, null, null, b.cancel, b.cancel_by, false, true
  from beaten as b
) as x
group by x.place
union all
select null, null, false, null, null, f.*
from forgotten as f;
