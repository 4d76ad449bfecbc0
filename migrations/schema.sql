-- What the migrations lead to, written from the catalogue by "npm run schema".
-- For reading and comparing: nothing applies it.
set check_function_bodies = off;

-- schemas

create schema drover;

-- sequences

create sequence circuit_version as bigint increment 1 minvalue 1 maxvalue 9223372036854775807 start 1 cache 1;

-- functions

create or replace function drover.schedule(namespace text, workflow text, input jsonb default null::jsonb, key text default null::text, labels jsonb default '{}'::jsonb, version integer default 0)
 returns text
 language plpgsql
 security definer
 set search_path to 'pg_catalog', 'pg_temp'
as $function$
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
  insert into public.inbox (namespace, workflow, version, input, key, labels)
  values (schedule.namespace, schedule.workflow, schedule.version, schedule.input::text, run_key,
    schedule.labels);
  return run_key;
end
$function$
;

-- tables

create table agent (
  session bytea not null,
  namespace_id integer not null,
  agent_id text not null,
  agent_version text not null,
  labels jsonb not null,
  queues jsonb,
  tasks jsonb,
  server text not null,
  first_seen_at timestamp with time zone default now() not null,
  seen_at timestamp with time zone not null,
  succeeded_at timestamp with time zone,
  called_at timestamp with time zone,
  silent_since timestamp with time zone,
  constraint agent_pkey primary key (session)
)
with (autovacuum_vacuum_cost_delay=0, autovacuum_vacuum_scale_factor=0.01, autovacuum_vacuum_threshold=1000, fillfactor=50);

create table agent_session (
  session bytea not null,
  namespace_id integer not null,
  agent_id text not null,
  agent_version text not null,
  started_at timestamp with time zone default now() not null,
  last_beat_at timestamp with time zone not null,
  constraint agent_session_pkey primary key (session)
)
with (autovacuum_vacuum_cost_delay=0, autovacuum_vacuum_scale_factor=0.01, autovacuum_vacuum_threshold=1000, fillfactor=50);

create table api_token (
  id text not null,
  digest bytea not null,
  name text not null,
  role text not null,
  namespace_id integer,
  queues text[] default '{}'::text[] not null,
  made_by text not null,
  made_at timestamp with time zone default now() not null,
  expires_at timestamp with time zone,
  used_at timestamp with time zone,
  revoked_at timestamp with time zone,
  revoked_by text,
  constraint api_token_pkey primary key (id),
  constraint api_token_digest_key unique (digest),
  constraint api_token_role_check check ((role = any (array['viewer'::text, 'client'::text, 'agent'::text, 'operator'::text, 'admin'::text])))
);

create table circuit (
  lane integer not null,
  agent_id text not null,
  version bigint default nextval('circuit_version'::regclass) not null,
  changed_at timestamp with time zone default now() not null,
  state smallint default 0 not null,
  since timestamp with time zone,
  until timestamp with time zone,
  rests smallint default 0 not null,
  saw text default ''::text not null,
  forced smallint,
  forced_by text,
  forced_why text,
  forced_at timestamp with time zone,
  trial_run uuid,
  trial_step integer,
  trial_fence integer,
  trial_secret bytea,
  constraint circuit_pkey primary key (lane, agent_id)
);

create table circuit_end (
  lane integer not null,
  agent_id text not null,
  at timestamp with time zone not null,
  good integer not null,
  bad integer not null,
  runs uuid[] not null,
  last_at timestamp with time zone not null,
  constraint circuit_end_pkey primary key (lane, agent_id, at)
)
with (autovacuum_vacuum_cost_delay=0, autovacuum_vacuum_scale_factor=0.01, autovacuum_vacuum_threshold=1000, fillfactor=50);

create table circuit_outage (
  lane integer not null,
  opened_at timestamp with time zone not null,
  closed_at timestamp with time zone,
  constraint circuit_outage_pkey primary key (lane, opened_at)
);

create table cordon (
  namespace_id integer not null,
  kind smallint not null,
  name text not null,
  cordoned_by text not null,
  why text not null,
  cordoned_at timestamp with time zone default now() not null,
  constraint cordon_pkey primary key (namespace_id, kind, name)
);

create table definition (
  id bigint default (((1)::double precision + floor((random() * ('9007199254740990'::bigint)::double precision))))::bigint not null,
  namespace_id integer not null,
  digest bytea not null,
  body text not null,
  created_at timestamp with time zone default now() not null,
  unused_since timestamp with time zone,
  constraint definition_pkey primary key (id),
  constraint definition_namespace_id_digest_key unique (namespace_id, digest)
);

create table delivery (
  id uuid default gen_random_uuid() not null,
  partition smallint not null,
  namespace_id integer not null,
  kind smallint not null,
  run_id uuid not null,
  n integer not null,
  hook text not null,
  url text,
  cause text not null,
  count integer not null,
  state smallint default 0 not null,
  tries integer default 0 not null,
  error text,
  created_at timestamp with time zone default now() not null,
  ended_at timestamp with time zone,
  next_try_at timestamp with time zone,
  constraint delivery_pkey primary key (id)
);

create table drover_migration (
  number integer not null,
  name text not null,
  checksum text not null,
  applied_at timestamp with time zone default now() not null,
  constraint drover_migration_pkey primary key (number)
);

create table due (
  run_id uuid not null,
  step_no integer not null,
  partition smallint not null,
  kind smallint not null,
  wake_at timestamp with time zone not null,
  constraint due_pkey primary key (run_id, step_no)
)
with (autovacuum_vacuum_cost_delay=0, autovacuum_vacuum_scale_factor=0.01, autovacuum_vacuum_threshold=1000, fillfactor=70);

create table fire (
  schedule_id uuid not null,
  series integer not null,
  moment bigint not null,
  at timestamp with time zone not null,
  fired_at timestamp with time zone default now() not null,
  cause smallint not null,
  outcome smallint not null,
  run_id uuid,
  message text default ''::text not null,
  missed_count integer,
  missed_until timestamp with time zone,
  node uuid,
  epoch bigint,
  constraint fire_pkey primary key (schedule_id, series, moment)
);

create table hook (
  namespace_id integer not null,
  name text not null,
  url text not null,
  events smallint[] not null,
  secret text not null,
  secret_digest text not null,
  created_at timestamp with time zone default now() not null,
  changed_at timestamp with time zone default now() not null,
  constraint hook_pkey primary key (namespace_id, name)
);

create table idempotency (
  namespace_id integer not null,
  key text not null,
  run_id uuid not null,
  digest bytea not null,
  expires_at timestamp with time zone not null,
  constraint idempotency_pkey primary key (namespace_id, key)
);

create table inbox (
  id bigint generated always as identity not null,
  namespace text not null,
  workflow text not null,
  version integer not null,
  input text,
  key text not null,
  labels jsonb not null,
  put_at timestamp with time zone default now() not null,
  taken_until timestamp with time zone,
  refused_at timestamp with time zone,
  reason text,
  message text,
  constraint inbox_pkey primary key (id)
);

create table intervention_rule (
  rule smallint not null,
  name text not null,
  constraint intervention_rule_pkey primary key (rule),
  constraint intervention_rule_name_key unique (name)
);

create table lane (
  id integer default (((1)::double precision + floor((random() * (2147483646)::double precision))))::integer not null,
  namespace_id integer not null,
  queue text not null,
  task text not null,
  class smallint default 0 not null,
  constraint lane_pkey primary key (id),
  constraint lane_namespace_id_queue_task_class_key unique (namespace_id, queue, task, class)
);

create table lane_poller (
  lane integer not null,
  node uuid not null,
  seen_at timestamp with time zone not null,
  constraint lane_poller_pkey primary key (lane, node)
)
with (fillfactor=50);

create table lane_question (
  lane integer not null,
  run_id uuid not null,
  n integer not null,
  constraint lane_question_pkey primary key (lane)
);

create table learned_duration (
  definition_id bigint not null,
  step_no integer not null,
  recent text,
  older text,
  changed_at timestamp with time zone default now() not null,
  constraint learned_duration_pkey primary key (definition_id, step_no)
)
with (fillfactor=70);

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
  granted_at timestamp with time zone not null,
  attempt_by timestamp with time zone not null,
  heartbeat_ms integer not null,
  cancel_ms integer not null,
  stall_ms bigint,
  cancel smallint default 0 not null,
  cancel_cause smallint,
  cancel_asked_at timestamp with time zone,
  cancel_by timestamp with time zone,
  progress text,
  progress_at timestamp with time zone not null,
  details_type text,
  details_json text,
  details_data bytea,
  wake_at timestamp with time zone not null,
  slow_ms bigint,
  suspect_at timestamp with time zone,
  constraint lease_pkey primary key (run_id, step_no)
)
with (autovacuum_vacuum_cost_delay=0, autovacuum_vacuum_scale_factor=0.01, autovacuum_vacuum_threshold=1000, fillfactor=50);

create table message (
  run_id uuid not null,
  no bigint generated always as identity not null,
  partition smallint not null,
  source uuid not null,
  kind smallint not null,
  undo boolean,
  wake_at timestamp with time zone not null,
  step_key integer,
  fence integer,
  constraint message_pkey primary key (run_id, no)
)
with (autovacuum_vacuum_cost_delay=0, autovacuum_vacuum_scale_factor=0.01, autovacuum_vacuum_threshold=1000, fillfactor=70);

create table namespace (
  id integer default (((1)::double precision + floor((random() * (2147483646)::double precision))))::integer not null,
  name text not null,
  region smallint default 0 not null,
  created_at timestamp with time zone default now() not null,
  retention_ms bigint,
  open_runs_max integer,
  runs_per_second double precision,
  runs_burst integer,
  payload_bytes_max integer,
  constraint namespace_pkey primary key (id),
  constraint namespace_name_key unique (name)
);

create table node (
  id uuid not null,
  address text not null,
  started_at timestamp with time zone default now() not null,
  last_seen_at timestamp with time zone not null,
  number integer generated always as identity not null,
  regions smallint[],
  standby boolean default false not null,
  constraint node_pkey primary key (id)
)
with (fillfactor=50);

create table outbox (
  id bigint generated always as identity not null,
  partition smallint not null,
  namespace_id integer not null,
  kind smallint not null,
  run_id uuid not null,
  n integer not null,
  hook text not null,
  url text,
  cause text not null,
  constraint outbox_pkey primary key (id)
)
with (autovacuum_vacuum_cost_delay=0, autovacuum_vacuum_scale_factor=0.01, autovacuum_vacuum_threshold=1000);

create table partition_history (
  partition smallint not null,
  epoch bigint not null,
  node uuid not null,
  address text,
  why smallint not null,
  taken_at timestamp with time zone not null,
  left_at timestamp with time zone,
  constraint partition_history_pkey primary key (partition, epoch)
)
with (autovacuum_vacuum_cost_delay=0, autovacuum_vacuum_scale_factor=0.01, autovacuum_vacuum_threshold=1000);

create table partition_lease (
  partition smallint not null,
  node uuid,
  epoch bigint not null,
  taken_at timestamp with time zone,
  constraint partition_lease_pkey primary key (partition)
)
with (fillfactor=20);

create table paused_workflow (
  namespace_id integer not null,
  name text not null,
  paused_at timestamp with time zone default now() not null,
  reason text not null,
  constraint paused_workflow_pkey primary key (namespace_id, name)
);

create table pin_move (
  id bigint generated always as identity not null,
  namespace_id integer not null,
  workflow text not null,
  asked_at timestamp with time zone default now() not null,
  constraint pin_move_pkey primary key (id)
);

create table queue (
  namespace_id integer not null,
  name text not null,
  paused_at timestamp with time zone,
  pause_reason text,
  leases_max integer,
  rate double precision,
  burst integer,
  tokens double precision,
  filled_at timestamp with time zone,
  constraint queue_pkey primary key (namespace_id, name)
)
with (autovacuum_vacuum_cost_delay=0, autovacuum_vacuum_scale_factor=0.01, autovacuum_vacuum_threshold=1000, fillfactor=50);

create table ready (
  run_id uuid not null,
  step_no integer not null,
  partition smallint not null,
  lane integer not null,
  priority smallint not null,
  ordered_by xid8 default pg_current_xact_id() not null,
  ordinal integer not null,
  kind smallint not null,
  fence integer not null,
  attempt smallint not null,
  ready_at timestamp with time zone not null,
  until timestamp with time zone,
  avoid_session bytea,
  avoid_until timestamp with time zone,
  alarms smallint not null,
  attempt_ms bigint not null,
  heartbeat_ms integer not null,
  cancel_ms integer not null,
  stall_ms bigint,
  wake_at timestamp with time zone not null,
  slow_ms bigint,
  plain boolean default false not null,
  constraint ready_pkey primary key (run_id, step_no)
)
with (autovacuum_vacuum_cost_delay=0, autovacuum_vacuum_scale_factor=0.01, autovacuum_vacuum_threshold=1000, fillfactor=70);

create table region (
  id smallint not null,
  name text not null,
  created_at timestamp with time zone default now() not null,
  constraint region_pkey primary key (id),
  constraint region_name_key unique (name),
  constraint region_id_check check (((id >= 0) and (id <= 127)))
);

create table run_count (
  minute timestamp with time zone not null,
  namespace_id integer not null,
  runs integer not null,
  event smallint not null,
  workflow text not null,
  constraint run_count_pkey primary key (namespace_id, minute, event, workflow)
)
with (autovacuum_vacuum_cost_delay=0, autovacuum_vacuum_scale_factor=0.01, autovacuum_vacuum_threshold=1000);

create table run_count_delta (
  minute timestamp with time zone not null,
  namespace_id integer not null,
  runs integer not null,
  event smallint not null,
  workflow text not null
)
with (autovacuum_vacuum_cost_delay=0, autovacuum_vacuum_scale_factor=0.01, autovacuum_vacuum_threshold=1000);

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
  keyed boolean default false not null,
  verdict_undoes boolean,
  verdict smallint,
  ends_as smallint,
  stage smallint,
  deadline timestamp with time zone,
  left_ms bigint,
  since timestamp with time zone,
  settle_until timestamp with time zone,
  wake_at timestamp with time zone,
  depth smallint,
  constraint run_open_pkey primary key (partition, run_id)
)
with (autovacuum_vacuum_cost_delay=0, autovacuum_vacuum_scale_factor=0.01, autovacuum_vacuum_threshold=1000, fillfactor=50);

create table schedule (
  id uuid not null,
  namespace_id integer not null,
  name text not null,
  partition smallint not null,
  series integer default 1 not null,
  revision integer default 1 not null,
  spec text not null,
  next_moment bigint,
  next_at timestamp with time zone,
  wake_at timestamp with time zone,
  paused_at timestamp with time zone,
  pause_reason text,
  created_at timestamp with time zone default now() not null,
  changed_at timestamp with time zone default now() not null,
  deleted_at timestamp with time zone,
  constraint schedule_pkey primary key (id)
)
with (fillfactor=70);

create table slot (
  run_id uuid not null,
  namespace_id integer not null,
  key text not null,
  max_holders integer not null,
  priority smallint not null,
  since timestamp with time zone not null,
  holds boolean not null,
  leaving boolean not null,
  constraint slot_pkey primary key (run_id)
);

create table trigger (
  namespace_id integer not null,
  name text not null,
  auth text,
  workflow text,
  states smallint[] default '{}'::smallint[] not null,
  body text not null,
  secret text,
  secret_digest text,
  created_at timestamp with time zone default now() not null,
  changed_at timestamp with time zone default now() not null,
  constraint trigger_pkey primary key (namespace_id, name)
);

create table trigger_end (
  id bigint generated always as identity not null,
  partition smallint not null,
  namespace_id integer not null,
  trigger text not null,
  run_id uuid not null,
  next_at timestamp with time zone default now() not null,
  constraint trigger_end_pkey primary key (id)
)
with (autovacuum_vacuum_cost_delay=0, autovacuum_vacuum_scale_factor=0.01, autovacuum_vacuum_threshold=1000);

create table trigger_refusal (
  namespace_id integer not null,
  trigger text not null,
  digest bytea not null,
  reason text not null,
  message text not null,
  run_id uuid,
  count bigint not null,
  first_at timestamp with time zone default now() not null,
  last_at timestamp with time zone default now() not null,
  constraint trigger_refusal_pkey primary key (namespace_id, trigger, digest)
);

create table triggered (
  run_id uuid not null,
  trigger text not null,
  of_run uuid not null,
  depth smallint not null,
  constraint triggered_pkey primary key (run_id)
);

create table version_class (
  namespace_id integer not null,
  queue text not null,
  class smallint not null,
  agent_version text not null,
  constraint version_class_pkey primary key (namespace_id, queue, class),
  constraint version_class_namespace_id_queue_agent_version_key unique (namespace_id, queue, agent_version),
  constraint version_class_class_check check ((class > 0))
);

create table version_pin (
  namespace_id integer not null,
  workflow text not null,
  queue text not null,
  version integer not null,
  definition_id bigint not null,
  class smallint not null,
  pinned_at timestamp with time zone default now() not null,
  constraint version_pin_pkey primary key (namespace_id, workflow, queue, definition_id)
);

create table workflow (
  namespace_id integer not null,
  name text not null,
  default_version integer not null,
  latest_version integer not null,
  created_at timestamp with time zone default now() not null,
  constraint workflow_pkey primary key (namespace_id, name)
);

create table workflow_version (
  namespace_id integer not null,
  name text not null,
  version integer not null,
  definition_id bigint not null,
  created_at timestamp with time zone default now() not null,
  constraint workflow_version_pkey primary key (namespace_id, name, version),
  constraint workflow_version_namespace_id_name_definition_id_key unique (namespace_id, name, definition_id)
);

create table writer (
  node uuid not null,
  slot smallint not null,
  constraint writer_pkey primary key (node, slot)
);

create table attempt (
  run_id uuid not null,
  step_no integer not null,
  fence integer not null,
  kind smallint not null,
  n integer default 0 not null,
  attempt smallint not null,
  charged smallint,
  agent_id text,
  session bytea,
  secret bytea,
  started_at timestamp with time zone not null,
  ended_at timestamp with time zone not null,
  outcome smallint not null,
  class smallint,
  code text,
  message text,
  no_effect boolean default false not null,
  retry_after_ms bigint,
  digest bytea,
  output_type text,
  output_json text,
  output_data bytea,
  progress text,
  details_type text,
  details_json text,
  details_data bytea,
  constraint attempt_pkey primary key (run_id, step_no, fence, kind, n)
) partition by range (run_id);

create table decision (
  run_id uuid not null,
  step_no integer not null,
  approver text not null,
  approved boolean not null,
  comment text not null,
  form_type text,
  form_json text,
  form_data bytea,
  at timestamp with time zone not null,
  constraint decision_pkey primary key (run_id, step_no, approver)
) partition by range (run_id);

create table escalation (
  run_id uuid not null,
  n integer not null,
  namespace_id integer not null,
  step_no integer not null,
  reason smallint not null,
  message text not null,
  opened_at timestamp with time zone not null,
  closed_at timestamp with time zone,
  closed_by text,
  answer smallint,
  answered_by text,
  answered_why text,
  code text default ''::text not null,
  claimed_by text,
  claimed_at timestamp with time zone,
  partition smallint default 0 not null,
  wake_at timestamp with time zone,
  deadline_at timestamp with time zone,
  constraint escalation_pkey primary key (run_id, n)
) partition by range (run_id);

create table intervention (
  run_id uuid not null,
  step_no integer not null,
  fence integer not null,
  rule smallint not null,
  n integer not null,
  partition smallint not null,
  saw text not null,
  did text not null,
  due_at timestamp with time zone not null,
  acted_at timestamp with time zone not null,
  node uuid,
  epoch bigint,
  namespace_id integer default 0 not null,
  constraint intervention_pkey primary key (run_id, step_no, fence, rule, n)
) partition by range (run_id);

create table rerun (
  run_id uuid not null,
  of_run uuid not null,
  from_step text,
  constraint rerun_pkey primary key (run_id)
) partition by range (run_id);

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
  created_at timestamp with time zone not null,
  state smallint,
  reason smallint,
  last_version integer,
  warnings smallint,
  ended_at timestamp with time zone,
  cancel_note text,
  concurrency_key text,
  concurrency_limit integer,
  concurrency_policy smallint,
  notify_hook text,
  notify_url text,
  parent_id uuid,
  parent_step text,
  parent_step_key integer,
  parent_fence integer,
  parent_until timestamp with time zone,
  traceparent text,
  tracestate text,
  constraint run_pkey primary key (id)
) partition by range (id);

create table run_mark (
  namespace_id integer not null,
  mark text collate "C" not null,
  run_id uuid not null,
  constraint run_mark_pkey primary key (namespace_id, mark, run_id)
) partition by range (run_id);

create table signal (
  run_id uuid not null,
  seq integer not null,
  id text not null,
  name text not null,
  payload_type text,
  payload_json text,
  payload_data bytea,
  at timestamp with time zone not null,
  taken_by integer,
  constraint signal_pkey primary key (run_id, seq),
  constraint signal_run_id_id_key unique (run_id, id)
) partition by range (run_id);

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
  first_ready_at timestamp with time zone,
  settle_until timestamp with time zone,
  result_fence integer,
  result_kind smallint,
  result_n integer,
  doubt text,
  items jsonb,
  constraint step_pkey primary key (run_id, no)
) partition by range (run_id);

create table step_kept (
  run_id uuid not null,
  step_no integer not null,
  of_run uuid not null,
  constraint step_kept_pkey primary key (run_id, step_no)
) partition by range (run_id);

create table step_override (
  run_id uuid not null,
  step_no integer not null,
  strategy smallint not null,
  input_type text,
  input_json text,
  input_data bytea,
  constraint step_override_pkey primary key (run_id, step_no, strategy)
) partition by range (run_id);

create table attempt_default partition of attempt default;

create table decision_default partition of decision default;

create table escalation_default partition of escalation default;

create table intervention_default partition of intervention default;

create table rerun_default partition of rerun default;

create table run_default partition of run default
with (fillfactor=85);

create table run_mark_default partition of run_mark default;

create table signal_default partition of signal default;

create table step_default partition of step default
with (autovacuum_vacuum_cost_delay=0, autovacuum_vacuum_scale_factor=0.01, autovacuum_vacuum_threshold=1000, fillfactor=50);

create table step_kept_default partition of step_kept default;

create table step_override_default partition of step_override default;

-- indexes

create index agent_by_name on agent using btree (namespace_id, agent_id, session);
create index agent_silent on agent using btree (silent_since) where (silent_since is not null);
create index definition_workflow on definition using btree (namespace_id, (((body)::jsonb ->> 'workflow'::text)), id);
create index delivery_by_namespace on delivery using btree (namespace_id, created_at, id);
create index delivery_cause on delivery using btree (namespace_id, hook, kind, cause, created_at);
create index delivery_due on delivery using btree (partition, next_try_at);
create index delivery_ended on delivery using btree (ended_at);
create index due_wake on due using btree (partition, wake_at);
create index escalation_by_namespace on escalation using btree (namespace_id, run_id, n);
create index escalation_open on escalation using btree (namespace_id, run_id, n) where (closed_at is null);
create index escalation_wake on escalation using btree (partition, wake_at);
create index fire_by_time on fire using btree (schedule_id, at);
create index idempotency_expiry on idempotency using btree (expires_at);
create index inbox_waiting on inbox using btree (id) where (refused_at is null);
create index intervention_by_rule on intervention using btree (namespace_id, rule, acted_at);
create index lane_class on lane using btree (id) where (class <> 0);
create index lease_lane on lease using btree (lane);
create index lease_session on lease using btree (session);
create index lease_wake on lease using btree (partition, wake_at);
create index message_wake on message using btree (partition, wake_at);
create index outbox_partition on outbox using btree (partition, id);
create index ready_lane on ready using btree (lane, priority, ordered_by, ordinal);
create index ready_wake on ready using btree (partition, wake_at);
create index run_by_namespace on run using btree (namespace_id, id);
create index run_by_parent on run using btree (parent_id, id) where (parent_id is not null);
create index run_by_workflow on run using btree (namespace_id, workflow, id);
create index run_child_by_time on run using btree (namespace_id, created_at, id) where (parent_id is not null);
create index run_inline on run using btree (definition_id) where (version = 0);
create index run_open_definition on run_open using btree (namespace_id, definition_id, uuid_send(run_id));
create index run_open_wake on run_open using btree (partition, wake_at);
create unique index schedule_by_name on schedule using btree (namespace_id, name) where (deleted_at is null);
create index schedule_deleted on schedule using btree (deleted_at) where (deleted_at is not null);
create index schedule_wake on schedule using btree (partition, wake_at);
create index slot_of_key on slot using btree (namespace_id, key, holds, priority, since, run_id);
create index trigger_by_workflow on trigger using btree (namespace_id, workflow) where (workflow is not null);
create index trigger_end_due on trigger_end using btree (partition, next_at);
create index trigger_refusal_last on trigger_refusal using btree (namespace_id, last_at);
create index workflow_version_definition on workflow_version using btree (definition_id);

-- views

create view run_view as
 select r.id as run_id,
    n.name as namespace,
    r.key,
    r.workflow,
    r.version as workflow_version,
    (array['RUNNING'::text, 'STOPPING'::text, 'COMPENSATING'::text, 'ESCALATED'::text, 'COMPLETED'::text, 'FAILED'::text, 'COMPENSATED'::text, 'CANCELLED'::text, 'PAUSED'::text, 'FINISHING'::text, 'PENDING'::text])[coalesce(o.state, r.state) + 1] as state,
    (array['DONE'::text, 'STEP_FAILED'::text, 'TIMED_OUT'::text, 'CANCELLED_BY_USER'::text, 'NEVER_STARTED'::text, 'REFUSED'::text, 'CANCELLED_BY_NEWER'::text])[coalesce(r.reason, o.verdict) + 1] as reason,
    r.created_at,
    r.ended_at,
    o.deadline,
    o.steps_left,
    o.moving,
    o.asking,
    coalesce(o.warnings, r.warnings) as warnings,
    r.labels,
    r.cancel_note,
    r.partition
   from run r
     join namespace n on n.id = r.namespace_id
     left join run_open o on o.partition = r.partition and o.run_id = r.id;

create view step_view as
 select s.run_id,
    d.id as step,
    nullif(s.no / 512, 0) as item,
    s.no % 512 as no,
        case
            when w.is_verify then 'VERIFYING'::text
            when s.forward = 1 and l.run_id is not null then 'LEASED'::text
            when s.forward = 1 then 'READY'::text
            else (array['BLOCKED'::text, 'OPEN'::text, 'BACKOFF'::text, 'ESCALATED'::text, 'SUCCEEDED'::text, 'FAILED'::text, 'CANCELLED'::text, 'WAITING'::text, 'READY'::text, 'SKIPPED'::text, 'WAITING'::text, 'WAITING'::text])[s.forward + 1]
        end as state,
    (array['NONE'::text, 'PENDING'::text, 'ACTIVE'::text, 'ACTIVE'::text, 'DONE'::text, 'FAILED'::text, 'ACTIVE'::text, 'ACTIVE'::text, 'ACTIVE'::text])[s.undo + 1] as undo,
    s.strategies[cardinality(s.strategies)] / 16 as strategy,
    (array['NONE'::text, 'UNSETTLED'::text, 'MADE'::text, 'ATTEMPTED'::text, 'UNDONE'::text, 'LINGERING'::text, 'CLEARED'::text])[s.strategies[cardinality(s.strategies)]::integer % 8 + 1] as effect,
    s.attempt as tries,
    coalesce(l.fence, s.fence) as fence,
    l.agent_id,
    l.progress,
    w.waits_for,
    coalesce(l.wake_at, y.wake_at, u.wake_at) as next_look_at
   from step s
     join run r on r.id = s.run_id
     join definition f on f.id = r.definition_id
     cross join lateral ( select e.value ->> 'id'::text as id
           from jsonb_array_elements(f.body::jsonb -> 'steps'::text) with ordinality e(value, place)
          where e.place = (s.no % 512 + 1)) d
     left join lease l on l.run_id = s.run_id and l.step_no = s.no
     left join ready y on y.run_id = s.run_id and y.step_no = s.no
     left join due u on u.run_id = s.run_id and u.step_no = s.no
     cross join lateral ( select (array['perform retry'::text, 'perform again'::text, 'perform settle'::text, 'compensate retry'::text, 'compensate again'::text, 'compensate settle'::text, 'verify retry'::text, 'verify again'::text, 'verify settle'::text, 'timer'::text, 'signal'::text, 'approval'::text, 'callback'::text, 'child'::text, 'child-end'::text, 'items'::text])[u.kind + 1] as waits_for,
            coalesce(l.kind = 4, y.kind = 4, u.kind >= 6 and u.kind <= 8, s.held = 4, false) as is_verify) w;

create view intervention_view as
 select i.run_id,
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
   from intervention i
     join run r on r.id = i.run_id
     join definition f on f.id = r.definition_id
     left join intervention_rule u on u.rule = i.rule
     left join lateral ( select e.value ->> 'id'::text as id
           from jsonb_array_elements(f.body::jsonb -> 'steps'::text) with ordinality e(value, place)
          where e.place = (i.step_no % 512 + 1)) d on true;

create view drover.inbox_refused as
 select id,
    namespace,
    workflow,
    version,
    key,
    input,
    labels,
    put_at,
    refused_at,
    reason,
    message
   from inbox
  where refused_at is not null;

create view paused_lane as
 select l.id as lane,
    q.name as queue,
    q.paused_at,
    q.pause_reason
   from lane l
     join queue q on q.namespace_id = l.namespace_id and (q.name = any (array[l.queue, ''::text]))
  where q.paused_at is not null;

create view limited_lane as
 select l.id as lane,
    l.namespace_id,
    l.queue
   from lane l
     join queue q on q.namespace_id = l.namespace_id and q.name = l.queue
  where q.leases_max is not null or q.rate is not null;

create view open_lane as
 select lane,
    state,
    since,
    until,
    saw,
    forced,
    forced_by,
    forced_why,
    forced_at
   from circuit c
  where agent_id = ''::text and coalesce(forced = 1, state <> 0);

create view version_lane as
 select l.id as lane,
    b.id as base,
    l.namespace_id,
    l.queue,
    l.task,
    c.agent_version
   from lane l
     join version_class c on c.namespace_id = l.namespace_id and c.queue = l.queue and c.class = l.class
     join lane b on b.namespace_id = l.namespace_id and b.queue = l.queue and b.task = l.task and b.class = 0;

create view silent_lane as
 select l.id as lane,
    ( select max(a.seen_at) as max
           from agent a
          where a.namespace_id = l.namespace_id and a.silent_since is null and a.queues ? l.queue and (a.tasks = '[]'::jsonb or a.tasks ? l.task) and (v.lane is null or a.agent_version = v.agent_version)) as seen_at
   from lane l
     left join version_lane v on v.lane = l.id
  where (exists ( select
           from agent a
          where a.silent_since is not null and a.namespace_id = l.namespace_id and a.queues ? l.queue and (a.tasks = '[]'::jsonb or a.tasks ? l.task) and (v.lane is null or a.agent_version = v.agent_version)));

create view region_use as
 select id,
    name,
    (exists ( select
           from run_open o
          where o.partition >= (r.id * 256) and o.partition < (r.id * 256 + 256)
         offset 0)) or (exists ( select
           from schedule s
          where s.partition >= (r.id * 256) and s.partition < (r.id * 256 + 256) and s.wake_at is not null
         offset 0)) or (exists ( select
           from outbox x
          where x.partition >= (r.id * 256) and x.partition < (r.id * 256 + 256)
         offset 0)) or (exists ( select
           from delivery d
          where d.partition >= (r.id * 256) and d.partition < (r.id * 256 + 256) and d.next_try_at is not null
         offset 0)) or (exists ( select
           from trigger_end t
          where t.partition >= (r.id * 256) and t.partition < (r.id * 256 + 256)
         offset 0)) or id = 0 and (exists ( select
           from inbox i
          where i.refused_at is null
         offset 0)) as used
   from region r;

-- comments

comment on table agent is 'An agent session as the servers see it; agent_session is what leases go by.';
comment on column agent.queues is 'Those of its last poll; null: it has not polled yet.';
comment on column agent.tasks is 'Those of its last poll; empty: any of its queues.';
comment on column agent.server is 'The address of the server that it called last.';
comment on column agent.succeeded_at is 'When a success that it reported was last taken.';
comment on column agent.called_at is 'When it last called; a poll that is parked since counts for seen_at alone.';
comment on column agent.silent_since is 'It lost a lease for silence, or its connection, and has not called since; null: it has not.';
comment on column api_token.digest is 'SHA-256 of the token. It has 256 random bits, so nobody guesses it, and a slow hash would protect nothing.';
comment on column api_token.namespace_id is 'null: it is for every namespace.';
comment on column api_token.queues is 'Those that an agent may poll with it; empty: all.';
comment on column api_token.used_at is 'When it was shown, as one server noted it: at most once a minute.';
comment on table attempt is 'One row per task that ended, with its outcome; late reports and failures said by the engine beside it.';
comment on column attempt.charged is 'The retry policy that its try was charged to, -1 if to none; null: it did not count.';
comment on table circuit is 'What may be handed out of a lane, or to one agent of it; no row: all.';
comment on column circuit.agent_id is 'Empty: the circuit of the lane itself.';
comment on column circuit.version is 'Another one with each change, never used twice: what a change compares.';
comment on column circuit.until is 'From then on one task may try.';
comment on column circuit.forced is 'What a person has said, until it is taken back; null: the rules decide.';
comment on column circuit.trial_run is 'The task that tries: its lease is told by these four.';
comment on column circuit_end.runs is 'Up to two of the runs with a bad end: no more are asked about.';
comment on table circuit_outage is 'Gone a week after its end. closed_at null: it has not ended.';
comment on table decision is 'What each approver has said to an approval step.';
comment on table definition is 'What workflows say, by content: each content once in a namespace.';
comment on column definition.unused_since is 'No version of a workflow and no run has had it since then; null: one had, or nobody has looked.';
comment on table delivery is 'One webhook: what it tells, for how many of one cause, and how its tries went.';
comment on column delivery.run_id is 'Of the first that it tells of.';
comment on table due is 'Moments of what has no row of its own: backoffs, timers, signals, approvals, callbacks.';
comment on table escalation is 'A question that only a person may answer; its number is that of the run.';
comment on column escalation.code is 'The error code that led to it: with workflow, step and reason, its cause.';
comment on column escalation.claimed_by is 'Who has said that he looks after it; it binds nobody who answers.';
comment on column escalation.wake_at is 'The next reminder, or the deadline; null once it is closed.';
comment on table fire is 'What became of a moment of a schedule: at most one run.';
comment on column fire.series is 'That of the schedule; its negative for a mark of many moments that got no run; 0: asked for by a person.';
comment on column fire.moment is 'Nominal time in ms: for cron the local time as if it were UTC, for an interval UTC.';
comment on column fire.missed_count is 'Of a mark: so many moments from this one on, before missed_until; counted up to 1,000.';
comment on table hook is 'Where a namespace is told of what happens. The secret signs, so it is kept as it is.';
comment on table inbox is 'A run to be scheduled: gone once it is; kept for 30 days if it was refused.';
comment on column inbox.taken_until is 'A server is at it; from then on another may be.';
comment on column intervention.step_no is '-1: about the run.';
comment on table lane_question is 'The last escalation that was asked about a lane which nobody polled.';
comment on table learned_duration is 'How long attempts of a step of a workflow version take that end well: two sketches, written once a minute by each server that has more. As many rows as versions have steps.';
comment on column learned_duration.step_no is 'All items of a map are at the place of the first.';
comment on column learned_duration.older is 'The 10,000 samples before those of the recent one; null: there are none yet.';
comment on table lease is 'A step in the hands of an agent is a row here.';
comment on column lease.progress_at is 'When the progress last became another one; the grant, until then.';
comment on column lease.suspect_at is 'When the attempt was found to run far longer than others of its step.';
comment on table message is 'What one run tells another, from the change that causes it until a pass of its run applies it.';
comment on column message.step_key is 'The end of a child run: the step that began it, under this fence.';
comment on column namespace.retention_ms is 'Runs go so long after their end; null: they are kept.';
comment on column namespace.open_runs_max is 'null, as of the other limits: there is none.';
comment on column node.regions is 'Those whose partitions it watches; null: all.';
comment on table outbox is 'One row for each thing that a hook wants to hear, until a delivery tells it.';
comment on column outbox.n is 'The number of the escalation; 0: about the run.';
comment on column partition_history.why is 'nobody had had it, the one before gave it back, or was gone.';
comment on column partition_history.left_at is 'When it was given back, or the next one took it; null: it has it.';
comment on table paused_workflow is 'Nothing is handed out for its runs: their ready rows stand in the negative of their lane.';
comment on table pin_move is 'Ready rows of this workflow may stand where its pins, or its pause, do not want them. Written with the change, gone when they have been moved; housekeeping finishes what was left in the middle.';
comment on table queue is 'What was said about a queue; no row: nothing. The name '''' is all queues of the namespace.';
comment on column queue.leases_max is 'Most tasks with agents at a time; null: any number.';
comment on column queue.rate is 'Tasks handed out per second, and at most burst at once; null: any number.';
comment on column queue.tokens is 'What the bucket of the rate held at filled_at.';
comment on table ready is 'A step that may run now is a row here; a claim moves it to lease and touches nothing else.';
comment on column ready.lane is 'Negative: nobody may claim it, as the workflow of its run is paused.';
comment on column ready.plain is 'The first try of its step, as planned: its task is made of the plan and the run alone. False where nobody said so.';
comment on table region is 'Comes with its first namespace, together with its 256 rows of partition_lease, and stays.';
comment on table rerun is 'A run that does another one again.';
comment on column rerun.from_step is 'The step from which, empty: the start; null: from what had failed.';
comment on column run.state is 'null while a row in run_open says it; written once, at the end.';
comment on column run.notify_hook is 'The hook that Schedule names to be told of the end; with notify_url at another address.';
comment on column run.parent_id is 'The run whose step (parent_step, its id) began this one; never changes.';
comment on column run.parent_until is 'The deadline of the parent when it began this run.';
comment on column run.traceparent is 'W3C: trace, span of who scheduled it (zeros: nobody), whether it is sampled; null: not traced.';
comment on column run.tracestate is 'As the caller gave it.';
comment on column run_count.event is 'As in run_count_delta.';
comment on column run_count_delta.event is '-1: accepted. Else they ended, in this state of run.';
comment on table run_mark is 'What a run is found by, in lists with a filter.';
comment on column run_mark.mark is 'NAME=VALUE of a label, the code of a state in which runs end, or that code and a WORKFLOW.';
comment on table run_open is 'One row per open run; its presence is what open means. A pass locks it.';
comment on column run_open.verdict is 'The reason of the verdict, or of the end once that is certain.';
comment on column run_open.stage is 'What an ESCALATED run was doing; the columns of that state hold the rest.';
comment on column run_open.wake_at is 'The next moment of the run itself; of a PENDING one its start, or its deadline.';
comment on column run_open.depth is 'Parents above it, which run tells; null: it is no child.';
comment on table schedule is 'A calendar by which runs begin. Deleted ones stay until their fires are gone.';
comment on column schedule.series is 'Grows with each other calendar: moments of different ones are different.';
comment on column schedule.revision is 'Grows when a person changes it.';
comment on column schedule.spec is 'What a person said of it, as JSON.';
comment on column schedule.next_moment is 'The next moment as fire.moment names it; next_at is its instant. null: none comes any more.';
comment on column schedule.wake_at is 'When its owner acts: next_at and jitter; null while it is paused.';
comment on table signal is 'What was sent to a run, perhaps before a step waits for it; a repeat has the same id.';
comment on table slot is 'A run that holds a slot of its concurrency key, or waits for one, until it ends; written under the key''s lock.';
comment on table step is 'Written by a pass only, from the end of its first need on; OPEN is READY or LEASED.';
comment on column step.no is 'The step''s number in the plan, and 512 more for each item of a map, from 1; item 0 is the step.';
comment on column step.held is 'The task of a HELD step, which has no row beside it.';
comment on column step.strategies is 'Those begun: the plan''s number * 16, + 8 with a changed input, + the mark of the effect.';
comment on column step.doubt is 'What the ladder goes on with once the effect in doubt is settled, as JSON.';
comment on column step.items is 'Of a map: how far its items are (Items in server/core/model.ts).';
comment on table step_kept is 'A step that ended in an earlier run; its effect has the key of the run that made it.';
comment on table step_override is 'The whole input that a person gave to a strategy, by its place in step.strategies.';
comment on table trigger is 'What waits for a call over HTTP (auth), or for ends of runs of a workflow; body is its definition.';
comment on column trigger.secret is 'What signs a body, kept as it is; of a bearer the digest alone is kept.';
comment on table trigger_end is 'An ended run that a trigger waits for, until it has done what it does.';
comment on table trigger_refusal is 'What a trigger has refused, one row for each reason; the newest 100 of each trigger.';
comment on column trigger_refusal.digest is 'SHA-256 of reason and message.';
comment on table triggered is 'A run that the end of another has set off; depth: triggers behind each other, 1 for the first.';
comment on table version_class is 'Which agents ask for the lanes of a class. Class 0 has no row: all agents do.';
comment on table version_pin is 'Ready rows of these runs stand in the lanes of a class of their queue.';
comment on column version_pin.version is '0: every version of the workflow that has no pin of its own.';
comment on column version_pin.definition_id is 'That of the version; 0 with version 0.';
comment on table writer is 'A supervisor''s flight locks its row first; a take-over deletes the rows of who it fences.';
