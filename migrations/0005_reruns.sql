-- Runs that do another one again. Both tables go with the range of the new run, and name the old one,
-- which may be gone before it.

create table step_kept (
  run_id uuid not null,
  step_no integer not null,
  of_run uuid not null,
  primary key (run_id, step_no)
) partition by range (run_id);
create table step_kept_default partition of step_kept default;
comment on table step_kept is 'A step that ended in an earlier run; its effect has the key of the run that made it.';

create table rerun (
  run_id uuid not null,
  of_run uuid not null,
  from_step text,
  primary key (run_id)
) partition by range (run_id);
create table rerun_default partition of rerun default;
comment on table rerun is 'A run that does another one again.';
comment on column rerun.from_step is 'The step from which, empty: the start; null: from what had failed.';
