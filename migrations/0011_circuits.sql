-- Circuits of lanes and of agents, what they are judged by, and cordons of agents.

create sequence circuit_version;

-- One row for each circuit that was ever open, or that a person has moved; gone a week after it closed.
create table circuit (
  lane integer not null,
  agent_id text not null,
  version bigint not null default nextval('circuit_version'),
  changed_at timestamptz not null default now(),
  state smallint not null default 0,
  since timestamptz,
  until timestamptz,
  rests smallint not null default 0,
  saw text not null default '',
  forced smallint,
  forced_by text,
  forced_why text,
  forced_at timestamptz,
  trial_run uuid,
  trial_step integer,
  trial_fence integer,
  trial_secret bytea,
  primary key (lane, agent_id)
);
comment on table circuit is 'What may be handed out of a lane, or to one agent of it; no row: all.';
comment on column circuit.agent_id is 'Empty: the circuit of the lane itself.';
comment on column circuit.version is 'Another one with each change, never used twice: what a change compares.';
comment on column circuit.until is 'From then on one task may try.';
comment on column circuit.forced is 'What a person has said, until it is taken back; null: the rules decide.';
comment on column circuit.trial_run is 'The task that tries: its lease is told by these four.';

-- Nothing of these goes through, but for one task that tries.
create view open_lane as
select c.lane, c.state, c.since, c.until, c.saw, c.forced, c.forced_by, c.forced_why, c.forced_at
from circuit as c
where c.agent_id = '' and coalesce(c.forced = 1, c.state <> 0);

-- Times in which nothing of a lane went through; `total` of steps stands still meanwhile.
create table circuit_outage (
  lane integer not null,
  opened_at timestamptz not null,
  closed_at timestamptz,
  primary key (lane, opened_at)
);
comment on table circuit_outage is 'Gone a week after its end. closed_at null: it has not ended.';

-- Ends of tasks, in slots of 5 s: written only while a lane has bad ones. Gone after 2 minutes.
create table circuit_end (
  lane integer not null,
  agent_id text not null,
  at timestamptz not null,
  good integer not null,
  bad integer not null,
  runs uuid[] not null,
  last_at timestamptz not null,
  primary key (lane, agent_id, at)
) with (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.01, autovacuum_vacuum_threshold = 1000,
  autovacuum_vacuum_cost_delay = 0);
comment on column circuit_end.runs is 'Up to two of the runs with a bad end: no more are asked about.';

-- Agents that get nothing new, by their id or their version.
create table cordon (
  namespace_id integer not null,
  kind smallint not null,
  name text not null,
  cordoned_by text not null,
  why text not null,
  cordoned_at timestamptz not null default now(),
  primary key (namespace_id, kind, name)
);

-- Its rules in words, two more.
create or replace view intervention_view as
select
  i.run_id,
  d.id as step,
  nullif(greatest(i.step_no, 0) / 512, 0) as item,
  (array['lease', 'delivery', 'attempt', 'pickup', 'total', 'backoff', 'settle', 'deadline',
    'late-effect', 'stall', 'timer', 'signal', 'approval', 'callback', 'start',
    'agent-circuit', 'queue-circuit'])[i.rule + 1] as rule,
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
