-- The control plane's tables. Numbers stand for names on the hot path; the views of 0002 say them in
-- words. Rules for changing this folder: migrations/README.md.
--
-- Heat: `ready`, `lease`, `due`, `run_open`, `step` and `agent_session` change with every task and stay
-- small or narrow; everything else is appended or cold. No foreign keys between hot tables, and no
-- index on a column that moves with beats or progress.
-- Lock order of every transaction: writer, idempotency, run_open, then ready and lease rows of those
-- runs; after that only inserts and SKIP LOCKED claims.

create table namespace (
  id integer generated always as identity primary key,
  name text not null unique,
  region smallint not null default 0,
  created_at timestamptz not null default now()
);
insert into namespace (name) values ('default');

create table definition (
  id bigint generated always as identity primary key,
  namespace_id integer not null,
  digest bytea not null,
  body text not null,
  created_at timestamptz not null default now(),
  unique (namespace_id, digest)
);
comment on table definition is 'What workflows say, by content: each content once in a namespace.';

create table workflow (
  namespace_id integer not null,
  name text not null,
  default_version integer not null,
  latest_version integer not null,
  created_at timestamptz not null default now(),
  primary key (namespace_id, name)
);

create table workflow_version (
  namespace_id integer not null,
  name text not null,
  version integer not null,
  definition_id bigint not null,
  created_at timestamptz not null default now(),
  primary key (namespace_id, name, version),
  unique (namespace_id, name, definition_id)
);

-- Everything of a run is ranged by the creation time in the run's id (UUIDv7), so keys stay unique and
-- a range can be dropped whole. The default range is the net until ranges are made ahead.
create table run (
  id uuid not null,
  namespace_id integer not null,
  partition smallint not null,
  definition_id bigint not null,
  workflow text not null,
  version integer not null,
  key text,
  priority smallint not null,
  labels jsonb not null,
  input_type text,
  input_json text,
  input_data bytea,
  created_at timestamptz not null,
  state smallint,
  reason smallint,
  last_version integer,
  warnings smallint,
  ended_at timestamptz,
  cancel_note text,
  concurrency_key text,
  concurrency_limit integer,
  concurrency_policy smallint,
  primary key (id)
) partition by range (id);
create table run_default partition of run default;
create index run_by_namespace on run (namespace_id, id);
comment on column run.state is 'null while a row in run_open says it; written once, at the end.';

create table run_open (
  partition smallint not null,
  run_id uuid not null,
  namespace_id integer not null,
  definition_id bigint not null,
  priority smallint not null,
  state smallint not null,
  version integer not null,
  steps_left smallint not null,
  finally_left smallint not null,
  moving smallint not null,
  asking smallint not null,
  undos_left smallint not null,
  undone smallint not null,
  warnings smallint not null,
  escalations smallint not null,
  pivoted boolean not null,
  keyed boolean not null default false,
  verdict_undoes boolean,
  verdict smallint,
  ends_as smallint,
  stage smallint,
  deadline timestamptz,
  left_ms bigint,
  since timestamptz,
  settle_until timestamptz,
  wake_at timestamptz,
  primary key (partition, run_id)
) with (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.01, autovacuum_vacuum_threshold = 1000,
  autovacuum_vacuum_cost_delay = 0);
create index run_open_wake on run_open (partition, wake_at);
create index run_open_definition on run_open (definition_id);
comment on table run_open is 'One row per open run; its presence is what open means. A pass locks it.';
comment on column run_open.wake_at is 'The next moment of the run itself; of a PENDING one its start, or its deadline.';
comment on column run_open.verdict is 'The reason of the verdict, or of the end once that is certain.';
comment on column run_open.stage is 'What an ESCALATED run was doing; the columns of that state hold the rest.';

create table step (
  run_id uuid not null,
  no integer not null,
  forward smallint not null,
  undo smallint not null,
  held smallint,
  waiting_for smallint not null,
  needs_ok smallint not null,
  needs_skipped smallint not null,
  verifies smallint not null,
  fence integer not null,
  attempt smallint not null,
  lost smallint not null,
  tries smallint[] not null,
  strategies smallint[] not null,
  first_ready_at timestamptz,
  settle_until timestamptz,
  result_fence integer,
  result_kind smallint,
  result_n integer,
  doubt text,
  items jsonb,
  primary key (run_id, no)
) partition by range (run_id);
create table step_default partition of step default
  with (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.01, autovacuum_vacuum_threshold = 1000,
    autovacuum_vacuum_cost_delay = 0);
comment on table step is 'Written by a pass only, from the end of its first need on; OPEN is READY or LEASED.';
comment on column step.held is 'The task of a HELD step, which has no row beside it.';
comment on column step.strategies is 'Those begun: the plan''s number * 16, + 8 with a changed input, + the mark of the effect.';
comment on column step.no is 'The step''s number in the plan, and 512 more for each item of a map, from 1; item 0 is the step.';
comment on column step.items is 'Of a map: how far its items are (Items in server/core/model.ts).';
comment on column step.doubt is 'What the ladder goes on with once the effect in doubt is settled, as JSON.';

create table lane (
  id integer generated always as identity primary key,
  namespace_id integer not null,
  queue text not null,
  task text not null,
  class smallint not null default 0,
  unique (namespace_id, queue, task, class)
);

create table ready (
  run_id uuid not null,
  step_no integer not null,
  partition smallint not null,
  lane integer not null,
  priority smallint not null,
  ordered_by xid8 not null default pg_current_xact_id(),
  ordinal integer not null,
  kind smallint not null,
  fence integer not null,
  attempt smallint not null,
  ready_at timestamptz not null,
  until timestamptz,
  avoid_session bytea,
  avoid_until timestamptz,
  alarms smallint not null,
  attempt_ms bigint not null,
  heartbeat_ms integer not null,
  cancel_ms integer not null,
  stall_ms bigint,
  wake_at timestamptz not null,
  primary key (run_id, step_no)
) with (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.01, autovacuum_vacuum_threshold = 1000,
  autovacuum_vacuum_cost_delay = 0);
create index ready_lane on ready (lane, priority, ordered_by, ordinal);
create index ready_wake on ready (partition, wake_at);
comment on table ready is 'A step that may run now is a row here; a claim moves it to lease and touches nothing else.';

create table lease (
  run_id uuid not null,
  step_no integer not null,
  partition smallint not null,
  lane integer not null,
  kind smallint not null,
  fence integer not null,
  attempt smallint not null,
  secret bytea not null,
  session bytea not null,
  agent_id text not null,
  poll_seq bigint not null,
  granted_at timestamptz not null,
  attempt_by timestamptz not null,
  heartbeat_ms integer not null,
  cancel_ms integer not null,
  stall_ms bigint,
  cancel smallint not null default 0,
  cancel_cause smallint,
  cancel_asked_at timestamptz,
  cancel_by timestamptz,
  progress text,
  progress_at timestamptz not null,
  details_type text,
  details_json text,
  details_data bytea,
  wake_at timestamptz not null,
  primary key (run_id, step_no)
) with (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.01, autovacuum_vacuum_threshold = 1000,
  autovacuum_vacuum_cost_delay = 0);
create index lease_wake on lease (partition, wake_at);
create index lease_session on lease (session);
comment on table lease is 'A step in the hands of an agent is a row here.';
comment on column lease.progress_at is 'When the progress last became another one; the grant, until then.';

create table due (
  run_id uuid not null,
  step_no integer not null,
  partition smallint not null,
  kind smallint not null,
  wake_at timestamptz not null,
  primary key (run_id, step_no)
) with (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.01, autovacuum_vacuum_threshold = 1000,
  autovacuum_vacuum_cost_delay = 0);
create index due_wake on due (partition, wake_at);
comment on table due is 'Moments of what has no row of its own: backoffs, timers, signals, approvals, callbacks.';

create table agent_session (
  session bytea primary key,
  namespace_id integer not null,
  agent_id text not null,
  agent_version text not null,
  started_at timestamptz not null default now(),
  last_beat_at timestamptz not null
) with (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.01, autovacuum_vacuum_threshold = 1000,
  autovacuum_vacuum_cost_delay = 0);

create table lane_poller (
  lane integer not null,
  node uuid not null,
  seen_at timestamptz not null,
  primary key (lane, node)
) with (fillfactor = 50);

create table attempt (
  run_id uuid not null,
  step_no integer not null,
  fence integer not null,
  kind smallint not null,
  n integer not null default 0,
  attempt smallint not null,
  charged smallint,
  agent_id text,
  session bytea,
  secret bytea,
  started_at timestamptz not null,
  ended_at timestamptz not null,
  outcome smallint not null,
  class smallint,
  code text,
  message text,
  no_effect boolean not null default false,
  retry_after_ms bigint,
  digest bytea,
  output_type text,
  output_json text,
  output_data bytea,
  progress text,
  details_type text,
  details_json text,
  details_data bytea,
  primary key (run_id, step_no, fence, kind, n)
) partition by range (run_id);
create table attempt_default partition of attempt default;
comment on column attempt.charged is 'The retry policy that its try was charged to, -1 if to none; null: it did not count.';
comment on table attempt is 'One row per task that ended, with its outcome; late reports and failures said by the engine beside it.';

create table intervention (
  run_id uuid not null,
  step_no integer not null,
  fence integer not null,
  rule smallint not null,
  n integer not null,
  partition smallint not null,
  saw text not null,
  did text not null,
  due_at timestamptz not null,
  acted_at timestamptz not null,
  node uuid,
  epoch bigint,
  primary key (run_id, step_no, fence, rule, n)
) partition by range (run_id);
create table intervention_default partition of intervention default;
comment on column intervention.step_no is '-1: about the run.';

create table escalation (
  run_id uuid not null,
  n integer not null,
  namespace_id integer not null,
  step_no integer not null,
  reason smallint not null,
  message text not null,
  opened_at timestamptz not null,
  closed_at timestamptz,
  closed_by text,
  answer smallint,
  answered_by text,
  answered_why text,
  primary key (run_id, n)
) partition by range (run_id);
create table escalation_default partition of escalation default;
create index escalation_by_namespace on escalation (namespace_id, run_id, n);
create index escalation_open on escalation (namespace_id, run_id, n) where closed_at is null;
comment on table escalation is 'A question that only a person may answer; its number is that of the run.';

create table signal (
  run_id uuid not null,
  seq integer not null,
  id text not null,
  name text not null,
  payload_type text,
  payload_json text,
  payload_data bytea,
  at timestamptz not null,
  taken_by integer,
  primary key (run_id, seq),
  unique (run_id, id)
) partition by range (run_id);
create table signal_default partition of signal default;
comment on table signal is 'What was sent to a run, perhaps before a step waits for it; a repeat has the same id.';

create table decision (
  run_id uuid not null,
  step_no integer not null,
  approver text not null,
  approved boolean not null,
  comment text not null,
  form_type text,
  form_json text,
  form_data bytea,
  at timestamptz not null,
  primary key (run_id, step_no, approver)
) partition by range (run_id);
create table decision_default partition of decision default;
comment on table decision is 'What each approver has said to an approval step.';

create table step_override (
  run_id uuid not null,
  step_no integer not null,
  strategy smallint not null,
  input_type text,
  input_json text,
  input_data bytea,
  primary key (run_id, step_no, strategy)
) partition by range (run_id);
create table step_override_default partition of step_override default;
comment on table step_override is 'The whole input that a person gave to a strategy, by its place in step.strategies.';

create table idempotency (
  namespace_id integer not null,
  key text not null,
  run_id uuid not null,
  digest bytea not null,
  expires_at timestamptz not null,
  primary key (namespace_id, key)
);
create index idempotency_expiry on idempotency (expires_at);

create table node (
  id uuid primary key,
  address text not null,
  started_at timestamptz not null default now(),
  last_seen_at timestamptz not null
) with (fillfactor = 50);

create table writer (
  node uuid not null,
  slot smallint not null,
  primary key (node, slot)
);
comment on table writer is 'A supervisor''s flight locks its row first; a take-over deletes the rows of who it fences.';

create table partition_lease (
  partition smallint primary key,
  node uuid,
  epoch bigint not null,
  taken_at timestamptz
) with (fillfactor = 20);
insert into partition_lease (partition, epoch) select p, 0 from generate_series(0, 255) as p;
