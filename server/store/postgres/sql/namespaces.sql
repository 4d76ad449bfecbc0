-- Settings of namespaces, and the deletion of runs whose retention is over.

-- name: set_retention
-- Purpose: Sets how long runs of a namespace are retained after their end.
-- Params: :namespace_id integer, :retention_ms bigint (null: for ever).
-- Result: No row: it was so before.
update drover.namespace set retention_ms = :retention_ms::bigint
where id = :namespace_id::integer and retention_ms is distinct from :retention_ms::bigint
returning id;

-- name: set_namespace_limits
-- Purpose: Sets the limits of a namespace. null: no limit.
-- Params: :namespace_id integer, :open_runs_max integer, :runs_per_second double precision, :runs_burst
--   integer, :payload_bytes_max integer, :calls_per_second double precision, :calls_burst integer,
--   :storage_bytes_max bigint, :weight smallint.
-- Result: No row: it had these limits before.
update drover.namespace
set open_runs_max = :open_runs_max::integer, runs_per_second = :runs_per_second::double precision,
  runs_burst = :runs_burst::integer, payload_bytes_max = :payload_bytes_max::integer,
  calls_per_second = :calls_per_second::double precision, calls_burst = :calls_burst::integer,
  storage_bytes_max = :storage_bytes_max::bigint, weight = :weight::smallint
where id = :namespace_id::integer
  and (open_runs_max, runs_per_second, runs_burst, payload_bytes_max, calls_per_second, calls_burst,
      storage_bytes_max, weight)
    is distinct from (:open_runs_max::integer, :runs_per_second::double precision, :runs_burst::integer,
      :payload_bytes_max::integer, :calls_per_second::double precision, :calls_burst::integer,
      :storage_bytes_max::bigint, :weight::smallint)
returning id;

-- name: set_namespace_logs
-- Purpose: Sets whether the lines that handlers log in a namespace are stored.
-- Params: :namespace_id integer, :no_logs boolean (null: they are stored).
-- Result: No row: it was so before.
update drover.namespace set no_logs = :no_logs::boolean
where id = :namespace_id::integer and no_logs is distinct from :no_logs::boolean
returning id;

-- name: limited_namespaces
-- Purpose: Reads the namespaces that have a limit or a weight, or that do not store the lines of handlers.
-- Result: null: no such limit.
select n.id, n.name, n.open_runs_max, n.runs_per_second, n.runs_burst, n.payload_bytes_max,
  n.calls_per_second, n.calls_burst, n.storage_bytes_max, n.weight, u.storage_bytes, n.no_logs
from drover.namespace as n
left join drover.namespace_use as u on u.namespace_id = n.id
where n.open_runs_max is not null or n.runs_per_second is not null or n.payload_bytes_max is not null
  or n.calls_per_second is not null or n.storage_bytes_max is not null or n.weight is not null
  or n.no_logs;

-- name: count_open_runs_of
-- Purpose: Counts a page of the open runs of a namespace.
-- Params: :namespace_id integer, :definition_id bigint and :run_id uuid (the last run of the previous
--   page), :limit integer.
-- Plan: run_page_open.
-- Result: One row: how many runs, and the last of them. No row: there are no more.
with page as materialized (
  select o.definition_id, o.run_id
  from drover.run_page as o
  where o.namespace_id = :namespace_id::integer and o.no = 0 and o.ended_at is null
    and (o.definition_id, o.run_id) > (:definition_id::bigint, :run_id::uuid)
  order by o.namespace_id, o.definition_id, o.run_id
  limit :limit::integer
)
select c.runs, p.definition_id, p.run_id
from (select count(*)::integer as runs from page) as c
cross join (
  select x.definition_id, x.run_id from page as x order by x.definition_id desc, x.run_id desc limit 1
) as p;

-- name: namespaces_with_retention
-- Purpose: Reads the namespaces whose runs are deleted after a time.
select id, retention_ms from drover.namespace where retention_ms is not null;

-- name: old_runs
-- Purpose: Reads a page of the runs of a namespace that began more than :retention ms ago, and locks those
--   that may be deleted: they ended more than :retention ms ago, have no open escalation and no open
--   parent, and no trigger or webhook is still waiting for them.
-- Params: :namespace_id integer, :retention bigint (ms), :after uuid (the last run of the previous page;
--   null: the first page), :limit integer.
-- Locks: First pages of the runs, without waiting: a run that is locked stays.
-- Plan: run_page by key.
-- Result: One row for each run of the page, by id. old: it may be deleted, and is locked.
-- Note: Ids begin with the creation time in ms. If all runs are of one namespace, the planner may read the
--   page by the key of run.
with page as materialized (
  select r.id, r.partition, r.parent_id
  from drover.run as r
  where r.namespace_id = :namespace_id::integer
    and r.id > coalesce(:after::uuid, '00000000-0000-0000-0000-000000000000'::uuid)
    and r.id
      < rpad(lpad(to_hex((extract(epoch from now()) * 1000)::bigint - :retention::bigint), 12, '0'), 32,
        '0')::uuid
  order by r.id
  limit :limit::integer
),
old as materialized (
  select p.id
  from page as p
  join drover.run_page as s on s.run_id = p.id and s.no = 0
  where s.ended_at <= now() - :retention::bigint * interval '1 millisecond'
    and not exists (
      select
      from drover.escalation as e
      where e.namespace_id = :namespace_id::integer and e.run_id = p.id and e.closed_at is null
    )
    and (
      select true
      from drover.run_page as o
      where o.partition = p.partition and o.run_id = p.parent_id and o.no = 0 and o.ended_at is null
      limit 1
    ) is null
    and not exists (select from drover.trigger_end as t where t.partition = p.partition and t.run_id = p.id)
    and not exists (select from drover.outbox as b where b.partition = p.partition and b.run_id = p.id)
    and not exists (
      select
      from drover.delivery as d
      where d.partition = p.partition and d.next_try_at is not null and d.run_id = p.id
    )
  for update of s skip locked
)
select p.id, o.id is not null as old
from page as p
left join old as o on o.id = p.id
order by p.id;

-- name: forget_run_rows
-- Purpose: Deletes up to :rows_max rows of each table that belong to these runs. The runs are locked. Their
--   first pages stay until the runs themselves are deleted.
-- Params: :run_ids uuid[], :rows_max integer (for each table).
-- Plan: payload, attempt_log, run_page, intervention, handler_log by the run's key.
-- Result: One row. more: :rows_max rows of one table were deleted, so there may be more.
with payloads as (
  delete from drover.payload as t
  using (
    select a.run_id, a.step_no, a.fence, a.kind, a.n, a.what
    from drover.payload as a where a.run_id = any (:run_ids::uuid[]) limit :rows_max::integer
  ) as o
  where t.run_id = o.run_id and t.step_no = o.step_no and t.fence = o.fence and t.kind = o.kind
    and t.n = o.n and t.what = o.what
  returning t.run_id
),
logged as (
  delete from drover.attempt_log as t
  using (
    select a.run_id, a.step_no, a.fence, a.kind, a.n
    from drover.attempt_log as a where a.run_id = any (:run_ids::uuid[]) limit :rows_max::integer
  ) as o
  where t.run_id = o.run_id and t.step_no = o.step_no and t.fence = o.fence and t.kind = o.kind
    and t.n = o.n
  returning t.run_id
),
lines as (
  delete from drover.handler_log as t
  using (
    select a.run_id, a.id
    from drover.handler_log as a where a.run_id = any (:run_ids::uuid[]) limit :rows_max::integer
  ) as o
  where t.run_id = o.run_id and t.id = o.id
  returning t.run_id
),
pages as (
  delete from drover.run_page as t
  using (
    select a.run_id, a.no
    from drover.run_page as a where a.run_id = any (:run_ids::uuid[]) and a.no > 0 limit :rows_max::integer
  ) as o
  where t.run_id = o.run_id and t.no = o.no
  returning t.run_id
),
interventions as (
  delete from drover.intervention as t
  using (
    select a.run_id, a.step_no, a.fence, a.rule, a.n
    from drover.intervention as a where a.run_id = any (:run_ids::uuid[]) limit :rows_max::integer
  ) as o
  where t.run_id = o.run_id and t.step_no = o.step_no and t.fence = o.fence and t.rule = o.rule
    and t.n = o.n
  returning t.run_id
),
escalations as (
  delete from drover.escalation as t
  using (select a.run_id, a.n from drover.escalation as a
    where a.run_id = any (:run_ids::uuid[]) limit :rows_max::integer) as o
  where t.run_id = o.run_id and t.n = o.n
  returning t.run_id
),
signals as (
  delete from drover.signal as t
  using (select a.run_id, a.seq from drover.signal as a
    where a.run_id = any (:run_ids::uuid[]) limit :rows_max::integer) as o
  where t.run_id = o.run_id and t.seq = o.seq
  returning t.run_id
),
decisions as (
  delete from drover.decision as t
  using (
    select a.run_id, a.step_no, a.approver
    from drover.decision as a where a.run_id = any (:run_ids::uuid[]) limit :rows_max::integer
  ) as o
  where t.run_id = o.run_id and t.step_no = o.step_no and t.approver = o.approver
  returning t.run_id
),
overrides as (
  delete from drover.step_override as t
  using (
    select a.run_id, a.step_no, a.strategy
    from drover.step_override as a where a.run_id = any (:run_ids::uuid[]) limit :rows_max::integer
  ) as o
  where t.run_id = o.run_id and t.step_no = o.step_no and t.strategy = o.strategy
  returning t.run_id
),
reused as (
  delete from drover.step_reused as t
  using (
    select a.run_id, a.step_no from drover.step_reused as a
      where a.run_id = any (:run_ids::uuid[]) limit :rows_max::integer
  ) as o
  where t.run_id = o.run_id and t.step_no = o.step_no
  returning t.run_id
)
select greatest(
  (select count(*) from payloads), (select count(*) from logged), (select count(*) from lines),
  (select count(*) from pages),
  (select count(*) from interventions), (select count(*) from escalations),
  (select count(*) from signals), (select count(*) from decisions),
  (select count(*) from overrides), (select count(*) from reused)
) >= :rows_max::integer as more;

-- name: forget_runs
-- Purpose: Deletes runs of which nothing else is left. Their search keys are deleted by the whole key. They
--   are collected first, because the planner assumes that a run has a hundred labels.
-- Params: :run_ids uuid[].
-- Plan: run, run_page, run_mark by key.
with marks as (
  delete from drover.run_mark as m
  using (
    select array_agg(r.namespace_id) as namespaces, array_agg(o.mark) as names, array_agg(r.id) as ids
    from drover.run as r
    join drover.run_page as p on p.run_id = r.id and p.no = 0
    cross join lateral (
      select l.key || '=' || l.value from jsonb_each_text(r.labels) as l
      union all values (p.run_state::text), (p.run_state || ' ' || r.workflow)
    ) as o (mark)
    where r.id = any (:run_ids::uuid[])
  ) as k
  cross join lateral unnest(k.namespaces, k.names, k.ids) as u (namespace_id, mark, run_id)
  where m.namespace_id = u.namespace_id and m.mark = u.mark and m.run_id = u.run_id
),
reruns as (
  delete from drover.rerun as r where r.run_id = any (:run_ids::uuid[])
),
behind as (
  delete from drover.triggered as t where t.run_id = any (:run_ids::uuid[])
),
pages as (
  delete from drover.run_page as p where p.run_id = any (:run_ids::uuid[]) and p.no = 0
)
delete from drover.run as r where r.id = any (:run_ids::uuid[]);

-- name: forget_failure_keys
-- Purpose: Deletes search keys of what failed in runs that are gone. They cannot be derived from what is stored
--   of a run, so it reads the next :limit keys of the namespace, and of each the runs that began more than
--   :retention ms ago: those of a run that is still there stay.
-- Params: :namespace_id integer, :retention bigint (ms), :after text (the key before the first), :below text
--   (the key after the last), :limit integer (keys), :rows_max integer (runs of a key).
-- Plan: run_mark, run by key.
-- Result: One row: the last key that was read. No row: there are no more keys.
-- Note: Ids of runs begin with the creation time in ms. There are as many keys as steps have error codes.
with recursive failure (mark) as (
  (
    select x.mark
    from drover.run_mark as x
    where x.namespace_id = :namespace_id::integer and x.mark > :after::text and x.mark < :below::text
    order by x.namespace_id, x.mark
    limit 1
  )
  union all
  select m.mark
  from failure as f
  cross join lateral (
    select x.mark
    from drover.run_mark as x
    where x.namespace_id = :namespace_id::integer and x.mark > f.mark and x.mark < :below::text
    order by x.namespace_id, x.mark
    limit 1
  ) as m
),
page as materialized (
  select f.mark from failure as f limit :limit::integer
),
left_over as materialized (
  select array_agg(p.mark) as marks, array_agg(o.run_id) as run_ids
  from page as p
  cross join lateral (
    select x.run_id
    from drover.run_mark as x
    where x.namespace_id = :namespace_id::integer and x.mark = p.mark
      and x.run_id
        < rpad(lpad(to_hex((extract(epoch from now()) * 1000)::bigint - :retention::bigint), 12, '0'), 32,
          '0')::uuid
    order by x.namespace_id, x.mark, x.run_id
    limit :rows_max::integer
  ) as o
  where (select true from drover.run as r where r.id = o.run_id limit 1) is null
),
gone as (
  delete from drover.run_mark as m
  using left_over as l
  cross join lateral unnest(l.marks, l.run_ids) as u (mark, run_id)
  where m.namespace_id = :namespace_id::integer and m.mark = u.mark and m.run_id = u.run_id
)
select max(p.mark) as last from page as p having count(*) > 0;

-- name: lock_run_to_erase
-- Purpose: Locks a run, and reads what may keep it from being erased.
-- Params: :namespace_id integer, :run_id uuid.
-- Locks: The first page of the run; waits for a transaction that changes the run.
-- Plan: run_page by key; run_by_parent.
-- Note: With `=` the planner may read another index of child runs while there are none.
-- Result: One row; no row: the namespace has no such run. run_state, parent_state: codes. ended: the run has
--   ended. parent_id: its parent, if that is open. child_id: a child that is open.
select r.workflow, r.key, s.run_state, s.ended_at is not null as ended, p.parent_id, p.parent_state,
  c.child_id, c.child_state
from drover.run as r
join drover.run_page as s on s.run_id = r.id and s.no = 0
left join lateral (
  select o.run_id as parent_id, o.run_state as parent_state
  from drover.run_page as o
  where o.run_id = r.parent_id and o.no = 0 and o.ended_at is null
  limit 1
) as p on true
left join lateral (
  select o.run_id as child_id, o.run_state as child_state
  from drover.run as k
  cross join lateral (
    select x.run_id, x.run_state
    from drover.run_page as x
    where x.run_id = k.id and x.no = 0 and x.ended_at is null
    limit 1
  ) as o
  where k.parent_id between r.id and r.id
  order by k.parent_id, k.id
  limit 1
) as c on true
where r.id = :run_id::uuid and r.namespace_id = :namespace_id::integer
for update of s;

-- name: erase_traces
-- Purpose: Deletes what the retention of runs leaves of a run, or waits for: its key, messages to it, rows of
--   the inbox with its key, refusals of triggers, webhooks and triggers of its end that wait, webhooks that
--   were sent, counts of failures with its messages, and of the audit the reasons and details of entries about
--   it. The run is locked and is still there.
-- Params: :namespace_id integer, :run_id uuid.
-- Plan: run, idempotency, message by the run's key; trigger_end_due, outbox_partition,
--   delivery_by_namespace, audit_entry_by_subject, failure_count_workflow.
-- Note: With `=` the planner may read the audit by time while it is empty. A webhook about a run is created
--   after the run. Few rows are in inbox, failure_delta and
--   trigger_refusal.
with erased as materialized (
  select r.id, r.namespace_id, r.partition, r.workflow, r.key, r.created_at, n.name as namespace
  from drover.run as r
  join drover.namespace as n on n.id = r.namespace_id
  where r.id = :run_id::uuid
),
keys as (
  delete from drover.idempotency as i
  using erased as r
  where i.namespace_id = r.namespace_id and i.key = r.key and i.run_id = r.id
),
messages as (
  delete from drover.message as m where m.run_id = :run_id::uuid
),
waiting as (
  delete from drover.trigger_end as t
  using erased as r
  where t.partition = r.partition and t.run_id = r.id
),
events as (
  delete from drover.outbox as o
  using erased as r
  where o.partition = r.partition and o.run_id = r.id
),
webhooks as (
  delete from drover.delivery as d
  using erased as r
  where d.namespace_id = r.namespace_id and d.created_at >= r.created_at and d.run_id = r.id
),
refused as (
  delete from drover.trigger_refusal as t
  using erased as r
  where t.namespace_id = r.namespace_id and t.run_id = r.id
),
asked as (
  delete from drover.inbox as i
  using erased as r
  where i.namespace = r.namespace and i.key = r.key
),
fresh_failures as (
  delete from drover.failure_delta as f where f.run_id = :run_id::uuid
),
failures as (
  delete from drover.failure_count as f
  using erased as r
  where f.namespace_id = r.namespace_id and f.workflow = r.workflow and f.run_id = r.id
)
update drover.audit_entry as a
set reason = '', details = '{}'
where a.id = any (array(
  select e.id
  from drover.audit_entry as e
  where e.namespace_id = :namespace_id::integer and e.subject_kind = 'run'
    and e.subject between (:run_id::uuid)::text and (:run_id::uuid)::text
  order by e.namespace_id, e.subject_kind, e.subject
));

-- name: forget_key
-- Purpose: Deletes a key that is reserved for a run of another shard, and rows of the inbox with it.
-- Params: :namespace_id integer, :key text.
-- Plan: idempotency by key, run by key.
-- Note: With `not exists` the planner may read all of run. Few rows are in inbox.
with keys as (
  delete from drover.idempotency as i
  where i.namespace_id = :namespace_id::integer and i.key = :key::text
    and (select true from drover.run as r where r.id = i.run_id) is not true
)
delete from drover.inbox as i
using drover.namespace as n
where n.id = :namespace_id::integer and i.namespace = n.name and i.key = :key::text;

-- name: forget_failure_marks
-- Purpose: Deletes the search keys of what failed in a run. They cannot be derived from what is stored of the
--   run, so it looks for the run under each such key of the namespace: there are as many as steps have
--   error codes.
-- Params: :namespace_id integer, :run_id uuid.
-- Plan: run_mark by key.
with recursive failure (mark, below) as (
  select m.mark, b.below
  from (values ('error '::text collate "C", 'error!'::text collate "C"), ('step ', 'step!')) as b (above, below)
  cross join lateral (
    select x.mark
    from drover.run_mark as x
    where x.namespace_id = :namespace_id::integer and x.mark >= b.above and x.mark < b.below
    order by x.namespace_id, x.mark
    limit 1
  ) as m
  union all
  select m.mark, f.below
  from failure as f
  cross join lateral (
    select x.mark
    from drover.run_mark as x
    where x.namespace_id = :namespace_id::integer and x.mark > f.mark and x.mark < f.below
    order by x.namespace_id, x.mark
    limit 1
  ) as m
)
delete from drover.run_mark as m
using failure as f
where m.namespace_id = :namespace_id::integer and m.mark = f.mark and m.run_id = :run_id::uuid;
