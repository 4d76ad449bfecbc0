-- Pauses and limits of queues, and pauses of workflows. A claim reads what concerns a queue in the statement
-- that locks ready rows. What concerns a workflow is read by the statement that makes a row ready.

-- name: pause_queue
-- Purpose: Pauses a queue.
-- Params: $1 namespace_id integer, $2 name text ('': all queues of the namespace), $3 reason text.
-- Result: No row: it was paused before, and the first reason stays.
insert into drover.queue as q (namespace_id, name, paused_at, pause_reason)
values ($1::integer, $2::text, now(), $3::text)
on conflict (namespace_id, name) do update
set paused_at = excluded.paused_at, pause_reason = excluded.pause_reason
where q.paused_at is null
returning q.paused_at;

-- name: queue_pause
-- Purpose: Reads the pause of a queue.
-- Params: $1 namespace_id integer, $2 name text ('': the namespace).
-- Result: No row: it is not paused.
select q.paused_at, q.pause_reason
from drover.queue as q
where q.namespace_id = $1::integer and q.name = $2::text and q.paused_at is not null;

-- name: resume_queue
-- Purpose: Resumes a queue.
-- Params: $1 namespace_id integer, $2 name text ('': the namespace).
update drover.queue
set paused_at = null, pause_reason = null
where namespace_id = $1::integer and name = $2::text and paused_at is not null;

-- name: queue_lanes
-- Purpose: Reads the lanes of a queue.
-- Params: $1 namespace_id integer, $2 queue text ('': all queues of the namespace).
-- Plan: lane by its unique key.
select l.id as lane
from drover.lane as l
where l.namespace_id = $1::integer and ($2::text = '' or l.queue = $2::text);

-- name: claims_under_way
-- Purpose: Lists transactions that have locked rows of a table, or are about to: a statement locks the table
--   before it takes the snapshot in which it reads.
-- Params: $1 table text (name).
select distinct l.virtualtransaction as transaction
from pg_locks as l
where l.locktype = 'relation' and l.relation = format('drover.%I', $1::text)::regclass and l.granted
  and l.mode in ('RowShareLock', 'RowExclusiveLock') and l.pid <> pg_backend_pid()
  and l.database = (select d.oid from pg_database as d where d.datname = current_database());

-- name: list_queues
-- Purpose: Lists queues that are known or are asked for ($2), by name.
-- Params: $1 namespace_id integer, $2 names text[] (null: all), $3 after text (the last name of the previous
--   page; null: the first page), $4 limit integer, $5 ready_max integer (tasks counted of each lane).
-- Plan: ready_lane, lease_lane.
-- Result: paused_at is null if the queue is not paused, leases_max and rate if it has no such limit.
with named as (
  select l.queue as name
  from drover.lane as l
  where l.namespace_id = $1::integer and ($2::text[] is null or l.queue = any ($2::text[]))
  union
  select q.name
  from drover.queue as q
  where q.namespace_id = $1::integer and q.name <> ''
    and ($2::text[] is null or q.name = any ($2::text[]))
  union
  select n.name from unnest($2::text[]) as n (name)
),
page as (
  select n.name
  from named as n
  where $3::text is null or n.name > $3::text
  order by n.name
  limit $4::integer
)
select p.name, q.paused_at, q.pause_reason, q.leases_max, q.rate, q.burst,
  coalesce(sum(c.ready), 0)::integer as ready, coalesce(sum(c.leased), 0)::integer as leased
from page as p
left join drover.queue as q on q.namespace_id = $1::integer and q.name = p.name
left join drover.lane as l on l.namespace_id = $1::integer and l.queue = p.name
left join lateral (
  select
    (
      select count(*)
      from (
        select from drover.ready as r where r.lane = any (array[l.id, -l.id]) limit $5::integer
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
-- Params: $1 namespace_id integer, $2 name text, $3 leases_max integer, $4 rate double precision (tasks per
--   second), $5 burst integer (null: no such limit).
insert into drover.queue as q (namespace_id, name, leases_max, rate, burst, tokens, filled_at)
values ($1::integer, $2::text, $3::integer, $4::double precision, $5::integer, $5::integer,
  case when $4::double precision is not null then now() end)
on conflict (namespace_id, name) do update
set leases_max = excluded.leases_max, rate = excluded.rate, burst = excluded.burst,
  tokens = case when q.rate is null then excluded.tokens else least(q.tokens, excluded.tokens) end,
  filled_at = case when q.rate is null or excluded.rate is null then excluded.filled_at
    else q.filled_at end;

-- name: lock_queues
-- Purpose: Locks the queues that have limits, and reads their limits and buckets.
-- Params: Parallel arrays: $1 namespace_id integer[], $2 name text[].
-- Locks: Queues in key order; waits.
-- Plan: queue by key.
-- Result: A queue without limits has no row.
select q.namespace_id, q.name, q.leases_max, q.rate, q.burst, q.tokens, q.filled_at
from unnest($1::integer[], $2::text[]) as u (namespace_id, name)
join drover.queue as q on q.namespace_id = u.namespace_id and q.name = u.name
where q.leases_max is not null or q.rate is not null
order by q.namespace_id, q.name
for no key update of q;

-- name: count_leases
-- Purpose: Counts the leases of locked queues. It is a statement of its own, so that it sees what the lock
--   has waited for. Of each lane it counts up to the limit, which is enough to know that there is no room.
-- Params: Parallel arrays: $1 namespace_id integer[], $2 name text[].
-- Plan: lease_lane.
select l.namespace_id, l.queue as name,
  sum((
    select count(*) from (select from drover.lease as e where e.lane = l.id limit q.leases_max) as counted
  ))::integer as leased
from unnest($1::integer[], $2::text[]) as u (namespace_id, name)
join drover.queue as q on q.namespace_id = u.namespace_id and q.name = u.name
join drover.lane as l on l.namespace_id = u.namespace_id and l.queue = u.name
group by l.namespace_id, l.queue;

-- name: write_buckets
-- Purpose: Writes the buckets of locked queues.
-- Params: Parallel arrays: $1 namespace_id integer[], $2 name text[], $3 tokens double precision[],
--   $4 filled_at bigint[] (ms since 1970).
-- Plan: queue by key.
-- Result: One row for each queue.
update drover.queue as q
set tokens = u.tokens, filled_at = to_timestamp(u.filled_at / 1e3::float8)
from unnest($1::integer[], $2::text[], $3::double precision[], $4::bigint[])
  as u (namespace_id, name, tokens, filled_at)
where q.namespace_id = u.namespace_id and q.name = u.name
returning q.name;

-- name: pause_workflow
-- Purpose: Pauses a workflow, unless it is paused, and notes that its ready rows are to be moved.
-- Params: $1 namespace_id integer, $2 name text, $3 reason text.
-- Result: The id of the note.
with paused as (
  insert into drover.paused_workflow (namespace_id, name, reason)
  values ($1::integer, $2::text, $3::text)
  on conflict (namespace_id, name) do nothing
)
insert into drover.pin_move (namespace_id, workflow)
values ($1::integer, $2::text)
returning id;

-- name: workflow_pause
-- Purpose: Reads the pause of a workflow.
-- Params: $1 namespace_id integer, $2 name text.
-- Result: No row: it is not paused.
select p.paused_at, p.reason as pause_reason
from drover.paused_workflow as p
where p.namespace_id = $1::integer and p.name = $2::text;

-- name: resume_workflow
-- Purpose: Resumes a workflow, and notes that its ready rows are to be moved. The note is made also if the
--   workflow was not paused: a server that resumed it may have ended before the rows were moved.
-- Params: $1 namespace_id integer, $2 name text.
-- Result: The id of the note.
with resumed as (
  delete from drover.paused_workflow where namespace_id = $1::integer and name = $2::text
)
insert into drover.pin_move (namespace_id, workflow)
values ($1::integer, $2::text)
returning id;

-- name: definitions_of_workflow
-- Purpose: Reads a page of the definitions that name a workflow, also those of runs with an inline
--   definition.
-- Params: $1 namespace_id integer, $2 workflow text, $3 after bigint (definition; 0: the first page),
--   $4 limit integer.
-- Plan: definition_workflow.
select d.id
from drover.definition as d
where d.namespace_id = $1::integer and (d.body::jsonb) ->> 'workflow' = $2::text and d.id > $3::bigint
order by d.id
limit $4::integer;

-- name: open_runs_of_definitions
-- Purpose: Reads up to $4 open runs of these definitions, in the order of the definitions.
-- Params: $1 namespace_id integer, $2 definition_ids bigint[], $3 after uuid (run of the first definition;
--   zeros: from its first run), $4 limit integer.
-- Plan: run_page_open, one probe a definition.
-- Result: place is the position of the definition, from 1.
-- Note: There is no sort, which would read all open runs.
select u.place::integer as place, o.run_id
from unnest($2::bigint[]) with ordinality as u (definition_id, place)
cross join lateral (
  select x.run_id
  from drover.run_page as x
  where x.namespace_id = $1::integer and x.definition_id = u.definition_id and x.no = 0 and x.ended_at is null
    and x.run_id > case when u.place = 1 then $3::uuid else '00000000-0000-0000-0000-000000000000'::uuid end
  order by x.namespace_id, x.definition_id, x.run_id
  limit $4::integer
) as o
limit $4::integer;
