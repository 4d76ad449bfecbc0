-- What the outside is told: hooks, the outbox and its deliveries. Rows of the outbox are written with
-- what they tell: by open_, answer_ and close_escalations, and by end_runs.

-- name: put_hook
-- Without a secret ($5) only a hook that is there is changed. Plan: hook by key.
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
-- Plan: hook by key.
select h.name, h.url, h.events, h.secret_digest, h.created_at, h.changed_at
from drover.hook as h
where h.namespace_id = $1::integer
order by h.name collate "C";

-- name: delete_hook
-- Plan: hook by key.
delete from drover.hook as h
where h.namespace_id = $1::integer and h.name = $2::text
returning h.name;

-- name: fold_outbox
-- Makes deliveries: one for all rows of one cause that a hook was not told of within $3 ms. Looks at the next
-- $2 rows of these partitions ($1, in their order) behind a place ($4, $5), and says which was the last, if
-- there may be more: a flood of one cause, which has to wait, is passed over, and hides nothing that stands
-- behind it. Plan: outbox_partition, delivery_cause.
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
-- Up to $2 of each hook, with what they tell, among the first $3 of each partition. Plan: delivery_due;
-- hook, run, run_page, escalation by key.
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
-- Another sender may have been quicker: its word counts. Plan: delivery by key.
update drover.delivery as d
set state = u.state, tries = d.tries + 1, error = u.error,
  ended_at = case when u.next_ms is null then now() end,
  next_try_at = now() + u.next_ms * interval '1 millisecond'
from unnest($1::uuid[], $2::integer[], $3::smallint[], $4::text[], $5::integer[])
  as u (id, tries, state, error, next_ms)
where d.id = u.id and d.tries = u.tries and d.state = 0;

-- name: list_deliveries
-- Newest first, after the one of the id $4. Plan: delivery_by_namespace, delivery by key.
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
-- Those that ended long ago. Plan: delivery_ended.
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
