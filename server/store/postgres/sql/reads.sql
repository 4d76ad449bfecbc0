-- Plain reads of one run, for people. Nothing is locked; one statement sees one moment.

-- name: run_steps
-- Steps with what moves of them, in one look. Plan: step, lease, ready and due by the run's key.
select s.run_id, s.no, s.forward, s.undo, s.waiting_for, s.effect, s.fence, s.attempt, s.lost, s.tries,
  s.first_ready_at, s.settle_until, s.result_fence, d.wake_at as due_at,
  l.kind as lease_kind, l.fence as lease_fence, l.attempt as lease_attempt,
  encode(l.secret, 'hex') as secret, encode(l.session, 'hex') as session, l.agent_id, l.poll_seq,
  l.granted_at, l.attempt_by, l.heartbeat_ms, l.cancel_ms, l.cancel, l.cancel_cause, l.cancel_asked_at, l.cancel_by,
  l.wake_at as lease_wake_at,
  r.kind as ready_kind, r.fence as ready_fence, r.attempt as ready_attempt, r.ready_at, r.until,
  encode(r.avoid_session, 'hex') as avoid_session, r.avoid_until, r.alarms, r.wake_at as ready_wake_at
from step as s
left join due as d on d.run_id = s.run_id and d.step_no = s.no and d.item = s.item
left join lease as l on l.run_id = s.run_id and l.step_no = s.no and l.item = s.item
left join ready as r on r.run_id = s.run_id and r.step_no = s.no and r.item = s.item
where s.run_id = $1::uuid and s.item = 0
order by s.no;

-- name: run_attempts
-- The newest, oldest first. Plan: attempt by the run's key.
select * from (
  select a.step_no, a.kind, a.fence, a.attempt, a.agent_id, a.started_at, a.ended_at, a.outcome, a.class,
    a.code, a.message, a.no_effect, a.retry_after_ms, a.output_type, a.output_json, a.output_data
  from attempt as a
  where a.run_id = $1::uuid
  order by a.ended_at desc, a.step_no desc, a.fence desc
  limit $2::integer
) as newest
order by newest.ended_at, newest.step_no, newest.fence;

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
  select e.n, e.step_no, e.reason, e.message, e.opened_at, e.closed_at, e.closed_by
  from escalation as e
  where e.run_id = $1::uuid
  order by e.n desc
  limit $2::integer
) as newest
order by newest.n;
