-- What people and other systems send to a run: answers to escalations, signals, decisions of approvers,
-- changed inputs. These tables change rarely. `at` is the time by which the transaction is decided, in ms
-- since 1970.

-- name: open_escalations
-- Purpose: Inserts escalations, which the rules number. An escalation that the same pass has closed is
--   inserted closed.
-- Params: Parallel arrays: $1 run_id uuid[], $2 n integer[], $3 namespace_id integer[], $4 step_no integer[],
--   $5 reason smallint[] (code), $6 message text[], $7 closed_by text[] (null: open), $8 answer smallint[]
--   (code; null: none), $9 answered_by text[], $10 answered_why text[], $11 code text[] (error code),
--   $12 partition smallint[], $13 wake_at bigint[], $14 deadline_at bigint[] (ms since 1970; null: none),
--   $15 at bigint[].
insert into drover.escalation (run_id, n, namespace_id, step_no, reason, message, opened_at, closed_at, closed_by,
  answer, answered_by, answered_why, code, partition, wake_at, deadline_at)
select u.run_id, u.n, u.namespace_id, u.step_no, u.reason, u.message, to_timestamp(u.at / 1e3::float8),
  case when u.closed_by is not null then to_timestamp(u.at / 1e3::float8) end, u.closed_by, u.answer, u.answered_by,
  u.answered_why, u.code, u.partition,
  case when u.closed_by is null then to_timestamp(u.wake_at / 1e3::float8) end,
  to_timestamp(u.deadline_at / 1e3::float8)
from unnest($1::uuid[], $2::integer[], $3::integer[], $4::integer[], $5::smallint[], $6::text[],
  $7::text[], $8::smallint[], $9::text[], $10::text[], $11::text[], $12::smallint[], $13::bigint[],
  $14::bigint[], $15::bigint[])
  as u (run_id, n, namespace_id, step_no, reason, message, closed_by, answer, answered_by,
    answered_why, code, partition, wake_at, deadline_at, at);

-- name: remind_escalations
-- Purpose: Stores the next reminder of escalations that are open.
-- Params: Parallel arrays: $1 run_id uuid[], $2 n integer[], $3 wake_at bigint[] (ms since 1970).
-- Plan: escalation by key.
-- Result: One row for each changed escalation.
update drover.escalation as e
set wake_at = to_timestamp(u.wake_at / 1e3::float8)
from unnest($1::uuid[], $2::integer[], $3::bigint[]) as u (run_id, n, wake_at)
where e.run_id = u.run_id and e.n = u.n and e.closed_by is null
returning e.n;

-- name: answer_escalations
-- Purpose: Answers and so closes escalations that are open.
-- Params: Parallel arrays: $1 run_id uuid[], $2 n integer[], $3 closed_by text[], $4 answer smallint[]
--   (code), $5 answered_by text[], $6 answered_why text[], $7 at bigint[].
-- Plan: escalation by key.
-- Result: One row for each changed escalation.
-- Note: The condition is on closed_by. With `closed_at is null` the planner would read the open escalations
--   of all runs, by the index that lists them.
update drover.escalation as e
set closed_at = to_timestamp(u.at / 1e3::float8), closed_by = u.closed_by, answer = u.answer,
  answered_by = u.answered_by, answered_why = u.answered_why, wake_at = null
from unnest($1::uuid[], $2::integer[], $3::text[], $4::smallint[], $5::text[], $6::text[], $7::bigint[])
  as u (run_id, n, closed_by, answer, answered_by, answered_why, at)
where e.run_id = u.run_id and e.n = u.n and e.closed_by is null
returning e.n;

-- name: close_escalations
-- Purpose: Closes the open escalations of steps, except those of one reason.
-- Params: Parallel arrays: $1 run_id uuid[], $2 step_no integer[], $3 closed_by text[], $4 at bigint[]. For
--   all: $5 reason smallint (code; stays open).
-- Plan: escalation by key.
-- Result: The escalations that were closed.
update drover.escalation as e
set closed_at = to_timestamp(u.at / 1e3::float8), closed_by = u.closed_by, wake_at = null
from unnest($1::uuid[], $2::integer[], $3::text[], $4::bigint[]) as u (run_id, step_no, closed_by, at)
where e.run_id = u.run_id and e.step_no = u.step_no and e.closed_by is null
  and e.reason <> $5::smallint
returning e.run_id, e.n;

-- name: tell_of_escalations
-- Purpose: Inserts a row of the outbox for each hook that wants to be told of an escalation. Its partition is
--   that of the hook and the cause, whatever the partition of the run, so that one owner sends all webhooks
--   of one cause.
-- Params: Parallel arrays: $1 kind smallint[] (code), $2 run_id uuid[], $3 n integer[].
-- Plan: escalation, hook, run by key.
insert into drover.outbox (kind, run_id, n, namespace_id, partition, hook, cause)
select u.kind, e.run_id, e.n, e.namespace_id,
  (r.partition - r.partition % 256 + (hashtext(concat_ws('/', h.name, c.cause)) & 255))::smallint,
  h.name, c.cause
from unnest($1::smallint[], $2::uuid[], $3::integer[]) as u (kind, run_id, n)
join drover.escalation as e on e.run_id = u.run_id and e.n = u.n
join drover.hook as h on h.namespace_id = e.namespace_id and u.kind = any (h.events)
join drover.run as r on r.id = e.run_id
cross join lateral (select concat_ws('/', r.workflow, e.step_no, e.reason, e.code) as cause) as c
order by e.run_id, e.n;

-- name: claim_escalation
-- Purpose: Notes that a person looks after an open escalation.
-- Params: $1 run_id uuid, $2 n integer, $3 by text, $4 anyway boolean (also if another person has it).
-- Plan: escalation by key.
-- Result: No row: it is closed, or another person has it.
update drover.escalation as e
set claimed_by = $3::text,
  claimed_at = case when e.claimed_by = $3::text then e.claimed_at else now() end
where e.run_id = $1::uuid and e.n = $2::integer and e.closed_by is null
  and (e.claimed_by is null or e.claimed_by = $3::text or $4::boolean)
returning e.n;

-- name: release_escalation
-- Purpose: Notes that a person no longer looks after an open escalation.
-- Params: $1 run_id uuid, $2 n integer, $3 by text, $4 anyway boolean (also if another person has it).
-- Plan: escalation by key.
-- Result: No row: it is closed, or another person has it.
update drover.escalation as e
set claimed_by = null, claimed_at = null
where e.run_id = $1::uuid and e.n = $2::integer and e.closed_by is null
  and (e.claimed_by is null or e.claimed_by = $3::text or $4::boolean)
returning e.n;

-- name: escalation_holder
-- Purpose: Reads which person looks after an escalation.
-- Params: $1 run_id uuid, $2 n integer.
-- Plan: escalation by key.
-- Result: by is null if no person does, or if it is closed.
select case when e.closed_by is null then e.claimed_by end as by
from drover.escalation as e
where e.run_id = $1::uuid and e.n = $2::integer;

-- name: load_escalations
-- Purpose: Reads escalations, open or closed.
-- Params: Parallel arrays: $1 run_id uuid[], $2 n integer[].
-- Plan: escalation by key.
-- Result: closed_by is null if it is open, wake_at if no reminder comes, deadline_at if it waits for ever.
select e.run_id, e.n, e.step_no, e.reason, e.closed_by, e.wake_at, e.deadline_at,
  e.claimed_by is not null as claimed
from unnest($1::uuid[], $2::integer[]) as u (run_id, n)
join drover.escalation as e on e.run_id = u.run_id and e.n = u.n
order by e.run_id, e.n;

-- name: insert_signals
-- Purpose: Inserts signals. Their runs are locked. The id of a signal is unique in its run: a second insert
--   violates the key.
-- Params: Parallel arrays: $1 run_id uuid[], $2 seq integer[], $3 id text[], $4 name text[], $5 payload_type
--   text[], $6 payload_json text[], $7 payload_data bytea[] (type null: no payload), $8 taken_by smallint[]
--   (step; null: it waits), $9 at bigint[].
insert into drover.signal (run_id, seq, id, name, payload_type, payload_json, payload_data, at, taken_by)
select u.run_id, u.seq, u.id, u.name, u.payload_type, u.payload_json, u.payload_data,
  to_timestamp(u.at / 1e3::float8), u.taken_by
from unnest($1::uuid[], $2::integer[], $3::text[], $4::text[], $5::text[], $6::text[], $7::bytea[],
  $8::smallint[], $9::bigint[])
  as u (run_id, seq, id, name, payload_type, payload_json, payload_data, taken_by, at);

-- name: take_signals
-- Purpose: Gives signals that wait to steps.
-- Params: Parallel arrays: $1 run_id uuid[], $2 seq integer[], $3 step_no integer[].
-- Plan: signal by key.
-- Result: One row for each signal that was taken.
update drover.signal as s
set taken_by = u.step_no
from unnest($1::uuid[], $2::integer[], $3::integer[]) as u (run_id, seq, step_no)
where s.run_id = u.run_id and s.seq = u.seq and s.taken_by is null
returning s.seq;

-- name: signals_of_runs
-- Purpose: Reads the signals of runs, in the order in which they came. Either index of signal begins with the
--   run.
-- Params: $1 run_ids uuid[].
-- Result: taken_by is null while the signal waits.
select s.run_id, s.seq, s.id, s.name, s.payload_type, s.payload_json, s.payload_data, s.at, s.taken_by
from drover.signal as s
where s.run_id = any ($1::uuid[])
order by s.run_id, s.seq;

-- name: write_decisions
-- Purpose: Stores decisions of approvers. A later decision of an approver replaces the earlier one.
-- Params: Parallel arrays: $1 run_id uuid[], $2 step_no integer[], $3 approver text[], $4 approved boolean[],
--   $5 comment text[], $6 form_type text[], $7 form_json text[], $8 form_data bytea[] (type null: no form),
--   $9 at bigint[].
insert into drover.decision (run_id, step_no, approver, approved, comment, form_type, form_json, form_data, at)
select u.run_id, u.step_no, u.approver, u.approved, u.comment, u.form_type, u.form_json, u.form_data,
  to_timestamp(u.at / 1e3::float8)
from unnest($1::uuid[], $2::integer[], $3::text[], $4::boolean[], $5::text[], $6::text[], $7::text[],
  $8::bytea[], $9::bigint[])
  as u (run_id, step_no, approver, approved, comment, form_type, form_json, form_data, at)
on conflict (run_id, step_no, approver) do update
set approved = excluded.approved, comment = excluded.comment, form_type = excluded.form_type,
  form_json = excluded.form_json, form_data = excluded.form_data, at = excluded.at;

-- name: decisions_of_runs
-- Purpose: Reads the decisions on approval steps of runs, in the order in which they came.
-- Params: $1 run_ids uuid[].
-- Plan: decision by key.
select d.run_id, d.step_no, d.approver, d.approved, d.comment, d.form_type, d.form_json, d.form_data, d.at
from drover.decision as d
where d.run_id = any ($1::uuid[])
order by d.run_id, d.step_no, d.at, d.approver collate "C";

-- name: write_overrides
-- Purpose: Stores inputs that replace those of the plan. A strategy that was dropped leaves its index, and so
--   its row, to the next.
-- Params: Parallel arrays: $1 run_id uuid[], $2 step_no integer[], $3 strategy smallint[] (index in the
--   strategies of the step), $4 input_type text[], $5 input_json text[], $6 input_data bytea[] (type null: no
--   input).
insert into drover.step_override (run_id, step_no, strategy, input_type, input_json, input_data)
select u.run_id, u.step_no, u.strategy, u.input_type, u.input_json, u.input_data
from unnest($1::uuid[], $2::integer[], $3::smallint[], $4::text[], $5::text[], $6::bytea[])
  as u (run_id, step_no, strategy, input_type, input_json, input_data)
on conflict (run_id, step_no, strategy) do update
set input_type = excluded.input_type, input_json = excluded.input_json,
  input_data = excluded.input_data;

-- name: lock_lane_questions
-- Purpose: Locks the questions about lanes until the end of the transaction.
-- Params: $1 lanes integer[].
-- Locks: Advisory locks in the order of the lanes; waits.
select pg_advisory_xact_lock('drover.lane_question'::regclass::oid::integer, l.lane)
from (select distinct u.lane from unnest($1::integer[]) as u (lane) order by 1 offset 0) as l;

-- name: lane_questions
-- Purpose: Reads which of these lanes have an open question. The lanes are locked.
-- Params: $1 lanes integer[].
-- Plan: lane_question, escalation by key.
-- Result: A lane without an open question has no row.
select q.lane
from unnest($1::integer[]) as u (lane)
join drover.lane_question as q on q.lane = u.lane
cross join lateral (
  select x.closed_at from drover.escalation as x where x.run_id = q.run_id and x.n = q.n offset 0
) as e
where e.closed_at is null;

-- name: write_lane_questions
-- Purpose: Stores the last question about each lane. The lanes are locked.
-- Params: Parallel arrays: $1 lane integer[], $2 run_id uuid[], $3 n integer[] (of the escalation).
insert into drover.lane_question (lane, run_id, n)
select u.lane, u.run_id, u.n
from unnest($1::integer[], $2::uuid[], $3::integer[]) as u (lane, run_id, n)
on conflict (lane) do update set run_id = excluded.run_id, n = excluded.n;
