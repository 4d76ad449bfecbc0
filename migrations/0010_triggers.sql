-- Triggers: what begins or continues runs by itself, what ended runs have set off, what was refused.

create table trigger (
  namespace_id integer not null,
  name text not null,
  auth text,
  workflow text,
  states smallint[] not null default '{}',
  body text not null,
  secret text,
  secret_digest text,
  created_at timestamptz not null default now(),
  changed_at timestamptz not null default now(),
  primary key (namespace_id, name)
);
create index trigger_by_workflow on trigger (namespace_id, workflow) where workflow is not null;
comment on table trigger is 'What waits for a call over HTTP (auth), or for ends of runs of a workflow; body is its definition.';
comment on column trigger.secret is 'What signs a body, kept as it is; of a bearer the digest alone is kept.';

-- Written in the transaction of the end; gone within seconds, when the run that it sets off is there.
create table trigger_end (
  id bigint generated always as identity primary key,
  partition smallint not null,
  namespace_id integer not null,
  trigger text not null,
  run_id uuid not null,
  next_at timestamptz not null default now()
) with (autovacuum_vacuum_scale_factor = 0.01, autovacuum_vacuum_threshold = 1000,
  autovacuum_vacuum_cost_delay = 0);
create index trigger_end_due on trigger_end (partition, next_at);
comment on table trigger_end is 'An ended run that a trigger waits for, until it has done what it does.';

create table triggered (
  run_id uuid primary key,
  trigger text not null,
  of_run uuid not null,
  depth smallint not null
);
comment on table triggered is 'A run that the end of another has set off; depth: triggers behind each other, 1 for the first.';

create table trigger_refusal (
  namespace_id integer not null,
  trigger text not null,
  digest bytea not null,
  reason text not null,
  message text not null,
  run_id uuid,
  count bigint not null,
  first_at timestamptz not null default now(),
  last_at timestamptz not null default now(),
  primary key (namespace_id, trigger, digest)
);
create index trigger_refusal_last on trigger_refusal (namespace_id, last_at);
comment on table trigger_refusal is 'What a trigger has refused, one row for each reason; the newest 100 of each trigger.';
comment on column trigger_refusal.digest is 'SHA-256 of reason and message.';
