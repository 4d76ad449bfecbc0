-- Messages between runs. A message is written with the change that causes it; a pass of its target applies
-- and deletes it.

-- name: insert_messages
-- Purpose: Writes messages, in the order of the passes, so that the messages of one source are numbered in
--   the order in which it sent them. A target that does not exist gets none: it is a child whose workflow
--   was not found.
-- Params: Parallel arrays: :partition smallint[] and :run_id uuid[] (target), :source uuid[] (run), :kind
--   smallint[] (code), :undo boolean[] (of a cancel: compensate; else null), :step_key integer[], :fence
--   integer[] (of the end of a child: the step that began it; else null). For all: :grace integer (ms; then
--   the owner of the target's partition delivers the message).
-- Plan: run by key.
insert into drover.message (partition, run_id, source, kind, undo, step_key, fence, wake_at)
select k.partition, k.run_id, k.source, k.kind, k.undo, k.step_key, k.fence,
  drover.transaction_time(k.run_id) + :grace::integer * interval '1 millisecond'
from (
  select u.*
  from unnest(:partition::smallint[], :run_id::uuid[], :source::uuid[], :kind::smallint[], :undo::boolean[],
    :step_key::integer[], :fence::integer[])
    with ordinality as u (partition, run_id, source, kind, undo, step_key, fence, place)
  cross join lateral (select from drover.run as r where r.id = u.run_id limit 1) as r
  offset 0
) as k
order by k.place;

-- name: messages_of_runs
-- Purpose: Reads the messages for runs that are locked or have ended, in the order of their numbers.
-- Params: :run_ids uuid[].
-- Plan: message by key.
select m.run_id, m.no, m.source, m.kind, m.undo, m.step_key, m.fence
from drover.message as m
where m.run_id = any (:run_ids::uuid[])
order by m.run_id, m.no;

-- name: take_messages
-- Purpose: Deletes messages that passes have applied. A number is unique over all runs.
-- Params: Parallel arrays: :run_id uuid[], :no bigint[].
-- Plan: message by key.
-- Result: One row for each deleted message.
delete from drover.message as m
where m.run_id = any (:run_id::uuid[]) and m.no = any (:no::bigint[])
returning m.no;
