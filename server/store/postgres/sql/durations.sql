-- How long attempts take: one row for each step of a workflow version, once a minute where it changed.

-- name: open_durations
-- Rows that are not there yet, in key order: who comes second waits, and finds the row.
-- Plan: workflow_version_definition, one probe a row.
insert into drover.learned_duration (definition_id, step_no)
select u.definition_id, u.step_no
from unnest($1::bigint[], $2::integer[]) as u (definition_id, step_no)
where exists (select from drover.workflow_version as v where v.definition_id = u.definition_id)
order by u.definition_id, u.step_no
on conflict (definition_id, step_no) do nothing;

-- name: lock_durations
-- Plan: learned_duration by key.
select l.definition_id, l.step_no, l.recent, l.older
from unnest($1::bigint[], $2::integer[]) as u (definition_id, step_no)
join drover.learned_duration as l on l.definition_id = u.definition_id and l.step_no = u.step_no
order by l.definition_id, l.step_no
for update of l;

-- name: keep_durations
-- Plan: learned_duration by key.
update drover.learned_duration as l
set recent = u.recent, older = u.older, changed_at = now()
from unnest($1::bigint[], $2::integer[], $3::text[], $4::text[])
  as u (definition_id, step_no, recent, older)
where l.definition_id = u.definition_id and l.step_no = u.step_no;

-- name: learned_durations
-- Plan: learned_duration by key.
select l.definition_id, l.step_no, l.recent, l.older
from unnest($1::bigint[]) as u (definition_id)
join drover.learned_duration as l on l.definition_id = u.definition_id
where l.recent is not null
order by l.definition_id, l.step_no;
