-- What one run has to do with another. Cold beside the tables of 0001.

create table message (
  run_id uuid not null,
  no bigint generated always as identity,
  partition smallint not null,
  source uuid not null,
  kind smallint not null,
  undo boolean,
  wake_at timestamptz not null,
  primary key (run_id, no)
) with (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.01, autovacuum_vacuum_threshold = 1000,
  autovacuum_vacuum_cost_delay = 0);
create index message_wake on message (partition, wake_at);
comment on table message is 'What one run tells another, from the change that causes it until a pass of its run applies it.';

create table slot (
  run_id uuid primary key,
  namespace_id integer not null,
  key text not null,
  max_holders integer not null,
  priority smallint not null,
  since timestamptz not null,
  holds boolean not null,
  leaving boolean not null
);
create index slot_of_key on slot (namespace_id, key, holds, priority, since, run_id);
comment on table slot is 'A run that holds a slot of its concurrency key, or waits for one, until it ends; written under the key''s lock.';
