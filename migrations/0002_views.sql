-- For people: names in place of numbers, and the row beside a step told as its state. The lists are
-- those of server/store/postgres/codes.ts, in its order; a test compares them.

create view run_view as
select
  r.id as run_id,
  n.name as namespace,
  r.key,
  r.workflow,
  r.version as workflow_version,
  (array['RUNNING', 'STOPPING', 'COMPENSATING', 'ESCALATED', 'COMPLETED', 'FAILED', 'COMPENSATED',
    'CANCELLED', 'PAUSED', 'FINISHING', 'PENDING'])[coalesce(o.state, r.state) + 1] as state,
  (array['DONE', 'STEP_FAILED', 'TIMED_OUT', 'CANCELLED_BY_USER', 'NEVER_STARTED', 'REFUSED',
    'CANCELLED_BY_NEWER'])[coalesce(r.reason, o.verdict) + 1] as reason,
  r.created_at,
  r.ended_at,
  o.deadline,
  o.steps_left,
  o.moving,
  o.asking,
  coalesce(o.warnings, r.warnings) as warnings,
  r.labels,
  r.cancel_note,
  r.partition
from run as r
join namespace as n on n.id = r.namespace_id
left join run_open as o on o.partition = r.partition and o.run_id = r.id;

create view step_view as
select
  s.run_id,
  d.id as step,
  nullif(s.no / 512, 0) as item,
  s.no % 512 as no,
  case
    when w.is_verify then 'VERIFYING'
    when s.forward = 1 and l.run_id is not null then 'LEASED'
    when s.forward = 1 then 'READY'
    else (array['BLOCKED', 'OPEN', 'BACKOFF', 'ESCALATED', 'SUCCEEDED', 'FAILED', 'CANCELLED',
      'WAITING', 'READY', 'SKIPPED', 'WAITING'])[s.forward + 1]
  end as state,
  (array['NONE', 'PENDING', 'ACTIVE', 'ACTIVE', 'DONE', 'FAILED', 'ACTIVE', 'ACTIVE',
    'ACTIVE'])[s.undo + 1]
    as undo,
  s.strategies[cardinality(s.strategies)] / 16 as strategy,
  (array['NONE', 'UNSETTLED', 'MADE', 'ATTEMPTED', 'UNDONE', 'LINGERING'])
    [s.strategies[cardinality(s.strategies)] % 8 + 1] as effect,
  s.attempt as tries,
  coalesce(l.fence, s.fence) as fence,
  l.agent_id,
  l.progress,
  w.waits_for,
  coalesce(l.wake_at, y.wake_at, u.wake_at) as next_look_at
from step as s
join run as r on r.id = s.run_id
join definition as f on f.id = r.definition_id
cross join lateral (
  select e.value ->> 'id' as id
  from jsonb_array_elements((f.body::jsonb) -> 'steps') with ordinality as e (value, place)
  where e.place = s.no % 512 + 1
) as d
left join lease as l on l.run_id = s.run_id and l.step_no = s.no
left join ready as y on y.run_id = s.run_id and y.step_no = s.no
left join due as u on u.run_id = s.run_id and u.step_no = s.no
cross join lateral (
  select
    (array['perform retry', 'perform again', 'perform settle', 'compensate retry',
      'compensate again', 'compensate settle', 'verify retry', 'verify again', 'verify settle',
      'timer', 'signal', 'approval', 'callback', 'child',
      'child-end', 'items'])[u.kind + 1] as waits_for,
    coalesce(l.kind = 4, y.kind = 4, u.kind between 6 and 8, s.held = 4, false) as is_verify
) as w;

create view intervention_view as
select
  i.run_id,
  d.id as step,
  nullif(greatest(i.step_no, 0) / 512, 0) as item,
  (array['lease', 'delivery', 'attempt', 'pickup', 'total', 'backoff', 'settle', 'deadline',
    'late-effect', 'stall', 'timer', 'signal', 'approval', 'callback', 'start'])[i.rule + 1] as rule,
  i.fence,
  i.n,
  i.saw,
  i.did,
  i.due_at,
  i.acted_at,
  i.acted_at - i.due_at as took,
  i.node,
  i.partition,
  i.epoch
from intervention as i
join run as r on r.id = i.run_id
join definition as f on f.id = r.definition_id
left join lateral (
  select e.value ->> 'id' as id
  from jsonb_array_elements((f.body::jsonb) -> 'steps') with ordinality as e (value, place)
  where e.place = i.step_no % 512 + 1
) as d on true;
