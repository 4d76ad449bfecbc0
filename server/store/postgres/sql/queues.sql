-- What people say about queues and workflows. A claim reads what concerns a queue in the statement that
-- locks ready rows; what concerns a workflow is read by the statement that makes them.

-- name: pause_queue
-- No row: it is paused already.
insert into queue as q (namespace_id, name, paused_at, pause_reason)
values ($1::integer, $2::text, now(), $3::text)
on conflict (namespace_id, name) do update
set paused_at = excluded.paused_at, pause_reason = excluded.pause_reason
where q.paused_at is null
returning q.paused_at;

-- name: queue_pause
select q.paused_at, q.pause_reason
from queue as q
where q.namespace_id = $1::integer and q.name = $2::text and q.paused_at is not null;

-- name: resume_queue
update queue
set paused_at = null, pause_reason = null
where namespace_id = $1::integer and name = $2::text and paused_at is not null;

-- name: queue_lanes
-- All of the namespace, if the name is empty. Plan: lane by its unique key.
select l.id as lane
from lane as l
where l.namespace_id = $1::integer and ($2::text = '' or l.queue = $2::text);

-- name: claims_under_way
-- Transactions that have locked rows of a table ($1), or are about to: a statement locks the table before
-- it takes the snapshot in which it looks.
select distinct l.virtualtransaction as transaction
from pg_locks as l
where l.locktype = 'relation' and l.relation = $1::text::regclass and l.granted
  and l.mode in ('RowShareLock', 'RowExclusiveLock') and l.pid <> pg_backend_pid()
  and l.database = (select d.oid from pg_database as d where d.datname = current_database());

-- name: list_queues
-- Those that are known, or that are asked for ($2), by name, after $3. Plan: ready_lane, lease_lane.
with named as (
  select l.queue as name
  from lane as l
  where l.namespace_id = $1::integer and ($2::text[] is null or l.queue = any ($2::text[]))
  union
  select q.name
  from queue as q
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
left join queue as q on q.namespace_id = $1::integer and q.name = p.name
left join lane as l on l.namespace_id = $1::integer and l.queue = p.name
left join lateral (
  select
    (
      select count(*)
      from (
        select from ready as r where r.lane = any (array[l.id, -l.id]) limit $5::integer
      ) as counted
    )
      as ready,
    (select count(*) from lease as e where e.lane = l.id) as leased
) as c on true
group by p.name, q.namespace_id, q.name
order by p.name;

-- name: set_queue_limits
-- A new rate begins with a full bucket; another one keeps what is in it.
insert into queue as q (namespace_id, name, leases_max, rate, burst, tokens, filled_at)
values ($1::integer, $2::text, $3::integer, $4::double precision, $5::integer, $5::integer,
  case when $4::double precision is not null then now() end)
on conflict (namespace_id, name) do update
set leases_max = excluded.leases_max, rate = excluded.rate, burst = excluded.burst,
  tokens = case when q.rate is null then excluded.tokens else least(q.tokens, excluded.tokens) end,
  filled_at = case when q.rate is null or excluded.rate is null then excluded.filled_at
    else q.filled_at end;

-- name: lock_queues
-- In one order. Those that have no limits any more are left out. Plan: queue by key.
select q.namespace_id, q.name, q.leases_max, q.rate, q.burst, q.tokens, q.filled_at
from unnest($1::integer[], $2::text[]) as u (namespace_id, name)
join queue as q on q.namespace_id = u.namespace_id and q.name = u.name
where q.leases_max is not null or q.rate is not null
order by q.namespace_id, q.name
for no key update of q;

-- name: count_leases
-- After the lock: it sees what the lock has waited for. Plan: lease_lane.
select l.namespace_id, l.queue as name,
  sum((select count(*) from lease as e where e.lane = l.id))::integer as leased
from unnest($1::integer[], $2::text[]) as u (namespace_id, name)
join lane as l on l.namespace_id = u.namespace_id and l.queue = u.name
group by l.namespace_id, l.queue;

-- name: write_buckets
-- Of locked queues. Plan: queue by key.
update queue as q
set tokens = u.tokens, filled_at = to_timestamp(u.filled_at / 1e3::float8)
from unnest($1::integer[], $2::text[], $3::double precision[], $4::bigint[])
  as u (namespace_id, name, tokens, filled_at)
where q.namespace_id = u.namespace_id and q.name = u.name
returning q.name;

-- name: pause_workflow
-- Nothing, if it is paused already.
insert into paused_workflow (namespace_id, name, reason)
values ($1::integer, $2::text, $3::text)
on conflict (namespace_id, name) do nothing;

-- name: workflow_pause
select p.paused_at, p.reason as pause_reason
from paused_workflow as p
where p.namespace_id = $1::integer and p.name = $2::text;

-- name: resume_workflow
delete from paused_workflow where namespace_id = $1::integer and name = $2::text;

-- name: definitions_of_workflow
-- Also those that runs have brought along. Plan: definition by its unique key.
select d.id
from definition as d
where d.namespace_id = $1::integer and d.body::jsonb ->> 'workflow' = $2::text;

-- name: open_runs_of_definitions
-- Plan: run_open_definition.
select o.run_id from run_open as o where o.definition_id = any ($1::bigint[]);

-- name: hold_ready
-- Takes the ready rows of these runs out of their lanes, but for those that a claim or a pass has: it
-- waits for nobody, and says how many are left. `-lane < 0` is a filter that no index offers itself for.
-- Plan: ready by the run's key.
with mine as materialized (
  select r.run_id, r.step_no
  from unnest($1::uuid[]) as u (run_id)
  join ready as r on r.run_id = u.run_id
  where -r.lane < 0
  for update of r skip locked
),
moved as (
  update ready as r
  set lane = -r.lane
  from mine as m
  where r.run_id = m.run_id and r.step_no = m.step_no
  returning r.run_id
)
select (
  select count(*)
  from unnest($1::uuid[]) as u (run_id)
  join ready as r on r.run_id = u.run_id
  where -r.lane < 0
)::integer - (select count(*) from moved)::integer as left;

-- name: release_ready
-- Puts back up to $1 ready rows whose workflow is not paused any more, and says in which lanes, and
-- whether there are more. They stand behind all that are ready by then, as if they had become so now:
-- a claim may have left the place where they stood behind (store/marks.ts). Rows are moved by their key, and `-lane > 0` is a filter that no index offers
-- itself for: statistics may not know yet how many are held.
-- Plan: ready_lane, ready by key.
with held as materialized (
  select r.run_id, r.step_no
  from (select x.run_id, x.step_no from ready as x where x.lane < 0 offset 0) as r
  cross join lateral (
    select n.namespace_id, n.workflow from run as n where n.id = r.run_id offset 0
  ) as n
  where not exists (
    select from paused_workflow as p
    where p.namespace_id = n.namespace_id and p.name = n.workflow
  )
  limit $1::integer
),
mine as materialized (
  select r.run_id, r.step_no, r.ordered_by, r.ordinal
  from held as h
  cross join lateral (
    select x.run_id, x.step_no, x.ordered_by, x.ordinal
    from ready as x
    where x.run_id = h.run_id and x.step_no = h.step_no and -x.lane > 0
    for update skip locked
  ) as r
),
ranked as (
  select m.run_id, m.step_no, row_number() over (order by m.ordered_by, m.ordinal) as place
  from mine as m
),
moved as (
  update ready as r
  set lane = -r.lane, ordered_by = pg_current_xact_id(), ordinal = m.place
  from ranked as m
  where r.run_id = m.run_id and r.step_no = m.step_no
  returning r.lane
)
select (select coalesce(array_agg(distinct m.lane), '{}') from moved as m) as lanes,
  (select count(*) from held) = $1::integer
    or (select count(*) from held) > (select count(*) from moved) as more;
