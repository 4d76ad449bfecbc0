-- Who had which partition, what a namespace may take, and the rules of interventions in a table.

-- One row for each time that a partition changed hands; the last 20 of each partition.
create table partition_history (
  partition smallint not null,
  epoch bigint not null,
  node uuid not null,
  address text,
  why smallint not null,
  taken_at timestamptz not null,
  left_at timestamptz,
  primary key (partition, epoch)
) with (autovacuum_vacuum_scale_factor = 0.01, autovacuum_vacuum_threshold = 1000,
  autovacuum_vacuum_cost_delay = 0);
comment on column partition_history.why is 'nobody had had it, the one before gave it back, or was gone.';
comment on column partition_history.left_at is 'When it was given back, or the next one took it; null: it has it.';

alter table namespace
  add column retention_ms bigint,
  add column open_runs_max integer,
  add column runs_per_second double precision,
  add column runs_burst integer,
  add column payload_bytes_max integer;
comment on column namespace.retention_ms is 'Runs go so long after their end; null: they are kept.';
comment on column namespace.open_runs_max is 'null, as of the other limits: there is none.';

-- Its rows are those of the code, in its order: a rule that is added is a row that is added.
create table intervention_rule (
  rule smallint primary key,
  name text not null unique
);
insert into intervention_rule (rule, name)
select place - 1, name
from unnest(array['lease', 'delivery', 'attempt', 'pickup', 'total', 'backoff', 'settle', 'deadline',
  'late-effect', 'stall', 'timer', 'signal', 'approval', 'callback', 'start',
  'agent-circuit', 'queue-circuit', 'forgotten', 'slow', 'integrity'])
  with ordinality as u (name, place);

create or replace view intervention_view as
select
  i.run_id,
  d.id as step,
  nullif(greatest(i.step_no, 0) / 512, 0) as item,
  u.name as rule,
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
left join intervention_rule as u on u.rule = i.rule
left join lateral (
  select e.value ->> 'id' as id
  from jsonb_array_elements((f.body::jsonb) -> 'steps') with ordinality as e (value, place)
  where e.place = i.step_no % 512 + 1
) as d on true;
