-- All of Drover, in a schema of its own. `drover.` stands for the name of that schema: the
-- program creates the schema and replaces the name here. Rules for changes of this folder:
-- README.md beside it.
--
-- The state of a run is JSON in its pages, with words for states. In the other tables numbers
-- represent names. Views show both in words.
--
-- Frequency of writes: `run_page`, `ready`, `lease` and `agent_session` change with every task and stay small
-- or narrow. All other tables are append-only or change rarely. There are no foreign keys between frequently
-- written tables, and no index on a column that heartbeats or progress change.
--
-- Lock order of every transaction: writer, idempotency, first pages of runs, their further pages. After that
-- there are only inserts and SKIP LOCKED claims.

-- ---------------------------------------------------------------------------------------------------
-- Namespaces and workflows
--
-- Servers have ids of namespaces, definitions and lanes in memory. After a fail-over that lost its tail, or a
-- restore, a sequence would give an id to a second row. So ids are drawn at random instead.
-- ---------------------------------------------------------------------------------------------------

-- Where the runs of a namespace are watched. A partition is region * 256 + the last byte of the run's id, so
-- 128 regions fit into a smallint. Never deleted.
create table drover.region (
  id smallint primary key check (id between 0 and 127),
  name text not null unique,
  created_at timestamptz not null default now()
);
insert into drover.region (id, name) values (0, 'default');
comment on table drover.region is 'A region is created with its first namespace, together with its 256 rows of partition_lease, and is never deleted.';

-- The owner of workflows and runs, with its limits.
create table drover.namespace (
  id integer primary key default (1 + floor(random() * 2147483646))::integer,
  name text not null unique,
  region smallint not null default 0,
  created_at timestamptz not null default now(),
  retention_ms bigint,
  open_runs_max integer,
  runs_per_second double precision,
  runs_burst integer,
  payload_bytes_max integer,
  calls_per_second double precision,
  calls_burst integer,
  storage_bytes_max bigint,
  weight smallint,
  no_logs boolean
);
insert into drover.namespace (id, name) values (1, 'default');
comment on column drover.namespace.retention_ms is 'How long runs are retained after their end, in ms; null: for ever.';
comment on column drover.namespace.open_runs_max is 'null, also of the other limits: no limit.';
comment on column drover.namespace.weight is 'Its part where namespaces compete for a server; null: 100.';
comment on column drover.namespace.no_logs is 'true: the lines that handlers log are not stored; else null.';

-- What the runs of a namespace take, as housekeeping estimates it; of several shards each has its own.
create table drover.namespace_use (
  namespace_id integer primary key,
  storage_bytes bigint not null,
  storage_at timestamptz not null
) with (fillfactor = 50);

-- Deleted once nothing uses it: an inline definition when its last run is deleted.
create table drover.definition (
  id bigint primary key default (1 + floor(random() * 9007199254740990))::bigint,
  namespace_id integer not null,
  digest bytea not null,
  body text not null,
  created_at timestamptz not null default now(),
  unused_since timestamptz,
  unique (namespace_id, digest)
);
comment on table drover.definition is 'Definitions of workflows, by content: each content once in a namespace.';
comment on column drover.definition.unused_since is 'Since then no workflow version and no run has had the definition; null: one has, or housekeeping has not checked yet.';

-- A workflow by its name, with the version that its runs start with.
create table drover.workflow (
  namespace_id integer not null,
  name text not null,
  default_version integer not null,
  latest_version integer not null,
  created_at timestamptz not null default now(),
  primary key (namespace_id, name)
);

-- A definition that was registered under the name of a workflow.
create table drover.workflow_version (
  namespace_id integer not null,
  name text not null,
  version integer not null,
  definition_id bigint not null,
  created_at timestamptz not null default now(),
  primary key (namespace_id, name, version),
  unique (namespace_id, name, definition_id)
);

create table drover.paused_workflow (
  namespace_id integer not null,
  name text not null,
  paused_at timestamptz not null default now(),
  reason text not null,
  primary key (namespace_id, name)
);
comment on table drover.paused_workflow is 'No task of the runs of a paused workflow is assigned: their ready rows say so.';

create table drover.learned_duration (
  definition_id bigint not null,
  step_no integer not null,
  recent text,
  older text,
  changed_at timestamptz not null default now(),
  primary key (definition_id, step_no)
) with (fillfactor = 70);
comment on table drover.learned_duration is 'Typical durations of successful attempts at a step of a workflow version, as two sketches. Each server with new samples writes them once a minute. There are as many rows as versions have steps.';
comment on column drover.learned_duration.step_no is 'The number of the step. All items of a map count for the step.';
comment on column drover.learned_duration.older is 'The 10,000 samples before those of the recent sketch; null: there are none yet.';

-- ---------------------------------------------------------------------------------------------------
-- Runs
--
-- All tables of a run are partitioned by the creation time in the run's id (UUIDv7), so keys stay unique and
-- a whole range can be dropped. The default range takes all runs until ranges are created ahead of time.
-- ---------------------------------------------------------------------------------------------------

-- What a run was started with. Written once; its state and its end are in its pages.
create table drover.run (
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
  concurrency_key text,
  concurrency_limit integer,
  concurrency_policy smallint,
  notify_hook text,
  notify_url text,
  parent_id uuid,
  parent_step text,
  parent_step_key integer,
  parent_fence integer,
  parent_until timestamptz,
  traceparent text,
  tracestate text,
  primary key (id)
) partition by range (id);
create table drover.run_default partition of drover.run default;
comment on column drover.run.notify_hook is 'The hook that the start request names for the end of the run; notify_url is another address for it.';
comment on column drover.run.parent_id is 'The run that started this one, by its step parent_step (an id); never changes.';
comment on column drover.run.parent_until is 'The deadline of the parent when it started this run.';
comment on column drover.run.traceparent is 'W3C trace context: the trace, the span of the caller (zeros: none), and whether the trace is sampled; null: not traced.';
comment on column drover.run.tracestate is 'As the caller sent it.';

-- The state of a run. Page 0 has the run itself and its steps 0 to 31, page 1 its steps 32 to 63 and so on.
-- Each item of a map has a page of its own, with the number of the item. `state` is JSON; only the server
-- reads and writes it (server/core/page/codec.ts), and run_view, step_view and attempt_view show it in words.
-- Values that do not change are at both ends of the row, because an update within a block does not log the
-- unchanged ends again: the columns that never change, and the ended steps at the end of the text.
create table drover.run_page (
  run_id uuid not null,
  no integer not null,
  namespace_id integer,
  definition_id bigint,
  partition smallint not null,
  wake_at timestamptz,
  version integer not null,
  run_state smallint,
  waits smallint,
  settled boolean not null,
  ended_at timestamptz,
  state text not null,
  primary key (run_id, no)
) partition by range (run_id);
create table drover.run_page_default partition of drover.run_page default
  with (fillfactor = 33, autovacuum_vacuum_scale_factor = 0.01, autovacuum_vacuum_threshold = 1000,
    autovacuum_vacuum_cost_delay = 0, toast_tuple_target = 4080);
comment on column drover.run_page.version is 'Grows with each write of the page. A write names the version that was read.';
comment on column drover.run_page.wake_at is 'When the supervisor scans the page: it may be too early and is never too late. Null, or infinity in page 0 of an open run: the page has no timer.';
comment on column drover.run_page.namespace_id is 'Set in page 0 only, as are definition_id, run_state, waits and ended_at.';
comment on column drover.run_page.waits is 'What steps of the run wait for, other than an agent: 1 retry, 2 signal, 4 approval, 8 callback, 16 timer, 32 child run, 64 the end of a pause.';
comment on column drover.run_page.ended_at is 'null: the run is open.';
comment on column drover.run_page.settled is 'Of the page of an item: the item is final, nothing of it is left to compensate, and no lost attempt of it can still act.';

-- Outputs and details that are too large for a page, by their attempt.
create table drover.payload (
  run_id uuid not null,
  step_no integer not null,
  fence integer not null,
  kind text not null,
  n integer not null,
  what text not null,
  type text not null,
  json text,
  data bytea,
  primary key (run_id, step_no, fence, kind, n, what)
) partition by range (run_id);
create table drover.payload_default partition of drover.payload default;

-- The oldest attempts at a step, which have no more room in their page, as the same JSON.
create table drover.attempt_log (
  run_id uuid not null,
  step_no integer not null,
  fence integer not null,
  kind text not null,
  n integer not null,
  attempt text not null,
  primary key (run_id, step_no, fence, kind, n)
) partition by range (run_id);
create table drover.attempt_log_default partition of drover.attempt_log default;


-- The lines that handlers have logged, for people. A writer holds an advisory lock of the run until its commit,
-- so the ids of a run are in the order in which its lines became visible, and the last line of an attempt says
-- how much of it is stored. Deleted with the run, and by housekeeping after --log-retention.
create sequence drover.handler_log_id;
create table drover.handler_log (
  run_id uuid not null,
  id bigint not null default nextval('drover.handler_log_id'),
  step_no integer not null,
  fence integer not null,
  kind text not null,
  n integer not null,
  line integer not null,
  attempt integer not null,
  stored_bytes integer not null,
  stored_at timestamptz not null default now(),
  at timestamptz not null,
  level text not null,
  message text not null,
  fields jsonb,
  primary key (run_id, id)
) partition by range (run_id);
create table drover.handler_log_default partition of drover.handler_log default;
comment on column drover.handler_log.at is 'When the handler logged it, by the clock of its agent.';
comment on column drover.handler_log.stored_bytes is 'Of the lines of the attempt up to this one; over 65536: the log was cut after this line.';

create table drover.step_override (
  run_id uuid not null,
  step_no integer not null,
  strategy smallint not null,
  input_type text,
  input_json text,
  input_data bytea,
  primary key (run_id, step_no, strategy)
) partition by range (run_id);
create table drover.step_override_default partition of drover.step_override default;
comment on table drover.step_override is 'The whole input that a person gave to a strategy, by its index in the strategies of the step.';

-- rerun and step_reused are dropped with the range of the new run. They name the old run, which may be dropped
-- earlier.
create table drover.rerun (
  run_id uuid not null,
  of_run uuid not null,
  from_step text,
  primary key (run_id)
) partition by range (run_id);
create table drover.rerun_default partition of drover.rerun default;
comment on table drover.rerun is 'A run that repeats another one.';
comment on column drover.rerun.from_step is 'The step from which it repeats; empty: from the start; null: from what had failed.';

create table drover.step_reused (
  run_id uuid not null,
  step_no integer not null,
  of_run uuid not null,
  primary key (run_id, step_no)
) partition by range (run_id);
create table drover.step_reused_default partition of drover.step_reused default;
comment on table drover.step_reused is 'A step that is reused from an earlier run. Its effect has the key of the run that made it.';

-- Search keys of a run. One row for each label is written with the run. If a step fails for good, or a person
-- is asked about it, rows with the step, with the error code, and with both are written in that transaction.
-- If the run ends otherwise than COMPLETED, one row with its state and one with its state and workflow are
-- written with its end. Deleted with the run; keys of failures follow once the walk through the old runs of the
-- namespace has come to its end.
create table drover.run_mark (
  namespace_id integer not null,
  mark text collate "C" not null,
  run_id uuid not null,
  primary key (namespace_id, mark, run_id)
) partition by range (run_id);
create table drover.run_mark_default partition of drover.run_mark default;
comment on table drover.run_mark is 'Search keys, by which lists with a filter find runs.';
comment on column drover.run_mark.mark is 'NAME=VALUE of a label; step STEP, error CODE, or step STEP error CODE of a failure; the code of the state in which the run ended, or that code and a WORKFLOW.';

-- The idempotency key of a run, so that the same key starts one run only. Deleted after it has expired and
-- the run has ended, or when the run is erased.
create table drover.idempotency (
  namespace_id integer not null,
  key text not null,
  run_id uuid not null,
  digest bytea not null,
  expires_at timestamptz not null,
  primary key (namespace_id, key)
);

create table drover.permit (
  run_id uuid primary key,
  namespace_id integer not null,
  key text not null,
  max_holders integer not null,
  priority smallint not null,
  since timestamptz not null,
  holds boolean not null,
  leaving boolean not null
);
comment on table drover.permit is 'A permit: a run that holds one for its concurrency key, or waits for one, until it ends. Written under the lock of the key.';

create table drover.message (
  run_id uuid not null,
  no bigint generated always as identity,
  partition smallint not null,
  source uuid not null,
  kind smallint not null,
  undo boolean,
  wake_at timestamptz not null,
  step_key integer,
  fence integer,
  primary key (run_id, no)
) with (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.01, autovacuum_vacuum_threshold = 1000,
  autovacuum_vacuum_cost_delay = 0);
comment on table drover.message is 'A message from one run to another, from the change that causes it until a pass of its target applies it.';
comment on column drover.message.step_key is 'Of the end of a child run: the step that started it, with the fence.';

-- One row for each transaction that accepted or ended runs, and each namespace, workflow and event in it. The
-- statement that writes the runs writes it, and it never changes, so no two transactions wait for each other.
-- Housekeeping adds the rows to run_count and run_hour_count once a minute. There is no index, because few
-- rows stay for longer.
create table drover.run_count_delta (
  at timestamptz not null,
  namespace_id integer not null,
  runs integer not null,
  event smallint not null,
  workflow text not null,
  took smallint[] not null
) with (autovacuum_vacuum_scale_factor = 0.01, autovacuum_vacuum_threshold = 1000,
  autovacuum_vacuum_cost_delay = 0);
comment on column drover.run_count_delta.event is '-1: accepted; else the code of the state in which the runs ended.';
comment on column drover.run_count_delta.at is 'Of accepted runs the start of the minute.';
comment on column drover.run_count_delta.took is 'Of ended runs: for each run, how long it took, as the number of a bucket (store/took-buckets.ts).';

-- The sums of the rows that were removed from run_count_delta, by minute.
create table drover.run_count (
  minute timestamptz not null,
  namespace_id integer not null,
  runs integer not null,
  event smallint not null,
  workflow text not null,
  primary key (namespace_id, minute, event, workflow)
) with (autovacuum_vacuum_scale_factor = 0.01, autovacuum_vacuum_threshold = 1000,
  autovacuum_vacuum_cost_delay = 0);
comment on column drover.run_count.event is 'As in run_count_delta.';

-- The same sums of ended runs by hour, and by how long the runs took.
create table drover.run_hour_count (
  hour timestamptz not null,
  last_at timestamptz not null,
  namespace_id integer not null,
  runs integer not null,
  event smallint not null,
  took smallint not null,
  workflow text not null,
  primary key (namespace_id, workflow, hour, event, took)
) with (autovacuum_vacuum_scale_factor = 0.01, autovacuum_vacuum_threshold = 1000,
  autovacuum_vacuum_cost_delay = 0);
comment on column drover.run_hour_count.event is 'The code of the state in which the runs ended.';
comment on column drover.run_hour_count.last_at is 'When the last of them ended.';
comment on column drover.run_hour_count.took is 'The number of a bucket.';

-- Failures of steps. One row for each transaction, definition, step and error code in it; as run_count_delta,
-- it never changes, and housekeeping adds the rows to failure_count once a minute.
create table drover.failure_delta (
  at timestamptz not null,
  run_id uuid not null,
  namespace_id integer not null,
  attempts integer not null,
  steps integer not null,
  undo boolean not null,
  workflow text not null,
  step text not null,
  code text not null,
  message text not null
) with (autovacuum_vacuum_scale_factor = 0.01, autovacuum_vacuum_threshold = 1000,
  autovacuum_vacuum_cost_delay = 0);
comment on column drover.failure_delta.attempts is 'Attempts that failed, or whose outcome is unknown.';
comment on column drover.failure_delta.steps is 'Steps, or items of a map, that failed for good.';
comment on column drover.failure_delta.undo is 'The compensation of the step failed.';

-- The sums of the rows that were removed from failure_delta.
create table drover.failure_count (
  minute timestamptz not null,
  first_at timestamptz not null,
  last_at timestamptz not null,
  run_id uuid not null,
  namespace_id integer not null,
  attempts integer not null,
  steps integer not null,
  undo boolean not null,
  workflow text not null,
  step text not null,
  code text not null,
  message text not null,
  primary key (namespace_id, minute, workflow, step, undo, code)
) with (autovacuum_vacuum_scale_factor = 0.01, autovacuum_vacuum_threshold = 1000,
  autovacuum_vacuum_cost_delay = 0);
comment on column drover.failure_count.run_id is 'The last run in which it happened, as message is the last message.';

-- ---------------------------------------------------------------------------------------------------
-- Tasks: what may be assigned, and what agents hold
-- ---------------------------------------------------------------------------------------------------

-- A lane, which a poll asks for and a claim serves: a task of a queue, for the agents of a class. Never
-- deleted.
create table drover.lane (
  id integer primary key default (1 + floor(random() * 2147483646))::integer,
  namespace_id integer not null,
  queue text not null,
  task text not null,
  class smallint not null default 0,
  unique (namespace_id, queue, task, class)
);

-- A task that may run and that no agent has. Derived from its page.
create table drover.ready (
  run_id uuid not null,
  ordered_by xid8 not null default pg_current_xact_id(),
  ready_at timestamptz not null,
  step_no integer not null,
  lane integer not null,
  ordinal integer not null,
  partition smallint not null,
  priority smallint not null,
  paused boolean not null default false,
  until timestamptz,
  primary key (run_id, step_no)
) with (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.01, autovacuum_vacuum_threshold = 1000,
  autovacuum_vacuum_cost_delay = 0);
comment on column drover.ready.paused is 'Whether the workflow of the run is paused: no claim reads the row.';

-- A task that an agent has. Derived from its page.
create table drover.lease (
  run_id uuid not null,
  poll_seq bigint not null,
  granted_at timestamptz not null,
  step_no integer not null,
  lane integer not null,
  fence integer not null,
  heartbeat_ms integer not null,
  partition smallint not null,
  session bytea not null,
  secret bytea not null,
  cancel text not null,
  primary key (run_id, step_no)
) with (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.01, autovacuum_vacuum_threshold = 1000,
  autovacuum_vacuum_cost_delay = 0);
comment on column drover.lease.cancel is 'asked: the answer to the next heartbeat with this task asks its agent to stop; received: the agent has received the request, and the lease ends after its grace period; none: neither.';

-- ---------------------------------------------------------------------------------------------------
-- Input from people and other systems, interventions and escalations
-- ---------------------------------------------------------------------------------------------------

create table drover.signal (
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
create table drover.signal_default partition of drover.signal default;
comment on table drover.signal is 'A signal that was sent to a run, perhaps before a step waits for it. A repeated signal has the same id.';

create table drover.decision (
  run_id uuid not null,
  step_no integer not null,
  approver text not null,
  verified boolean not null,
  approved boolean not null,
  comment text not null,
  form_type text,
  form_json text,
  form_data bytea,
  at timestamptz not null,
  primary key (run_id, step_no, approver)
) partition by range (run_id);
create table drover.decision_default partition of drover.decision default;
comment on table drover.decision is 'The decision of each approver on an approval step.';
comment on column drover.decision.verified is 'The approver proved the name, by a JWT or a client certificate.';

create table drover.escalation (
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
  answered_verified boolean not null default false,
  answered_why text,
  code text not null default '',
  claimed_by text,
  claimed_at timestamptz,
  partition smallint not null default 0,
  wake_at timestamptz,
  deadline_at timestamptz,
  primary key (run_id, n)
) partition by range (run_id);
create table drover.escalation_default partition of drover.escalation default;
comment on table drover.escalation is 'A question that only a person can answer, numbered within its run.';
comment on column drover.escalation.code is 'The error code that led to the escalation. Workflow, step, reason and code are its cause.';
comment on column drover.escalation.answered_verified is 'The person proved the name, by a JWT or a client certificate.';
comment on column drover.escalation.claimed_by is 'The person who has claimed it. Any other person may still answer.';
comment on column drover.escalation.wake_at is 'The next reminder, or the deadline; null once the escalation is closed.';

create table drover.lane_question (
  lane integer primary key,
  run_id uuid not null,
  n integer not null
);
comment on table drover.lane_question is 'The last escalation about a lane that no agent polled.';

-- The names of the supervisor's rules. The rows are the rules of the code, in its order: a new rule is a new
-- row.
create table drover.intervention_rule (
  rule smallint primary key,
  name text not null unique
);
insert into drover.intervention_rule (rule, name)
select place - 1, name
from unnest(array['lease', 'delivery', 'attempt', 'pickup', 'total', 'backoff', 'settle', 'deadline',
  'late-effect', 'stall', 'timer', 'signal', 'approval', 'callback', 'start', 'agent-circuit',
  'queue-circuit', 'forgotten', 'slow', 'integrity', 'failing'])
  with ordinality as u (name, place);

-- One recorded action of the supervisor: what it saw, what it did, when that was due and when it acted.
create table drover.intervention (
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
  namespace_id integer not null default 0,
  primary key (run_id, step_no, fence, rule, n)
) partition by range (run_id);
create table drover.intervention_default partition of drover.intervention default;
comment on column drover.intervention.step_no is '-1: about the run.';

-- ---------------------------------------------------------------------------------------------------
-- Agents
-- ---------------------------------------------------------------------------------------------------

-- One start of an agent, with its last heartbeat, on which its leases depend. The row exists from the first
-- task on; before the first heartbeat last_heartbeat_at is null. Supervisors read the leases of sessions that
-- have been silent for heartbeat_ms: that may be too short and is never too long.
create table drover.agent_session (
  session bytea primary key,
  namespace_id integer not null,
  agent_id text not null,
  agent_version text not null,
  started_at timestamptz not null default now(),
  last_heartbeat_at timestamptz,
  heartbeat_ms integer,
  idle_at timestamptz
) with (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.01, autovacuum_vacuum_threshold = 1000,
  autovacuum_vacuum_cost_delay = 0);
-- Heartbeats do not change heartbeat_ms, so that their updates stay HOT.
create index agent_session_watched on drover.agent_session (heartbeat_ms) where heartbeat_ms is not null;
comment on column drover.agent_session.heartbeat_ms is 'The shortest heartbeat timeout of the leases that the session was granted, in ms; null: it holds none and is not watched.';
comment on column drover.agent_session.idle_at is 'When housekeeping found that the session holds no lease; the next lease clears it.';

-- One row for each agent session, written by the server that it calls, at most every 20 seconds. Deleted when
-- the session has not called for 10 minutes and holds no lease.
create table drover.agent (
  session bytea primary key,
  namespace_id integer not null,
  agent_id text not null,
  agent_version text not null,
  labels jsonb not null,
  queues jsonb,
  tasks jsonb,
  server text not null,
  first_seen_at timestamptz not null default now(),
  seen_at timestamptz not null,
  succeeded_at timestamptz,
  called_at timestamptz,
  silent_since timestamptz,
  host text not null default '',
  pid integer,
  capacity integer,
  started_at timestamptz,
  clock_ahead_ms bigint
) with (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.01, autovacuum_vacuum_threshold = 1000,
  autovacuum_vacuum_cost_delay = 0);
comment on table drover.agent is 'An agent session as the servers see it. Leases depend on agent_session, not on this table.';
comment on column drover.agent.queues is 'The queues of its last poll; null: it has not polled yet.';
comment on column drover.agent.tasks is 'The tasks of its last poll; empty: any task of its queues.';
comment on column drover.agent.server is 'The address of the server that it called last.';
comment on column drover.agent.succeeded_at is 'When a success that it reported was last accepted.';
comment on column drover.agent.called_at is 'When it last called. A parked poll counts for seen_at only.';
comment on column drover.agent.silent_since is 'When it lost a lease without a heartbeat, or its connection, and it has not called since; null: it is not silent.';

comment on column drover.agent.host is 'As the agent states it, like pid, capacity and the age of its session. Empty: not stated.';
comment on column drover.agent.started_at is 'When the session began, as computed from the first age that it stated; null: not stated.';
comment on column drover.agent.clock_ahead_ms is 'Its wall clock minus that of the server that it last told its time, in milliseconds; null: not stated.';

-- How the attempts of a session at the tasks of a lane ended in five minutes from `at` on. Servers count in
-- memory and add here every 20 seconds. Deleted an hour after `at`.
create table drover.session_attempts (
  session bytea not null,
  lane integer not null,
  at timestamptz not null,
  ended integer not null,
  failed integer not null,
  unknown integer not null,
  mostly_failed boolean not null,
  primary key (session, lane, at)
) with (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.01, autovacuum_vacuum_threshold = 1000,
  autovacuum_vacuum_cost_delay = 0);
comment on column drover.session_attempts.mostly_failed is 'Whether so many of them failed, or are unknown, that the session may be failing. A session that fails over an hour has such a row.';

-- When a server last saw a poll for a lane. Deleted after 5 minutes.
create table drover.lane_poller (
  lane integer not null,
  node uuid not null,
  seen_at timestamptz not null,
  primary key (lane, node)
) with (fillfactor = 50);

-- An agent, by its id, its version or its session, that gets no new tasks. Deleted when the cordon is removed,
-- or its session is forgotten.
create table drover.cordon (
  namespace_id integer not null,
  kind smallint not null,
  name text not null,
  cordoned_by text not null,
  why text not null,
  cordoned_at timestamptz not null default now(),
  primary key (namespace_id, kind, name)
);

-- A class of lanes, for agents of one version: each task of the queue has a lane of each class of the queue.
-- A class stays when no pin names it any more, because agents of that version still ask for its lanes.
create table drover.version_class (
  namespace_id integer not null,
  queue text not null,
  class smallint not null check (class > 0),
  agent_version text not null,
  primary key (namespace_id, queue, class),
  unique (namespace_id, queue, agent_version)
);
comment on table drover.version_class is 'Which agents ask for the lanes of a class. Class 0 has no row: all agents ask for it.';

-- A queue that gives the tasks of a workflow, or of one version of it, to agents of one version only. Deleted
-- when the pin is removed.
create table drover.version_pin (
  namespace_id integer not null,
  workflow text not null,
  queue text not null,
  version integer not null,
  definition_id bigint not null,
  class smallint not null,
  pinned_at timestamptz not null default now(),
  primary key (namespace_id, workflow, queue, definition_id)
);
comment on table drover.version_pin is 'Ready rows of these runs are in the lanes of a class of their queue.';
comment on column drover.version_pin.version is '0: every version of the workflow without a pin of its own.';
comment on column drover.version_pin.definition_id is 'The definition of the version; 0 with version 0.';

create table drover.pin_move (
  id bigint generated always as identity primary key,
  namespace_id integer not null,
  workflow text not null,
  asked_at timestamptz not null default now()
);
comment on table drover.pin_move is 'Ready rows of this workflow may be in other lanes than its pins, or its pause, want. The row is written with the change and deleted when the ready rows have been moved. Housekeeping completes what a server left incomplete.';

-- ---------------------------------------------------------------------------------------------------
-- Queues and circuits
-- ---------------------------------------------------------------------------------------------------

-- One row for each queue that was ever paused or limited. Never deleted. Claims of a queue with limits write
-- it.
create table drover.queue (
  namespace_id integer not null,
  name text not null,
  paused_at timestamptz,
  pause_reason text,
  leases_max integer,
  rate double precision,
  burst integer,
  tokens double precision,
  filled_at timestamptz,
  allotment bigint not null default 0,
  primary key (namespace_id, name)
) with (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.01, autovacuum_vacuum_threshold = 1000,
  autovacuum_vacuum_cost_delay = 0);

-- What a shard has of the limits of a queue, if the store has several. Claims of the queue write it.
create table drover.queue_share (
  namespace_id integer not null,
  name text not null,
  slots integer not null default 0,
  burst integer not null default 0,
  tokens double precision,
  filled_at timestamptz,
  served_at timestamptz,
  allotment bigint not null default 0,
  primary key (namespace_id, name)
) with (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.01, autovacuum_vacuum_threshold = 1000,
  autovacuum_vacuum_cost_delay = 0);
comment on column drover.queue_share.slots is 'How many of leases_max; burst: how many of the burst, and as large a part of the rate.';
comment on column drover.queue_share.served_at is 'Since when it has had units of all limits; null: never.';
comment on column drover.queue_share.allotment is 'The number of the last allotment that has changed it.';
comment on table drover.queue is 'Pauses and limits of queues; no row: none. The name '''' is all queues of the namespace.';
comment on column drover.queue.leases_max is 'How many tasks agents may hold at a time; null: any number.';
comment on column drover.queue.rate is 'How many tasks per second are assigned, at most burst at once; null: any number.';
comment on column drover.queue.tokens is 'How many tokens the bucket of the rate had at filled_at. Of a store with several shards: how many no shard has got yet.';
comment on column drover.queue.allotment is 'How often the limits were divided among the shards of the store.';

-- One row for each circuit that was ever open, or that an operator has set. Deleted a week after it closed.
create sequence drover.circuit_version;
create table drover.circuit (
  lane integer not null,
  agent_id text not null,
  version bigint not null default nextval('drover.circuit_version'),
  changed_at timestamptz not null default now(),
  state smallint not null default 0,
  since timestamptz,
  until timestamptz,
  cooldowns smallint not null default 0,
  saw text not null default '',
  forced smallint,
  forced_by text,
  forced_why text,
  forced_at timestamptz,
  probe_run uuid,
  probe_step integer,
  probe_fence integer,
  probe_secret bytea,
  primary key (lane, agent_id)
);
comment on table drover.circuit is 'The circuit breaker of a lane, or of one agent in it; no row: closed.';
comment on column drover.circuit.agent_id is 'Empty: the circuit of the lane itself.';
comment on column drover.circuit.version is 'Differs after each change and is never used twice. A change compares it.';
comment on column drover.circuit.until is 'From this time on, one task may be the probe.';
comment on column drover.circuit.forced is 'What an operator has set, until it is taken back; null: the rules decide.';
comment on column drover.circuit.probe_run is 'The task that is the probe. These four columns identify its lease.';

-- Outcome counts of tasks, in intervals of 5 s. Written only while a lane has bad outcomes. Deleted after 2
-- minutes.
create table drover.circuit_end (
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
comment on column drover.circuit_end.runs is 'Up to two of the runs with a bad outcome. The evaluator needs no more.';

-- A time in which a lane let nothing through. The `total` timeout of steps does not run meanwhile.
create table drover.circuit_outage (
  lane integer not null,
  opened_at timestamptz not null,
  closed_at timestamptz,
  primary key (lane, opened_at)
);
comment on table drover.circuit_outage is 'Deleted a week after its end. closed_at null: it has not ended.';

-- ---------------------------------------------------------------------------------------------------
-- Schedules and triggers, which start runs
-- ---------------------------------------------------------------------------------------------------

create table drover.schedule (
  id uuid primary key,
  namespace_id integer not null,
  name text not null,
  partition smallint not null,
  series integer not null default 1,
  revision integer not null default 1,
  workflow text not null,
  spec text not null,
  next_nominal_time bigint,
  next_at timestamptz,
  wake_at timestamptz,
  paused_at timestamptz,
  pause_reason text,
  created_at timestamptz not null default now(),
  changed_at timestamptz not null default now(),
  deleted_at timestamptz
) with (fillfactor = 70);
comment on table drover.schedule is 'A cron schedule. A deleted schedule stays until its occurrences are deleted.';
comment on column drover.schedule.series is 'Grows when the calendar changes, so that occurrences of different calendars differ.';
comment on column drover.schedule.revision is 'Grows when a person changes the schedule.';
comment on column drover.schedule.spec is 'What a person has configured, as JSON.';
comment on column drover.schedule.next_nominal_time is 'The nominal time of the next occurrence, as in occurrence.nominal_time; next_at is its time. null: none comes any more.';
comment on column drover.schedule.wake_at is 'When its owner acts: next_at and jitter; null while the schedule is paused.';

-- Deleted with its schedule.
create table drover.occurrence (
  schedule_id uuid not null,
  series integer not null,
  nominal_time bigint not null,
  at timestamptz not null,
  handled_at timestamptz not null default now(),
  cause smallint not null,
  outcome smallint not null,
  run_id uuid,
  message text not null default '',
  missed_count integer,
  missed_until timestamptz,
  node uuid,
  epoch bigint,
  primary key (schedule_id, series, nominal_time)
);
comment on table drover.occurrence is 'An occurrence of a schedule, with its outcome: at most one run.';
comment on column drover.occurrence.series is 'That of the schedule; its negative for a row about many occurrences that got no run; 0: a person started the run.';
comment on column drover.occurrence.nominal_time is 'Nominal time in ms: for cron the local time as if it were UTC, for an interval UTC.';
comment on column drover.occurrence.missed_count is 'Of a row about many: how many occurrences got no run, from this one on, before missed_until; counted up to 1,000.';

create table drover.trigger (
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
comment on table drover.trigger is 'A trigger waits for a call over HTTP (auth), or for ends of runs of a workflow; body is its definition.';
comment on column drover.trigger.secret is 'The secret that signs a body, as it is. Of a bearer token only the digest is stored.';

-- Written in the transaction that ends the run. Deleted within seconds, when the run that it starts exists.
create table drover.trigger_end (
  id uuid primary key default gen_random_uuid(),
  partition smallint not null,
  namespace_id integer not null,
  trigger text not null,
  run_id uuid not null,
  next_at timestamptz not null default now()
) with (autovacuum_vacuum_scale_factor = 0.01, autovacuum_vacuum_threshold = 1000,
  autovacuum_vacuum_cost_delay = 0);
comment on table drover.trigger_end is 'An ended run that a trigger waits for, until the trigger has processed it.';
comment on column drover.trigger_end.id is 'Random: a number may be given out again after a fail-over.';

create table drover.triggered (
  run_id uuid primary key,
  trigger text not null,
  of_run uuid not null,
  depth smallint not null
);
comment on table drover.triggered is 'A run that the end of another run has started. depth: length of the chain of triggers, 1 for the first.';

create table drover.trigger_refusal (
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
comment on table drover.trigger_refusal is 'What a trigger has refused, one row for each reason and message; the newest 100 of each trigger.';
comment on column drover.trigger_refusal.digest is 'SHA-256 of reason and message.';

create table drover.inbox (
  id bigint generated always as identity primary key,
  namespace text not null,
  workflow text not null,
  version integer not null,
  input text,
  key text not null,
  labels jsonb not null,
  put_at timestamptz not null default now(),
  taken_until timestamptz,
  refused_at timestamptz,
  reason text,
  message text
);
comment on table drover.inbox is 'A run that is to be started. The row is deleted once the run exists; a refused row stays for 30 days.';
comment on column drover.inbox.taken_until is 'Until then one server works on the row; later another one may take it.';

-- ---------------------------------------------------------------------------------------------------
-- Webhooks
-- ---------------------------------------------------------------------------------------------------

create table drover.hook (
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
comment on table drover.hook is 'Where the events of a namespace are sent. The secret signs, so it is stored as it is.';

-- Written in the transaction of the event. Deleted within seconds, when a delivery takes it up.
create table drover.outbox (
  id bigint generated always as identity primary key,
  partition smallint not null,
  namespace_id integer not null,
  kind smallint not null,
  run_id uuid not null,
  n integer not null,
  hook text not null,
  url text,
  cause text not null,
  deadline_at timestamptz
) with (autovacuum_vacuum_scale_factor = 0.01, autovacuum_vacuum_threshold = 1000,
  autovacuum_vacuum_cost_delay = 0);
comment on table drover.outbox is 'One row for each event that a hook wants, until a delivery takes it up.';
comment on column drover.outbox.n is 'The number of the escalation, or of the approval step; 0: about the run.';
comment on column drover.outbox.deadline_at is 'Until when the approval waits; null: not about an approval.';

-- Retained for 7 days after it has ended.
create table drover.delivery (
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
  created_at timestamptz not null default date_trunc('milliseconds', now()),
  ended_at timestamptz,
  next_try_at timestamptz,
  deadline_at timestamptz
);
comment on table drover.delivery is 'One webhook: what it is about, how many events of one cause it covers, and how its tries went.';
comment on column drover.delivery.run_id is 'The run of the first event.';

-- ---------------------------------------------------------------------------------------------------
-- Servers, supervisors and API tokens
-- ---------------------------------------------------------------------------------------------------

-- A process that has joined. It lives while its session holds the advisory lock of its number.
create table drover.node (
  id uuid primary key,
  process uuid not null,
  address text not null,
  started_at timestamptz not null default now(),
  last_seen_at timestamptz not null,
  number integer generated always as identity,
  regions smallint[],
  standby boolean not null default false
) with (fillfactor = 50);
comment on column drover.node.process is 'The same in all shards that the process has joined.';
comment on column drover.node.regions is 'The regions whose partitions it watches; null: all.';

create table drover.writer (
  node uuid not null,
  number smallint not null,
  primary key (node, number)
);
comment on table drover.writer is 'A supervisor''s batch locks its row first. A take-over deletes the rows of the process that it fences.';

-- A share of the runs of a region, with the node that watches it. The epoch grows when the owner changes.
create table drover.partition_lease (
  partition smallint primary key,
  node uuid,
  epoch bigint not null,
  taken_at timestamptz
) with (fillfactor = 20);
insert into drover.partition_lease (partition, epoch) select p, 0 from generate_series(0, 255) as p;

-- One row for each time that a partition got an owner; the last 20 of each partition.
create table drover.partition_history (
  partition smallint not null,
  epoch bigint not null,
  node uuid not null,
  process uuid,
  address text,
  why smallint not null,
  taken_at timestamptz not null,
  left_at timestamptz,
  primary key (partition, epoch)
) with (autovacuum_vacuum_scale_factor = 0.01, autovacuum_vacuum_threshold = 1000,
  autovacuum_vacuum_cost_delay = 0);
comment on column drover.partition_history.process is 'null: the node had left before it could be recorded, as its address.';
comment on column drover.partition_history.why is 'Why the partition was free: it had had no owner, the owner before gave it back, or that owner was lost.';
comment on column drover.partition_history.left_at is 'When the owner gave it back, or the next one took it; null: this owner has it.';

-- One row for each token, also when it is revoked or expired: its creator, its purpose, and the
-- person who revoked it. Deleted a year after its end, when another token is created.
create table drover.api_token (
  id text primary key,
  digest bytea not null unique,
  name text not null,
  role text not null check (role in ('viewer', 'client', 'agent', 'operator', 'admin')),
  namespace_id integer,
  queues text[] not null default '{}',
  made_by text not null,
  made_at timestamptz not null default now(),
  expires_at timestamptz,
  used_at timestamptz,
  revoked_at timestamptz,
  revoked_by text
);
comment on column drover.api_token.digest is 'SHA-256 of the token. The token has 256 random bits and cannot be guessed, so a slow hash would protect nothing.';
comment on column drover.api_token.namespace_id is 'null: the token is for every namespace.';
comment on column drover.api_token.queues is 'The queues that an agent may poll with the token; empty: all.';
comment on column drover.api_token.used_at is 'When the token was used, as one server noted it: at most once a minute.';

-- Retained for 400 days.
create table drover.audit_entry (
  id uuid primary key default gen_random_uuid(),
  namespace_id integer not null,
  at timestamptz not null default date_trunc('milliseconds', now()),
  action text not null,
  subject_kind text not null,
  subject text not null,
  claimed_by text not null,
  by_verified boolean not null,
  token_id text,
  token_name text,
  token_role text,
  peer text not null,
  reason text not null,
  details jsonb not null
);
comment on table drover.audit_entry is 'One row for each change that a person or a token made, written in the transaction of the change.';
comment on column drover.audit_entry.namespace_id is '0: all namespaces, as of a token for every namespace.';
comment on column drover.audit_entry.at is 'In whole milliseconds, so that a page of a list can continue after it.';
comment on column drover.audit_entry.claimed_by is 'The name that the caller gave. Empty: none.';
comment on column drover.audit_entry.by_verified is 'The caller proved the name, by a JWT or a client certificate.';
comment on column drover.audit_entry.token_id is 'The API token of the call, the subject of its JWT, or what is mapped of its certificate; null: the server requires none.';
comment on column drover.audit_entry.peer is 'The address from which the call came, as the server saw it: of a proxy, if there is one.';
comment on column drover.audit_entry.details is 'What was changed, without payloads and secrets.';

-- ---------------------------------------------------------------------------------------------------
-- Indexes
-- ---------------------------------------------------------------------------------------------------

-- Rows with a due time, by partition, for the timer scan.
create index escalation_wake on drover.escalation (partition, wake_at);
create index message_wake on drover.message (partition, wake_at);
create index run_page_wake on drover.run_page (partition, wake_at) where wake_at is not null;
create index schedule_wake on drover.schedule (partition, wake_at);
create index trigger_end_due on drover.trigger_end (partition, next_at);
create index outbox_partition on drover.outbox (partition, id);
create index delivery_due on drover.delivery (partition, next_try_at);

-- Runs in the order of their ids, which begin with the creation time.
create index run_by_namespace on drover.run (namespace_id, id);
create index run_by_workflow on drover.run (namespace_id, workflow, id);
create index run_by_parent on drover.run (parent_id, id) where parent_id is not null;
-- Only a child run has an id with another time than its own: that of the run at the top.
create index run_child_by_time on drover.run (namespace_id, created_at, id) where parent_id is not null;
-- Keys in the order of their characters, for lists by the beginning of a key.
create index run_by_key on drover.run (namespace_id, key collate "C", id) where key is not null;
-- Runs with an inline definition. A definition that no workflow version names belongs to such runs only.
create index run_inline on drover.run (definition_id) where version = 0;
-- The open runs of a namespace, of a definition and of a partition, in an order, because all are read in
-- pages.
create index run_page_open on drover.run_page (namespace_id, definition_id, run_id)
  where no = 0 and ended_at is null;
-- Open runs by what they wait for. Few runs wait at a time, and a run that does not wait is in none of these.
create index run_page_waits_retry on drover.run_page (namespace_id, run_id) where waits & 1 <> 0;
create index run_page_waits_signal on drover.run_page (namespace_id, run_id) where waits & 2 <> 0;
create index run_page_waits_approval on drover.run_page (namespace_id, run_id) where waits & 4 <> 0;
create index run_page_waits_callback on drover.run_page (namespace_id, run_id) where waits & 8 <> 0;
create index run_page_waits_timer on drover.run_page (namespace_id, run_id) where waits & 16 <> 0;
create index run_page_waits_child on drover.run_page (namespace_id, run_id) where waits & 32 <> 0;
create index run_page_waits_held on drover.run_page (namespace_id, run_id) where waits & 64 <> 0;
create index run_page_open_partition on drover.run_page (partition, run_id)
  where no = 0 and ended_at is null;
-- Definitions by the workflow that they name, also those of inline runs.
create index definition_workflow on drover.definition (namespace_id, ((body::jsonb) ->> 'workflow'), id);
create index workflow_version_definition on drover.workflow_version (definition_id);
create index idempotency_expiry on drover.idempotency (expires_at);
create index permit_of_key on drover.permit (namespace_id, key, holds, priority, since, run_id);

-- For claims, the leases of a session, and the leases of a lane.
create index ready_lane on drover.ready (lane, paused, priority, ordered_by, ordinal);
create index lease_session on drover.lease (session, heartbeat_ms);
create index lease_lane on drover.lease (lane);
-- For the check whether there are more lanes of classes than a server knows.
create index lane_class on drover.lane (id) where class <> 0;

-- No column of agent_by_name ever changes.
create index agent_by_name on drover.agent (namespace_id, agent_id, session);
create index agent_silent on drover.agent (silent_since) where silent_since is not null;
create index session_attempts_lane on drover.session_attempts (lane, at);
create index session_attempts_at on drover.session_attempts (at);
create index session_attempts_failing on drover.session_attempts (at) where mostly_failed;

create unique index handler_log_attempt on drover.handler_log (run_id, step_no, fence, kind, n, line);
create index handler_log_age on drover.handler_log (stored_at);
create index intervention_by_rule on drover.intervention (namespace_id, rule, acted_at);
create index escalation_by_namespace on drover.escalation (namespace_id, run_id, n);
create index escalation_open on drover.escalation (namespace_id, run_id, n) where closed_at is null;

-- Of two indexes that cost the same, the planner takes the later one: that of names.
create index schedule_by_workflow on drover.schedule (workflow, namespace_id, name collate "C")
  where deleted_at is null;
create unique index schedule_by_name on drover.schedule (namespace_id, name) where deleted_at is null;
create index schedule_deleted on drover.schedule (deleted_at) where deleted_at is not null;
create index occurrence_by_time on drover.occurrence (schedule_id, at);
create index run_hour_count_hour on drover.run_hour_count (hour);
create index failure_count_workflow on drover.failure_count (namespace_id, workflow, minute);
create index trigger_by_workflow on drover.trigger (namespace_id, workflow) where workflow is not null;
create index trigger_refusal_last on drover.trigger_refusal (namespace_id, last_at);
create index inbox_waiting on drover.inbox (id) where refused_at is null;

create index delivery_cause on drover.delivery (namespace_id, hook, kind, cause, created_at);
create index delivery_by_namespace on drover.delivery (namespace_id, created_at, id);
create index delivery_ended on drover.delivery (ended_at);

-- The changes of a namespace, and those of one run, queue or other subject.
create index audit_entry_by_time on drover.audit_entry (namespace_id, at, id);
create index audit_entry_by_subject on drover.audit_entry (namespace_id, subject_kind, subject, at, id);

-- ---------------------------------------------------------------------------------------------------
-- Functions that views and statements share
-- ---------------------------------------------------------------------------------------------------

create function drover.page_of(step_key integer) returns integer
  language sql immutable parallel safe
  return case when step_key < 512 then step_key / 32 else step_key end;
comment on function drover.page_of is 'The number of the page of a step key (512 * item + step; item 0: a step outside a map). A page has 32 steps, or one item.';
create function drover.step_of(step_key integer) returns integer
  language sql immutable parallel safe
  return step_key % 512;
comment on function drover.step_of is 'The number of the step in the definition, from a step key or from the number of the page of an item.';
create function drover.item_of(step_key integer) returns integer
  language sql immutable parallel safe
  return nullif(step_key / 512, 0);
comment on function drover.item_of is 'The number of the item of a map, from a step key; null: a step outside a map.';
create function drover.is_item_page(no integer) returns boolean
  language sql immutable parallel safe
  return no >= 512;
comment on function drover.is_item_page is 'Whether a page is that of an item of a map.';

-- JSON as servers write it may contain two things that jsonb refuses: U+0000, and half of a surrogate pair.
create function drover.page_json(text text) returns jsonb
  language sql immutable parallel safe
  return case
    when text ~ '\\u(0000|d[89a-f])'
      then regexp_replace(text, '(?<!\\)((?:\\\\)*)\\u(?:0000|d[89a-f][0-9a-f]{2})', '\1\\ufffd', 'g')::jsonb
    else text::jsonb
  end;
comment on function drover.page_json is 'A page as jsonb. What jsonb cannot contain becomes U+FFFD.';

create function drover.page_hex(text text) returns text
  language sql immutable parallel safe
  return case
    when text like ':%' then substr(text, 2)
    else encode(decode(rpad(translate(text, '-_', '+/'), (length(text) + 3) / 4 * 4, '='), 'base64'), 'hex')
  end;
comment on function drover.page_hex is 'A session as pages store it, in hex.';

-- Values that change are taken from these functions where Citus admits nothing but immutable functions: in a
-- distributed INSERT ... SELECT, and in what ON CONFLICT does. They are not immutable, though they say so. So
-- each takes a column of the row for which it is called: then no planner can compute it ahead, and PostgreSQL
-- calls it for each row when the statement runs. The first two give one value in a transaction, so it does not
-- matter how often they are called. A test refuses a call without a column.
create function drover.transaction_time(of_row anyelement) returns timestamptz
language plpgsql immutable parallel safe as $$
begin
  return transaction_timestamp();
end
$$;
create function drover.transaction_number(of_row anyelement) returns xid8
language plpgsql immutable as $$
begin
  return pg_current_xact_id();
end
$$;
create function drover.clock_time(of_row anyelement) returns timestamptz
language plpgsql immutable parallel safe as $$
begin
  return clock_timestamp();
end
$$;


-- Fails the transaction if a write has met fewer rows than the decision was based on.
create function drover.expect_rows(met bigint, wanted bigint, what text) returns void
language plpgsql as $$
begin
  if met <> wanted then
    raise exception '% should have met % rows and met %', what, wanted, met;
  end if;
end
$$;

-- Fails a transaction that was decided by what a server knew, if that has changed. DR001: nothing was
-- written, and the server decides again by what it reads. The statements of such a transaction are sent
-- together. If its BEGIN alone has failed, each of the following statements would take effect by itself, so
-- the session is ended.
create function drover.expect_known(holds boolean, what text) returns void
language plpgsql as $$
begin
  if pg_current_xact_id_if_assigned() is null then
    perform pg_terminate_backend(pg_backend_pid());
  end if;
  if not holds then
    raise exception '% is not as the server knows it', what using errcode = 'DR001';
  end if;
end
$$;

-- ---------------------------------------------------------------------------------------------------
-- Views for people: pages in words, and rows with what their pages contain. The keys are those of
-- server/core/page/codec.ts; a test compares what both read.
-- ---------------------------------------------------------------------------------------------------

-- The name of a step is in the definition.
create view drover.step_name as
select d.id as definition_id, (e.place - 1)::integer as no, e.value ->> 'id' as step
from drover.definition as d
cross join lateral jsonb_array_elements((d.body::jsonb) -> 'steps') with ordinality as e (value, place);
comment on view drover.step_name is 'The name of each step of each definition, by its number.';

create view drover.run_view as
select
  r.id as run_id,
  n.name as namespace,
  r.key,
  r.workflow,
  r.version as workflow_version,
  (array['RUNNING', 'STOPPING', 'COMPENSATING', 'ESCALATED', 'COMPLETED', 'FAILED', 'COMPENSATED',
    'CANCELLED', 'PAUSED', 'FINISHING', 'PENDING'])[p.run_state + 1] as state,
  coalesce(s.state ->> 'reason', s.state #>> '{end,reason}', s.state #>> '{stopReason,reason}',
    s.state #>> '{from,end,reason}', s.state #>> '{from,stopReason,reason}') as reason,
  r.created_at,
  p.ended_at,
  to_timestamp(case
    when jsonb_typeof(s.state) = 'number' then s.state::float8
    when s.state ->> 'kind' = 'PENDING' and s.state ->> 'on' = 'permit' then (s.state ->> 'until')::float8
  end / 1000) as deadline,
  case when p.ended_at is null then coalesce((h.head #>> '{c,0}')::smallint, 0::smallint) end as steps_left,
  case when p.ended_at is null then coalesce((h.head #>> '{c,2}')::smallint, 0::smallint) end as moving,
  case when p.ended_at is null then coalesce((h.head #>> '{c,3}')::smallint, 0::smallint) end as asking,
  coalesce(h.head -> 'w', '{}') as waits,
  coalesce((h.head #>> '{c,6}')::smallint, 0::smallint) as warnings,
  r.labels,
  h.head ->> 'cn' as cancel_note,
  r.partition
from drover.run as r
join drover.namespace as n on n.id = r.namespace_id
join drover.run_page as p on p.run_id = r.id and p.no = 0
cross join lateral (select drover.page_json(split_part(p.state, E'\n', 1) || '}}') -> 'h' as head) as h
cross join lateral (select h.head -> 's' as state) as s;
comment on view drover.run_view is 'Runs and their states, from the heads of their pages. steps_left, moving and asking are counted while a run is open; waits has the number of steps by what they wait for.';

create view drover.step_view as
select
  p.run_id,
  d.step,
  drover.item_of(x.place) as item,
  drover.step_of(x.place) as no,
  case
    when m.moving ->> 't' = 'verify' then 'VERIFYING'
    when f.forward in ('MAPPING', 'UNDOING') then 'WAITING'
    when f.forward = 'HELD' then 'READY'
    else f.forward
  end as state,
  case
    when x.step -> 'u' is null then 'NONE'
    when jsonb_typeof(x.step -> 'u') <> 'string' or x.step ->> 'u' = 'MAPPING' then 'ACTIVE'
    else x.step ->> 'u'
  end as undo,
  coalesce((x.step #>> '{s,-1,0}')::smallint, 0::smallint) as strategy,
  coalesce(x.step #>> '{s,-1,2}', x.step ->> 's', case f.forward when 'SUCCEEDED' then 'MADE' else 'NONE' end)
    as effect,
  coalesce((x.step ->> 'a')::smallint, (x.step ->> 'f')::smallint, 0::smallint) as tries,
  case m.moving ->> 'k'
    when 'LEASED' then coalesce((m.moving ->> 'f')::integer, n.fence + 1)
    else n.fence
  end as fence,
  m.moving ->> 'g' as agent_id,
  x.step ->> 'p' as progress,
  case m.moving ->> 'k'
    when 'BACKOFF' then concat_ws(' ', coalesce(m.moving ->> 't', 'perform'), m.moving ->> 'c')
    when 'WAITING' then m.moving ->> 'on'
  end as waits_for,
  to_timestamp((n.since + (m.moving ->> 'w')::float8) / 1000) as next_check_at
from drover.run_page as p
join drover.run as r on r.id = p.run_id
cross join lateral (
  select e.key::integer as place, e.value as step from jsonb_each(drover.page_json(p.state) -> 's') as e
) as x
join drover.step_name as d on d.definition_id = r.definition_id and d.no = drover.step_of(x.place)
cross join lateral (
  select case jsonb_typeof(x.step -> 'w')
    when 'object' then x.step -> 'w' ->> 'k'
    when 'array' then coalesce(x.step #>> '{w,0,k}', x.step #>> '{w,0}')
    else x.step ->> 'w'
  end as forward
) as f
cross join lateral (
  select case
    when jsonb_typeof(x.step -> 'w') = 'object' then x.step -> 'w'
    when jsonb_typeof(x.step -> 'u') = 'object' then x.step -> 'u'
    when x.step #>> '{w,0,k}' is not null then x.step #> '{w,0}'
    else x.step #> '{u,0}'
  end as moving
) as m
cross join lateral (
  select coalesce((x.step ->> 'f')::integer, 0) as fence, coalesce((x.step ->> 'r')::float8, 0) as since
) as n;
comment on view drover.step_view is 'Steps, and items of maps, that have started. A step that still waits for all its needs is in no page. Filter by run_id.';

-- Attempts as pages and the log contain them.
create view drover.stored_attempt as
select p.run_id, x.key::integer as step_no, coalesce((x.value ->> 'r')::float8, 0) as since, e.value as attempt
from drover.run_page as p
cross join lateral jsonb_each(drover.page_json(p.state) -> 's') as x
cross join lateral jsonb_array_elements(x.value -> 'e') as e
union all
select l.run_id, l.step_no, 0, drover.page_json(l.attempt)
from drover.attempt_log as l;

create view drover.attempt_view as
select
  a.run_id,
  d.step,
  drover.item_of(a.step_no) as item,
  drover.step_of(a.step_no) as no,
  k.kind,
  k.fence,
  k.n,
  coalesce((a.attempt ->> 'a')::smallint, k.fence::smallint) as attempt,
  a.attempt ->> 'g' as agent_id,
  drover.page_hex(a.attempt ->> 's') as session,
  k.started_at,
  k.ended_at,
  k.ended_at - k.started_at as took,
  k.outcome,
  case k.outcome when 'failure' then o.reported ->> 1 end as class,
  case k.outcome when 'failure' then o.reported ->> 2 when 'unknown' then o.reported ->> 1 end as code,
  case k.outcome when 'failure' then o.reported ->> 3 when 'unknown' then o.reported ->> 2 end as message,
  case k.outcome when 'failure' then o.reported ->> 5 = '1' when 'cancelled' then o.reported ->> 1 = '1' else false end
    as no_effect,
  case k.outcome when 'failure' then (o.reported ->> 4)::bigint when 'again' then (o.reported ->> 1)::bigint end
    as retry_after_ms,
  a.attempt ->> 'c' is distinct from '-1' as counted,
  nullif((a.attempt ->> 'c')::smallint, -1) as policy,
  a.attempt ->> 'p' as progress,
  case when k.outcome = 'success' then case jsonb_typeof(o.reported)
    when 'string' then 'application/json'
    when 'array' then o.reported -> 1 ->> 0
    when 'number' then y.type
  end end as output_type,
  case when k.outcome = 'success' then case jsonb_typeof(o.reported)
    when 'string' then o.reported #>> '{}'
    when 'number' then y.json
  end end as output_json,
  case when k.outcome = 'success' then case jsonb_typeof(o.reported)
    when 'array' then decode(o.reported -> 1 ->> 1, 'base64')
    when 'number' then y.data
  end end as output_data
from drover.stored_attempt as a
join drover.run as r on r.id = a.run_id
join drover.step_name as d on d.definition_id = r.definition_id and d.no = drover.step_of(a.step_no)
cross join lateral (select a.attempt -> 'o' as reported) as o
cross join lateral (
  select case when jsonb_typeof(o.reported) = 'array' then o.reported ->> 0 else 'success' end as outcome,
    coalesce(a.attempt ->> 'k', 'perform') as kind, coalesce((a.attempt ->> 'n')::integer, 0) as n
) as t
cross join lateral (
  select t.kind, t.outcome, coalesce((a.attempt ->> 'f')::integer, 1) as fence,
    case when t.kind = 'late' then 2 * t.n + (t.outcome = 'success')::integer else t.n end as n,
    to_timestamp((a.since + coalesce((a.attempt ->> 'b')::float8, 0)) / 1000) as started_at,
    to_timestamp((a.since + (a.attempt ->> 'e')::float8) / 1000) as ended_at
) as k
left join lateral (
  select p.type, p.json, p.data
  from drover.payload as p
  where p.run_id = a.run_id and p.step_no = a.step_no and p.fence = k.fence and p.kind = k.kind and p.n = k.n
    and p.what = 'output' and jsonb_typeof(o.reported) = 'number'
  limit 1
) as y on true;
comment on view drover.attempt_view is 'Tasks that ended, with their outcomes, and what was reported beside them (kind late, engine, answer). Filter by run_id.';
comment on view drover.stored_attempt is 'The rows that attempt_view reads.';

create view drover.lease_view as
select
  l.run_id,
  d.step,
  drover.item_of(l.step_no) as item,
  drover.step_of(l.step_no) as no,
  coalesce(m.lease ->> 't', 'perform') as task_kind,
  l.fence,
  coalesce((m.lease ->> 'a')::smallint, (coalesce((x.step ->> 'a')::smallint, m.fence) + 1)::smallint) as attempt,
  n.queue,
  n.task,
  m.lease ->> 'g' as agent_id,
  encode(l.session, 'hex') as session,
  l.granted_at,
  to_timestamp((m.since + coalesce((m.lease ->> 'by')::float8, coalesce((m.lease ->> 'at')::float8, 0)
    + coalesce((x.step #>> '{z,3}')::float8, 900000))) / 1000) as attempt_by,
  l.heartbeat_ms,
  b.last_heartbeat_at,
  m.progress,
  coalesce(m.lease #>> '{c,kind}', 'none') as cancel,
  to_timestamp((m.since + (m.lease ->> 'w')::float8) / 1000) as next_check_at,
  l.partition
from drover.lease as l
join drover.run as r on r.id = l.run_id
join drover.step_name as d on d.definition_id = r.definition_id and d.no = drover.step_of(l.step_no)
join drover.lane as n on n.id = l.lane
left join drover.agent_session as b on b.session = l.session
left join drover.run_page as p on p.run_id = l.run_id and p.no = drover.page_of(l.step_no)
cross join lateral (select drover.page_json(p.state) -> 's' -> l.step_no::text as step) as x
cross join lateral (
  select x.step ->> 'p' as progress, coalesce((x.step ->> 'f')::smallint, 0::smallint) as fence,
    coalesce((x.step ->> 'r')::float8, 0) as since,
    case when x.step #>> '{w,0,k}' = 'LEASED' then x.step #> '{w,0}' else x.step #> '{u,0}' end as lease
) as m;
comment on view drover.lease_view is 'Tasks that agents hold now, with their last heartbeat and progress.';

create view drover.intervention_view as
select
  i.run_id,
  d.id as step,
  drover.item_of(greatest(i.step_no, 0)) as item,
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
from drover.intervention as i
join drover.run as r on r.id = i.run_id
join drover.definition as f on f.id = r.definition_id
left join drover.intervention_rule as u on u.rule = i.rule
left join lateral (
  select e.value ->> 'id' as id
  from jsonb_array_elements((f.body::jsonb) -> 'steps') with ordinality as e (value, place)
  where e.place = drover.step_of(i.step_no) + 1
) as d on true;

comment on view drover.intervention_view is 'What the supervisor has done: by which rule, when it was due and when it was done.';

create view drover.inbox_refused as
select id, namespace, workflow, version, key, input, labels, put_at, refused_at, reason, message
from drover.inbox
where refused_at is not null;
comment on view drover.inbox_refused is 'What drover.schedule was asked for and was refused, and why.';

-- ---------------------------------------------------------------------------------------------------
-- Views that statements share
-- ---------------------------------------------------------------------------------------------------

-- Lanes of which nothing is assigned, because their queue or the whole namespace is paused.
create view drover.paused_lane as
select l.id as lane, q.name as queue, q.paused_at, q.pause_reason
from drover.lane as l
join drover.queue as q on q.namespace_id = l.namespace_id and q.name = any (array[l.queue, ''])
where q.paused_at is not null;

-- Lanes of queues with limits.
create view drover.limited_lane as
select l.id as lane, l.namespace_id, l.queue
from drover.lane as l
join drover.queue as q on q.namespace_id = l.namespace_id and q.name = l.queue
where q.leases_max is not null or q.rate is not null;

-- The oldest task of each priority of each lane, of paused workflows and of others: a probe of ready_lane each.
create view drover.oldest_ready as
select l.id as lane, k.paused, h.ready_at as oldest_at
from drover.lane as l
cross join (values (false), (true)) as k (paused)
cross join generate_series(1, 9) as w (priority)
cross join lateral (
  select r.ready_at
  from drover.ready as r
  where r.lane = l.id and r.paused = k.paused and r.priority = w.priority
  order by r.ordered_by, r.ordinal
  limit 1
) as h;

-- Lanes whose circuit is open: no task is handed out, except one probe.
create view drover.open_lane as
select c.lane, c.state, c.since, c.until, c.saw, c.forced, c.forced_by, c.forced_why, c.forced_at
from drover.circuit as c
where c.agent_id = '' and coalesce(c.forced = 1, c.state <> 0);

-- The lanes of a class, each with the lane of the same task for all agents (base).
create view drover.version_lane as
select l.id as lane, b.id as base, l.namespace_id, l.queue, l.task, c.agent_version
from drover.lane as l
join drover.version_class as c on c.namespace_id = l.namespace_id and c.queue = l.queue and c.class = l.class
join drover.lane as b on b.namespace_id = l.namespace_id and b.queue = l.queue and b.task = l.task
  and b.class = 0;

-- Lanes that a silent agent has asked for, and when another agent that asks for them was last seen.
create view drover.silent_lane as
select l.id as lane, (
    select max(a.seen_at)
    from drover.agent as a
    where a.namespace_id = l.namespace_id and a.silent_since is null and a.queues ? l.queue
      and (a.tasks = '[]'::jsonb or a.tasks ? l.task)
      and (v.lane is null or a.agent_version = v.agent_version)
  ) as seen_at
from drover.lane as l
left join drover.version_lane as v on v.lane = l.id
where exists (
  select
  from drover.agent as a
  where a.silent_since is not null and a.namespace_id = l.namespace_id and a.queues ? l.queue
    and (a.tasks = '[]'::jsonb or a.tasks ? l.task)
    and (v.lane is null or a.agent_version = v.agent_version)
);

-- A region is in use while one of its runs is open, a schedule has a next occurrence, or an ended run, a
-- webhook or a row of the inbox (which the region `default` takes) waits for its supervisor. The order clause
-- makes the planner read open runs by their index, whatever it assumes of their number.
create view drover.region_use as
select r.id, r.name, (
  exists (
    select from drover.run_page as p
    where p.partition >= r.id * 256 and p.partition < r.id * 256 + 256 and p.no = 0 and p.ended_at is null
    order by p.partition, p.run_id offset 0
  )
  or exists (
    select from drover.schedule as s
    where s.partition >= r.id * 256 and s.partition < r.id * 256 + 256 and s.wake_at is not null offset 0
  )
  or exists (
    select from drover.outbox as x where x.partition >= r.id * 256 and x.partition < r.id * 256 + 256 offset 0
  )
  or exists (
    select from drover.delivery as d
    where d.partition >= r.id * 256 and d.partition < r.id * 256 + 256 and d.next_try_at is not null offset 0
  )
  or exists (
    select from drover.trigger_end as t where t.partition >= r.id * 256 and t.partition < r.id * 256 + 256 offset 0
  )
  or (r.id = 0 and exists (select from drover.inbox as i where i.refused_at is null offset 0))
) as used
from drover.region as r;
comment on view drover.region_use is 'Whether a region has anything to do. Its partitions are watched while it has.';

-- ---------------------------------------------------------------------------------------------------
-- Functions
-- ---------------------------------------------------------------------------------------------------

-- Starts runs from inside a user's own transaction. What it puts into the inbox is visible if the transaction
-- commits. A server then starts the run within a second or two, by its key, as the RPC Schedule would.
--
--   grant usage on schema drover to app;
--   grant execute on function drover.schedule to app;
create function drover.schedule(
  namespace text,
  workflow text,
  input jsonb default null,
  key text default null,
  labels jsonb default '{}',
  version integer default 0
) returns text
language plpgsql
security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  run_key text := coalesce(schedule.key, gen_random_uuid()::text);
begin
  if coalesce(schedule.namespace, '') !~ '^[A-Za-z0-9._-]{1,128}$' then
    raise exception 'namespace must be 1 to 128 characters of A-Z, a-z, 0-9, ".", "_" and "-"'
      using errcode = 'invalid_parameter_value';
  end if;
  if coalesce(schedule.workflow, '') !~ '^[A-Za-z0-9._-]{1,128}$' then
    raise exception 'workflow must be 1 to 128 characters of A-Z, a-z, 0-9, ".", "_" and "-"'
      using errcode = 'invalid_parameter_value';
  end if;
  if coalesce(schedule.version, -1) < 0 then
    raise exception 'version must be 0, for the default one, or more'
      using errcode = 'invalid_parameter_value';
  end if;
  if length(run_key) not between 1 and 256 or run_key ~ '[\x01-\x1f\x7f]' then
    raise exception 'key must be 1 to 256 characters without control characters'
      using errcode = 'invalid_parameter_value';
  end if;
  if octet_length(schedule.input::text) > 262144 then
    raise exception 'input is larger than 256 KiB: keep it elsewhere, and pass where'
      using errcode = 'invalid_parameter_value';
  end if;
  if jsonb_typeof(coalesce(schedule.labels, 'null')) <> 'object'
    or (select count(*) from jsonb_each(schedule.labels)) > 64
    or exists (
      select from jsonb_each(schedule.labels) as l
      where l.key !~ '^[A-Za-z0-9._-]{1,128}$' or jsonb_typeof(l.value) <> 'string'
        or length(l.value #>> '{}') > 256 or l.value #>> '{}' ~ '[\x01-\x1f\x7f]'
    )
  then
    raise exception 'labels must be an object of at most 64 short texts by name'
      using errcode = 'invalid_parameter_value';
  end if;
  insert into drover.inbox (namespace, workflow, version, input, key, labels)
  values (schedule.namespace, schedule.workflow, schedule.version, schedule.input::text, run_key,
    schedule.labels);
  return run_key;
end
$$;
comment on function drover.schedule(text, text, jsonb, text, jsonb, integer)
  is 'Starts a run if the transaction commits, and returns its key. The same key starts one run only.';
revoke all on function drover.schedule(text, text, jsonb, text, jsonb, integer) from public;
