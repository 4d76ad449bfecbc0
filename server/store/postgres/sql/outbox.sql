-- Webhooks: hooks, the outbox and its deliveries. Rows of the outbox are written in the transaction of the
-- event: by insert_escalation_outbox, insert_approval_outbox and end_runs.

-- name: put_hook
-- Purpose: Creates or changes a hook. Without a secret (:secret) a hook keeps the one that it has.
-- Params: :namespace_id integer, :name text, :url text, :events smallint[] (codes), :secret text,
--   :secret_digest text (SHA-256, hex; null with :secret).
-- Plan: hook by key.
-- Result: No row: the hook is new and has no secret; nothing is stored.
with put as materialized (
  select coalesce(:secret::text, o.secret) as secret,
    coalesce(:secret_digest::text, o.secret_digest) as secret_digest, now() as at
  from (select 1) as one
  left join drover.hook as o on o.namespace_id = :namespace_id::integer and o.name = :name::text
  where :secret::text is not null or o.secret is not null
)
insert into drover.hook as h (namespace_id, name, url, events, secret, secret_digest, created_at, changed_at)
select :namespace_id::integer, :name::text, :url::text, :events::smallint[], p.secret, p.secret_digest, p.at, p.at
from put as p
on conflict (namespace_id, name) do update
set url = excluded.url, events = excluded.events, secret = excluded.secret,
  secret_digest = excluded.secret_digest, changed_at = excluded.changed_at
returning xmax = 0 as created;

-- name: list_hooks
-- Purpose: Lists the hooks of a namespace by name.
-- Params: :namespace_id integer.
-- Plan: hook by key.
select h.name, h.url, h.events, h.secret_digest, h.created_at, h.changed_at
from drover.hook as h
where h.namespace_id = :namespace_id::integer
order by h.name collate "C";

-- name: delete_hook
-- Purpose: Deletes a hook.
-- Params: :namespace_id integer, :name text.
-- Plan: hook by key.
-- Result: No row: there is none.
delete from drover.hook as h
where h.namespace_id = :namespace_id::integer and h.name = :name::text
returning h.name;

-- name: fold_outbox
-- Purpose: Turns rows of the outbox into deliveries: one for all rows of one hook, kind and cause. If such
--   a delivery was created within :apart ms, the rows wait. Reads the next :limit rows after the last call,
--   so that many waiting rows of one cause do not hide the rows after them.
-- Params: :partitions smallint[] (in ascending order), :limit integer, :apart integer (ms), :partition
--   smallint and :id bigint (where the last call ended; 0 and 0: the first row).
-- Plan: outbox_partition, delivery_cause.
-- Result: The last row that was read, where the next call begins. No row: there are no more rows.
with page as materialized (
  select x.id, x.partition, x.namespace_id, x.hook, x.kind, x.cause
  from unnest(:partitions::smallint[]) as p (partition)
  cross join lateral (
    select * from drover.outbox as o
    where o.partition = p.partition
      and o.id > case when p.partition = :partition::smallint then :id::bigint else 0 end
    order by o.partition, o.id
    limit :limit::integer
  ) as x
  where p.partition >= :partition::smallint
  limit :limit::integer
),
published as (
  delete from drover.outbox as o
  where o.id = any (array(
    select x.id
    from page as x
    left join lateral (
      select d.created_at
      from drover.delivery as d
      where d.namespace_id = x.namespace_id and d.hook = x.hook and d.kind = x.kind
        and d.cause = x.cause
      order by d.hook, d.kind, d.cause, d.created_at desc
      limit 1
    ) as last on true
    where (last.created_at > now() - :apart::integer * interval '1 millisecond') is not true
  ))
  returning o.*
),
made as (
  insert into drover.delivery (partition, namespace_id, kind, run_id, n, hook, url, cause, count, next_try_at,
    deadline_at)
  select min(t.partition), t.namespace_id, t.kind, (array_agg(t.run_id order by t.id))[1],
    (array_agg(t.n order by t.id))[1], t.hook, t.url, t.cause, count(*), now(),
    (array_agg(t.deadline_at order by t.id))[1]
  from published as t
  group by t.namespace_id, t.kind, t.hook, t.url, t.cause
)
select x.partition, x.id
from page as x
where (select count(*) from page) = :limit::integer
order by x.partition desc, x.id desc
limit 1;

-- name: due_deliveries
-- Purpose: Reads the deliveries that are due, with the content of the webhooks: up to :of_hook_max of each
--   hook, among the first :of_partition_max of each partition.
-- Params: :partitions smallint[], :of_hook_max integer, :of_partition_max integer.
-- Plan: delivery_due; hook, run, run_page, escalation by key.
-- Result: hook_url and secret are null if the hook was deleted, the columns of the escalation if the
--   delivery is not about one, deadline_at if it is not about an approval. head is the first line of page 0
--   of the run.
with due as (
  select d.*, row_number() over (partition by d.namespace_id, d.hook order by d.next_try_at, d.id) as place
  from unnest(:partitions::smallint[]) as p (partition)
  cross join lateral (
    select *
    from drover.delivery as x
    where x.partition = p.partition and x.next_try_at <= now()
    order by x.next_try_at
    limit :of_partition_max::integer
  ) as d
)
select d.id, d.hook, d.url, d.kind, d.count, d.run_id, d.n, d.state, d.tries, d.error, d.created_at,
  d.ended_at, d.next_try_at, d.deadline_at, now() as now, h.url as hook_url, h.secret, s.name as namespace,
  d.namespace_id, r.definition_id, r.workflow, r.version, r.key, r.labels,
  r.created_at as run_created_at, p.head, e.step_no, e.reason, e.code, e.message, e.opened_at, e.closed_by
from due as d
cross join lateral (select * from drover.run where run.id = d.run_id limit 1) as r
cross join lateral (
  select split_part(x.state, E'\n', 1) as head
  from drover.run_page as x
  where x.run_id = d.run_id and x.no = 0
  limit 1
) as p
join drover.namespace as s on s.id = d.namespace_id
left join drover.hook as h on h.namespace_id = d.namespace_id and h.name = d.hook
left join lateral (
  select * from drover.escalation
  where escalation.run_id = d.run_id and escalation.n = d.n and d.deadline_at is null
  limit 1
) as e on true
where d.place <= :of_hook_max::integer
order by d.next_try_at, d.id;

-- name: settle_deliveries
-- Purpose: Stores how tries of deliveries went. If another sender has stored a try of the delivery first,
--   that one stays.
-- Params: Parallel arrays: :id uuid[], :tries integer[] (before this one), :state smallint[] (code), :error
--   text[] (null: none), :next integer[] (ms until the next try; null: the delivery has ended).
-- Plan: delivery by key.
with tried as materialized (
  select u.id, u.tries, u.state, u.error, case when u.next_ms is null then now() end as ended_at,
    now() + u.next_ms * interval '1 millisecond' as next_try_at
  from unnest(:id::uuid[], :tries::integer[], :state::smallint[], :error::text[], :next::integer[])
    as u (id, tries, state, error, next_ms)
)
update drover.delivery as d
set state = u.state, tries = d.tries + 1, error = u.error, ended_at = u.ended_at, next_try_at = u.next_try_at
from tried as u
where d.id = u.id and d.tries = u.tries and d.state = :delivery_state.pending;

-- name: list_deliveries
-- Purpose: Lists deliveries of a namespace, newest first.
-- Params: :namespace_id integer, :states smallint[] (codes; empty: all), :hook text (null: all),
--   :created_at bigint (ms since 1970) and :id uuid (the last delivery of the previous page; null: the first
--   page), :limit integer.
-- Plan: delivery_by_namespace.
select d.id, d.hook, d.url, d.kind, d.count, d.run_id, d.n, d.state, d.tries, d.error, d.created_at,
  d.ended_at, d.next_try_at
from drover.delivery as d
where d.namespace_id = :namespace_id::integer
  and (cardinality(:states::smallint[]) = 0 or d.state = any (:states::smallint[]))
  and (:hook::text is null or d.hook = :hook::text)
  and (:id::uuid is null or (d.created_at, d.id) < (to_timestamp(:created_at::bigint / 1e3::float8), :id::uuid))
order by d.created_at desc, d.id desc
limit :limit::integer;

-- name: forget_deliveries
-- Purpose: Deletes deliveries that ended more than :retention ms ago.
-- Params: :rows_max integer, :retention bigint (ms).
-- Plan: delivery_ended.
-- Result: One row. more: :rows_max rows were deleted, so there may be more.
with gone as (
  delete from drover.delivery as d
  where d.id = any (array(
    select o.id
    from drover.delivery as o
    where o.ended_at < now() - :retention::bigint * interval '1 millisecond'
    limit :rows_max::integer
  ))
  returning 1
)
select count(*) = :rows_max::integer as more from gone;
