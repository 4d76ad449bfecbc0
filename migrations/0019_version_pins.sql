-- Queues that give the tasks of a workflow, or of one version of it, to one version of agents alone.

-- A class of lanes, for agents of one version: each task of the queue has a lane of each class of the
-- queue. It stays when no pin names it any more: agents of that version go on asking for its lanes.
create table version_class (
  namespace_id integer not null,
  queue text not null,
  class smallint not null check (class > 0),
  agent_version text not null,
  primary key (namespace_id, queue, class),
  unique (namespace_id, queue, agent_version)
);
comment on table version_class is 'Which agents ask for the lanes of a class. Class 0 has no row: all agents do.';

-- One row for each pin; gone when it is taken back.
create table version_pin (
  namespace_id integer not null,
  workflow text not null,
  queue text not null,
  version integer not null,
  definition_id bigint not null,
  class smallint not null,
  pinned_at timestamptz not null default now(),
  primary key (namespace_id, workflow, queue, definition_id)
);
comment on table version_pin is 'Ready rows of these runs stand in the lanes of a class of their queue.';
comment on column version_pin.version is '0: every version of the workflow that has no pin of its own.';
comment on column version_pin.definition_id is 'That of the version; 0 with version 0.';

-- Written with a change of pins, gone when the ready rows of the workflow stand where the pins want them.
create table pin_move (
  id bigint generated always as identity primary key,
  namespace_id integer not null,
  workflow text not null,
  asked_at timestamptz not null default now()
);
comment on table pin_move is 'Ready rows of this workflow may stand in lanes that its pins do not want.';

-- The lanes of a class, each with the lane of the same task for all agents.
create view version_lane as
select l.id as lane, b.id as base, l.namespace_id, l.queue, l.task, c.agent_version
from lane as l
join version_class as c on c.namespace_id = l.namespace_id and c.queue = l.queue and c.class = l.class
join lane as b on b.namespace_id = l.namespace_id and b.queue = l.queue and b.task = l.task
  and b.class = 0;

-- Whether there are more of them than a server knows.
create index lane_class on lane (id) where class <> 0;
