-- Typical durations of attempts: one row for each step of a workflow version. A server that has new samples
-- writes them once a minute.

-- name: open_durations
-- Purpose: Creates the rows that do not exist, for definitions that are a version of a workflow.
-- Params: Parallel arrays: :definition_id bigint[], :step_no integer[].
-- Locks: Inserts in key order; waits for another server that inserts the same row, and then leaves it.
-- Plan: workflow_version_definition, one probe a row.
insert into drover.learned_duration (definition_id, step_no, changed_at)
select u.definition_id, u.step_no, drover.transaction_time(u.definition_id)
from unnest(:definition_id::bigint[], :step_no::integer[]) as u (definition_id, step_no)
where exists (select from drover.workflow_version as v where v.definition_id = u.definition_id)
order by u.definition_id, u.step_no
on conflict (definition_id, step_no) do nothing;

-- name: lock_durations
-- Purpose: Locks and reads rows.
-- Params: Parallel arrays: :definition_id bigint[], :step_no integer[].
-- Locks: Rows in key order; waits for other servers.
-- Plan: learned_duration by key.
-- Result: recent is null in a row that was created in this transaction. A definition without a workflow
--   version has no row.
select l.definition_id, l.step_no, l.recent, l.older
from unnest(:definition_id::bigint[], :step_no::integer[]) as u (definition_id, step_no)
join drover.learned_duration as l on l.definition_id = u.definition_id and l.step_no = u.step_no
order by l.definition_id, l.step_no
for update of l;

-- name: keep_durations
-- Purpose: Writes locked rows.
-- Params: Parallel arrays: :definition_id bigint[], :step_no integer[], :recent text[], :older text[]
--   (sketches; see store/sketch.ts).
-- Plan: learned_duration by key.
update drover.learned_duration as l
set recent = u.recent, older = u.older, changed_at = now()
from unnest(:definition_id::bigint[], :step_no::integer[], :recent::text[], :older::text[])
  as u (definition_id, step_no, recent, older)
where l.definition_id = u.definition_id and l.step_no = u.step_no;

-- name: learned_durations
-- Purpose: Reads the sketches of all steps of these definitions.
-- Params: :definition_ids bigint[].
-- Plan: learned_duration by key.
-- Result: older is null while there are too few samples.
select l.definition_id, l.step_no, l.recent, l.older
from unnest(:definition_ids::bigint[]) as u (definition_id)
join drover.learned_duration as l on l.definition_id = u.definition_id
where l.recent is not null
order by l.definition_id, l.step_no;
