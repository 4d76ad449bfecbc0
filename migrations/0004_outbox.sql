-- What the outside is told: hooks, what there is to tell, and each webhook with how it went.

alter table run add column notify_hook text;
alter table run add column notify_url text;
comment on column run.notify_hook is 'The hook that Schedule names to be told of the end; with notify_url at another address.';

alter table escalation add column code text not null default '';
alter table escalation add column claimed_by text;
alter table escalation add column claimed_at timestamptz;
alter table escalation add column partition smallint not null default 0;
alter table escalation add column wake_at timestamptz;
alter table escalation add column deadline_at timestamptz;
create index escalation_wake on escalation (partition, wake_at);
comment on column escalation.wake_at is 'The next reminder, or the deadline; null once it is closed.';
comment on column escalation.claimed_by is 'Who has said that he looks after it; it binds nobody who answers.';
comment on column escalation.code is 'The error code that led to it: with workflow, step and reason, its cause.';

create table hook (
  namespace_id integer not null,
  name text not null,
  url text not null,
  events smallint[] not null,
  secret text not null,
  secret_digest text not null,
  created_at timestamptz not null default now(),
  changed_at timestamptz not null default now(),
  primary key (namespace_id, name)
);
comment on table hook is 'Where a namespace is told of what happens. The secret signs, so it is kept as it is.';

-- Written in the transaction of what it tells; gone within seconds, when a delivery takes it up.
create table outbox (
  id bigint generated always as identity primary key,
  partition smallint not null,
  namespace_id integer not null,
  kind smallint not null,
  run_id uuid not null,
  n integer not null,
  hook text not null,
  url text,
  cause text not null
) with (autovacuum_vacuum_scale_factor = 0.01, autovacuum_vacuum_threshold = 1000,
  autovacuum_vacuum_cost_delay = 0);
create index outbox_partition on outbox (partition, id);
comment on table outbox is 'One row for each thing that a hook wants to hear, until a delivery tells it.';
comment on column outbox.n is 'The number of the escalation; 0: about the run.';

-- Kept for 7 days after it has ended.
create table delivery (
  id uuid primary key default gen_random_uuid(),
  partition smallint not null,
  namespace_id integer not null,
  kind smallint not null,
  run_id uuid not null,
  n integer not null,
  hook text not null,
  url text,
  cause text not null,
  count integer not null,
  state smallint not null default 0,
  tries integer not null default 0,
  error text,
  created_at timestamptz not null default now(),
  ended_at timestamptz,
  next_try_at timestamptz
);
create index delivery_due on delivery (partition, next_try_at);
create index delivery_cause on delivery (namespace_id, hook, kind, cause, created_at);
create index delivery_by_namespace on delivery (namespace_id, created_at, id);
create index delivery_ended on delivery (ended_at);
comment on table delivery is 'One webhook: what it tells, for how many of one cause, and how its tries went.';
comment on column delivery.run_id is 'Of the first that it tells of.';
