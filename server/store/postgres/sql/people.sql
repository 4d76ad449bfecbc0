-- What people and other systems send to a run: answers to escalations, signals, decisions of approvers,
-- changed inputs. These tables change rarely. `at` is the time by which the transaction is decided, in ms
-- since 1970.

-- name: open_escalations
-- Purpose: Inserts escalations, which the rules number. An escalation that the same pass has closed is
--   inserted closed.
-- Params: Parallel arrays: :run_id uuid[], :n integer[], :namespace_id integer[], :step_no integer[],
--   :reason smallint[] (code), :message text[], :closed_by text[] (null: open), :answer smallint[] (code;
--   null: none), :answered_by text[], :answered_verified boolean[], :answered_why text[], :code text[] (error code),
--   :partition smallint[], :wake_at bigint[], :deadline_at bigint[] (ms since 1970; null: none), :at bigint[].
insert into drover.escalation (run_id, n, namespace_id, step_no, reason, message, opened_at, closed_at,
  closed_by,
  answer, answered_by, answered_verified, answered_why, code, partition, wake_at, deadline_at)
select u.run_id, u.n, u.namespace_id, u.step_no, u.reason, u.message, to_timestamp(u.at / 1e3::float8),
  case when u.closed_by is not null then to_timestamp(u.at / 1e3::float8) end, u.closed_by, u.answer,
    u.answered_by, u.answered_verified,
  u.answered_why, u.code, u.partition,
  case when u.closed_by is null then to_timestamp(u.wake_at / 1e3::float8) end,
  to_timestamp(u.deadline_at / 1e3::float8)
from unnest(:run_id::uuid[], :n::integer[], :namespace_id::integer[], :step_no::integer[],
  :reason::smallint[], :message::text[],
  :closed_by::text[], :answer::smallint[], :answered_by::text[], :answered_verified::boolean[],
    :answered_why::text[], :code::text[], :partition::smallint[], :wake_at::bigint[],
  :deadline_at::bigint[], :at::bigint[])
  as u (run_id, n, namespace_id, step_no, reason, message, closed_by, answer, answered_by,
    answered_verified, answered_why, code, partition, wake_at, deadline_at, at);

-- name: remind_escalations
-- Purpose: Stores the next reminder of escalations that are open.
-- Params: Parallel arrays: :run_id uuid[], :n integer[], :wake_at bigint[] (ms since 1970).
-- Plan: escalation by key.
-- Result: One row for each changed escalation.
update drover.escalation as e
set wake_at = to_timestamp(u.wake_at / 1e3::float8)
from unnest(:run_id::uuid[], :n::integer[], :wake_at::bigint[]) as u (run_id, n, wake_at)
where e.run_id = u.run_id and e.n = u.n and e.closed_by is null
returning e.n;

-- name: answer_escalations
-- Purpose: Answers and so closes escalations that are open.
-- Params: Parallel arrays: :run_id uuid[], :n integer[], :closed_by text[], :answer smallint[] (code),
--   :answered_by text[], :answered_verified boolean[], :answered_why text[], :at bigint[].
-- Plan: escalation by key.
-- Result: One row for each changed escalation.
-- Note: The condition is on closed_by. With `closed_at is null` the planner would read the open escalations
--   of all runs, by the index that lists them.
update drover.escalation as e
set closed_at = to_timestamp(u.at / 1e3::float8), closed_by = u.closed_by, answer = u.answer,
  answered_by = u.answered_by, answered_verified = u.answered_verified, answered_why = u.answered_why,
  wake_at = null
from unnest(:run_id::uuid[], :n::integer[], :closed_by::text[], :answer::smallint[], :answered_by::text[],
  :answered_verified::boolean[], :answered_why::text[], :at::bigint[])
  as u (run_id, n, closed_by, answer, answered_by, answered_verified, answered_why, at)
where e.run_id = u.run_id and e.n = u.n and e.closed_by is null
returning e.n;

-- name: close_escalations
-- Purpose: Closes the open escalations of steps, except those of one reason.
-- Params: Parallel arrays: :run_id uuid[], :step_no integer[], :closed_by text[], :at bigint[]. For all:
--   :reason smallint (code; stays open).
-- Plan: escalation by key.
-- Result: The escalations that were closed.
update drover.escalation as e
set closed_at = to_timestamp(u.at / 1e3::float8), closed_by = u.closed_by, wake_at = null
from unnest(:run_id::uuid[], :step_no::integer[], :closed_by::text[], :at::bigint[]) as u (run_id, step_no,
  closed_by, at)
where e.run_id = u.run_id and e.step_no = u.step_no and e.closed_by is null
  and e.reason <> :reason::smallint
returning e.run_id, e.n;

-- name: insert_escalation_outbox
-- Purpose: Inserts a row of the outbox for each hook that asks for escalations. Its partition
--   is that of the hook and the cause, whatever the partition of the run, so that one owner sends all
--   webhooks of one cause.
-- Params: Parallel arrays: :kind smallint[] (code), :run_id uuid[], :n integer[].
-- Plan: escalation, hook, run by key.
insert into drover.outbox (kind, run_id, n, namespace_id, partition, hook, cause)
select a.kind, a.run_id, a.n, a.namespace_id,
  (a.partition - a.partition % 256 + (hashtext(concat_ws('/', a.hook, a.cause)) & 255))::smallint, a.hook, a.cause
from (
  select u.kind, e.run_id, e.n, e.namespace_id, r.partition, h.name as hook,
    concat_ws('/', r.workflow, e.step_no, e.reason, e.code) as cause
  from unnest(:kind::smallint[], :run_id::uuid[], :n::integer[]) as u (kind, run_id, n)
  join drover.escalation as e on e.run_id = u.run_id and e.n = u.n
  join drover.hook as h on h.namespace_id = e.namespace_id and u.kind = any (h.events)
  join drover.run as r on r.id = e.run_id
  offset 0
) as a
order by a.run_id, a.n;

-- name: insert_approval_outbox
-- Purpose: Inserts a row of the outbox for each hook that asks for approvals. Its partition is that of the
--   hook and the cause, as with escalations.
-- Params: Parallel arrays: :run_id uuid[], :step_no integer[], :deadline_at bigint[] (ms since 1970).
-- Plan: run, hook by key.
with asked as materialized (
  select r.id as run_id, u.step_no, r.namespace_id, r.partition, h.name as hook,
    concat_ws('/', r.workflow, u.step_no) as cause, to_timestamp(u.deadline_at / 1e3::float8) as deadline_at
  from unnest(:run_id::uuid[], :step_no::integer[], :deadline_at::bigint[]) as u (run_id, step_no, deadline_at)
  cross join lateral (select * from drover.run where run.id = u.run_id limit 1) as r
  join drover.hook as h on h.namespace_id = r.namespace_id and :outbox_kind.approval-requested = any (h.events)
)
insert into drover.outbox (kind, run_id, n, namespace_id, partition, hook, cause, deadline_at)
select :outbox_kind.approval-requested, a.run_id, a.step_no, a.namespace_id,
  (a.partition - a.partition % 256 + (hashtext(concat_ws('/', a.hook, a.cause)) & 255))::smallint, a.hook, a.cause,
  a.deadline_at
from asked as a
order by a.run_id, a.step_no;

-- name: claim_escalation
-- Purpose: Notes that a person looks after an open escalation.
-- Params: :run_id uuid, :n integer, :by text, :anyway boolean (also if another person has it).
-- Locks: The escalation; waits.
-- Plan: escalation by key.
-- Result: changed: this person did not have it before. No row: it is closed, or another person has it.
with held as (
  select e.run_id, e.n, e.claimed_by, now() as now
  from drover.escalation as e
  where e.run_id = :run_id::uuid and e.n = :n::integer and e.closed_by is null
    and (e.claimed_by is null or e.claimed_by = :by::text or :anyway::boolean)
  for no key update
)
update drover.escalation as e
set claimed_by = :by::text,
  claimed_at = case when h.claimed_by = :by::text then e.claimed_at else h.now end
from held as h
where e.run_id = h.run_id and e.n = h.n
returning h.claimed_by is distinct from :by::text as changed;

-- name: release_escalation
-- Purpose: Notes that a person no longer looks after an open escalation.
-- Params: :run_id uuid, :n integer, :by text, :anyway boolean (also if another person has it).
-- Locks: The escalation; waits.
-- Plan: escalation by key.
-- Result: changed: a person had it before. No row: it is closed, or another person has it.
with held as (
  select e.run_id, e.n, e.claimed_by
  from drover.escalation as e
  where e.run_id = :run_id::uuid and e.n = :n::integer and e.closed_by is null
    and (e.claimed_by is null or e.claimed_by = :by::text or :anyway::boolean)
  for no key update
)
update drover.escalation as e
set claimed_by = null, claimed_at = null
from held as h
where e.run_id = h.run_id and e.n = h.n
returning h.claimed_by is not null as changed;

-- name: escalation_holder
-- Purpose: Reads which person looks after an escalation.
-- Params: :run_id uuid, :n integer.
-- Plan: escalation by key.
-- Result: by is null if no person does, or if it is closed.
select case when e.closed_by is null then e.claimed_by end as by
from drover.escalation as e
where e.run_id = :run_id::uuid and e.n = :n::integer;

-- name: load_escalations
-- Purpose: Reads escalations, open or closed.
-- Params: Parallel arrays: :run_id uuid[], :n integer[].
-- Plan: escalation by key.
-- Result: closed_by is null if it is open, wake_at if no reminder comes, deadline_at if it waits for ever.
select e.run_id, e.n, e.step_no, e.reason, e.closed_by, e.wake_at, e.deadline_at,
  e.claimed_by is not null as claimed
from unnest(:run_id::uuid[], :n::integer[]) as u (run_id, n)
join drover.escalation as e on e.run_id = u.run_id and e.n = u.n
order by e.run_id, e.n;

-- name: insert_signals
-- Purpose: Inserts signals. Their runs are locked. The id of a signal is unique in its run: a second insert
--   violates the key.
-- Params: Parallel arrays: :run_id uuid[], :seq integer[], :id text[], :name text[], :payload_type text[],
--   :payload_json text[], :payload_data bytea[] (type null: no payload), :taken_by smallint[] (step; null:
--   it waits), :at bigint[].
insert into drover.signal (run_id, seq, id, name, payload_type, payload_json, payload_data, at, taken_by)
select u.run_id, u.seq, u.id, u.name, u.payload_type, u.payload_json, u.payload_data,
  to_timestamp(u.at / 1e3::float8), u.taken_by
from unnest(:run_id::uuid[], :seq::integer[], :id::text[], :name::text[], :payload_type::text[],
  :payload_json::text[], :payload_data::bytea[],
  :taken_by::smallint[], :at::bigint[])
  as u (run_id, seq, id, name, payload_type, payload_json, payload_data, taken_by, at);

-- name: take_signals
-- Purpose: Gives signals that wait to steps.
-- Params: Parallel arrays: :run_id uuid[], :seq integer[], :step_no integer[].
-- Plan: signal by key.
-- Result: One row for each signal that was taken.
update drover.signal as s
set taken_by = u.step_no
from unnest(:run_id::uuid[], :seq::integer[], :step_no::integer[]) as u (run_id, seq, step_no)
where s.run_id = u.run_id and s.seq = u.seq and s.taken_by is null
returning s.seq;

-- name: signals_of_runs
-- Purpose: Reads the signals of runs, in the order in which they came. Either index of signal begins with
--   the run.
-- Params: :run_ids uuid[].
-- Result: taken_by is null while the signal waits.
select s.run_id, s.seq, s.id, s.name, s.payload_type, s.payload_json, s.payload_data, s.at, s.taken_by
from drover.signal as s
where s.run_id = any (:run_ids::uuid[])
order by s.run_id, s.seq;

-- name: write_decisions
-- Purpose: Stores decisions of approvers. A later decision of an approver replaces the earlier one.
-- Params: Parallel arrays: :run_id uuid[], :step_no integer[], :approver text[], :verified boolean[],
--   :approved boolean[], :comment text[], :form_type text[], :form_json text[], :form_data bytea[] (type null: no form), :at
--   bigint[].
insert into drover.decision (run_id, step_no, approver, verified, approved, comment, form_type, form_json,
  form_data, at)
select u.run_id, u.step_no, u.approver, u.verified, u.approved, u.comment, u.form_type, u.form_json, u.form_data,
  to_timestamp(u.at / 1e3::float8)
from unnest(:run_id::uuid[], :step_no::integer[], :approver::text[], :verified::boolean[],
  :approved::boolean[],
  :comment::text[], :form_type::text[], :form_json::text[],
  :form_data::bytea[], :at::bigint[])
  as u (run_id, step_no, approver, verified, approved, comment, form_type, form_json, form_data, at)
on conflict (run_id, step_no, approver) do update
set verified = excluded.verified, approved = excluded.approved, comment = excluded.comment, form_type = excluded.form_type,
  form_json = excluded.form_json, form_data = excluded.form_data, at = excluded.at;

-- name: decisions_of_runs
-- Purpose: Reads the decisions on approval steps of runs, in the order in which they came.
-- Params: :run_ids uuid[].
-- Plan: decision by key.
select d.run_id, d.step_no, d.approver, d.verified, d.approved, d.comment, d.form_type, d.form_json,
  d.form_data, d.at
from drover.decision as d
where d.run_id = any (:run_ids::uuid[])
order by d.run_id, d.step_no, d.at, d.approver collate "C";

-- name: write_overrides
-- Purpose: Stores inputs that replace those of the plan. The next strategy reuses the index of a dropped one
--   and overwrites its row.
-- Params: Parallel arrays: :run_id uuid[], :step_no integer[], :strategy smallint[] (index in the
--   strategies of the step), :input_type text[], :input_json text[], :input_data bytea[] (type null: no
--   input).
insert into drover.step_override (run_id, step_no, strategy, input_type, input_json, input_data)
select u.run_id, u.step_no, u.strategy, u.input_type, u.input_json, u.input_data
from unnest(:run_id::uuid[], :step_no::integer[], :strategy::smallint[], :input_type::text[],
  :input_json::text[], :input_data::bytea[])
  as u (run_id, step_no, strategy, input_type, input_json, input_data)
on conflict (run_id, step_no, strategy) do update
set input_type = excluded.input_type, input_json = excluded.input_json,
  input_data = excluded.input_data;

-- name: lock_lane_questions
-- Purpose: Locks the open escalations about lanes (no agent polls them) until the end of the transaction.
-- Params: :lanes integer[].
-- Locks: Advisory locks in the order of the lanes; waits.
select pg_advisory_xact_lock('drover.lane_question'::regclass::oid::integer, l.lane)
from (select distinct u.lane from unnest(:lanes::integer[]) as u (lane) order by 1 offset 0) as l;

-- name: lane_questions
-- Purpose: Reads which of these lanes have an open escalation (no agent polls them). The lanes are locked.
-- Params: :lanes integer[].
-- Plan: lane_question, escalation by key.
-- Result: A lane without an open escalation has no row.
select q.lane
from unnest(:lanes::integer[]) as u (lane)
join drover.lane_question as q on q.lane = u.lane
cross join lateral (
  select x.closed_at from drover.escalation as x where x.run_id = q.run_id and x.n = q.n offset 0
) as e
where e.closed_at is null;

-- name: write_lane_questions
-- Purpose: Stores the last escalation about each lane. The lanes are locked.
-- Params: Parallel arrays: :lane integer[], :run_id uuid[], :n integer[] (of the escalation).
insert into drover.lane_question (lane, run_id, n)
select u.lane, u.run_id, u.n
from unnest(:lane::integer[], :run_id::uuid[], :n::integer[]) as u (lane, run_id, n)
on conflict (lane) do update set run_id = excluded.run_id, n = excluded.n;
