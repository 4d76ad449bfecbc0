-- What runs by the calendar: schedules, and what became of each of their moments.

create table schedule (
  id uuid primary key,
  namespace_id integer not null,
  name text not null,
  partition smallint not null,
  series integer not null default 1,
  revision integer not null default 1,
  spec text not null,
  next_moment bigint,
  next_at timestamptz,
  wake_at timestamptz,
  paused_at timestamptz,
  pause_reason text,
  created_at timestamptz not null default now(),
  changed_at timestamptz not null default now(),
  deleted_at timestamptz
) with (fillfactor = 70);
create unique index schedule_by_name on schedule (namespace_id, name) where deleted_at is null;
create index schedule_wake on schedule (partition, wake_at);
create index schedule_deleted on schedule (deleted_at) where deleted_at is not null;
comment on table schedule is 'A calendar by which runs begin. Deleted ones stay until their fires are gone.';
comment on column schedule.series is 'Grows with each other calendar: moments of different ones are different.';
comment on column schedule.revision is 'Grows when a person changes it.';
comment on column schedule.spec is 'What a person said of it, as JSON.';
comment on column schedule.next_moment is 'The next moment as fire.moment names it; next_at is its instant. null: none comes any more.';
comment on column schedule.wake_at is 'When its owner acts: next_at and jitter; null while it is paused.';

-- As long as its schedule.
create table fire (
  schedule_id uuid not null,
  series integer not null,
  moment bigint not null,
  at timestamptz not null,
  fired_at timestamptz not null default now(),
  cause smallint not null,
  outcome smallint not null,
  run_id uuid,
  message text not null default '',
  missed_count integer,
  missed_until timestamptz,
  node uuid,
  epoch bigint,
  primary key (schedule_id, series, moment)
);
create index fire_by_time on fire (schedule_id, at);
comment on table fire is 'What became of a moment of a schedule: at most one run.';
comment on column fire.series is 'That of the schedule; its negative for a mark of many moments that got no run; 0: asked for by a person.';
comment on column fire.moment is 'Nominal time in ms: for cron the local time as if it were UTC, for an interval UTC.';
comment on column fire.missed_count is 'Of a mark: so many moments from this one on, before missed_until; counted up to 1,000.';
