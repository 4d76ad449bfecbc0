-- Interventions, which are appended.

-- name: insert_intervention
-- Purpose: Records an intervention about a run outside of a pass, if the node still owns the partition of
--   the run.
-- Params: :run_id uuid, :fence integer, :rule smallint (code), :n integer, :saw text, :did text, :due_at
--   bigint (ms since 1970), :node uuid, :epoch bigint (of the partition).
-- Locks: The writer row 0 of the node, as a batch does (hold_writer). A take-over waits for this statement,
--   or this statement inserts nothing.
-- Plan: run, partition_lease and writer by key.
insert into drover.intervention (run_id, step_no, fence, rule, n, partition, saw, did, due_at, acted_at, node,
  epoch, namespace_id)
select h.id, -1, :fence::integer, :rule::smallint, :n::integer, h.partition, :saw::text, :did::text,
  to_timestamp(:due_at::bigint / 1e3::float8), drover.transaction_time(h.id), :node::uuid, :epoch::bigint,
  h.namespace_id
from (
  select r.id, r.partition, r.namespace_id
  from drover.run as r
  join drover.partition_lease as l on l.partition = r.partition
  join drover.writer as w on w.node = l.node
  where r.id = :run_id::uuid and l.node = :node::uuid and l.epoch = :epoch::bigint and w.number = 0
  for key share of w
) as h
on conflict (run_id, step_no, fence, rule, n) do nothing;

-- name: insert_interventions
-- Purpose: Records the interventions of passes. The key is what an intervention is about, so two
--   supervisors cannot record one action twice.
-- Params: Parallel arrays: :run_id uuid[], :step_no integer[] (step key; -1: the run), :fence integer[],
--   :rule smallint[] (code), :n integer[], :partition smallint[], :saw text[], :did text[], :due_at
--   bigint[], :acted_at bigint[] (ms since 1970), :node uuid[], :epoch bigint[] (of the supervisor; null:
--   no supervisor acted), :namespace_id integer[].
insert into drover.intervention (run_id, step_no, fence, rule, n, partition, saw, did, due_at, acted_at, node,
  epoch, namespace_id)
select u.run_id, u.step_no, u.fence, u.rule, u.n, u.partition, u.saw, u.did,
  to_timestamp(u.due_at / 1e3::float8), to_timestamp(u.acted_at / 1e3::float8), u.node, u.epoch, u.namespace_id
from unnest(:run_id::uuid[], :step_no::integer[], :fence::integer[], :rule::smallint[], :n::integer[],
  :partition::smallint[],
  :saw::text[], :did::text[], :due_at::bigint[], :acted_at::bigint[], :node::uuid[], :epoch::bigint[],
    :namespace_id::integer[])
  as u (run_id, step_no, fence, rule, n, partition, saw, did, due_at, acted_at, node, epoch, namespace_id)
on conflict (run_id, step_no, fence, rule, n) do nothing;
