-- What people say about what is handed out: pauses of queues, namespaces and workflows, limits of queues.

-- One row for each queue that something was said about; it stays. Claims of a queue with limits write it.
create table queue (
  namespace_id integer not null,
  name text not null,
  paused_at timestamptz,
  pause_reason text,
  leases_max integer,
  rate double precision,
  burst integer,
  tokens double precision,
  filled_at timestamptz,
  primary key (namespace_id, name)
) with (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.01, autovacuum_vacuum_threshold = 1000,
  autovacuum_vacuum_cost_delay = 0);
comment on table queue is 'What was said about a queue; no row: nothing. The name '''' is all queues of the namespace.';
comment on column queue.leases_max is 'Most tasks with agents at a time; null: any number.';
comment on column queue.rate is 'Tasks handed out per second, and at most burst at once; null: any number.';
comment on column queue.tokens is 'What the bucket of the rate held at filled_at.';

-- Nothing is handed out of these.
create view paused_lane as
select l.id as lane, q.name as queue, q.paused_at, q.pause_reason
from lane as l
join queue as q on q.namespace_id = l.namespace_id and q.name = any (array[l.queue, ''])
where q.paused_at is not null;

create table paused_workflow (
  namespace_id integer not null,
  name text not null,
  paused_at timestamptz not null default now(),
  reason text not null,
  primary key (namespace_id, name)
);
comment on table paused_workflow is 'Nothing is handed out for its runs: their ready rows stand in the negative of their lane.';
comment on column ready.lane is 'Negative: nobody may claim it, as the workflow of its run is paused.';

create table lane_question (
  lane integer primary key,
  run_id uuid not null,
  n integer not null
);
comment on table lane_question is 'The last escalation that was asked about a lane which nobody polled.';

create view limited_lane as
select l.id as lane, l.namespace_id, l.queue
from lane as l
join queue as q on q.namespace_id = l.namespace_id and q.name = l.queue
where q.leases_max is not null or q.rate is not null;

-- Counts the leases of a queue.
create index lease_lane on lease (lane);
