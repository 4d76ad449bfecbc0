-- Claims: ready rows become leases. They touch no other table.

-- name: lock_ready
-- Up to `most` rows of each lane in its order; what another claim or a pass holds is skipped, and so
-- is a row whose time is over: its ready moment ends it.
-- Plan: ready_lane, one probe a lane.
select r.run_id, r.partition, r.step_no, r.lane, r.priority, r.kind, r.fence, r.attempt, r.until,
  encode(r.avoid_session, 'hex') as avoid_session, r.avoid_until, r.attempt_ms, r.heartbeat_ms,
  r.cancel_ms
from unnest($1::integer[], $2::integer[]) as w (lane, most)
cross join lateral (
  select *
  from ready as c
  where c.lane = w.lane and (c.until is null or c.until > now())
  order by c.priority, c.ordered_by, c.ordinal
  limit w.most
  for update skip locked
) as r;

-- name: grant_leases
-- Moves rows that this transaction has locked. The first look at a lease is at its silence or its end,
-- whichever comes first. Plan: ready by key.
with gone as (
  delete from ready as r
  using unnest($1::uuid[], $2::smallint[], $3::integer[], $4::text[], $5::text[], $6::text[],
    $7::bigint[]) as u (run_id, step_no, fence, secret, session, agent_id, poll_seq)
  where r.run_id = u.run_id and r.step_no = u.step_no and r.item = 0 and r.fence = u.fence
  returning r.*, u.secret, u.session, u.agent_id, u.poll_seq,
    least(now() + r.attempt_ms * interval '1 millisecond', r.until) as attempt_by
)
insert into lease (run_id, step_no, partition, lane, kind, fence, attempt, secret, session, agent_id,
  poll_seq, granted_at, attempt_by, heartbeat_ms, cancel_ms, wake_at)
select g.run_id, g.step_no, g.partition, g.lane, g.kind, g.fence, g.attempt, decode(g.secret, 'hex'),
  decode(g.session, 'hex'), g.agent_id, g.poll_seq, now(), g.attempt_by, g.heartbeat_ms,
  g.cancel_ms, least(now() + g.heartbeat_ms * interval '1 millisecond', g.attempt_by)
from gone as g
returning run_id, step_no, granted_at, attempt_by;

-- name: task_facts
-- What granted tasks carry besides their lease, read after the commit. Plan: run, attempt, step by key.
select t.place, r.definition_id, r.version, r.labels, r.input_type, r.input_json, r.input_data,
  p.details_type, p.details_json, p.details_data, o.output_type, o.output_json, o.output_data
from unnest($1::uuid[], $2::smallint[], $3::integer[], $4::smallint[]) with ordinality
  as t (run_id, step_no, fence, kind, place)
join run as r on r.id = t.run_id
left join lateral (
  select a.details_type, a.details_json, a.details_data
  from attempt as a
  where a.run_id = t.run_id and a.step_no = t.step_no and a.item = 0 and a.fence < t.fence
    and a.kind = t.kind and a.details_type is not null
  order by a.fence desc
  limit 1
) as p on t.fence > 1
left join lateral (
  select a.output_type, a.output_json, a.output_data
  from step as s
  join attempt as a on a.run_id = s.run_id and a.step_no = s.no and a.item = 0
    and a.fence = s.result_fence and a.kind = 0 and a.n = 0
  where s.run_id = t.run_id and s.no = t.step_no and s.item = 0
) as o on t.kind = 1
order by t.place;

-- name: undelivered_leases
-- Plan: lease_session.
select l.run_id, l.partition, l.step_no, l.fence, encode(l.secret, 'hex') as secret
from lease as l
where l.session = decode($1::text, 'hex') and l.poll_seq = any ($2::bigint[]);

-- name: mark_polled
-- In key order. HOT: no index on what changes; gone 5 minutes after the last poll.
insert into lane_poller (lane, node, seen_at)
select u.lane, $1::uuid, now()
from unnest($2::integer[]) as u (lane)
order by u.lane
on conflict (lane, node) do update set seen_at = excluded.seen_at;

-- name: pulse
-- One statement for everything that waits in a process. Plan: ready_lane, run_open by key.
select 0 as kind, w.lane, null::uuid as run_id, null::integer as version
from unnest($1::integer[]) as w (lane)
where exists (
  select from ready as r
  where r.lane = w.lane and (r.until is null or r.until > now())
)
union all
select 1, null, o.run_id, o.version
from unnest($2::smallint[], $3::uuid[]) as u (partition, run_id)
join run_open as o on o.partition = u.partition and o.run_id = u.run_id;
