-- Pauses and limits of queues, and pauses of workflows. A claim reads what concerns a queue in the statement
-- that locks ready rows. What concerns a workflow is read by the statement that makes a row ready.

-- name: pause_queue
-- Purpose: Pauses a queue.
-- Params: :namespace_id integer, :name text ('': all queues of the namespace), :reason text.
-- Result: No row: it was paused before, and the first reason stays.
insert into drover.queue as q (namespace_id, name, paused_at, pause_reason)
values (:namespace_id::integer, :name::text, now(), :reason::text)
on conflict (namespace_id, name) do update
set paused_at = excluded.paused_at, pause_reason = excluded.pause_reason
where q.paused_at is null
returning q.paused_at;

-- name: queue_pause
-- Purpose: Reads the pause of a queue.
-- Params: :namespace_id integer, :name text ('': the namespace).
-- Result: No row: it is not paused.
select q.paused_at, q.pause_reason
from drover.queue as q
where q.namespace_id = :namespace_id::integer and q.name = :name::text and q.paused_at is not null;

-- name: resume_queue
-- Purpose: Resumes a queue.
-- Params: :namespace_id integer, :name text ('': the namespace).
-- Result: No row: it was not paused.
update drover.queue
set paused_at = null, pause_reason = null
where namespace_id = :namespace_id::integer and name = :name::text and paused_at is not null
returning name;

-- name: queue_lanes
-- Purpose: Reads the lanes of a queue.
-- Params: :namespace_id integer, :queue text ('': all queues of the namespace).
-- Plan: lane by its unique key.
select l.id as lane
from drover.lane as l
where l.namespace_id = :namespace_id::integer and (:queue::text = '' or l.queue = :queue::text);

-- name: claims_under_way
-- Purpose: Lists transactions that have locked rows of a table, or are about to: a statement locks the
--   table before it takes the snapshot in which it reads.
-- Params: :table text (name).
select distinct l.virtualtransaction as transaction
from pg_locks as l
where l.locktype = 'relation' and l.granted
  and l.relation = case when :table::text = 'lane' then 'drover.lane'::regclass else 'drover.ready'::regclass end
  and l.mode in ('RowShareLock', 'RowExclusiveLock') and l.pid <> pg_backend_pid()
  and l.database = (select d.oid from pg_database as d where d.datname = current_database());

-- name: list_queues
-- Purpose: Lists queues that are known or are asked for (:names), by name.
-- Params: :namespace_id integer, :names text[] (null: all), :after text (the last name of the previous
--   page; null: the first page), :limit integer, :ready_max integer (tasks counted of each lane).
-- Plan: ready_lane, lease_lane.
-- Result: paused_at is null if the queue is not paused, leases_max and rate if it has no such limit.
with named as (
  select l.queue as name
  from drover.lane as l
  where l.namespace_id = :namespace_id::integer and (:names::text[] is null or l.queue = any (:names::text[]))
  union
  select q.name
  from drover.queue as q
  where q.namespace_id = :namespace_id::integer and q.name <> ''
    and (:names::text[] is null or q.name = any (:names::text[]))
  union
  select n.name from unnest(:names::text[]) as n (name)
),
page as (
  select n.name
  from named as n
  where :after::text is null or n.name > :after::text
  order by n.name
  limit :limit::integer
)
select p.name, q.paused_at, q.pause_reason, q.leases_max, q.rate, q.burst,
  coalesce(sum(c.ready), 0)::integer as ready, coalesce(sum(c.leased), 0)::integer as leased
from page as p
left join drover.queue as q on q.namespace_id = :namespace_id::integer and q.name = p.name
left join drover.lane as l on l.namespace_id = :namespace_id::integer and l.queue = p.name
left join lateral (
  select
    (
      select count(*)
      from (
        select from drover.ready as r where r.lane = l.id limit :ready_max::integer
      ) as counted
    )
      as ready,
    (select count(*) from drover.lease as e where e.lane = l.id) as leased
) as c on true
group by p.name, q.namespace_id, q.name
order by p.name;

-- name: set_queue_limits
-- Purpose: Sets the limits of a queue. A rate where there was none starts with a full bucket; a changed one
--   keeps what is in it.
-- Params: :namespace_id integer, :name text, :leases_max integer, :rate double precision (tasks per
--   second), :burst integer (null: no such limit).
-- Result: No row: it had these limits before.
insert into drover.queue as q (namespace_id, name, leases_max, rate, burst, tokens, filled_at)
values (:namespace_id::integer, :name::text, :leases_max::integer, :rate::double precision,
  :burst::integer, :burst::integer,
  case when :rate::double precision is not null then now() end)
on conflict (namespace_id, name) do update
set leases_max = excluded.leases_max, rate = excluded.rate, burst = excluded.burst,
  tokens = case when q.rate is null then excluded.tokens else least(q.tokens, excluded.tokens) end,
  filled_at = case when q.rate is null or excluded.rate is null then excluded.filled_at
    else q.filled_at end
where (q.leases_max, q.rate, q.burst) is distinct from (excluded.leases_max, excluded.rate, excluded.burst)
returning q.name;

-- name: lock_queues
-- Purpose: Locks the queues that have limits, and reads their limits and buckets.
-- Params: Parallel arrays: :namespace_id integer[], :name text[].
-- Locks: Queues in key order; waits.
-- Plan: queue by key.
-- Result: A queue without limits has no row.
select q.namespace_id, q.name, q.leases_max, q.rate, q.burst, q.tokens, q.filled_at
from unnest(:namespace_id::integer[], :name::text[]) as u (namespace_id, name)
join drover.queue as q on q.namespace_id = u.namespace_id and q.name = u.name
where q.leases_max is not null or q.rate is not null
order by q.namespace_id, q.name
for no key update of q;

-- name: count_leases
-- Purpose: Counts the leases of locked queues. It is a statement of its own, so that it sees what the lock
--   has waited for. Of each lane it counts up to the limit, which is enough to know that there is no room.
-- Params: Parallel arrays: :namespace_id integer[], :name text[].
-- Plan: lease_lane.
select l.namespace_id, l.queue as name,
  sum((
    select count(*) from (select from drover.lease as e where e.lane = l.id limit q.leases_max) as counted
  ))::integer as leased
from unnest(:namespace_id::integer[], :name::text[]) as u (namespace_id, name)
join drover.queue as q on q.namespace_id = u.namespace_id and q.name = u.name
join drover.lane as l on l.namespace_id = u.namespace_id and l.queue = u.name
group by l.namespace_id, l.queue;

-- name: write_buckets
-- Purpose: Writes the buckets of locked queues.
-- Params: Parallel arrays: :namespace_id integer[], :name text[], :tokens double precision[], :filled_at
--   bigint[] (ms since 1970).
-- Plan: queue by key.
-- Result: One row for each queue.
update drover.queue as q
set tokens = u.tokens, filled_at = to_timestamp(u.filled_at / 1e3::float8)
from unnest(:namespace_id::integer[], :name::text[], :tokens::double precision[], :filled_at::bigint[])
  as u (namespace_id, name, tokens, filled_at)
where q.namespace_id = u.namespace_id and q.name = u.name
returning q.name;

-- name: pause_workflow
-- Purpose: Pauses a workflow, unless it is paused, and notes that its ready rows are to be moved.
-- Params: :namespace_id integer, :name text, :reason text.
-- Result: The id of the note. changed: it was not paused before.
with paused as (
  insert into drover.paused_workflow (namespace_id, name, reason)
  values (:namespace_id::integer, :name::text, :reason::text)
  on conflict (namespace_id, name) do nothing
  returning name
),
noted as (
  insert into drover.pin_move (namespace_id, workflow)
  values (:namespace_id::integer, :name::text)
  returning id
)
select n.id, exists (select from paused) as changed from noted as n;

-- name: workflow_pause
-- Purpose: Reads the pause of a workflow.
-- Params: :namespace_id integer, :name text.
-- Result: No row: it is not paused.
select p.paused_at, p.reason as pause_reason
from drover.paused_workflow as p
where p.namespace_id = :namespace_id::integer and p.name = :name::text;

-- name: resume_workflow
-- Purpose: Resumes a workflow, and notes that its ready rows are to be moved. The note is made also if the
--   workflow was not paused: a server that resumed it may have ended before the rows were moved.
-- Params: :namespace_id integer, :name text.
-- Result: The id of the note. changed: it was paused before.
with resumed as (
  delete from drover.paused_workflow where namespace_id = :namespace_id::integer and name = :name::text
  returning name
),
noted as (
  insert into drover.pin_move (namespace_id, workflow)
  values (:namespace_id::integer, :name::text)
  returning id
)
select n.id, exists (select from resumed) as changed from noted as n;

-- name: definitions_of_workflow
-- Purpose: Reads a page of the definitions that name a workflow, also those of runs with an inline
--   definition.
-- Params: :namespace_id integer, :workflow text, :after bigint (definition; 0: the first page), :limit
--   integer.
-- Plan: definition_workflow.
select d.id
from drover.definition as d
where d.namespace_id = :namespace_id::integer and (d.body::jsonb) ->> 'workflow' = :workflow::text
  and d.id > :after::bigint
order by d.id
limit :limit::integer;

-- name: open_runs_of_definitions
-- Purpose: Reads up to :limit open runs of these definitions, in the order of the definitions.
-- Params: :namespace_id integer, :definition_ids bigint[], :after uuid (run of the first definition; zeros:
--   from its first run), :limit integer.
-- Plan: run_page_open, one probe a definition.
-- Result: place is the position of the definition, from 1.
-- Note: There is no sort, which would read all open runs.
select u.place::integer as place, o.run_id
from unnest(:definition_ids::bigint[]) with ordinality as u (definition_id, place)
cross join lateral (
  select x.run_id
  from drover.run_page as x
  where x.namespace_id = :namespace_id::integer and x.definition_id = u.definition_id and x.no = 0
    and x.ended_at is null
    and x.run_id > case when u.place = 1 then :after::uuid else '00000000-0000-0000-0000-000000000000'::uuid end
  order by x.namespace_id, x.definition_id, x.run_id
  limit :limit::integer
) as o
limit :limit::integer;
