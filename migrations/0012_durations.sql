-- Leases that their agents have forgotten, and attempts that run longer than others of their step.

-- Two more rules: the same columns, and so the same view.
create or replace view intervention_view as
select
  i.run_id,
  d.id as step,
  nullif(greatest(i.step_no, 0) / 512, 0) as item,
  (array['lease', 'delivery', 'attempt', 'pickup', 'total', 'backoff', 'settle', 'deadline',
    'late-effect', 'stall', 'timer', 'signal', 'approval', 'callback', 'start',
    'agent-circuit', 'queue-circuit', 'forgotten', 'slow'])[i.rule + 1] as rule,
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

-- After this long a lease is looked at, whether its attempt is slow; null: too little was known of its
-- step when it became ready.
alter table ready add column slow_ms bigint;
alter table lease add column slow_ms bigint;
alter table lease add column suspect_at timestamptz;
comment on column lease.suspect_at is 'When the attempt was found to run far longer than others of its step.';

create table learned_duration (
  definition_id bigint not null,
  step_no integer not null,
  recent text,
  older text,
  changed_at timestamptz not null default now(),
  primary key (definition_id, step_no)
) with (fillfactor = 70);
comment on table learned_duration is 'How long attempts of a step of a workflow version take that end well: two sketches, written once a minute by each server that has more. As many rows as versions have steps.';
comment on column learned_duration.step_no is 'All items of a map are at the place of the first.';
comment on column learned_duration.older is 'The 10,000 samples before those of the recent one; null: there are none yet.';

create index workflow_version_definition on workflow_version (definition_id);
