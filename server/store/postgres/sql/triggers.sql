-- Triggers, the ended runs that they wait for (written by end_runs), and what they have refused.

-- name: put_trigger
-- Without a secret's digest ($8) one that needs a secret ($3) keeps that of the same kind. Plan: trigger
-- by key.
insert into drover.trigger as t (namespace_id, name, auth, workflow, states, body, secret, secret_digest)
select $1::integer, $2::text, $3::text, $4::text, $5::smallint[], $6::text,
  case when $8::text is not null then $7::text when o.auth = $3::text then o.secret end,
  coalesce($8::text, case when o.auth = $3::text then o.secret_digest end)
from (select 1) as one
left join drover.trigger as o on o.namespace_id = $1::integer and o.name = $2::text
where $3::text is null or $8::text is not null or o.auth = $3::text
on conflict (namespace_id, name) do update
set auth = excluded.auth, workflow = excluded.workflow, states = excluded.states, body = excluded.body,
  secret = excluded.secret, secret_digest = excluded.secret_digest, changed_at = now()
returning xmax = 0 as created;

-- name: find_trigger
-- Plan: trigger by key.
select t.body, t.secret, t.secret_digest, t.created_at, t.changed_at
from drover.trigger as t
where t.namespace_id = $1::integer and t.name = $2::text;

-- name: list_triggers
-- Plan: trigger by key.
select t.body, t.secret_digest, t.created_at, t.changed_at
from drover.trigger as t
where t.namespace_id = $1::integer
order by t.name collate "C";

-- name: delete_trigger
-- With its refusals. Plan: trigger by key.
with gone as (
  delete from drover.trigger_refusal as r where r.namespace_id = $1::integer and r.trigger = $2::text
)
delete from drover.trigger as t
where t.namespace_id = $1::integer and t.name = $2::text
returning t.name;

-- name: insert_triggered
insert into drover.triggered (run_id, trigger, of_run, depth)
select u.run_id, u.trigger, u.of_run, u.depth
from unnest($1::uuid[], $2::text[], $3::uuid[], $4::smallint[]) as u (run_id, trigger, of_run, depth);

-- name: refuse_calls
-- One row for each reason, in the order of the keys. Plan: trigger by key.
insert into drover.trigger_refusal as r (namespace_id, trigger, digest, reason, message, run_id, count)
select u.namespace_id, u.trigger, sha256(convert_to(concat_ws(' ', u.reason, u.message), 'UTF8')),
  u.reason, u.message, u.run_id, u.count
from unnest($1::integer[], $2::text[], $3::text[], $4::text[], $5::uuid[], $6::bigint[])
  as u (namespace_id, trigger, reason, message, run_id, count)
join drover.trigger as t on t.namespace_id = u.namespace_id and t.name = u.trigger
order by 1, 2, 3
on conflict (namespace_id, trigger, digest) do update
set count = r.count + excluded.count, run_id = excluded.run_id, last_at = now();

-- name: trim_refusals
-- The newest $3 of each of these triggers stay. Plan: trigger_refusal by key.
delete from drover.trigger_refusal as r
using (
  select o.namespace_id, o.trigger, o.digest,
    row_number() over (partition by o.namespace_id, o.trigger order by o.last_at desc, o.digest) as place
  from unnest($1::integer[], $2::text[]) as u (namespace_id, trigger)
  join drover.trigger_refusal as o on o.namespace_id = u.namespace_id and o.trigger = u.trigger
) as old
where old.place > $3::integer and r.namespace_id = old.namespace_id and r.trigger = old.trigger
  and r.digest = old.digest;

-- name: list_refusals
-- The last first. Plan: trigger_refusal_last.
select r.trigger, r.reason, r.message, r.run_id, r.count, r.first_at, r.last_at
from drover.trigger_refusal as r
where r.namespace_id = $1::integer and ($2::text is null or r.trigger = $2::text)
order by r.last_at desc, r.trigger collate "C", r.message collate "C"
limit $3::integer;

-- name: due_ends
-- With the trigger as it is now, and how many triggers stand behind the run or behind the runs whose
-- child it is. Plan: trigger_end_due; run, run_page, triggered by key.
with due as (
  select e.*
  from drover.trigger_end as e
  where e.partition = any ($1::smallint[]) and e.next_at <= now()
  order by e.next_at, e.id
  limit $2::integer
)
select e.id, e.trigger, t.body, e.namespace_id, s.name as namespace, s.region, e.run_id,
  r.definition_id, p.head, deep.depth
from due as e
join drover.namespace as s on s.id = e.namespace_id
cross join lateral (select * from drover.run where run.id = e.run_id limit 1) as r
cross join lateral (
  select split_part(x.state, E'\n', 1) as head
  from drover.run_page as x
  where x.run_id = e.run_id and x.no = 0
  limit 1
) as p
left join drover.trigger as t on t.namespace_id = e.namespace_id and t.name = e.trigger
cross join lateral (
  with recursive up as (
    select e.run_id as id, 0 as place
    union all
    select p.parent_id, up.place + 1
    from up
    cross join lateral (select x.parent_id from drover.run as x where x.id = up.id limit 1) as p
    where p.parent_id is not null and up.place < 100
  )
  select coalesce(max(g.depth), 0) as depth
  from up
  left join lateral (
    select x.depth from drover.triggered as x where x.run_id = up.id limit 1
  ) as g on true
) as deep
order by e.next_at, e.id;

-- name: settle_ends
-- One stays whose run ($2) is lost again. Plan: trigger_end, run by key.
delete from drover.trigger_end as e
using unnest($1::bigint[], $2::uuid[]) as u (id, run_id)
where e.id = u.id
  and (u.run_id is null or (select true from drover.run as r where r.id = u.run_id limit 1));

-- name: postpone_ends
-- Plan: trigger_end by key.
update drover.trigger_end as e
set next_at = now() + $2::integer * interval '1 millisecond'
where e.id = any ($1::bigint[]);
