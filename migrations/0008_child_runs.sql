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

create or replace view step_view as
select
  s.run_id,
  d.id as step,
  s.no,
  case
    when w.is_verify then 'VERIFYING'
    when s.forward = 1 and l.run_id is not null then 'LEASED'
    when s.forward = 1 then 'READY'
    else (array['BLOCKED', 'OPEN', 'BACKOFF', 'ESCALATED', 'SUCCEEDED', 'FAILED', 'CANCELLED',
      'WAITING', 'READY', 'SKIPPED'])[s.forward + 1]
  end as state,
  (array['NONE', 'PENDING', 'ACTIVE', 'ACTIVE', 'DONE', 'FAILED', 'ACTIVE', 'ACTIVE'])[s.undo + 1]
    as undo,
  s.strategies[cardinality(s.strategies)] / 16 as strategy,
  (array['NONE', 'UNSETTLED', 'MADE', 'ATTEMPTED', 'UNDONE', 'LINGERING'])
    [s.strategies[cardinality(s.strategies)] % 8 + 1] as effect,
  s.attempt as tries,
  coalesce(l.fence, s.fence) as fence,
  l.agent_id,
  l.progress,
  w.waits_for,
  coalesce(l.wake_at, y.wake_at, u.wake_at) as next_look_at
from step as s
join run as r on r.id = s.run_id
join definition as f on f.id = r.definition_id
cross join lateral (
  select e.value ->> 'id' as id
  from jsonb_array_elements((f.body::jsonb) -> 'steps') with ordinality as e (value, place)
  where e.place = s.no + 1
) as d
left join lease as l on l.run_id = s.run_id and l.step_no = s.no and l.item = s.item
left join ready as y on y.run_id = s.run_id and y.step_no = s.no and y.item = s.item
left join due as u on u.run_id = s.run_id and u.step_no = s.no and u.item = s.item
cross join lateral (
  select
    (array['perform retry', 'perform again', 'perform settle', 'compensate retry',
      'compensate again', 'compensate settle', 'verify retry', 'verify again', 'verify settle',
      'timer', 'signal', 'approval', 'callback', 'child', 'child-end'])[u.kind + 1] as waits_for,
    coalesce(l.kind = 4, y.kind = 4, u.kind between 6 and 8, s.held = 4, false) as is_verify
) as w;
