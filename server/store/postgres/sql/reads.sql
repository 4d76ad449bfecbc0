-- Plain reads of one run, for people. Nothing is locked; one statement sees one moment.

-- name: run_head
-- The state of an open run as the rules know it. Plan: run, run_open by key.
select o.*
from run as r
join run_open as o on o.partition = r.partition and o.run_id = r.id
where r.id = $1;

-- name: traced_runs
-- What traces tell of runs. Plan: run, rerun by key.
select r.id as run_id, r.namespace_id, r.definition_id, r.workflow, r.version, r.created_at,
  r.traceparent, r.tracestate, r.parent_id,
  (select x.of_run from rerun as x where x.run_id = r.id) as of_run
from run as r
where r.id = any ($1::uuid[]);

-- name: run_steps
-- Steps, and those items of maps that are not done for good ($2, $3: the states in which a side is);
-- or, of one map ($4), the items behind a place ($5) in states ($7; null: in any), at most so many ($6).
-- With what moves of them, in one look. Plan: step, lease, ready and due by the run's key.
select s.run_id, s.no, s.forward, s.undo, s.held, s.waiting_for, s.needs_ok, s.needs_skipped, s.strategies,
  s.fence, s.attempt, s.lost, s.tries, s.doubt, s.verifies, s.first_ready_at, s.settle_until,
  s.result_fence, s.result_kind, s.result_n, s.items, d.kind as due_kind, d.wake_at as due_at,
  l.kind as lease_kind, l.fence as lease_fence, l.attempt as lease_attempt,
  encode(l.secret, 'hex') as secret, encode(l.session, 'hex') as session, l.agent_id, l.poll_seq,
  l.granted_at, l.attempt_by, l.heartbeat_ms, l.cancel_ms, l.stall_ms, l.progress_at, l.cancel,
  l.cancel_cause, l.cancel_asked_at, l.cancel_by, l.suspect_at, l.wake_at as lease_wake_at,
  r.kind as ready_kind, r.fence as ready_fence, r.attempt as ready_attempt, r.ready_at, r.until,
  encode(r.avoid_session, 'hex') as avoid_session, r.avoid_until, r.alarms, r.wake_at as ready_wake_at
from step as s
left join due as d on d.run_id = s.run_id and d.step_no = s.no
left join lease as l on l.run_id = s.run_id and l.step_no = s.no
left join ready as r on r.run_id = s.run_id and r.step_no = s.no
where s.run_id = $1::uuid
  and case
    when $4::integer is null
      then s.no < 512 or s.forward <> all ($2::smallint[]) or s.undo <> all ($3::smallint[])
    else s.no > $5::integer and s.no % 512 = $4
      and ($7::smallint[] is null or s.forward = any ($7::smallint[]))
  end
order by s.no
limit $6::integer;

-- name: run_kept
-- Plan: step_kept by the run's key.
select k.step_no, k.of_run
from step_kept as k
where k.run_id = $1::uuid
order by k.step_no;

-- name: run_changed_inputs
-- Plan: step_override by the run's key.
select o.step_no, o.strategy, o.input_type, o.input_json, o.input_data
from step_override as o
where o.run_id = $1::uuid
order by o.step_no, o.strategy;

-- name: run_attempts
-- The newest of steps, and the newest of items of maps, oldest first. Plan: attempt by the run's key.
with newest as (
  (select a.*
  from attempt as a
  where a.run_id = $1::uuid and a.step_no < 512
  order by a.ended_at desc, a.step_no desc, a.fence desc, a.n desc
  limit $2::integer)
  union all
  (select a.*
  from attempt as a
  where a.run_id = $1::uuid and a.step_no >= 512
  order by a.ended_at desc, a.step_no desc, a.fence desc, a.n desc
  limit $2::integer)
)
select a.step_no, a.kind, a.fence, a.n, a.attempt, a.agent_id, a.started_at, a.ended_at, a.outcome, a.class,
    a.code, a.message, a.no_effect, a.retry_after_ms, a.output_type, a.output_json, a.output_data, a.progress
from newest as a
order by a.ended_at, a.step_no, a.fence, a.n;

-- name: attempts_of_steps
-- Plan: attempt by key.
select a.step_no, a.kind, a.fence, a.n, a.attempt, a.agent_id, a.started_at, a.ended_at, a.outcome, a.class,
    a.code, a.message, a.no_effect, a.retry_after_ms, a.output_type, a.output_json, a.output_data, a.progress
from attempt as a
where a.run_id = $1::uuid and a.step_no = any ($2::integer[])
order by a.ended_at, a.step_no, a.fence, a.n;

-- name: run_interventions
-- The newest $2, in the order in which they happened. Plan: intervention by the run's key.
select * from (
  select i.step_no, i.fence, i.rule, i.n, i.saw, i.did, i.due_at, i.acted_at, i.node, i.partition, i.epoch
  from intervention as i
  where i.run_id = $1::uuid
  order by i.acted_at desc
  limit $2::integer
) as newest
order by newest.acted_at, newest.step_no, newest.fence, newest.n;

-- name: run_escalations
-- The newest $2, in the order in which they happened. Plan: escalation by the run's key.
select * from (
  select e.n, e.step_no, e.reason, e.message, e.opened_at, e.closed_at, e.closed_by, e.claimed_by, e.claimed_at, e.deadline_at, e.code, e.answer,
    e.answered_by, e.answered_why
  from escalation as e
  where e.run_id = $1::uuid
  order by e.n desc
  limit $2::integer
) as newest
order by newest.n;

-- name: run_signs
-- What agents let hear of themselves: the last beat and the progress of each lease, the last poll of the
-- lane of each ready row and whether those that polled it are silent since (a poll counts for $2
-- milliseconds), what keeps that lane, how many ask for it if all of those are cordoned, the version of
-- agents that it is for, and the queue of both; the region of the run, if no node watches its partition
-- (one counts for $3 milliseconds), and whether one watches any of the region; always one row, for the time. Plan: lease, ready by the run's key, lane by its own.
with kept_out as (
  select l.id as lane, count(*)::integer as agents
  from lane as l
  left join version_lane as v on v.lane = l.id
  join agent as a on a.namespace_id = l.namespace_id and a.seen_at > now() - interval '1 minute'
    and a.silent_since is null and a.queues ? l.queue and (a.tasks = '[]'::jsonb or a.tasks ? l.task)
    and (v.lane is null or a.agent_version = v.agent_version)
  where l.id in (select abs(r.lane) from ready as r where r.run_id = $1::uuid)
    and exists (select from cordon as o where o.namespace_id = l.namespace_id)
  group by l.id
  having bool_and(exists (
    select from cordon as o
    where o.namespace_id = a.namespace_id and ((o.kind, o.name) in ((0, a.agent_id), (1, a.agent_version)))
  ))
)
select now() as now, x.step_no, x.is_lease, x.last_beat_at, x.progress, x.polled_at, lane.queue,
  h.paused, h.paused_at, h.pause_reason, o.state as circuit, o.since as open_since,
  o.until as open_until, o.saw, o.forced_at, o.forced_by, o.forced_why, k.agents as cordoned,
  v.agent_version, not x.is_lease and exists (
    select from silent_lane as s
    where s.lane = abs(x.lane) and coalesce(s.seen_at, '-infinity')
      <= now() - greatest($2::integer, 60000) * interval '1 millisecond'
  ) as silent, w.name as unwatched, w.whole
from (select) as one
left join lateral (
  select g.name, not exists (
    select
    from partition_lease as m
    join node as d on d.id = m.node and d.last_seen_at > now() - $3::integer * interval '1 millisecond'
    where m.partition / 256 = g.id
  ) as whole
  from run as r
  join region as g on g.id = r.partition / 256
  left join partition_lease as p on p.partition = r.partition
  left join node as n on n.id = p.node and n.last_seen_at > now() - $3::integer * interval '1 millisecond'
  where r.id = $1::uuid and n.id is null
) as w on true
left join (
  select l.step_no, l.lane, true as is_lease, s.last_beat_at, l.progress, null::timestamptz as polled_at
  from lease as l
  left join agent_session as s on s.session = l.session
  where l.run_id = $1::uuid
  union all
  select r.step_no, r.lane, false, null, null,
    (select max(p.seen_at) from lane_poller as p where p.lane = abs(r.lane))
  from ready as r
  where r.run_id = $1::uuid
) as x on true
left join lane on lane.id = abs(x.lane)
left join lateral (
  select 'workflow' as paused, w.paused_at, w.reason as pause_reason
  from run as n
  join paused_workflow as w on w.namespace_id = n.namespace_id and w.name = n.workflow
  where x.lane < 0 and n.id = $1::uuid
  union all
  select case p.queue when '' then 'namespace' else 'queue' end, p.paused_at, p.pause_reason
  from paused_lane as p
  where p.lane = abs(x.lane)
  order by 1 desc
  limit 1
) as h on not x.is_lease
left join open_lane as o on not x.is_lease and o.lane = abs(x.lane)
left join kept_out as k on not x.is_lease and k.lane = abs(x.lane)
left join version_lane as v on not x.is_lease and v.lane = abs(x.lane)
order by x.step_no;
