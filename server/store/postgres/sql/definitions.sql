-- Namespaces, definitions, workflows and lanes. They are few, and servers mostly have them in memory. Ids are
-- drawn at random, so an insert may conflict with the id of another row; the caller then repeats it.

-- name: find_namespace
-- Purpose: Finds a namespace by name.
-- Params: :name text.
-- Result: No row: there is none.
select id, name, region from drover.namespace where name = :name::text;

-- name: create_namespace
-- Purpose: Creates a namespace in a region that exists. Nothing happens if the name or the id is taken.
-- Params: :name text, :region text (name).
-- Result: The id. No row: nothing happened.
insert into drover.namespace (name, region)
select :name::text, r.id from drover.region as r where r.name = :region::text
on conflict do nothing
returning id;

-- name: find_region
-- Purpose: Finds a region by name.
-- Params: :name text.
-- Result: No row: there is none.
select id from drover.region where name = :name::text;

-- name: lock_regions
-- Purpose: Locks the creation of regions until the end of the transaction.
-- Locks: The row of region 0; waits for another transaction that creates a region.
select from drover.region where id = 0 for update;

-- name: create_region
-- Purpose: Creates a region with the next number.
-- Params: :name text, :regions_max integer (128, as a partition is a smallint).
-- Result: The number. No row: there are :regions_max regions already.
with next as materialized (
  select max(r.id) + 1 as id, now() as created_at from drover.region as r
)
insert into drover.region (id, name, created_at)
select n.id, :name::text, n.created_at
from next as n
where n.id < :regions_max::integer
returning id;

-- name: create_partitions
-- Purpose: Creates the 256 rows of partition_lease of a region, unless they are there.
-- Params: :region smallint (number).
insert into drover.partition_lease (partition, epoch)
select :region::smallint * 256 + p, 0 from generate_series(0, 255) as p
on conflict (partition) do nothing;

-- name: list_namespaces
-- Purpose: Lists namespaces with their settings, by name.
-- Params: :names text[] (null: all), :after text (the last name of the previous page; null: the first
--   page), :limit integer.
-- Result: null: no such limit, or no retention.
-- Note: There are few rows, so any plan will do.
select n.id, n.name, r.name as region, n.created_at, n.retention_ms, n.open_runs_max, n.runs_per_second,
  n.runs_burst, n.payload_bytes_max, n.calls_per_second, n.calls_burst, n.storage_bytes_max, n.weight,
  u.storage_bytes, n.no_logs
from drover.namespace as n
left join drover.namespace_use as u on u.namespace_id = n.id
join drover.region as r on r.id = n.region
where (:names::text[] is null or n.name = any (:names::text[]))
  and (:after::text is null or n.name collate "C" > :after::text)
order by n.name collate "C"
limit :limit::integer;

-- name: list_regions
-- Purpose: Lists regions by number, with the number of their partitions that are watched. The holder of a
--   partition's advisory lock watches it, whatever its row says.
select r.id, r.name, count(l.objid)::integer as watched
from drover.region as r
left join pg_locks as l
  on l.locktype = 'advisory' and l.objsubid = 2 and l.granted and l.classid = 'drover.partition_lease'::regclass
  and l.database = (select d.oid from pg_database as d where d.datname = current_database())
  and l.objid::integer / 256 = r.id
group by r.id, r.name
order by r.id;

-- name: intern_definition
-- Purpose: Stores a definition, unless the namespace has one with this digest. Stores nothing if the
--   namespace does not exist: a fail-over may have lost it since the caller found it.
-- Params: :namespace_id integer, :digest text (SHA-256, hex), :body text (JSON).
insert into drover.definition (namespace_id, digest, body)
select n.id, decode(:digest::text, 'hex'), :body::text from drover.namespace as n
  where n.id = :namespace_id::integer
on conflict do nothing;

-- name: find_definition
-- Purpose: Finds a definition by its content.
-- Params: :namespace_id integer, :digest text (SHA-256, hex).
-- Result: unused: the definition may be deleted before the caller uses it; see keep_definition. No row: it
--   is not stored.
select id, unused_since is not null as unused
from drover.definition
where namespace_id = :namespace_id::integer and digest = decode(:digest::text, 'hex');

-- name: keep_definition
-- Purpose: Removes the mark of an unused definition, because a caller is about to use it.
-- Params: :id bigint.
-- Plan: definition by key.
-- Result: No row: the definition has been deleted.
update drover.definition set unused_since = null where id = :id::bigint returning id;

-- name: forget_definitions
-- Purpose: Reads a page of :limit definitions after :after, of all namespaces. Marks those that no workflow
--   version and no run has, removes the mark of those that are used again, and deletes those that have been
--   marked for :retention ms.
-- Params: :after bigint (id; 0: the first page), :limit integer, :retention bigint (ms).
-- Locks: Changed rows; waits for a caller that removes a mark (keep_definition), and then sees the row as
--   that caller left it.
-- Plan: definition by key, workflow_version_definition.
-- Result: One row: the last id of the page (null: it is empty), and how many definitions it had.
with page as materialized (
  select d.id, d.unused_since
  from drover.definition as d
  where d.id > :after::bigint
  order by d.id
  limit :limit::integer
),
seen as materialized (
  select p.id, p.unused_since, v.used is null and r.used is null as unused, now() as now
  from page as p
  left join lateral (
    select true as used from drover.workflow_version as x where x.definition_id = p.id limit 1
  ) as v on true
  left join lateral (
    select true as used from drover.run as x where x.definition_id = p.id and x.version = 0 limit 1
  ) as r on true
),
marked as (
  update drover.definition as d
  set unused_since = case when s.unused then s.now end
  from seen as s
  where d.id = s.id and s.unused is distinct from (s.unused_since is not null)
),
gone as (
  delete from drover.definition as d
  using seen as s
  where d.id = s.id and s.unused
    and d.unused_since < now() - :retention::bigint * interval '1 millisecond'
)
select max(p.id) as last, count(*)::integer as rows_read from page as p;

-- name: get_definition
-- Purpose: Reads a definition.
-- Params: :id bigint.
-- Result: No row: it is not stored.
select body from drover.definition where id = :id::bigint;

-- name: lock_workflow
-- Purpose: Locks a workflow; the first registration of a name creates its row. Registrations of one name
--   follow each other.
-- Params: :namespace_id integer, :name text.
-- Locks: The row of the workflow; waits.
-- Result: Both versions are 0 for a new name.
insert into drover.workflow as w (namespace_id, name, default_version, latest_version)
values (:namespace_id::integer, :name::text, 0, 0)
on conflict (namespace_id, name) do update set latest_version = w.latest_version
returning default_version, latest_version;

-- name: find_version_of
-- Purpose: Finds the version of a workflow with this definition.
-- Params: :namespace_id integer, :name text, :definition_id bigint.
-- Result: No row: the definition is new under this name.
select version from drover.workflow_version
where namespace_id = :namespace_id::integer and name = :name::text and definition_id = :definition_id::bigint;

-- name: insert_version
-- Purpose: Adds a version of a workflow. Its row is locked.
-- Params: :namespace_id integer, :name text, :version integer, :definition_id bigint.
-- Plan: definition by key.
-- Result: No row: the definition is not stored; a fail-over has lost it since it was found.
with found as materialized (
  select d.id, now() as created_at from drover.definition as d where d.id = :definition_id::bigint
)
insert into drover.workflow_version (namespace_id, name, version, definition_id, created_at)
select :namespace_id::integer, :name::text, :version::integer, f.id, f.created_at
from found as f
returning version;

-- name: set_versions
-- Purpose: Stores the latest and the default version of a workflow. Its row is locked.
-- Params: :namespace_id integer, :name text, :latest_version integer, :default_version integer.
update drover.workflow set latest_version = :latest_version::integer,
  default_version = :default_version::integer
where namespace_id = :namespace_id::integer and name = :name::text;

-- name: set_default_version
-- Purpose: Makes a version that exists the default of its workflow.
-- Params: :namespace_id integer, :name text, :version integer.
-- Locks: The row of the workflow, as registrations do; waits.
-- Result: The default version before. No row: there is no such version, and nothing has changed.
with held as (
  select w.namespace_id, w.name, w.default_version, v.version
  from drover.workflow as w
  join drover.workflow_version as v on v.namespace_id = w.namespace_id and v.name = w.name
  where w.namespace_id = :namespace_id::integer and w.name = :name::text and v.version = :version::integer
  for update of w
)
update drover.workflow as w set default_version = h.version
from held as h
where w.namespace_id = h.namespace_id and w.name = h.name
returning h.default_version as previous_version;

-- name: list_versions
-- Purpose: Lists the newest :limit versions of each workflow, with the number of open runs of the same
--   definition, counted up to :open_runs_max.
-- Params: :namespace_id integer, :names text[], :limit integer (for each name), :open_runs_max integer.
-- Plan: run_page_open; the order clause keeps the planner on it.
select v.name, v.version, v.created_at, o.open_runs
from unnest(:names::text[]) with ordinality as u (name, place)
cross join lateral (
  select w.name, w.version, w.created_at, w.definition_id
  from drover.workflow_version as w
  where w.namespace_id = :namespace_id::integer and w.name = u.name
  order by w.version desc
  limit :limit::integer
) as v
cross join lateral (
  select count(*)::integer as open_runs
  from (
    select from drover.run_page as r
    where r.namespace_id = :namespace_id::integer and r.definition_id = v.definition_id and r.no = 0
      and r.ended_at is null
    order by r.namespace_id, r.definition_id, r.run_id
    limit :open_runs_max::integer
  ) as counted
) as o
order by u.place, v.version desc;

-- name: find_version
-- Purpose: Finds a version of a workflow.
-- Params: :namespace_id integer, :name text, :version integer (0: the default version, -1: the newest).
-- Result: No row: there is no such version.
select v.definition_id, v.version, v.created_at
from drover.workflow as w
join drover.workflow_version as v on v.namespace_id = w.namespace_id and v.name = w.name
  and v.version = case :version::integer when 0 then w.default_version when -1 then w.latest_version else :version::integer end
where w.namespace_id = :namespace_id::integer and w.name = :name::text;

-- name: intern_lanes
-- Purpose: Creates lanes of these tasks, of class 0 and of every class of the queue (version_class). Lanes
--   that exist stay as they are.
-- Params: Parallel arrays: :namespace_id integer[], :queue text[], :task text[].
-- Locks: Inserts in key order, so that servers that create the same lanes at once wait in one direction
--   only.
insert into drover.lane (namespace_id, queue, task, class)
select distinct u.namespace_id, u.queue, u.task, k.class
from unnest(:namespace_id::integer[], :queue::text[], :task::text[]) as u (namespace_id, queue, task)
cross join lateral (
  select 0::smallint as class
  union all
  select c.class
  from drover.version_class as c
  where c.namespace_id = u.namespace_id and c.queue = u.queue
) as k
order by u.namespace_id, u.queue, u.task, k.class
on conflict do nothing;

-- name: find_lanes
-- Purpose: Finds lanes of class 0, in the order of the question.
-- Params: Parallel arrays: :namespace_id integer[], :queue text[], :task text[].
-- Plan: lane by its unique key.
-- Result: A lane that does not exist has no row.
select u.place, l.id
from unnest(:namespace_id::integer[], :queue::text[], :task::text[]) with ordinality
  as u (namespace_id, queue, task, place)
join drover.lane as l on l.namespace_id = u.namespace_id and l.queue = u.queue and l.task = u.task
  and l.class = 0
order by u.place;

-- name: lanes_of_queues
-- Purpose: Reads all lanes of class 0 of these queues, for an agent that performs any task.
-- Params: :namespace_id integer, :queues text[].
select l.id, l.queue, l.task
from drover.lane as l
where l.namespace_id = :namespace_id::integer and l.queue = any (:queues::text[]) and l.class = 0;
