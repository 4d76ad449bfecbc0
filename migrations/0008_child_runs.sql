-- Child runs: whose child a run is, how its end is told, and what a step waits for. A step is named
-- by its key in the core (step_key), which for people is its id.

alter table run add column parent_id uuid;
alter table run add column parent_step text;
alter table run add column parent_step_key integer;
alter table run add column parent_fence integer;
alter table run add column parent_until timestamptz;
comment on column run.parent_id is 'The run whose step (parent_step, its id) began this one; never changes.';
comment on column run.parent_until is 'The deadline of the parent when it began this run.';
create index run_by_parent on run (parent_id, id) where parent_id is not null;

-- No more than this: on an empty database wider rows are found by another index than their key.
alter table run_open add column depth smallint;
comment on column run_open.depth is 'Parents above it, which run tells; null: it is no child.';

alter table message add column step_key integer;
alter table message add column fence integer;
comment on column message.step_key is 'The end of a child run: the step that began it, under this fence.';
