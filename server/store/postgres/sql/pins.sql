-- Pins of agent versions. The statement that makes a row ready reads them itself (insert_ready). Rows that
-- are ready already are moved when a pin has changed.

-- name: make_class
-- Purpose: Creates a class of a queue for a version of agents. Nothing happens if it exists, or if another
--   transaction takes its number.
-- Params: :namespace_id integer, :queue text, :agent_version text.
insert into drover.version_class (namespace_id, queue, class, agent_version)
select :namespace_id::integer, :queue::text, coalesce(max(c.class), 0) + 1, :agent_version::text
from drover.version_class as c
where c.namespace_id = :namespace_id::integer and c.queue = :queue::text
on conflict do nothing;

-- name: find_class
-- Purpose: Finds the class of a version of agents.
-- Params: :namespace_id integer, :queue text, :agent_version text.
-- Result: No row: there is none.
select c.class
from drover.version_class as c
where c.namespace_id = :namespace_id::integer and c.queue = :queue::text
  and c.agent_version = :agent_version::text;

-- name: make_class_lanes
-- Purpose: Creates the missing lanes of a class, one for each task of the queue. It runs after all
--   transactions that create lanes know of the class.
-- Params: :namespace_id integer, :queue text, :agent_version text.
-- Plan: lane by its unique key.
-- Result: The lanes that were created. No row: none is missing.
insert into drover.lane (namespace_id, queue, task, class)
select l.namespace_id, l.queue, l.task, c.class
from drover.version_class as c
join drover.lane as l on l.namespace_id = c.namespace_id and l.queue = c.queue and l.class = 0
where c.namespace_id = :namespace_id::integer and c.queue = :queue::text
  and c.agent_version = :agent_version::text
  and not exists (
    select from drover.lane as k
    where k.namespace_id = l.namespace_id and k.queue = l.queue and k.task = l.task
      and k.class = c.class
  )
on conflict do nothing
returning id;

-- name: inherit_said_circuits
-- Purpose: Copies what an operator has set of the circuits of a lane to lanes of classes that are new. A
--   setting holds for the lanes of all classes.
-- Params: :lanes integer[] (new lanes), :version bigint (of the new circuits), :changed_at bigint (ms since
--   1970).
insert into drover.circuit (lane, agent_id, version, changed_at, forced, forced_by, forced_why, forced_at)
select v.lane, c.agent_id, :version::bigint, to_timestamp(:changed_at::bigint / 1e3::float8), c.forced, c.forced_by, c.forced_why, c.forced_at
from drover.version_lane as v
join drover.circuit as c on c.lane = v.base and c.forced is not null
where v.lane = any (:lanes::integer[])
on conflict (lane, agent_id) do nothing;

-- name: pin_version
-- Purpose: Pins a workflow, or one version of it, to a class of a queue, and notes that its ready rows are
--   to be moved. A pin that exists stays, unless it was for another class.
-- Params: :namespace_id integer, :queue text, :workflow text, :version integer and :definition_id bigint (0
--   and 0: every version without a pin of its own), :class smallint.
-- Result: The id of the note. changed: there was no such pin before.
with pinned as (
  insert into drover.version_pin as p (namespace_id, queue, workflow, version, definition_id, class)
  values (:namespace_id::integer, :queue::text, :workflow::text, :version::integer, :definition_id::bigint,
    :class::smallint)
  on conflict (namespace_id, workflow, queue, definition_id) do update
  set class = excluded.class, pinned_at = excluded.pinned_at
  where p.class <> excluded.class
  returning p.class
),
noted as (
  insert into drover.pin_move (namespace_id, workflow)
  values (:namespace_id::integer, :workflow::text)
  returning id
)
select n.id, exists (select from pinned) as changed from noted as n;

-- name: unpin_version
-- Purpose: Removes a pin, and notes that ready rows are to be moved. The note is made also without a pin: a
--   server that removed it may have ended before the rows were moved.
-- Params: :namespace_id integer, :queue text, :workflow text, :version integer.
-- Result: The id of the note. changed: there was such a pin.
with unpinned as (
  delete from drover.version_pin
  where namespace_id = :namespace_id::integer and queue = :queue::text and workflow = :workflow::text
    and version = :version::integer
  returning class
),
noted as (
  insert into drover.pin_move (namespace_id, workflow)
  values (:namespace_id::integer, :workflow::text)
  returning id
)
select n.id, exists (select from unpinned) as changed from noted as n;

-- name: place_ready
-- Purpose: Moves the ready rows of these runs into the lanes that pins want. Rows of a paused workflow are
--   noted as paused. Moved rows come after all rows that are ready now, because a claim may read only from
--   a watermark behind their old position (store/watermarks.ts).
-- Params: :run_ids uuid[].
-- Locks: Ready rows, without waiting: a row that a claim or a pass holds is skipped.
-- Plan: ready by the run's key.
-- Result: One row. lanes: lanes in which claims find the moved rows. left: how many rows were skipped.
with misplaced as materialized (
  select r.run_id, r.step_no, w.lane, n.paused
  from unnest(:run_ids::uuid[]) as u (run_id)
  cross join lateral (
    select n.namespace_id, n.workflow, n.definition_id,
      exists (
        select from drover.paused_workflow as p where p.namespace_id = n.namespace_id and p.name = n.workflow
      ) as paused
    from drover.run as n where n.id = u.run_id offset 0
  ) as n
  join drover.ready as r on r.run_id = u.run_id
  left join drover.lane as l on l.id = r.lane
  left join lateral (
    select p.class
    from drover.version_pin as p
    where p.namespace_id = n.namespace_id and p.workflow = n.workflow and p.queue = l.queue
      and p.definition_id in (0, n.definition_id)
    order by p.definition_id desc
    limit 1
  ) as k on true
  left join drover.lane as t on t.namespace_id = l.namespace_id and t.queue = l.queue and t.task = l.task
    and t.class = coalesce(k.class, 0)
  cross join lateral (select coalesce(t.id, r.lane) as lane) as w
  where (w.lane, n.paused) <> (r.lane, r.paused)
),
mine as materialized (
  select r.run_id, r.step_no, r.ordered_by, r.ordinal, m.lane, m.paused
  from misplaced as m
  cross join lateral (
    select x.run_id, x.step_no, x.ordered_by, x.ordinal
    from drover.ready as x
    where x.run_id = m.run_id and x.step_no = m.step_no
    for update skip locked
  ) as r
),
ranked as (
  select m.run_id, m.step_no, m.lane, m.paused, row_number() over (order by m.ordered_by, m.ordinal) as place
  from mine as m
),
moved as (
  update drover.ready as r
  set lane = m.lane, paused = m.paused, ordered_by = pg_current_xact_id(), ordinal = m.place
  from ranked as m
  where r.run_id = m.run_id and r.step_no = m.step_no
  returning r.lane, r.paused
)
select (select coalesce(array_agg(distinct m.lane) filter (where not m.paused), '{}') from moved as m) as lanes,
  (select count(*) from misplaced)::integer - (select count(*) from moved)::integer as left;

-- name: end_pin_move
-- Purpose: Deletes the note of a move that is complete.
-- Params: :id bigint.
delete from drover.pin_move where id = :id::bigint;

-- name: keep_pin_move
-- Purpose: Notes that a server is still working on a move.
-- Params: :id bigint.
-- Plan: pin_move by key.
update drover.pin_move set asked_at = now() where id = :id::bigint;

-- name: take_pin_moves
-- Purpose: Takes moves that no server has worked on for a minute: their server ended before they were
--   complete.
-- Locks: Notes, without waiting: of two servers one takes a note, and the other skips it.
update drover.pin_move as m
set asked_at = now()
where m.id = any (array(
  select o.id
  from drover.pin_move as o
  where o.asked_at < now() - interval '1 minute'
  order by o.id
  limit 10
  for update skip locked
))
returning m.id, m.namespace_id, m.workflow;

-- name: list_pins
-- Purpose: Lists the pins of a queue, by workflow and version. They are few.
-- Params: :namespace_id integer, :queue text.
select p.workflow, p.version, c.agent_version, p.pinned_at
from drover.version_pin as p
join drover.version_class as c on c.namespace_id = p.namespace_id and c.queue = p.queue and c.class = p.class
where p.namespace_id = :namespace_id::integer and p.queue = :queue::text
order by p.workflow, p.version;

-- name: all_pins
-- Purpose: Reads all pins of all namespaces.
-- Result: definition_id is 0 for every version without a pin of its own.
select p.namespace_id, p.workflow, p.queue, p.definition_id, c.agent_version
from drover.version_pin as p
join drover.version_class as c on c.namespace_id = p.namespace_id and c.queue = p.queue and c.class = p.class
order by p.namespace_id, p.workflow, p.queue, p.definition_id;

-- name: all_version_lanes
-- Purpose: Reads all lanes of classes, each with the lane of the same task for all agents (base).
select v.lane, v.base, v.namespace_id, v.queue, v.task, v.agent_version
from drover.version_lane as v
order by v.lane;
