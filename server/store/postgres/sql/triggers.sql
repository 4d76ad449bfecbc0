-- Triggers, the ended runs that they wait for (written by end_runs), and what they have refused.

-- name: put_trigger
-- Purpose: Creates or changes a trigger. Without a new secret (:secret_digest null), a trigger that needs
--   one (:auth) keeps the secret of the same kind.
-- Params: :namespace_id integer, :name text, :auth text (kind; null: the trigger waits for ends of runs),
--   :workflow text, :states smallint[] (codes; empty: all), :body text (the definition, JSON), :secret text
--   (null if only the digest is stored), :secret_digest text (SHA-256, hex).
-- Plan: trigger by key.
-- Result: No row: the trigger needs a secret and has none; nothing is stored.
with put as materialized (
  select
    case when :secret_digest::text is not null then :secret::text when o.auth = :auth::text then o.secret end as secret,
    coalesce(:secret_digest::text, case when o.auth = :auth::text then o.secret_digest end) as secret_digest,
    now() as at
  from (select 1) as one
  left join drover.trigger as o on o.namespace_id = :namespace_id::integer and o.name = :name::text
  where :auth::text is null or :secret_digest::text is not null or o.auth = :auth::text
)
insert into drover.trigger as t (namespace_id, name, auth, workflow, states, body, secret, secret_digest,
  created_at, changed_at)
select :namespace_id::integer, :name::text, :auth::text, :workflow::text, :states::smallint[], :body::text,
  p.secret, p.secret_digest, p.at, p.at
from put as p
on conflict (namespace_id, name) do update
set auth = excluded.auth, workflow = excluded.workflow, states = excluded.states, body = excluded.body,
  secret = excluded.secret, secret_digest = excluded.secret_digest, changed_at = excluded.changed_at
returning xmax = 0 as created;

-- name: find_trigger
-- Purpose: Finds a trigger by name.
-- Params: :namespace_id integer, :name text.
-- Plan: trigger by key.
-- Result: No row: there is none. secret is null if only its digest is stored, or if there is none.
select t.body, t.secret, t.secret_digest, t.created_at, t.changed_at
from drover.trigger as t
where t.namespace_id = :namespace_id::integer and t.name = :name::text;

-- name: list_triggers
-- Purpose: Lists the triggers of a namespace by name.
-- Params: :namespace_id integer.
-- Plan: trigger by key.
select t.body, t.secret_digest, t.created_at, t.changed_at
from drover.trigger as t
where t.namespace_id = :namespace_id::integer
order by t.name collate "C";

-- name: delete_trigger
-- Purpose: Deletes a trigger.
-- Params: :namespace_id integer, :name text.
-- Plan: trigger by key.
-- Result: No row: there is none.
delete from drover.trigger as t
where t.namespace_id = :namespace_id::integer and t.name = :name::text
returning t.name;

-- name: delete_refusals
-- Purpose: Deletes the refusals of a trigger.
-- Params: :namespace_id integer, :name text.
delete from drover.trigger_refusal as r
where r.namespace_id = :namespace_id::integer and r.trigger = :name::text;

-- name: insert_triggered
-- Purpose: Stores which runs were started by the end of another run.
-- Params: Parallel arrays: :run_id uuid[], :trigger text[], :of_run uuid[] (the run that ended), :depth
--   smallint[] (length of the chain of triggers; 1 for the first).
insert into drover.triggered (run_id, trigger, of_run, depth)
select u.run_id, u.trigger, u.of_run, u.depth
from unnest(:run_id::uuid[], :trigger::text[], :of_run::uuid[], :depth::smallint[]) as u (run_id, trigger,
  of_run, depth);

-- name: refuse_calls
-- Purpose: Counts what triggers have refused, one row for each reason and message. A trigger that does not
--   exist gets no row.
-- Params: Parallel arrays: :namespace_id integer[], :trigger text[], :reason text[], :message text[],
--   :run_id uuid[] (that ended; null: a call over HTTP), :count bigint[].
-- Locks: Rows in key order; waits for other servers.
-- Plan: trigger by key.
with known as materialized (
  select u.*
  from unnest(:namespace_id::integer[], :trigger::text[], :reason::text[], :message::text[], :run_id::uuid[],
    :count::bigint[])
    as u (namespace_id, trigger, reason, message, run_id, count)
  join drover.trigger as t on t.namespace_id = u.namespace_id and t.name = u.trigger
)
insert into drover.trigger_refusal as r (namespace_id, trigger, digest, reason, message, run_id, count)
select k.namespace_id, k.trigger, sha256(convert_to(concat_ws(' ', k.reason, k.message), 'UTF8')),
  k.reason, k.message, k.run_id, k.count
from known as k
order by 1, 2, 3
on conflict (namespace_id, trigger, digest) do update
set count = r.count + excluded.count, run_id = excluded.run_id, last_at = excluded.last_at;

-- name: trim_refusals
-- Purpose: Deletes all refusals of these triggers but the newest :refusals_max of each.
-- Params: Parallel arrays: :namespace_id integer[], :trigger text[]. For all: :refusals_max integer.
-- Plan: trigger_refusal by key.
delete from drover.trigger_refusal as r
using (
  select o.namespace_id, o.trigger, o.digest,
    row_number() over (partition by o.namespace_id, o.trigger order by o.last_at desc, o.digest) as place
  from unnest(:namespace_id::integer[], :trigger::text[]) as u (namespace_id, trigger)
  join drover.trigger_refusal as o on o.namespace_id = u.namespace_id and o.trigger = u.trigger
) as old
where old.place > :refusals_max::integer and r.namespace_id = old.namespace_id and r.trigger = old.trigger
  and r.digest = old.digest;

-- name: list_refusals
-- Purpose: Lists refusals, the last one first.
-- Params: :namespace_id integer, :trigger text (null: all), :limit integer.
-- Plan: trigger_refusal_last.
-- Result: run_id is null for a call over HTTP.
select r.trigger, r.reason, r.message, r.run_id, r.count, r.first_at, r.last_at
from drover.trigger_refusal as r
where r.namespace_id = :namespace_id::integer and (:trigger::text is null or r.trigger = :trigger::text)
order by r.last_at desc, r.trigger collate "C", r.message collate "C"
limit :limit::integer;

-- name: due_ends
-- Purpose: Reads ended runs that triggers wait for and that are due, the oldest first, with the trigger as
--   it is now.
-- Params: :partitions smallint[], :limit integer.
-- Plan: trigger_end_due; run, run_page, triggered by key.
-- Result: body is null if the trigger was deleted. head is the first line of page 0 of the run. depth is
--   the length of the chain of triggers that led to the run or to a run whose child it is; 0: none.
with due as (
  select e.*
  from drover.trigger_end as e
  where e.partition = any (:partitions::smallint[]) and e.next_at <= now()
  order by e.next_at, e.id
  limit :limit::integer
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
-- Purpose: Deletes ends that their triggers have processed. A row stays if the run that it started is not
--   there: the database has lost it.
-- Params: Parallel arrays: :id uuid[], :run_id uuid[] (the run that was started; null: none).
-- Plan: trigger_end, run by key.
delete from drover.trigger_end as e
using unnest(:id::uuid[], :run_id::uuid[]) as u (id, run_id)
where e.id = u.id
  and (u.run_id is null or (select true from drover.run as r where r.id = u.run_id limit 1));

-- name: postpone_ends
-- Purpose: Makes ends due again after a while.
-- Params: :ids uuid[], :delay integer (ms).
-- Plan: trigger_end by key.
update drover.trigger_end as e
set next_at = now() + :delay::integer * interval '1 millisecond'
where e.id = any (:ids::uuid[]);
