-- Facts of runs and their steps, for granted tasks and for expressions. All are plain reads of what never
-- changes once it exists.

-- name: task_facts
-- Purpose: Reads what granted tasks carry besides their lease, after the commit: the run, the page of the
--   step, and for a compensation the run that made the effect.
-- Params: Parallel arrays: :run_id uuid[], :step_no integer[] (step key), :no integer[] (page), :is_undo
--   boolean[] (compensation).
-- Plan: run, run_page, step_reused by key.
-- Result: place is the position in the arrays, from 1. of_run is null unless the effect was made by an
--   earlier run.
select t.place, r.definition_id, r.version as workflow_version, r.labels, r.input_type, r.input_json,
  r.input_data, r.traceparent, r.tracestate, k.of_run, p.no, p.version, p.state
from unnest(:run_id::uuid[], :step_no::integer[], :no::integer[], :is_undo::boolean[])
  with ordinality as t (run_id, step_no, no, is_undo, place)
join drover.run as r on r.id = t.run_id
join drover.run_page as p on p.run_id = t.run_id and p.no = t.no
left join drover.step_reused as k on t.is_undo and k.run_id = t.run_id and k.step_no = t.step_no
order by t.place;

-- name: changed_inputs
-- Purpose: Reads the inputs that a person gave to strategies of steps.
-- Params: Parallel arrays: :run_id uuid[], :step_no integer[] (step key), :strategy smallint[] (index in
--   the strategies of the step).
-- Plan: step_override by key.
-- Result: No row: the input was not changed. input_type is null if the new input is empty.
select o.run_id, o.step_no, o.input_type, o.input_json, o.input_data
from unnest(:run_id::uuid[], :step_no::integer[], :strategy::smallint[]) as u (run_id, step_no, strategy)
join drover.step_override as o on o.run_id = u.run_id and o.step_no = u.step_no
  and o.strategy = u.strategy;

-- name: run_facts
-- Purpose: Reads what expressions see of runs.
-- Params: :run_ids uuid[].
-- Plan: run by key.
select r.id as run_id, r.workflow, r.version, r.key, r.labels, r.created_at, r.input_type, r.input_json,
  r.input_data
from drover.run as r
where r.id = any (:run_ids::uuid[]);

-- name: pages_of_map
-- Purpose: Reads the pages of all items of a map.
-- Params: :run_id uuid, :map integer (number of its step).
-- Plan: run_page by the run's key.
select p.state
from drover.run_page as p
where p.run_id = :run_id::uuid and drover.is_item_page(p.no) and drover.step_of(p.no) = :map::integer
order by p.no;

-- name: item_payload_sizes
-- Purpose: Reads the sizes of item outputs of a map that are JSON and have a row of their own.
-- Params: :run_id uuid, :map integer (number of its step).
-- Plan: payload by the run's key.
-- Result: bytes is the size of the JSON text.
select p.step_no, p.fence, p.kind, p.n, octet_length(p.json) as bytes
from drover.payload as p
where p.run_id = :run_id::uuid and drover.is_item_page(p.step_no) and drover.step_of(p.step_no) = :map::integer
  and p.what = 'output'
  and p.json is not null;
