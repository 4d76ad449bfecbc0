-- Webhooks: hooks, the outbox and its deliveries. Rows of the outbox are written in the transaction of the
-- event: by tell_of_escalations and end_runs.

-- name: put_hook
-- Purpose: Creates or changes a hook. Without a secret ($5) a hook keeps the one that it has.
-- Params: $1 namespace_id integer, $2 name text, $3 url text, $4 events smallint[] (codes), $5 secret text,
--   $6 secret_digest text (SHA-256, hex; null with $5).
-- Plan: hook by key.
-- Result: No row: the hook is new and has no secret; nothing is stored.
insert into drover.hook as h (namespace_id, name, url, events, secret, secret_digest)
select $1::integer, $2::text, $3::text, $4::smallint[], coalesce($5::text, o.secret),
  coalesce($6::text, o.secret_digest)
from (select 1) as one
left join drover.hook as o on o.namespace_id = $1::integer and o.name = $2::text
where $5::text is not null or o.secret is not null
on conflict (namespace_id, name) do update
set url = excluded.url, events = excluded.events, secret = excluded.secret,
  secret_digest = excluded.secret_digest, changed_at = now()
returning xmax = 0 as created;

-- name: list_hooks
-- Purpose: Lists the hooks of a namespace by name.
-- Params: $1 namespace_id integer.
-- Plan: hook by key.
select h.name, h.url, h.events, h.secret_digest, h.created_at, h.changed_at
from drover.hook as h
where h.namespace_id = $1::integer
order by h.name collate "C";

-- name: delete_hook
-- Purpose: Deletes a hook.
-- Params: $1 namespace_id integer, $2 name text.
-- Plan: hook by key.
-- Result: No row: there is none.
delete from drover.hook as h
where h.namespace_id = $1::integer and h.name = $2::text
returning h.name;

-- name: fold_outbox
-- Purpose: Turns rows of the outbox into deliveries: one for all rows of one hook, kind and cause. If such a
--   delivery was created within $3 ms, the rows wait. Reads the next $2 rows after the last call, so that
--   many waiting rows of one cause do not hide the rows after them.
-- Params: $1 partitions smallint[] (in ascending order), $2 limit integer, $3 apart integer (ms),
--   $4 partition smallint and $5 id bigint (where the last call ended; 0 and 0: the first row).
-- Plan: outbox_partition, delivery_cause.
-- Result: The last row that was read, where the next call begins. No row: there are no more rows.
with page as materialized (
  select x.id, x.partition, x.namespace_id, x.hook, x.kind, x.cause
  from unnest($1::smallint[]) as p (partition)
  cross join lateral (
    select * from drover.outbox as o
    where o.partition = p.partition
      and o.id > case when p.partition = $4::smallint then $5::bigint else 0 end
    order by o.partition, o.id
    limit $2::integer
  ) as x
  where p.partition >= $4::smallint
  limit $2::integer
),
told as (
  delete from drover.outbox as o
  where o.id in (
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
    where (last.created_at > now() - $3::integer * interval '1 millisecond') is not true
  )
  returning o.*
),
made as (
  insert into drover.delivery (partition, namespace_id, kind, run_id, n, hook, url, cause, count, next_try_at)
  select min(t.partition), t.namespace_id, t.kind, (array_agg(t.run_id order by t.id))[1],
    (array_agg(t.n order by t.id))[1], t.hook, t.url, t.cause, count(*), now()
  from told as t
  group by t.namespace_id, t.kind, t.hook, t.url, t.cause
)
select x.partition, x.id
from page as x
where (select count(*) from page) = $2::integer
order by x.partition desc, x.id desc
limit 1;

-- name: due_deliveries
-- Purpose: Reads the deliveries that are due, with the content of the webhooks: up to $2 of each hook, among
--   the first $3 of each partition.
-- Params: $1 partitions smallint[], $2 of_hook_max integer, $3 of_partition_max integer.
-- Plan: delivery_due; hook, run, run_page, escalation by key.
-- Result: hook_url and secret are null if the hook was deleted, the columns of the escalation if the delivery
--   is about the run. head is the first line of page 0 of the run.
with due as (
  select d.*, row_number() over (partition by d.namespace_id, d.hook order by d.next_try_at, d.id) as place
  from unnest($1::smallint[]) as p (partition)
  cross join lateral (
    select *
    from drover.delivery as x
    where x.partition = p.partition and x.next_try_at <= now()
    order by x.next_try_at
    limit $3::integer
  ) as d
)
select d.id, d.hook, d.url, d.kind, d.count, d.run_id, d.n, d.state, d.tries, d.error, d.created_at,
  d.ended_at, d.next_try_at, now() as now, h.url as hook_url, h.secret, s.name as namespace,
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
  select * from drover.escalation where escalation.run_id = d.run_id and escalation.n = d.n limit 1
) as e on true
where d.place <= $2::integer
order by d.next_try_at, d.id;

-- name: settle_deliveries
-- Purpose: Stores how tries of deliveries went. If another sender has stored a try of the delivery first,
--   that one stays.
-- Params: Parallel arrays: $1 id uuid[], $2 tries integer[] (before this one), $3 state smallint[] (code),
--   $4 error text[] (null: none), $5 next integer[] (ms until the next try; null: the delivery has ended).
-- Plan: delivery by key.
update drover.delivery as d
set state = u.state, tries = d.tries + 1, error = u.error,
  ended_at = case when u.next_ms is null then now() end,
  next_try_at = now() + u.next_ms * interval '1 millisecond'
from unnest($1::uuid[], $2::integer[], $3::smallint[], $4::text[], $5::integer[])
  as u (id, tries, state, error, next_ms)
where d.id = u.id and d.tries = u.tries and d.state = 0;

-- name: list_deliveries
-- Purpose: Lists deliveries of a namespace, newest first.
-- Params: $1 namespace_id integer, $2 states smallint[] (codes; empty: all), $3 hook text (null: all),
--   $4 after uuid (the last delivery of the previous page; null: the first page), $5 limit integer.
-- Plan: delivery_by_namespace, delivery by key.
select d.id, d.hook, d.url, d.kind, d.count, d.run_id, d.n, d.state, d.tries, d.error, d.created_at,
  d.ended_at, d.next_try_at
from drover.delivery as d
where d.namespace_id = $1::integer
  and (cardinality($2::smallint[]) = 0 or d.state = any ($2::smallint[]))
  and ($3::text is null or d.hook = $3::text)
  and ($4::uuid is null or (d.created_at, d.id) <
    (select l.created_at, l.id from drover.delivery as l where l.id = $4::uuid))
order by d.created_at desc, d.id desc
limit $5::integer;

-- name: forget_deliveries
-- Purpose: Deletes deliveries that ended more than $2 ms ago.
-- Params: $1 rows_max integer, $2 retention bigint (ms).
-- Plan: delivery_ended.
-- Result: One row. more: $1 rows were deleted, so there may be more.
with gone as (
  delete from drover.delivery as d
  where d.id in (
    select o.id
    from drover.delivery as o
    where o.ended_at < now() - $2::bigint * interval '1 millisecond'
    limit $1::integer
  )
  returning 1
)
select count(*) = $1::integer as more from gone;
