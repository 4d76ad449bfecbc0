-- Runs: their idempotency keys, their start and their end.

-- name: reserve_keys
-- Purpose: Reserves idempotency keys for runs that begin.
-- Params: Parallel arrays: :namespace_id integer[], :key text[], :run_id uuid[], :digest text[] (SHA-256 of
--   the request, hex), :keep bigint[] (ms until the key expires).
-- Locks: Keys in key order; waits for another transaction that reserves the same key.
-- Result: The keys that this transaction has reserved. A missing key belongs to another run (key_holders), or
--   may be freed (free_keys).
insert into drover.idempotency (namespace_id, key, run_id, digest, expires_at)
select u.namespace_id, u.key, u.run_id, decode(u.digest, 'hex'),
  now() + u.keep_ms * interval '1 millisecond'
from unnest(:namespace_id::integer[], :key::text[], :run_id::uuid[], :digest::text[], :keep::bigint[])
  as u (namespace_id, key, run_id, digest, keep_ms)
order by u.namespace_id, u.key
on conflict (namespace_id, key) do nothing
returning namespace_id, key;

-- name: free_keys
-- Purpose: Frees keys that have expired and whose runs have ended.
-- Params: Parallel arrays: :namespace_id integer[], :key text[].
-- Locks: Keys; waits for another transaction that frees the same key.
-- Plan: idempotency, run_page by key.
-- Note: With `not exists` the planner would read all of run_page, and without `is true` all keys that have
--   expired.
delete from drover.idempotency as i
using unnest(:namespace_id::integer[], :key::text[]) as u (namespace_id, key)
where i.namespace_id = u.namespace_id and i.key = u.key and (i.expires_at < now()) is true
  and (select p.ended_at is null from drover.run_page as p where p.run_id = i.run_id and p.no = 0)
    is not true;

-- name: key_holders
-- Purpose: Reads the runs that have reserved these keys.
-- Params: Parallel arrays: :namespace_id integer[], :key text[].
-- Plan: idempotency by key.
select i.namespace_id, i.key, i.run_id, encode(i.digest, 'hex') as digest
from unnest(:namespace_id::integer[], :key::text[]) as u (namespace_id, key)
join drover.idempotency as i on i.namespace_id = u.namespace_id and i.key = u.key;

-- name: release_keys
-- Purpose: Deletes reservations of this transaction whose runs it does not begin.
-- Params: Parallel arrays: :namespace_id integer[], :key text[], :run_id uuid[].
-- Plan: idempotency by key.
delete from drover.idempotency as i
using unnest(:namespace_id::integer[], :key::text[], :run_id::uuid[]) as u (namespace_id, key, run_id)
where i.namespace_id = u.namespace_id and i.key = u.key and i.run_id = u.run_id;

-- name: insert_runs
-- Purpose: Inserts runs, a search key for each of their labels, and their counts. A run row never changes.
-- Params: Parallel arrays: :id uuid[], :namespace_id integer[], :partition smallint[], :definition_id
--   bigint[], :workflow text[], :version integer[] (0: inline definition), :key text[], :priority
--   smallint[] (1 first, 9 last), :labels text[] (JSON), :input_type text[], :input_json text[],
--   :input_data bytea[] (type null: no input), :created_at bigint[] (ms since 1970), :notify_hook text[],
--   :notify_url text[], :concurrency_key text[], :concurrency_limit integer[], :concurrency_policy
--   smallint[] (code), :parent_id uuid[], :parent_step text[] (its id), :parent_step_key integer[],
--   :parent_fence integer[], :parent_until bigint[] (ms since 1970), :traceparent text[], :tracestate
--   text[]. null: the run has no such thing.
-- Note: no insert reads what another one returns: Citus would send that to every node.
with counted as (
  insert into drover.run_count_delta (at, namespace_id, runs, event, workflow, took)
  select date_bin('1 minute', to_timestamp(u.created_at / 1e3::float8), timestamptz 'epoch'), u.namespace_id,
    count(*), -1, u.workflow, '{}'
  from unnest(:created_at::bigint[], :namespace_id::integer[], :workflow::text[])
    as u (created_at, namespace_id, workflow)
  group by 1, u.namespace_id, u.workflow
),
marked as (
  insert into drover.run_mark (namespace_id, mark, run_id)
  select u.namespace_id, l.key || '=' || l.value, u.id
  from unnest(:namespace_id::integer[], :id::uuid[], :labels::text[]) as u (namespace_id, id, labels)
  cross join lateral jsonb_each_text(u.labels::jsonb) as l
  where u.labels <> '{}'
)
insert into drover.run (id, namespace_id, partition, definition_id, workflow, version, key, priority, labels,
  input_type, input_json, input_data, created_at, notify_hook, notify_url, concurrency_key,
  concurrency_limit, concurrency_policy, parent_id, parent_step, parent_step_key, parent_fence,
  parent_until, traceparent, tracestate)
select u.id, u.namespace_id, u.partition, u.definition_id, u.workflow, u.version, u.key, u.priority,
  u.labels::jsonb, u.input_type, u.input_json, u.input_data,
  to_timestamp(u.created_at / 1e3::float8), u.notify_hook, u.notify_url, u.concurrency_key,
  u.concurrency_limit, u.concurrency_policy, u.parent_id, u.parent_step,
  u.parent_step_key, u.parent_fence, to_timestamp(u.parent_until / 1e3::float8), u.traceparent,
  u.tracestate
from (
  select unnest(:id::uuid[]) as id, unnest(:namespace_id::integer[]) as namespace_id,
    unnest(:partition::smallint[]) as partition, unnest(:definition_id::bigint[]) as definition_id,
    unnest(:workflow::text[]) as workflow, unnest(:version::integer[]) as version,
      unnest(:key::text[]) as key,
    unnest(:priority::smallint[]) as priority, unnest(:labels::text[]) as labels,
    unnest(:input_type::text[]) as input_type, unnest(:input_json::text[]) as input_json,
    unnest(:input_data::bytea[]) as input_data, unnest(:created_at::bigint[]) as created_at,
    unnest(:notify_hook::text[]) as notify_hook, unnest(:notify_url::text[]) as notify_url,
    unnest(:concurrency_key::text[]) as concurrency_key,
      unnest(:concurrency_limit::integer[]) as concurrency_limit,
    unnest(:concurrency_policy::smallint[]) as concurrency_policy, unnest(:parent_id::uuid[]) as parent_id,
    unnest(:parent_step::text[]) as parent_step, unnest(:parent_step_key::integer[]) as parent_step_key,
    unnest(:parent_fence::integer[]) as parent_fence, unnest(:parent_until::bigint[]) as parent_until,
    unnest(:traceparent::text[]) as traceparent, unnest(:tracestate::text[]) as tracestate
) as u;

-- name: insert_reruns
-- Purpose: Stores which runs repeat another run.
-- Params: Parallel arrays: :run_id uuid[], :of_run uuid[], :from_step text[] (empty: the start; null: from
--   what had failed).
insert into drover.rerun (run_id, of_run, from_step)
select u.run_id, u.of_run, u.from_step
from unnest(:run_id::uuid[], :of_run::uuid[], :from_step::text[]) as u (run_id, of_run, from_step);

-- name: insert_reused
-- Purpose: Stores which steps a run reuses from an earlier run. They are written with its first pass and
--   never change.
-- Params: Parallel arrays: :run_id uuid[], :step_no integer[] (step key), :of_run uuid[] (the run that made
--   the effect).
insert into drover.step_reused (run_id, step_no, of_run)
select u.run_id, u.step_no, u.of_run
from unnest(:run_id::uuid[], :step_no::integer[], :of_run::uuid[]) as u (run_id, step_no, of_run);

-- name: insert_search_keys
-- Purpose: Stores search keys of runs: what failed in them. A key that a run has already is left.
-- Params: Parallel arrays: :namespace_id integer[], :run_id uuid[], :mark text[].
insert into drover.run_mark (namespace_id, mark, run_id)
select u.namespace_id, u.mark, u.run_id
from unnest(:namespace_id::integer[], :run_id::uuid[], :mark::text[]) as u (namespace_id, run_id, mark)
on conflict do nothing;

-- name: end_runs
-- Purpose: Writes what follows from the end of runs: search keys of the state if it is not COMPLETED (4),
--   counts, a row for each trigger that waits for the workflow, and an outbox row for each hook that wants
--   every end or that the start request named.
-- Params: Parallel arrays: :run_id uuid[], :state smallint[] (code). :bucket_log float8 (the logarithm of the
--   growth of a bucket; see took-buckets.ts).
-- Plan: run, hook by key, trigger_by_workflow.
-- Note: no insert reads what another one returns: Citus would send that to every node. Without the
--   operations on columns of run (+ 0, coalesce) the planner may begin with the triggers, and read all
--   runs of a workflow.
with marked as (
  insert into drover.run_mark (namespace_id, mark, run_id)
  select r.namespace_id, m.mark, r.id
  from unnest(:run_id::uuid[], :state::smallint[]) as u (run_id, state)
  cross join lateral (
    select x.namespace_id, x.workflow, x.id from drover.run as x where x.id = u.run_id limit 1
  ) as r
  cross join lateral (values (u.state::text), (u.state::text || ' ' || r.workflow)) as m (mark)
  where u.state <> :run_state.COMPLETED
  on conflict do nothing
),
counted as (
  insert into drover.run_count_delta (at, namespace_id, runs, event, workflow, took)
  select max(r.now), r.namespace_id, count(*), r.state, r.workflow,
    array_agg(floor(ln(greatest(1, extract(epoch from r.now - r.created_at) * 1e3::float8)) / :bucket_log::float8)
      ::smallint)
  from (
    select x.namespace_id, x.workflow, x.created_at, u.state, drover.transaction_time(x.id) as now
    from unnest(:run_id::uuid[], :state::smallint[]) as u (run_id, state)
    join drover.run as x on x.id = u.run_id
    offset 0
  ) as r
  group by r.namespace_id, r.state, r.workflow
),
waited as (
  insert into drover.trigger_end (partition, namespace_id, trigger, run_id)
  select r.partition, r.namespace_id, t.name, r.id
  from unnest(:run_id::uuid[], :state::smallint[]) as u (run_id, state)
  join drover.run as r on r.id = u.run_id
  join drover.trigger as t on t.namespace_id = r.namespace_id + 0 and t.workflow = r.workflow
    and (cardinality(t.states) = 0 or coalesce(u.state, r.partition) = any (t.states))
)
insert into drover.outbox (kind, run_id, n, namespace_id, partition, hook, url, cause)
select :outbox_kind.run-ended, r.id, 0, r.namespace_id, r.partition, h.name,
  case when h.name = r.notify_hook then r.notify_url end, r.id::text
from unnest(:run_id::uuid[]) as u (run_id)
join drover.run as r on r.id = u.run_id
join drover.hook as h on h.namespace_id = r.namespace_id + 0 and (h.name = r.notify_hook
  or :outbox_kind.run-ended = any (h.events));
