-- Namespaces, definitions, workflows and lanes: small, and mostly read from memory. Ids are drawn at
-- random, so an insert may conflict with the id of another row, and is then repeated.

-- name: find_namespace
select id, name, region from drover.namespace where name = $1::text;

-- name: create_namespace
insert into drover.namespace (name, region)
select $1::text, r.id from drover.region as r where r.name = $2::text
on conflict do nothing;

-- name: find_region
select id from drover.region where name = $1::text;

-- name: lock_regions
-- Whoever makes one holds the first one.
select from drover.region where id = 0 for update;

-- name: create_region
-- None if there is no room for another; the number is what a smallint of partitions holds.
insert into drover.region (id, name)
select max(r.id) + 1, $1::text from drover.region as r having max(r.id) < $2::integer - 1
returning id;

-- name: create_partitions
insert into drover.partition_lease (partition, epoch)
select $1::smallint * 256 + p, 0 from generate_series(0, 255) as p;

-- name: list_namespaces
-- Few rows, whatever the plan.
select n.id, n.name, r.name as region, n.created_at, n.retention_ms, n.open_runs_max, n.runs_per_second,
  n.runs_burst, n.payload_bytes_max
from drover.namespace as n
join drover.region as r on r.id = n.region
where ($1::text[] is null or n.name = any ($1::text[]))
  and ($2::text is null or n.name collate "C" > $2::text)
order by n.name collate "C"
limit $3::integer;

-- name: list_regions
-- Who holds the lock of a partition watches it, whatever its row says.
select r.id, r.name, count(l.objid)::integer as watched
from drover.region as r
left join pg_locks as l
  on l.locktype = 'advisory' and l.objsubid = 2 and l.granted and l.classid = 'drover.partition_lease'::regclass
  and l.database = (select d.oid from pg_database as d where d.datname = current_database())
  and l.objid::integer / 256 = r.id
group by r.id, r.name
order by r.id;

-- name: intern_definition
-- None where the namespace is not there: a fail-over may have lost it since the caller found it.
insert into drover.definition (namespace_id, digest, body)
select n.id, decode($2::text, 'hex'), $3::text from drover.namespace as n where n.id = $1::integer
on conflict do nothing;

-- name: find_definition
-- `unused`: it may be removed before it is used (keep_definition).
select id, unused_since is not null as unused
from drover.definition
where namespace_id = $1::integer and digest = decode($2::text, 'hex');

-- name: keep_definition
-- Somebody is about to use it. No row: it has been removed. Plan: definition by key.
update drover.definition set unused_since = null where id = $1::bigint returning id;

-- name: forget_definitions
-- A page of $2 behind $1, of all namespaces: those that no version and no run has are marked, and go when
-- they were unused for $3 milliseconds; those that one has again lose their mark. Who finds a marked one
-- takes the mark away, and this waits for that: the row is looked at again. Plan: definition by key,
-- workflow_version_definition.
with page as materialized (
  select d.id, d.unused_since
  from drover.definition as d
  where d.id > $1::bigint
  order by d.id
  limit $2::integer
),
seen as materialized (
  select p.id, p.unused_since, v.used is null and r.used is null as unused
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
  set unused_since = case when s.unused then now() end
  from seen as s
  where d.id = s.id and s.unused is distinct from (s.unused_since is not null)
),
gone as (
  delete from drover.definition as d
  using seen as s
  where d.id = s.id and s.unused
    and d.unused_since < now() - $3::bigint * interval '1 millisecond'
)
select max(p.id) as last, count(*)::integer as looked_at from page as p;

-- name: get_definition
select body from drover.definition where id = $1::bigint;

-- name: lock_workflow
-- The first registration of a name makes its row; all take turns on it.
insert into drover.workflow as w (namespace_id, name, default_version, latest_version)
values ($1::integer, $2::text, 0, 0)
on conflict (namespace_id, name) do update set latest_version = w.latest_version
returning default_version, latest_version;

-- name: find_version_of
select version from drover.workflow_version
where namespace_id = $1::integer and name = $2::text and definition_id = $3::bigint;

-- name: insert_version
insert into drover.workflow_version (namespace_id, name, version, definition_id)
values ($1::integer, $2::text, $3::integer, $4::bigint);

-- name: set_versions
update drover.workflow set latest_version = $3::integer, default_version = $4::integer
where namespace_id = $1::integer and name = $2::text;

-- name: set_default_version
-- Only to a version that is there. Takes turns with registrations on the workflow's row.
with held as (
  select w.namespace_id, w.name, w.default_version, v.version
  from drover.workflow as w
  join drover.workflow_version as v on v.namespace_id = w.namespace_id and v.name = w.name
  where w.namespace_id = $1::integer and w.name = $2::text and v.version = $3::integer
  for update of w
)
update drover.workflow as w set default_version = h.version
from held as h
where w.namespace_id = h.namespace_id and w.name = h.name
returning h.default_version as previous_version;

-- name: list_versions
-- The newest $3 of each name, with the open runs of their content, counted up to $4.
-- Plan: run_page_open, whose order keeps the planner to it.
select v.name, v.version, v.created_at, o.open_runs
from unnest($2::text[]) with ordinality as u (name, place)
cross join lateral (
  select w.name, w.version, w.created_at, w.definition_id
  from drover.workflow_version as w
  where w.namespace_id = $1::integer and w.name = u.name
  order by w.version desc
  limit $3::integer
) as v
cross join lateral (
  select count(*)::integer as open_runs
  from (
    select from drover.run_page as r
    where r.namespace_id = $1::integer and r.definition_id = v.definition_id and r.no = 0
      and r.ended_at is null
    order by r.namespace_id, r.definition_id, r.run_id
    limit $4::integer
  ) as counted
) as o
order by u.place, v.version desc;

-- name: find_version
-- $3 is 0: the default version; -1: the newest.
select v.definition_id, v.version, v.created_at
from drover.workflow as w
join drover.workflow_version as v on v.namespace_id = w.namespace_id and v.name = w.name
  and v.version = case $3::integer when 0 then w.default_version when -1 then w.latest_version else $3::integer end
where w.namespace_id = $1::integer and w.name = $2::text;

-- name: intern_lanes
-- In the order of the key: two servers that make the same lanes at once wait in one direction only. With
-- those of all classes of the queue (version_class).
insert into drover.lane (namespace_id, queue, task, class)
select distinct u.namespace_id, u.queue, u.task, k.class
from unnest($1::integer[], $2::text[], $3::text[]) as u (namespace_id, queue, task)
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
-- Ids in the order of the question; lanes that are not there are left out. Plan: lane by its unique key.
select u.place, l.id
from unnest($1::integer[], $2::text[], $3::text[]) with ordinality
  as u (namespace_id, queue, task, place)
join drover.lane as l on l.namespace_id = u.namespace_id and l.queue = u.queue and l.task = u.task
  and l.class = 0
order by u.place;

-- name: lanes_of_queues
select l.id, l.queue, l.task
from drover.lane as l
where l.namespace_id = $1::integer and l.queue = any ($2::text[]) and l.class = 0;
