-- What is appended: what supervisors did.

-- name: insert_intervention
-- One outside of a pass, of the run $1, by whoever owns its partition still: the writer row is held as
-- in a batch (hold_writer), so a take-over waits for this statement, or it inserts nothing. Plan: run,
-- partition_lease and writer by key.
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
-- Unique by what it is about, so that no two supervisors record one action.
insert into drover.intervention (run_id, step_no, fence, rule, n, partition, saw, did, due_at, acted_at, node,
  epoch, namespace_id)
select u.run_id, u.step_no, u.fence, u.rule, u.n, u.partition, u.saw, u.did,
  to_timestamp(u.due_at / 1e3::float8), to_timestamp(u.acted_at / 1e3::float8), u.node, u.epoch, u.namespace_id
from unnest($1::uuid[], $2::integer[], $3::integer[], $4::smallint[], $5::integer[], $6::smallint[],
  $7::text[], $8::text[], $9::bigint[], $10::bigint[], $11::uuid[], $12::bigint[], $13::integer[])
  as u (run_id, step_no, fence, rule, n, partition, saw, did, due_at, acted_at, node, epoch, namespace_id)
on conflict (run_id, step_no, fence, rule, n) do nothing;
