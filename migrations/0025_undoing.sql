-- A step that undoes the strategy that it leaves (forward state 11): its undo side says how far that
-- has come.
create or replace view step_view as
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
      'WAITING', 'READY', 'SKIPPED', 'WAITING', 'WAITING'])[s.forward + 1]
  end as state,
  (array['NONE', 'PENDING', 'ACTIVE', 'ACTIVE', 'DONE', 'FAILED', 'ACTIVE', 'ACTIVE',
    'ACTIVE'])[s.undo + 1]
    as undo,
  s.strategies[cardinality(s.strategies)] / 16 as strategy,
  (array['NONE', 'UNSETTLED', 'MADE', 'ATTEMPTED', 'UNDONE', 'LINGERING', 'CLEARED'])
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
