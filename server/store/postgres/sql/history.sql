-- Interventions, which are appended.

-- name: insert_intervention
-- Purpose: Records an intervention about a run outside of a pass, if the node still owns the partition of the
--   run.
-- Params: $1 run_id uuid, $2 fence integer, $3 rule smallint (code), $4 n integer, $5 saw text, $6 did text,
--   $7 due_at bigint (ms since 1970), $8 node uuid, $9 epoch bigint (of the partition).
-- Locks: The writer row 0 of the node, as a batch does (hold_writer). A take-over waits for this statement,
--   or this statement inserts nothing.
-- Plan: run, partition_lease and writer by key.
with held as (
  select r.id, r.partition, r.namespace_id
  from drover.run as r
  join drover.partition_lease as l on l.partition = r.partition
  join drover.writer as w on w.node = l.node
  where r.id = $1::uuid and l.node = $8::uuid and l.epoch = $9::bigint and w.slot = 0
  for key share of w
)
insert into drover.intervention (run_id, step_no, fence, rule, n, partition, saw, did, due_at, acted_at, node,
  epoch, namespace_id)
select h.id, -1, $2::integer, $3::smallint, $4::integer, h.partition, $5::text, $6::text,
  to_timestamp($7::bigint / 1e3::float8), now(), $8::uuid, $9::bigint, h.namespace_id
from held as h
on conflict (run_id, step_no, fence, rule, n) do nothing;

-- name: insert_interventions
-- Purpose: Records the interventions of passes. The key is what an intervention is about, so two supervisors
--   cannot record one action twice.
-- Params: Parallel arrays: $1 run_id uuid[], $2 step_no integer[] (step key; -1: the run), $3 fence
--   integer[], $4 rule smallint[] (code), $5 n integer[], $6 partition smallint[], $7 saw text[], $8 did
--   text[], $9 due_at bigint[], $10 acted_at bigint[] (ms since 1970), $11 node uuid[], $12 epoch bigint[]
--   (of the supervisor; null: no supervisor acted), $13 namespace_id integer[].
insert into drover.intervention (run_id, step_no, fence, rule, n, partition, saw, did, due_at, acted_at, node,
  epoch, namespace_id)
select u.run_id, u.step_no, u.fence, u.rule, u.n, u.partition, u.saw, u.did,
  to_timestamp(u.due_at / 1e3::float8), to_timestamp(u.acted_at / 1e3::float8), u.node, u.epoch, u.namespace_id
from unnest($1::uuid[], $2::integer[], $3::integer[], $4::smallint[], $5::integer[], $6::smallint[],
  $7::text[], $8::text[], $9::bigint[], $10::bigint[], $11::uuid[], $12::bigint[], $13::integer[])
  as u (run_id, step_no, fence, rule, n, partition, saw, did, due_at, acted_at, node, epoch, namespace_id)
on conflict (run_id, step_no, fence, rule, n) do nothing;
