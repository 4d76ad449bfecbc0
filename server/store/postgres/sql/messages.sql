-- What runs tell each other: written with the change that causes it, applied and deleted by a pass of the
-- run that it is for.

-- name: insert_messages
-- In the order of the passes, so that those of one source are numbered in the order in which it wrote
-- them. The owner of the target's partition looks after a message once $8 milliseconds are over. A run
-- that never was, as a child whose workflow could not be found, is told nothing: nobody would take it.
-- Plan: run by key.
insert into drover.message (partition, run_id, source, kind, undo, step_key, fence, wake_at)
select u.partition, u.run_id, u.source, u.kind, u.undo, u.step_key, u.fence,
  now() + $8::integer * interval '1 millisecond'
from unnest($1::smallint[], $2::uuid[], $3::uuid[], $4::smallint[], $5::boolean[], $6::integer[],
  $7::integer[]) with ordinality as u (partition, run_id, source, kind, undo, step_key, fence, place)
cross join lateral (select from drover.run as r where r.id = u.run_id limit 1) as r
order by u.place;

-- name: messages_of_runs
-- The runs are locked, or have ended. Plan: message by key.
select m.run_id, m.no, m.source, m.kind, m.undo, m.step_key, m.fence
from drover.message as m
where m.run_id = any ($1::uuid[])
order by m.run_id, m.no;

-- name: take_messages
-- No two messages have one number, whatever their runs. Plan: message by key.
delete from drover.message as m
where m.run_id = any ($1::uuid[]) and m.no = any ($2::bigint[])
returning m.no;
