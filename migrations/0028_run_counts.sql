-- How many runs were accepted, and how many have ended, by the minute in which it happened.

-- One row for each transaction that accepted or ended runs, each namespace, workflow and event in it:
-- written by the statement that writes the runs, and never changed, so no two transactions wait for each
-- other. Housekeeping adds the rows up into run_count once a minute. No index: few rows stay for longer.
create table run_count_delta (
  minute timestamptz not null,
  namespace_id integer not null,
  runs integer not null,
  event smallint not null,
  workflow text not null
) with (autovacuum_vacuum_scale_factor = 0.01, autovacuum_vacuum_threshold = 1000,
  autovacuum_vacuum_cost_delay = 0);
comment on column run_count_delta.event is '-1: accepted. Else they ended, in this state of run.';

-- The sums of the rows that were removed from run_count_delta. Gone a day after their minute.
create table run_count (
  minute timestamptz not null,
  namespace_id integer not null,
  runs integer not null,
  event smallint not null,
  workflow text not null,
  primary key (namespace_id, minute, event, workflow)
) with (autovacuum_vacuum_scale_factor = 0.01, autovacuum_vacuum_threshold = 1000,
  autovacuum_vacuum_cost_delay = 0);
comment on column run_count.event is 'As in run_count_delta.';
