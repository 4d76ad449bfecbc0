-- The integrity sweep is a rule of interventions.

create or replace view intervention_view as
select
  i.run_id,
  d.id as step,
  nullif(greatest(i.step_no, 0) / 512, 0) as item,
  (array['lease', 'delivery', 'attempt', 'pickup', 'total', 'backoff', 'settle', 'deadline',
    'late-effect', 'stall', 'timer', 'signal', 'approval', 'callback', 'start',
    'agent-circuit', 'queue-circuit', 'forgotten', 'slow',
    'integrity'])[i.rule + 1] as rule,
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
