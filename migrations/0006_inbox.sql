-- Starts runs from inside a user's own transaction: what it puts here is there if it commits, and a
-- server schedules it within a second or two, by its key, as Schedule would.
--
--   grant usage on schema drover to app;
--   grant execute on function drover.schedule to app;

create schema drover;

create table public.inbox (
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
create index inbox_waiting on public.inbox (id) where refused_at is null;
comment on table public.inbox is 'A run to be scheduled: gone once it is; kept for 30 days if it was refused.';
comment on column public.inbox.taken_until is 'A server is at it; from then on another may be.';

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
  insert into public.inbox (namespace, workflow, version, input, key, labels)
  values (schedule.namespace, schedule.workflow, schedule.version, schedule.input::text, run_key,
    schedule.labels);
  return run_key;
end
$$;
comment on function drover.schedule(text, text, jsonb, text, jsonb, integer)
  is 'Schedules a run if the transaction commits, and returns its key. The same key starts one run only.';
revoke all on function drover.schedule(text, text, jsonb, text, jsonb, integer) from public;

create view drover.inbox_refused as
select id, namespace, workflow, version, key, input, labels, put_at, refused_at, reason, message
from public.inbox
where refused_at is not null;
comment on view drover.inbox_refused is 'What drover.schedule was asked for and no run could be made of, and why.';
