-- What the migrations lead to, written from the catalogue by "npm run schema".
-- For reading and comparing: nothing applies it.
set check_function_bodies = off;

-- schemas

create schema drover;

-- sequences

create sequence drover.circuit_version as bigint increment 1 minvalue 1 maxvalue 9223372036854775807 start 1 cache 1;
create sequence drover.handler_log_id as bigint increment 1 minvalue 1 maxvalue 9223372036854775807 start 1 cache 1;

-- functions

create or replace function drover.clock_time(of_row anyelement)
 returns timestamp with time zone
 language plpgsql
 immutable parallel safe
as $function$
begin
  return clock_timestamp();
end
$function$
;

create or replace function drover.expect_known(holds boolean, what text)
 returns void
 language plpgsql
as $function$
begin
  if pg_current_xact_id_if_assigned() is null then
    perform pg_terminate_backend(pg_backend_pid());
  end if;
  if not holds then
    raise exception '% is not as the server knows it', what using errcode = 'DR001';
  end if;
end
$function$
;

create or replace function drover.expect_rows(met bigint, wanted bigint, what text)
 returns void
 language plpgsql
as $function$
begin
  if met <> wanted then
    raise exception '% should have met % rows and met %', what, wanted, met;
  end if;
end
$function$
;

create or replace function drover.is_item_page(no integer)
 returns boolean
 language sql
 immutable parallel safe
return (no >= 512)
;

create or replace function drover.item_of(step_key integer)
 returns integer
 language sql
 immutable parallel safe
return nullif((step_key / 512), 0)
;

create or replace function drover.page_hex(text text)
 returns text
 language sql
 immutable parallel safe
return case when (text ~~ ':%'::text) then substr(text, 2) else encode(decode(rpad(translate(text, '-_'::text, '+/'::text), (((length(text) + 3) / 4) * 4), '='::text), 'base64'::text), 'hex'::text) end
;

create or replace function drover.page_json(text text)
 returns jsonb
 language sql
 immutable parallel safe
return case when (text ~ '\\u(0000|d[89a-f])'::text) then (regexp_replace(text, '(?<!\\)((?:\\\\)*)\\u(?:0000|d[89a-f][0-9a-f]{2})'::text, '\1\\ufffd'::text, 'g'::text))::jsonb else (text)::jsonb end
;

create or replace function drover.page_of(step_key integer)
 returns integer
 language sql
 immutable parallel safe
return case when (step_key < 512) then (step_key / 32) else step_key end
;

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
  insert into drover.inbox (namespace, workflow, version, input, key, labels)
  values (schedule.namespace, schedule.workflow, schedule.version, schedule.input::text, run_key,
    schedule.labels);
  return run_key;
end
$function$
;

create or replace function drover.step_of(step_key integer)
 returns integer
 language sql
 immutable parallel safe
return (step_key % 512)
;

create or replace function drover.transaction_number(of_row anyelement)
 returns xid8
 language plpgsql
 immutable
as $function$
begin
  return pg_current_xact_id();
end
$function$
;

create or replace function drover.transaction_time(of_row anyelement)
 returns timestamp with time zone
 language plpgsql
 immutable parallel safe
as $function$
begin
  return transaction_timestamp();
end
$function$
;

-- tables

create table drover.agent (
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
  host text default ''::text not null,
  pid integer,
  capacity integer,
  started_at timestamp with time zone,
  clock_ahead_ms bigint,
  constraint agent_pkey primary key (session)
)
with (autovacuum_vacuum_cost_delay=0, autovacuum_vacuum_scale_factor=0.01, autovacuum_vacuum_threshold=1000, fillfactor=50);

create table drover.agent_session (
  session bytea not null,
  namespace_id integer not null,
  agent_id text not null,
  agent_version text not null,
  started_at timestamp with time zone default now() not null,
  last_heartbeat_at timestamp with time zone,
  heartbeat_ms integer,
  idle_at timestamp with time zone,
  constraint agent_session_pkey primary key (session)
)
with (autovacuum_vacuum_cost_delay=0, autovacuum_vacuum_scale_factor=0.01, autovacuum_vacuum_threshold=1000, fillfactor=50);

create table drover.api_token (
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

create table drover.audit_entry (
  id uuid default gen_random_uuid() not null,
  namespace_id integer not null,
  at timestamp with time zone default date_trunc('milliseconds'::text, now()) not null,
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
  details jsonb not null,
  constraint audit_entry_pkey primary key (id)
);

create table drover.circuit (
  lane integer not null,
  agent_id text not null,
  version bigint default nextval('drover.circuit_version'::regclass) not null,
  changed_at timestamp with time zone default now() not null,
  state smallint default 0 not null,
  since timestamp with time zone,
  until timestamp with time zone,
  cooldowns smallint default 0 not null,
  saw text default ''::text not null,
  forced smallint,
  forced_by text,
  forced_why text,
  forced_at timestamp with time zone,
  probe_run uuid,
  probe_step integer,
  probe_fence integer,
  probe_secret bytea,
  constraint circuit_pkey primary key (lane, agent_id)
);

create table drover.circuit_end (
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

create table drover.circuit_outage (
  lane integer not null,
  opened_at timestamp with time zone not null,
  closed_at timestamp with time zone,
  constraint circuit_outage_pkey primary key (lane, opened_at)
);

create table drover.cordon (
  namespace_id integer not null,
  kind smallint not null,
  name text not null,
  cordoned_by text not null,
  why text not null,
  cordoned_at timestamp with time zone default now() not null,
  constraint cordon_pkey primary key (namespace_id, kind, name)
);

create table drover.definition (
  id bigint default (((1)::double precision + floor((random() * ('9007199254740990'::bigint)::double precision))))::bigint not null,
  namespace_id integer not null,
  digest bytea not null,
  body text not null,
  created_at timestamp with time zone default now() not null,
  unused_since timestamp with time zone,
  constraint definition_pkey primary key (id),
  constraint definition_namespace_id_digest_key unique (namespace_id, digest)
);

create table drover.delivery (
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
  created_at timestamp with time zone default date_trunc('milliseconds'::text, now()) not null,
  ended_at timestamp with time zone,
  next_try_at timestamp with time zone,
  deadline_at timestamp with time zone,
  constraint delivery_pkey primary key (id)
);

create table drover.drover_migration (
  number integer not null,
  name text not null,
  checksum text not null,
  oldest_program integer not null,
  applied_at timestamp with time zone default now() not null,
  constraint drover_migration_pkey primary key (number)
);

create table drover.failure_count (
  minute timestamp with time zone not null,
  first_at timestamp with time zone not null,
  last_at timestamp with time zone not null,
  run_id uuid not null,
  namespace_id integer not null,
  attempts integer not null,
  steps integer not null,
  undo boolean not null,
  workflow text not null,
  step text not null,
  code text not null,
  message text not null,
  constraint failure_count_pkey primary key (namespace_id, minute, workflow, step, undo, code)
)
with (autovacuum_vacuum_cost_delay=0, autovacuum_vacuum_scale_factor=0.01, autovacuum_vacuum_threshold=1000);

create table drover.failure_delta (
  at timestamp with time zone not null,
  run_id uuid not null,
  namespace_id integer not null,
  attempts integer not null,
  steps integer not null,
  undo boolean not null,
  workflow text not null,
  step text not null,
  code text not null,
  message text not null
)
with (autovacuum_vacuum_cost_delay=0, autovacuum_vacuum_scale_factor=0.01, autovacuum_vacuum_threshold=1000);

create table drover.hook (
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

create table drover.idempotency (
  namespace_id integer not null,
  key text not null,
  run_id uuid not null,
  digest bytea not null,
  expires_at timestamp with time zone not null,
  constraint idempotency_pkey primary key (namespace_id, key)
);

create table drover.inbox (
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

create table drover.intervention_rule (
  rule smallint not null,
  name text not null,
  constraint intervention_rule_pkey primary key (rule),
  constraint intervention_rule_name_key unique (name)
);

create table drover.lane (
  id integer default (((1)::double precision + floor((random() * (2147483646)::double precision))))::integer not null,
  namespace_id integer not null,
  queue text not null,
  task text not null,
  class smallint default 0 not null,
  constraint lane_pkey primary key (id),
  constraint lane_namespace_id_queue_task_class_key unique (namespace_id, queue, task, class)
);

create table drover.lane_poller (
  lane integer not null,
  node uuid not null,
  seen_at timestamp with time zone not null,
  constraint lane_poller_pkey primary key (lane, node)
)
with (fillfactor=50);

create table drover.lane_question (
  lane integer not null,
  run_id uuid not null,
  n integer not null,
  constraint lane_question_pkey primary key (lane)
);

create table drover.learned_duration (
  definition_id bigint not null,
  step_no integer not null,
  recent text,
  older text,
  changed_at timestamp with time zone default now() not null,
  constraint learned_duration_pkey primary key (definition_id, step_no)
)
with (fillfactor=70);

create table drover.lease (
  run_id uuid not null,
  poll_seq bigint not null,
  granted_at timestamp with time zone not null,
  step_no integer not null,
  lane integer not null,
  fence integer not null,
  heartbeat_ms integer not null,
  partition smallint not null,
  session bytea not null,
  secret bytea not null,
  cancel text not null,
  constraint lease_pkey primary key (run_id, step_no)
)
with (autovacuum_vacuum_cost_delay=0, autovacuum_vacuum_scale_factor=0.01, autovacuum_vacuum_threshold=1000, fillfactor=70);

create table drover.message (
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

create table drover.namespace (
  id integer default (((1)::double precision + floor((random() * (2147483646)::double precision))))::integer not null,
  name text not null,
  region smallint default 0 not null,
  created_at timestamp with time zone default now() not null,
  retention_ms bigint,
  open_runs_max integer,
  runs_per_second double precision,
  runs_burst integer,
  payload_bytes_max integer,
  calls_per_second double precision,
  calls_burst integer,
  storage_bytes_max bigint,
  weight smallint,
  no_logs boolean,
  constraint namespace_pkey primary key (id),
  constraint namespace_name_key unique (name)
);

create table drover.namespace_use (
  namespace_id integer not null,
  storage_bytes bigint not null,
  storage_at timestamp with time zone not null,
  constraint namespace_use_pkey primary key (namespace_id)
)
with (fillfactor=50);

create table drover.node (
  id uuid not null,
  process uuid not null,
  address text not null,
  started_at timestamp with time zone default now() not null,
  last_seen_at timestamp with time zone not null,
  number integer generated always as identity not null,
  regions smallint[],
  standby boolean default false not null,
  constraint node_pkey primary key (id)
)
with (fillfactor=50);

create table drover.occurrence (
  schedule_id uuid not null,
  series integer not null,
  nominal_time bigint not null,
  at timestamp with time zone not null,
  handled_at timestamp with time zone default now() not null,
  cause smallint not null,
  outcome smallint not null,
  run_id uuid,
  message text default ''::text not null,
  missed_count integer,
  missed_until timestamp with time zone,
  node uuid,
  epoch bigint,
  constraint occurrence_pkey primary key (schedule_id, series, nominal_time)
);

create table drover.outbox (
  id bigint generated always as identity not null,
  partition smallint not null,
  namespace_id integer not null,
  kind smallint not null,
  run_id uuid not null,
  n integer not null,
  hook text not null,
  url text,
  cause text not null,
  deadline_at timestamp with time zone,
  constraint outbox_pkey primary key (id)
)
with (autovacuum_vacuum_cost_delay=0, autovacuum_vacuum_scale_factor=0.01, autovacuum_vacuum_threshold=1000);

create table drover.partition_history (
  partition smallint not null,
  epoch bigint not null,
  node uuid not null,
  process uuid,
  address text,
  why smallint not null,
  taken_at timestamp with time zone not null,
  left_at timestamp with time zone,
  constraint partition_history_pkey primary key (partition, epoch)
)
with (autovacuum_vacuum_cost_delay=0, autovacuum_vacuum_scale_factor=0.01, autovacuum_vacuum_threshold=1000);

create table drover.partition_lease (
  partition smallint not null,
  node uuid,
  epoch bigint not null,
  taken_at timestamp with time zone,
  constraint partition_lease_pkey primary key (partition)
)
with (fillfactor=20);

create table drover.paused_workflow (
  namespace_id integer not null,
  name text not null,
  paused_at timestamp with time zone default now() not null,
  reason text not null,
  constraint paused_workflow_pkey primary key (namespace_id, name)
);

create table drover.permit (
  run_id uuid not null,
  namespace_id integer not null,
  key text not null,
  max_holders integer not null,
  priority smallint not null,
  since timestamp with time zone not null,
  holds boolean not null,
  leaving boolean not null,
  constraint permit_pkey primary key (run_id)
);

create table drover.pin_move (
  id bigint generated always as identity not null,
  namespace_id integer not null,
  workflow text not null,
  asked_at timestamp with time zone default now() not null,
  constraint pin_move_pkey primary key (id)
);

create table drover.queue (
  namespace_id integer not null,
  name text not null,
  paused_at timestamp with time zone,
  pause_reason text,
  leases_max integer,
  rate double precision,
  burst integer,
  tokens double precision,
  filled_at timestamp with time zone,
  allotment bigint default 0 not null,
  constraint queue_pkey primary key (namespace_id, name)
)
with (autovacuum_vacuum_cost_delay=0, autovacuum_vacuum_scale_factor=0.01, autovacuum_vacuum_threshold=1000, fillfactor=50);

create table drover.queue_share (
  namespace_id integer not null,
  name text not null,
  slots integer default 0 not null,
  burst integer default 0 not null,
  tokens double precision,
  filled_at timestamp with time zone,
  served_at timestamp with time zone,
  allotment bigint default 0 not null,
  constraint queue_share_pkey primary key (namespace_id, name)
)
with (autovacuum_vacuum_cost_delay=0, autovacuum_vacuum_scale_factor=0.01, autovacuum_vacuum_threshold=1000, fillfactor=50);

create table drover.ready (
  run_id uuid not null,
  ordered_by xid8 default pg_current_xact_id() not null,
  ready_at timestamp with time zone not null,
  step_no integer not null,
  lane integer not null,
  ordinal integer not null,
  partition smallint not null,
  priority smallint not null,
  paused boolean default false not null,
  until timestamp with time zone,
  constraint ready_pkey primary key (run_id, step_no)
)
with (autovacuum_vacuum_cost_delay=0, autovacuum_vacuum_scale_factor=0.01, autovacuum_vacuum_threshold=1000, fillfactor=70);

create table drover.region (
  id smallint not null,
  name text not null,
  created_at timestamp with time zone default now() not null,
  constraint region_pkey primary key (id),
  constraint region_name_key unique (name),
  constraint region_id_check check (((id >= 0) and (id <= 127)))
);

create table drover.run_count (
  minute timestamp with time zone not null,
  namespace_id integer not null,
  runs integer not null,
  event smallint not null,
  workflow text not null,
  constraint run_count_pkey primary key (namespace_id, minute, event, workflow)
)
with (autovacuum_vacuum_cost_delay=0, autovacuum_vacuum_scale_factor=0.01, autovacuum_vacuum_threshold=1000);

create table drover.run_count_delta (
  at timestamp with time zone not null,
  namespace_id integer not null,
  runs integer not null,
  event smallint not null,
  workflow text not null,
  took smallint[] not null
)
with (autovacuum_vacuum_cost_delay=0, autovacuum_vacuum_scale_factor=0.01, autovacuum_vacuum_threshold=1000);

create table drover.run_hour_count (
  hour timestamp with time zone not null,
  last_at timestamp with time zone not null,
  namespace_id integer not null,
  runs integer not null,
  event smallint not null,
  took smallint not null,
  workflow text not null,
  constraint run_hour_count_pkey primary key (namespace_id, workflow, hour, event, took)
)
with (autovacuum_vacuum_cost_delay=0, autovacuum_vacuum_scale_factor=0.01, autovacuum_vacuum_threshold=1000);

create table drover.schedule (
  id uuid not null,
  namespace_id integer not null,
  name text not null,
  partition smallint not null,
  series integer default 1 not null,
  revision integer default 1 not null,
  workflow text not null,
  spec text not null,
  next_nominal_time bigint,
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

create table drover.session_attempts (
  session bytea not null,
  lane integer not null,
  at timestamp with time zone not null,
  ended integer not null,
  failed integer not null,
  unknown integer not null,
  mostly_failed boolean not null,
  constraint session_attempts_pkey primary key (session, lane, at)
)
with (autovacuum_vacuum_cost_delay=0, autovacuum_vacuum_scale_factor=0.01, autovacuum_vacuum_threshold=1000, fillfactor=50);

create table drover.trigger (
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

create table drover.trigger_end (
  id uuid default gen_random_uuid() not null,
  partition smallint not null,
  namespace_id integer not null,
  trigger text not null,
  run_id uuid not null,
  next_at timestamp with time zone default now() not null,
  constraint trigger_end_pkey primary key (id)
)
with (autovacuum_vacuum_cost_delay=0, autovacuum_vacuum_scale_factor=0.01, autovacuum_vacuum_threshold=1000);

create table drover.trigger_refusal (
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

create table drover.triggered (
  run_id uuid not null,
  trigger text not null,
  of_run uuid not null,
  depth smallint not null,
  constraint triggered_pkey primary key (run_id)
);

create table drover.version_class (
  namespace_id integer not null,
  queue text not null,
  class smallint not null,
  agent_version text not null,
  constraint version_class_pkey primary key (namespace_id, queue, class),
  constraint version_class_namespace_id_queue_agent_version_key unique (namespace_id, queue, agent_version),
  constraint version_class_class_check check ((class > 0))
);

create table drover.version_pin (
  namespace_id integer not null,
  workflow text not null,
  queue text not null,
  version integer not null,
  definition_id bigint not null,
  class smallint not null,
  pinned_at timestamp with time zone default now() not null,
  constraint version_pin_pkey primary key (namespace_id, workflow, queue, definition_id)
);

create table drover.workflow (
  namespace_id integer not null,
  name text not null,
  default_version integer not null,
  latest_version integer not null,
  created_at timestamp with time zone default now() not null,
  constraint workflow_pkey primary key (namespace_id, name)
);

create table drover.workflow_version (
  namespace_id integer not null,
  name text not null,
  version integer not null,
  definition_id bigint not null,
  created_at timestamp with time zone default now() not null,
  constraint workflow_version_pkey primary key (namespace_id, name, version),
  constraint workflow_version_namespace_id_name_definition_id_key unique (namespace_id, name, definition_id)
);

create table drover.writer (
  node uuid not null,
  number smallint not null,
  constraint writer_pkey primary key (node, number)
);

create table drover.attempt_log (
  run_id uuid not null,
  step_no integer not null,
  fence integer not null,
  kind text not null,
  n integer not null,
  attempt text not null,
  constraint attempt_log_pkey primary key (run_id, step_no, fence, kind, n)
) partition by range (run_id);

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
  at timestamp with time zone not null,
  constraint decision_pkey primary key (run_id, step_no, approver)
) partition by range (run_id);

create table drover.escalation (
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
  answered_verified boolean default false not null,
  answered_why text,
  code text default ''::text not null,
  claimed_by text,
  claimed_at timestamp with time zone,
  partition smallint default 0 not null,
  wake_at timestamp with time zone,
  deadline_at timestamp with time zone,
  constraint escalation_pkey primary key (run_id, n)
) partition by range (run_id);

create table drover.handler_log (
  run_id uuid not null,
  id bigint default nextval('drover.handler_log_id'::regclass) not null,
  step_no integer not null,
  fence integer not null,
  kind text not null,
  n integer not null,
  line integer not null,
  attempt integer not null,
  stored_bytes integer not null,
  stored_at timestamp with time zone default now() not null,
  at timestamp with time zone not null,
  level text not null,
  message text not null,
  fields jsonb,
  constraint handler_log_pkey primary key (run_id, id)
) partition by range (run_id);

create table drover.intervention (
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

create table drover.payload (
  run_id uuid not null,
  step_no integer not null,
  fence integer not null,
  kind text not null,
  n integer not null,
  what text not null,
  type text not null,
  "json" text,
  data bytea,
  constraint payload_pkey primary key (run_id, step_no, fence, kind, n, what)
) partition by range (run_id);

create table drover.rerun (
  run_id uuid not null,
  of_run uuid not null,
  from_step text,
  constraint rerun_pkey primary key (run_id)
) partition by range (run_id);

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
  created_at timestamp with time zone not null,
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

create table drover.run_mark (
  namespace_id integer not null,
  mark text collate "C" not null,
  run_id uuid not null,
  constraint run_mark_pkey primary key (namespace_id, mark, run_id)
) partition by range (run_id);

create table drover.run_page (
  run_id uuid not null,
  no integer not null,
  namespace_id integer,
  definition_id bigint,
  partition smallint not null,
  wake_at timestamp with time zone,
  version integer not null,
  run_state smallint,
  waits smallint,
  settled boolean not null,
  ended_at timestamp with time zone,
  state text not null,
  constraint run_page_pkey primary key (run_id, no)
) partition by range (run_id);

create table drover.signal (
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

create table drover.step_override (
  run_id uuid not null,
  step_no integer not null,
  strategy smallint not null,
  input_type text,
  input_json text,
  input_data bytea,
  constraint step_override_pkey primary key (run_id, step_no, strategy)
) partition by range (run_id);

create table drover.step_reused (
  run_id uuid not null,
  step_no integer not null,
  of_run uuid not null,
  constraint step_reused_pkey primary key (run_id, step_no)
) partition by range (run_id);

create table drover.attempt_log_default partition of drover.attempt_log default;

create table drover.decision_default partition of drover.decision default;

create table drover.escalation_default partition of drover.escalation default;

create table drover.handler_log_default partition of drover.handler_log default;

create table drover.intervention_default partition of drover.intervention default;

create table drover.payload_default partition of drover.payload default;

create table drover.rerun_default partition of drover.rerun default;

create table drover.run_default partition of drover.run default;

create table drover.run_mark_default partition of drover.run_mark default;

create table drover.run_page_default partition of drover.run_page default
with (autovacuum_vacuum_cost_delay=0, autovacuum_vacuum_scale_factor=0.01, autovacuum_vacuum_threshold=1000, fillfactor=33, toast_tuple_target=4080);

create table drover.signal_default partition of drover.signal default;

create table drover.step_override_default partition of drover.step_override default;

create table drover.step_reused_default partition of drover.step_reused default;

-- indexes

create index agent_by_name on drover.agent using btree (namespace_id, agent_id, session);
create index agent_silent on drover.agent using btree (silent_since) where (silent_since is not null);
create index agent_session_watched on drover.agent_session using btree (heartbeat_ms) where (heartbeat_ms is not null);
create index audit_entry_by_subject on drover.audit_entry using btree (namespace_id, subject_kind, subject, at, id);
create index audit_entry_by_time on drover.audit_entry using btree (namespace_id, at, id);
create index definition_workflow on drover.definition using btree (namespace_id, (((body)::jsonb ->> 'workflow'::text)), id);
create index delivery_by_namespace on drover.delivery using btree (namespace_id, created_at, id);
create index delivery_cause on drover.delivery using btree (namespace_id, hook, kind, cause, created_at);
create index delivery_due on drover.delivery using btree (partition, next_try_at);
create index delivery_ended on drover.delivery using btree (ended_at);
create index escalation_by_namespace on drover.escalation using btree (namespace_id, run_id, n);
create index escalation_open on drover.escalation using btree (namespace_id, run_id, n) where (closed_at is null);
create index escalation_wake on drover.escalation using btree (partition, wake_at);
create index failure_count_workflow on drover.failure_count using btree (namespace_id, workflow, minute);
create index handler_log_age on drover.handler_log using btree (stored_at);
create unique index handler_log_attempt on drover.handler_log using btree (run_id, step_no, fence, kind, n, line);
create index idempotency_expiry on drover.idempotency using btree (expires_at);
create index inbox_waiting on drover.inbox using btree (id) where (refused_at is null);
create index intervention_by_rule on drover.intervention using btree (namespace_id, rule, acted_at);
create index lane_class on drover.lane using btree (id) where (class <> 0);
create index lease_lane on drover.lease using btree (lane);
create index lease_session on drover.lease using btree (session, heartbeat_ms);
create index message_wake on drover.message using btree (partition, wake_at);
create index occurrence_by_time on drover.occurrence using btree (schedule_id, at);
create index outbox_partition on drover.outbox using btree (partition, id);
create index permit_of_key on drover.permit using btree (namespace_id, key, holds, priority, since, run_id);
create index ready_lane on drover.ready using btree (lane, paused, priority, ordered_by, ordinal);
create index run_by_key on drover.run using btree (namespace_id, key collate "C", id) where (key is not null);
create index run_by_namespace on drover.run using btree (namespace_id, id);
create index run_by_parent on drover.run using btree (parent_id, id) where (parent_id is not null);
create index run_by_workflow on drover.run using btree (namespace_id, workflow, id);
create index run_child_by_time on drover.run using btree (namespace_id, created_at, id) where (parent_id is not null);
create index run_inline on drover.run using btree (definition_id) where (version = 0);
create index run_hour_count_hour on drover.run_hour_count using btree (hour);
create index run_page_open on drover.run_page using btree (namespace_id, definition_id, run_id) where ((no = 0) and (ended_at is null));
create index run_page_open_partition on drover.run_page using btree (partition, run_id) where ((no = 0) and (ended_at is null));
create index run_page_waits_approval on drover.run_page using btree (namespace_id, run_id) where (((waits)::integer & 4) <> 0);
create index run_page_waits_callback on drover.run_page using btree (namespace_id, run_id) where (((waits)::integer & 8) <> 0);
create index run_page_waits_child on drover.run_page using btree (namespace_id, run_id) where (((waits)::integer & 32) <> 0);
create index run_page_waits_held on drover.run_page using btree (namespace_id, run_id) where (((waits)::integer & 64) <> 0);
create index run_page_waits_retry on drover.run_page using btree (namespace_id, run_id) where (((waits)::integer & 1) <> 0);
create index run_page_waits_signal on drover.run_page using btree (namespace_id, run_id) where (((waits)::integer & 2) <> 0);
create index run_page_waits_timer on drover.run_page using btree (namespace_id, run_id) where (((waits)::integer & 16) <> 0);
create index run_page_wake on drover.run_page using btree (partition, wake_at) where (wake_at is not null);
create unique index schedule_by_name on drover.schedule using btree (namespace_id, name) where (deleted_at is null);
create index schedule_by_workflow on drover.schedule using btree (workflow, namespace_id, name collate "C") where (deleted_at is null);
create index schedule_deleted on drover.schedule using btree (deleted_at) where (deleted_at is not null);
create index schedule_wake on drover.schedule using btree (partition, wake_at);
create index session_attempts_at on drover.session_attempts using btree (at);
create index session_attempts_failing on drover.session_attempts using btree (at) where mostly_failed;
create index session_attempts_lane on drover.session_attempts using btree (lane, at);
create index trigger_by_workflow on drover.trigger using btree (namespace_id, workflow) where (workflow is not null);
create index trigger_end_due on drover.trigger_end using btree (partition, next_at);
create index trigger_refusal_last on drover.trigger_refusal using btree (namespace_id, last_at);
create index workflow_version_definition on drover.workflow_version using btree (definition_id);

-- views

create view drover.step_name as
 select d.id as definition_id,
    (e.place - 1)::integer as no,
    e.value ->> 'id'::text as step
   from drover.definition d
     cross join lateral jsonb_array_elements(d.body::jsonb -> 'steps'::text) with ordinality e(value, place);

create view drover.run_view as
 select r.id as run_id,
    n.name as namespace,
    r.key,
    r.workflow,
    r.version as workflow_version,
    (array['RUNNING'::text, 'STOPPING'::text, 'COMPENSATING'::text, 'ESCALATED'::text, 'COMPLETED'::text, 'FAILED'::text, 'COMPENSATED'::text, 'CANCELLED'::text, 'PAUSED'::text, 'FINISHING'::text, 'PENDING'::text])[p.run_state + 1] as state,
    coalesce(s.state ->> 'reason'::text, s.state #>> '{end,reason}'::text[], s.state #>> '{stopReason,reason}'::text[], s.state #>> '{from,end,reason}'::text[], s.state #>> '{from,stopReason,reason}'::text[]) as reason,
    r.created_at,
    p.ended_at,
    to_timestamp(
        case
            when jsonb_typeof(s.state) = 'number'::text then s.state::double precision
            when (s.state ->> 'kind'::text) = 'PENDING'::text and (s.state ->> 'on'::text) = 'permit'::text then (s.state ->> 'until'::text)::double precision
            else null::double precision
        end / 1000::double precision) as deadline,
        case
            when p.ended_at is null then coalesce((h.head #>> '{c,0}'::text[])::smallint, 0::smallint)
            else null::smallint
        end as steps_left,
        case
            when p.ended_at is null then coalesce((h.head #>> '{c,2}'::text[])::smallint, 0::smallint)
            else null::smallint
        end as moving,
        case
            when p.ended_at is null then coalesce((h.head #>> '{c,3}'::text[])::smallint, 0::smallint)
            else null::smallint
        end as asking,
    coalesce(h.head -> 'w'::text, '{}'::jsonb) as waits,
    coalesce((h.head #>> '{c,6}'::text[])::smallint, 0::smallint) as warnings,
    r.labels,
    h.head ->> 'cn'::text as cancel_note,
    r.partition
   from drover.run r
     join drover.namespace n on n.id = r.namespace_id
     join drover.run_page p on p.run_id = r.id and p.no = 0
     cross join lateral ( select drover.page_json(split_part(p.state, '
'::text, 1) || '}}'::text) -> 'h'::text as head) h
     cross join lateral ( select h.head -> 's'::text as state) s;

create view drover.step_view as
 select p.run_id,
    d.step,
    drover.item_of(x.place) as item,
    drover.step_of(x.place) as no,
        case
            when (m.moving ->> 't'::text) = 'verify'::text then 'VERIFYING'::text
            when f.forward = any (array['MAPPING'::text, 'UNDOING'::text]) then 'WAITING'::text
            when f.forward = 'HELD'::text then 'READY'::text
            else f.forward
        end as state,
        case
            when (x.step -> 'u'::text) is null then 'NONE'::text
            when jsonb_typeof(x.step -> 'u'::text) <> 'string'::text or (x.step ->> 'u'::text) = 'MAPPING'::text then 'ACTIVE'::text
            else x.step ->> 'u'::text
        end as undo,
    coalesce((x.step #>> '{s,-1,0}'::text[])::smallint, 0::smallint) as strategy,
    coalesce(x.step #>> '{s,-1,2}'::text[], x.step ->> 's'::text,
        case f.forward
            when 'SUCCEEDED'::text then 'MADE'::text
            else 'NONE'::text
        end) as effect,
    coalesce((x.step ->> 'a'::text)::smallint, (x.step ->> 'f'::text)::smallint, 0::smallint) as tries,
        case m.moving ->> 'k'::text
            when 'LEASED'::text then coalesce((m.moving ->> 'f'::text)::integer, n.fence + 1)
            else n.fence
        end as fence,
    m.moving ->> 'g'::text as agent_id,
    x.step ->> 'p'::text as progress,
        case m.moving ->> 'k'::text
            when 'BACKOFF'::text then concat_ws(' '::text, coalesce(m.moving ->> 't'::text, 'perform'::text), m.moving ->> 'c'::text)
            when 'WAITING'::text then m.moving ->> 'on'::text
            else null::text
        end as waits_for,
    to_timestamp((n.since + ((m.moving ->> 'w'::text)::double precision)) / 1000::double precision) as next_check_at
   from drover.run_page p
     join drover.run r on r.id = p.run_id
     cross join lateral ( select e.key::integer as place,
            e.value as step
           from jsonb_each(drover.page_json(p.state) -> 's'::text) e(key, value)) x
     join drover.step_name d on d.definition_id = r.definition_id and d.no = drover.step_of(x.place)
     cross join lateral ( select
                case jsonb_typeof(x.step -> 'w'::text)
                    when 'object'::text then (x.step -> 'w'::text) ->> 'k'::text
                    when 'array'::text then coalesce(x.step #>> '{w,0,k}'::text[], x.step #>> '{w,0}'::text[])
                    else x.step ->> 'w'::text
                end as forward) f
     cross join lateral ( select
                case
                    when jsonb_typeof(x.step -> 'w'::text) = 'object'::text then x.step -> 'w'::text
                    when jsonb_typeof(x.step -> 'u'::text) = 'object'::text then x.step -> 'u'::text
                    when (x.step #>> '{w,0,k}'::text[]) is not null then x.step #> '{w,0}'::text[]
                    else x.step #> '{u,0}'::text[]
                end as moving) m
     cross join lateral ( select coalesce((x.step ->> 'f'::text)::integer, 0) as fence,
            coalesce((x.step ->> 'r'::text)::double precision, 0::double precision) as since) n;

create view drover.stored_attempt as
 select p.run_id,
    x.key::integer as step_no,
    coalesce((x.value ->> 'r'::text)::double precision, 0::double precision) as since,
    e.value as attempt
   from drover.run_page p
     cross join lateral jsonb_each(drover.page_json(p.state) -> 's'::text) x(key, value)
     cross join lateral jsonb_array_elements(x.value -> 'e'::text) e(value)
union all
 select run_id,
    step_no,
    0 as since,
    drover.page_json(attempt) as attempt
   from drover.attempt_log l;

create view drover.attempt_view as
 select a.run_id,
    d.step,
    drover.item_of(a.step_no) as item,
    drover.step_of(a.step_no) as no,
    k.kind,
    k.fence,
    k.n,
    coalesce((a.attempt ->> 'a'::text)::smallint, k.fence::smallint) as attempt,
    a.attempt ->> 'g'::text as agent_id,
    drover.page_hex(a.attempt ->> 's'::text) as session,
    k.started_at,
    k.ended_at,
    k.ended_at - k.started_at as took,
    k.outcome,
        case k.outcome
            when 'failure'::text then o.reported ->> 1
            else null::text
        end as class,
        case k.outcome
            when 'failure'::text then o.reported ->> 2
            when 'unknown'::text then o.reported ->> 1
            else null::text
        end as code,
        case k.outcome
            when 'failure'::text then o.reported ->> 3
            when 'unknown'::text then o.reported ->> 2
            else null::text
        end as message,
        case k.outcome
            when 'failure'::text then (o.reported ->> 5) = '1'::text
            when 'cancelled'::text then (o.reported ->> 1) = '1'::text
            else false
        end as no_effect,
        case k.outcome
            when 'failure'::text then (o.reported ->> 4)::bigint
            when 'again'::text then (o.reported ->> 1)::bigint
            else null::bigint
        end as retry_after_ms,
    (a.attempt ->> 'c'::text) is distinct from '-1'::text as counted,
    nullif((a.attempt ->> 'c'::text)::smallint, '-1'::integer) as policy,
    a.attempt ->> 'p'::text as progress,
        case
            when k.outcome = 'success'::text then
            case jsonb_typeof(o.reported)
                when 'string'::text then 'application/json'::text
                when 'array'::text then (o.reported -> 1) ->> 0
                when 'number'::text then y.type
                else null::text
            end
            else null::text
        end as output_type,
        case
            when k.outcome = 'success'::text then
            case jsonb_typeof(o.reported)
                when 'string'::text then o.reported #>> '{}'::text[]
                when 'number'::text then y."json"
                else null::text
            end
            else null::text
        end as output_json,
        case
            when k.outcome = 'success'::text then
            case jsonb_typeof(o.reported)
                when 'array'::text then decode((o.reported -> 1) ->> 1, 'base64'::text)
                when 'number'::text then y.data
                else null::bytea
            end
            else null::bytea
        end as output_data
   from drover.stored_attempt a
     join drover.run r on r.id = a.run_id
     join drover.step_name d on d.definition_id = r.definition_id and d.no = drover.step_of(a.step_no)
     cross join lateral ( select a.attempt -> 'o'::text as reported) o
     cross join lateral ( select
                case
                    when jsonb_typeof(o.reported) = 'array'::text then o.reported ->> 0
                    else 'success'::text
                end as outcome,
            coalesce(a.attempt ->> 'k'::text, 'perform'::text) as kind,
            coalesce((a.attempt ->> 'n'::text)::integer, 0) as n) t
     cross join lateral ( select t.kind,
            t.outcome,
            coalesce((a.attempt ->> 'f'::text)::integer, 1) as fence,
                case
                    when t.kind = 'late'::text then 2 * t.n + (t.outcome = 'success'::text)::integer
                    else t.n
                end as n,
            to_timestamp((a.since + coalesce((a.attempt ->> 'b'::text)::double precision, 0::double precision)) / 1000::double precision) as started_at,
            to_timestamp((a.since + ((a.attempt ->> 'e'::text)::double precision)) / 1000::double precision) as ended_at) k
     left join lateral ( select p.type,
            p."json",
            p.data
           from drover.payload p
          where p.run_id = a.run_id and p.step_no = a.step_no and p.fence = k.fence and p.kind = k.kind and p.n = k.n and p.what = 'output'::text and jsonb_typeof(o.reported) = 'number'::text
         limit 1) y on true;

create view drover.lease_view as
 select l.run_id,
    d.step,
    drover.item_of(l.step_no) as item,
    drover.step_of(l.step_no) as no,
    coalesce(m.lease ->> 't'::text, 'perform'::text) as task_kind,
    l.fence,
    coalesce((m.lease ->> 'a'::text)::smallint, (coalesce((x.step ->> 'a'::text)::smallint, m.fence) + 1)::smallint) as attempt,
    n.queue,
    n.task,
    m.lease ->> 'g'::text as agent_id,
    encode(l.session, 'hex'::text) as session,
    l.granted_at,
    to_timestamp((m.since + coalesce((m.lease ->> 'by'::text)::double precision, coalesce((m.lease ->> 'at'::text)::double precision, 0::double precision) + coalesce((x.step #>> '{z,3}'::text[])::double precision, 900000::double precision))) / 1000::double precision) as attempt_by,
    l.heartbeat_ms,
    b.last_heartbeat_at,
    m.progress,
    coalesce(m.lease #>> '{c,kind}'::text[], 'none'::text) as cancel,
    to_timestamp((m.since + ((m.lease ->> 'w'::text)::double precision)) / 1000::double precision) as next_check_at,
    l.partition
   from drover.lease l
     join drover.run r on r.id = l.run_id
     join drover.step_name d on d.definition_id = r.definition_id and d.no = drover.step_of(l.step_no)
     join drover.lane n on n.id = l.lane
     left join drover.agent_session b on b.session = l.session
     left join drover.run_page p on p.run_id = l.run_id and p.no = drover.page_of(l.step_no)
     cross join lateral ( select (drover.page_json(p.state) -> 's'::text) -> l.step_no::text as step) x
     cross join lateral ( select x.step ->> 'p'::text as progress,
            coalesce((x.step ->> 'f'::text)::smallint, 0::smallint) as fence,
            coalesce((x.step ->> 'r'::text)::double precision, 0::double precision) as since,
                case
                    when (x.step #>> '{w,0,k}'::text[]) = 'LEASED'::text then x.step #> '{w,0}'::text[]
                    else x.step #> '{u,0}'::text[]
                end as lease) m;

create view drover.intervention_view as
 select i.run_id,
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
   from drover.intervention i
     join drover.run r on r.id = i.run_id
     join drover.definition f on f.id = r.definition_id
     left join drover.intervention_rule u on u.rule = i.rule
     left join lateral ( select e.value ->> 'id'::text as id
           from jsonb_array_elements(f.body::jsonb -> 'steps'::text) with ordinality e(value, place)
          where e.place = (drover.step_of(i.step_no) + 1)) d on true;

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
   from drover.inbox
  where refused_at is not null;

create view drover.paused_lane as
 select l.id as lane,
    q.name as queue,
    q.paused_at,
    q.pause_reason
   from drover.lane l
     join drover.queue q on q.namespace_id = l.namespace_id and (q.name = any (array[l.queue, ''::text]))
  where q.paused_at is not null;

create view drover.limited_lane as
 select l.id as lane,
    l.namespace_id,
    l.queue
   from drover.lane l
     join drover.queue q on q.namespace_id = l.namespace_id and q.name = l.queue
  where q.leases_max is not null or q.rate is not null;

create view drover.oldest_ready as
 select l.id as lane,
    k.paused,
    h.ready_at as oldest_at
   from drover.lane l
     cross join ( values (false), (true)) k(paused)
     cross join generate_series(1, 9) w(priority)
     cross join lateral ( select r.ready_at
           from drover.ready r
          where r.lane = l.id and r.paused = k.paused and r.priority = w.priority
          order by r.ordered_by, r.ordinal
         limit 1) h;

create view drover.open_lane as
 select lane,
    state,
    since,
    until,
    saw,
    forced,
    forced_by,
    forced_why,
    forced_at
   from drover.circuit c
  where agent_id = ''::text and coalesce(forced = 1, state <> 0);

create view drover.version_lane as
 select l.id as lane,
    b.id as base,
    l.namespace_id,
    l.queue,
    l.task,
    c.agent_version
   from drover.lane l
     join drover.version_class c on c.namespace_id = l.namespace_id and c.queue = l.queue and c.class = l.class
     join drover.lane b on b.namespace_id = l.namespace_id and b.queue = l.queue and b.task = l.task and b.class = 0;

create view drover.silent_lane as
 select l.id as lane,
    ( select max(a.seen_at) as max
           from drover.agent a
          where a.namespace_id = l.namespace_id and a.silent_since is null and a.queues ? l.queue and (a.tasks = '[]'::jsonb or a.tasks ? l.task) and (v.lane is null or a.agent_version = v.agent_version)) as seen_at
   from drover.lane l
     left join drover.version_lane v on v.lane = l.id
  where (exists ( select
           from drover.agent a
          where a.silent_since is not null and a.namespace_id = l.namespace_id and a.queues ? l.queue and (a.tasks = '[]'::jsonb or a.tasks ? l.task) and (v.lane is null or a.agent_version = v.agent_version)));

create view drover.region_use as
 select id,
    name,
    (exists ( select
           from drover.run_page p
          where p.partition >= (r.id * 256) and p.partition < (r.id * 256 + 256) and p.no = 0 and p.ended_at is null
          order by p.partition, p.run_id
         offset 0)) or (exists ( select
           from drover.schedule s
          where s.partition >= (r.id * 256) and s.partition < (r.id * 256 + 256) and s.wake_at is not null
         offset 0)) or (exists ( select
           from drover.outbox x
          where x.partition >= (r.id * 256) and x.partition < (r.id * 256 + 256)
         offset 0)) or (exists ( select
           from drover.delivery d
          where d.partition >= (r.id * 256) and d.partition < (r.id * 256 + 256) and d.next_try_at is not null
         offset 0)) or (exists ( select
           from drover.trigger_end t
          where t.partition >= (r.id * 256) and t.partition < (r.id * 256 + 256)
         offset 0)) or id = 0 and (exists ( select
           from drover.inbox i
          where i.refused_at is null
         offset 0)) as used
   from drover.region r;

-- comments

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
comment on column drover.agent_session.heartbeat_ms is 'The shortest heartbeat timeout of the leases that the session was granted, in ms; null: it holds none and is not watched.';
comment on column drover.agent_session.idle_at is 'When housekeeping found that the session holds no lease; the next lease clears it.';
comment on column drover.api_token.digest is 'SHA-256 of the token. The token has 256 random bits and cannot be guessed, so a slow hash would protect nothing.';
comment on column drover.api_token.namespace_id is 'null: the token is for every namespace.';
comment on column drover.api_token.queues is 'The queues that an agent may poll with the token; empty: all.';
comment on column drover.api_token.used_at is 'When the token was used, as one server noted it: at most once a minute.';
comment on view drover.attempt_view is 'Tasks that ended, with their outcomes, and what was reported beside them (kind late, engine, answer). Filter by run_id.';
comment on table drover.audit_entry is 'One row for each change that a person or a token made, written in the transaction of the change.';
comment on column drover.audit_entry.namespace_id is '0: all namespaces, as of a token for every namespace.';
comment on column drover.audit_entry.at is 'In whole milliseconds, so that a page of a list can continue after it.';
comment on column drover.audit_entry.claimed_by is 'The name that the caller gave. Empty: none.';
comment on column drover.audit_entry.by_verified is 'The caller proved the name, by a JWT or a client certificate.';
comment on column drover.audit_entry.token_id is 'The API token of the call, the subject of its JWT, or what is mapped of its certificate; null: the server requires none.';
comment on column drover.audit_entry.peer is 'The address from which the call came, as the server saw it: of a proxy, if there is one.';
comment on column drover.audit_entry.details is 'What was changed, without payloads and secrets.';
comment on table drover.circuit is 'The circuit breaker of a lane, or of one agent in it; no row: closed.';
comment on column drover.circuit.agent_id is 'Empty: the circuit of the lane itself.';
comment on column drover.circuit.version is 'Differs after each change and is never used twice. A change compares it.';
comment on column drover.circuit.until is 'From this time on, one task may be the probe.';
comment on column drover.circuit.forced is 'What an operator has set, until it is taken back; null: the rules decide.';
comment on column drover.circuit.probe_run is 'The task that is the probe. These four columns identify its lease.';
comment on column drover.circuit_end.runs is 'Up to two of the runs with a bad outcome. The evaluator needs no more.';
comment on table drover.circuit_outage is 'Deleted a week after its end. closed_at null: it has not ended.';
comment on table drover.decision is 'The decision of each approver on an approval step.';
comment on column drover.decision.verified is 'The approver proved the name, by a JWT or a client certificate.';
comment on table drover.definition is 'Definitions of workflows, by content: each content once in a namespace.';
comment on column drover.definition.unused_since is 'Since then no workflow version and no run has had the definition; null: one has, or housekeeping has not checked yet.';
comment on table drover.delivery is 'One webhook: what it is about, how many events of one cause it covers, and how its tries went.';
comment on column drover.delivery.run_id is 'The run of the first event.';
comment on table drover.escalation is 'A question that only a person can answer, numbered within its run.';
comment on column drover.escalation.answered_verified is 'The person proved the name, by a JWT or a client certificate.';
comment on column drover.escalation.code is 'The error code that led to the escalation. Workflow, step, reason and code are its cause.';
comment on column drover.escalation.claimed_by is 'The person who has claimed it. Any other person may still answer.';
comment on column drover.escalation.wake_at is 'The next reminder, or the deadline; null once the escalation is closed.';
comment on column drover.failure_count.run_id is 'The last run in which it happened, as message is the last message.';
comment on column drover.failure_delta.attempts is 'Attempts that failed, or whose outcome is unknown.';
comment on column drover.failure_delta.steps is 'Steps, or items of a map, that failed for good.';
comment on column drover.failure_delta.undo is 'The compensation of the step failed.';
comment on column drover.handler_log.stored_bytes is 'Of the lines of the attempt up to this one; over 65536: the log was cut after this line.';
comment on column drover.handler_log.at is 'When the handler logged it, by the clock of its agent.';
comment on table drover.hook is 'Where the events of a namespace are sent. The secret signs, so it is stored as it is.';
comment on table drover.inbox is 'A run that is to be started. The row is deleted once the run exists; a refused row stays for 30 days.';
comment on column drover.inbox.taken_until is 'Until then one server works on the row; later another one may take it.';
comment on view drover.inbox_refused is 'What drover.schedule was asked for and was refused, and why.';
comment on column drover.intervention.step_no is '-1: about the run.';
comment on view drover.intervention_view is 'What the supervisor has done: by which rule, when it was due and when it was done.';
comment on function drover.is_item_page(no integer) is 'Whether a page is that of an item of a map.';
comment on function drover.item_of(step_key integer) is 'The number of the item of a map, from a step key; null: a step outside a map.';
comment on table drover.lane_question is 'The last escalation about a lane that no agent polled.';
comment on table drover.learned_duration is 'Typical durations of successful attempts at a step of a workflow version, as two sketches. Each server with new samples writes them once a minute. There are as many rows as versions have steps.';
comment on column drover.learned_duration.step_no is 'The number of the step. All items of a map count for the step.';
comment on column drover.learned_duration.older is 'The 10,000 samples before those of the recent sketch; null: there are none yet.';
comment on column drover.lease.cancel is 'asked: the answer to the next heartbeat with this task asks its agent to stop; received: the agent has received the request, and the lease ends after its grace period; none: neither.';
comment on view drover.lease_view is 'Tasks that agents hold now, with their last heartbeat and progress.';
comment on table drover.message is 'A message from one run to another, from the change that causes it until a pass of its target applies it.';
comment on column drover.message.step_key is 'Of the end of a child run: the step that started it, with the fence.';
comment on column drover.namespace.retention_ms is 'How long runs are retained after their end, in ms; null: for ever.';
comment on column drover.namespace.open_runs_max is 'null, also of the other limits: no limit.';
comment on column drover.namespace.weight is 'Its part where namespaces compete for a server; null: 100.';
comment on column drover.namespace.no_logs is 'true: the lines that handlers log are not stored; else null.';
comment on column drover.node.process is 'The same in all shards that the process has joined.';
comment on column drover.node.regions is 'The regions whose partitions it watches; null: all.';
comment on table drover.occurrence is 'An occurrence of a schedule, with its outcome: at most one run.';
comment on column drover.occurrence.series is 'That of the schedule; its negative for a row about many occurrences that got no run; 0: a person started the run.';
comment on column drover.occurrence.nominal_time is 'Nominal time in ms: for cron the local time as if it were UTC, for an interval UTC.';
comment on column drover.occurrence.missed_count is 'Of a row about many: how many occurrences got no run, from this one on, before missed_until; counted up to 1,000.';
comment on table drover.outbox is 'One row for each event that a hook wants, until a delivery takes it up.';
comment on column drover.outbox.n is 'The number of the escalation, or of the approval step; 0: about the run.';
comment on column drover.outbox.deadline_at is 'Until when the approval waits; null: not about an approval.';
comment on function drover.page_hex(text text) is 'A session as pages store it, in hex.';
comment on function drover.page_json(text text) is 'A page as jsonb. What jsonb cannot contain becomes U+FFFD.';
comment on function drover.page_of(step_key integer) is 'The number of the page of a step key (512 * item + step; item 0: a step outside a map). A page has 32 steps, or one item.';
comment on column drover.partition_history.process is 'null: the node had left before it could be recorded, as its address.';
comment on column drover.partition_history.why is 'Why the partition was free: it had had no owner, the owner before gave it back, or that owner was lost.';
comment on column drover.partition_history.left_at is 'When the owner gave it back, or the next one took it; null: this owner has it.';
comment on table drover.paused_workflow is 'No task of the runs of a paused workflow is assigned: their ready rows say so.';
comment on table drover.permit is 'A permit: a run that holds one for its concurrency key, or waits for one, until it ends. Written under the lock of the key.';
comment on table drover.pin_move is 'Ready rows of this workflow may be in other lanes than its pins, or its pause, want. The row is written with the change and deleted when the ready rows have been moved. Housekeeping completes what a server left incomplete.';
comment on table drover.queue is 'Pauses and limits of queues; no row: none. The name '''' is all queues of the namespace.';
comment on column drover.queue.leases_max is 'How many tasks agents may hold at a time; null: any number.';
comment on column drover.queue.rate is 'How many tasks per second are assigned, at most burst at once; null: any number.';
comment on column drover.queue.tokens is 'How many tokens the bucket of the rate had at filled_at. Of a store with several shards: how many no shard has got yet.';
comment on column drover.queue.allotment is 'How often the limits were divided among the shards of the store.';
comment on column drover.queue_share.slots is 'How many of leases_max; burst: how many of the burst, and as large a part of the rate.';
comment on column drover.queue_share.served_at is 'Since when it has had units of all limits; null: never.';
comment on column drover.queue_share.allotment is 'The number of the last allotment that has changed it.';
comment on column drover.ready.paused is 'Whether the workflow of the run is paused: no claim reads the row.';
comment on table drover.region is 'A region is created with its first namespace, together with its 256 rows of partition_lease, and is never deleted.';
comment on view drover.region_use is 'Whether a region has anything to do. Its partitions are watched while it has.';
comment on table drover.rerun is 'A run that repeats another one.';
comment on column drover.rerun.from_step is 'The step from which it repeats; empty: from the start; null: from what had failed.';
comment on column drover.run.notify_hook is 'The hook that the start request names for the end of the run; notify_url is another address for it.';
comment on column drover.run.parent_id is 'The run that started this one, by its step parent_step (an id); never changes.';
comment on column drover.run.parent_until is 'The deadline of the parent when it started this run.';
comment on column drover.run.traceparent is 'W3C trace context: the trace, the span of the caller (zeros: none), and whether the trace is sampled; null: not traced.';
comment on column drover.run.tracestate is 'As the caller sent it.';
comment on column drover.run_count.event is 'As in run_count_delta.';
comment on column drover.run_count_delta.at is 'Of accepted runs the start of the minute.';
comment on column drover.run_count_delta.event is '-1: accepted; else the code of the state in which the runs ended.';
comment on column drover.run_count_delta.took is 'Of ended runs: for each run, how long it took, as the number of a bucket (store/took-buckets.ts).';
comment on column drover.run_hour_count.last_at is 'When the last of them ended.';
comment on column drover.run_hour_count.event is 'The code of the state in which the runs ended.';
comment on column drover.run_hour_count.took is 'The number of a bucket.';
comment on table drover.run_mark is 'Search keys, by which lists with a filter find runs.';
comment on column drover.run_mark.mark is 'NAME=VALUE of a label; step STEP, error CODE, or step STEP error CODE of a failure; the code of the state in which the run ended, or that code and a WORKFLOW.';
comment on column drover.run_page.namespace_id is 'Set in page 0 only, as are definition_id, run_state, waits and ended_at.';
comment on column drover.run_page.wake_at is 'When the supervisor scans the page: it may be too early and is never too late. Null, or infinity in page 0 of an open run: the page has no timer.';
comment on column drover.run_page.version is 'Grows with each write of the page. A write names the version that was read.';
comment on column drover.run_page.waits is 'What steps of the run wait for, other than an agent: 1 retry, 2 signal, 4 approval, 8 callback, 16 timer, 32 child run, 64 the end of a pause.';
comment on column drover.run_page.settled is 'Of the page of an item: the item is final, nothing of it is left to compensate, and no lost attempt of it can still act.';
comment on column drover.run_page.ended_at is 'null: the run is open.';
comment on view drover.run_view is 'Runs and their states, from the heads of their pages. steps_left, moving and asking are counted while a run is open; waits has the number of steps by what they wait for.';
comment on function drover.schedule(namespace text, workflow text, input jsonb, key text, labels jsonb, version integer) is 'Starts a run if the transaction commits, and returns its key. The same key starts one run only.';
comment on table drover.schedule is 'A cron schedule. A deleted schedule stays until its occurrences are deleted.';
comment on column drover.schedule.series is 'Grows when the calendar changes, so that occurrences of different calendars differ.';
comment on column drover.schedule.revision is 'Grows when a person changes the schedule.';
comment on column drover.schedule.spec is 'What a person has configured, as JSON.';
comment on column drover.schedule.next_nominal_time is 'The nominal time of the next occurrence, as in occurrence.nominal_time; next_at is its time. null: none comes any more.';
comment on column drover.schedule.wake_at is 'When its owner acts: next_at and jitter; null while the schedule is paused.';
comment on column drover.session_attempts.mostly_failed is 'Whether so many of them failed, or are unknown, that the session may be failing. A session that fails over an hour has such a row.';
comment on table drover.signal is 'A signal that was sent to a run, perhaps before a step waits for it. A repeated signal has the same id.';
comment on view drover.step_name is 'The name of each step of each definition, by its number.';
comment on function drover.step_of(step_key integer) is 'The number of the step in the definition, from a step key or from the number of the page of an item.';
comment on table drover.step_override is 'The whole input that a person gave to a strategy, by its index in the strategies of the step.';
comment on table drover.step_reused is 'A step that is reused from an earlier run. Its effect has the key of the run that made it.';
comment on view drover.step_view is 'Steps, and items of maps, that have started. A step that still waits for all its needs is in no page. Filter by run_id.';
comment on view drover.stored_attempt is 'The rows that attempt_view reads.';
comment on table drover.trigger is 'A trigger waits for a call over HTTP (auth), or for ends of runs of a workflow; body is its definition.';
comment on column drover.trigger.secret is 'The secret that signs a body, as it is. Of a bearer token only the digest is stored.';
comment on table drover.trigger_end is 'An ended run that a trigger waits for, until the trigger has processed it.';
comment on column drover.trigger_end.id is 'Random: a number may be given out again after a fail-over.';
comment on table drover.trigger_refusal is 'What a trigger has refused, one row for each reason and message; the newest 100 of each trigger.';
comment on column drover.trigger_refusal.digest is 'SHA-256 of reason and message.';
comment on table drover.triggered is 'A run that the end of another run has started. depth: length of the chain of triggers, 1 for the first.';
comment on table drover.version_class is 'Which agents ask for the lanes of a class. Class 0 has no row: all agents ask for it.';
comment on table drover.version_pin is 'Ready rows of these runs are in the lanes of a class of their queue.';
comment on column drover.version_pin.version is '0: every version of the workflow without a pin of its own.';
comment on column drover.version_pin.definition_id is 'The definition of the version; 0 with version 0.';
comment on table drover.writer is 'A supervisor''s batch locks its row first. A take-over deletes the rows of the process that it fences.';
