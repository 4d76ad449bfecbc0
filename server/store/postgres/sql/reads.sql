-- Plain reads of one run, for people. Nothing is locked. Each statement reads one snapshot.

-- name: traced_runs
-- Purpose: Reads what the traces of runs contain.
-- Params: :run_ids uuid[].
-- Plan: run, rerun by key.
-- Result: traceparent is null if the run is not traced. of_run is the run that this one repeats; null:
--   none.
select r.id as run_id, r.namespace_id, r.definition_id, r.workflow, r.version, r.created_at,
  r.traceparent, r.tracestate, r.parent_id,
  (select x.of_run from drover.rerun as x where x.run_id = r.id) as of_run
from drover.run as r
where r.id = any (:run_ids::uuid[]);

-- name: run_pages
-- Purpose: Reads the pages of a run, except pages of items that are settled.
-- Params: :run_id uuid.
-- Plan: run_page by the run's key.
select p.no, p.state as page
from drover.run_page as p
where p.run_id = :run_id::uuid and (not drover.is_item_page(p.no) or not p.settled)
order by p.no;

-- name: settled_items
-- Purpose: Reads the last :limit pages of items that are settled, the last one first.
-- Params: :run_id uuid, :limit integer.
-- Plan: run_page by the run's key, backwards.
select p.no, p.state as page
from drover.run_page as p
where p.run_id = :run_id::uuid and drover.is_item_page(p.no) and p.settled
order by p.run_id desc, p.no desc
limit :limit::integer;

-- name: count_settled_attempts
-- Purpose: Counts the attempts at items that are settled, of at most :limit items.
-- Params: :run_id uuid, :before integer (step key; only items before it), :limit integer.
-- Plan: run_page by the run's key, backwards.
-- Result: One row: the items, and the attempts in their pages and in the log.
select count(*)::integer as items, coalesce(sum(s.in_page + s.logged), 0)::integer as attempts
from (
  select p.no, p.state
  from drover.run_page as p
  where p.run_id = :run_id::uuid and p.no < :before::integer and drover.is_item_page(p.no) and p.settled
  order by p.run_id desc, p.no desc
  limit :limit::integer
) as p
cross join lateral (select drover.page_json(p.state) -> 's' -> p.no::text as step) as x
cross join lateral (
  select coalesce(jsonb_array_length(x.step -> 'e'), 0) as in_page, coalesce((x.step ->> 'g')::integer, 0) as logged
) as s;

-- name: item_pages
-- Purpose: Reads the next :limit pages of items of one map.
-- Params: :run_id uuid, :map integer (number of its step), :after integer (step key of the last item of the
--   previous page), :limit integer, :settled boolean (only items that are settled, or that are not; null:
--   all).
-- Plan: run_page by the run's key.
select p.no, p.state as page
from drover.run_page as p
where p.run_id = :run_id::uuid and p.no > :after::integer and drover.is_item_page(p.no)
  and drover.step_of(p.no) = :map::integer
  and (:settled::boolean is null or p.settled = :settled::boolean)
order by p.run_id, p.no
limit :limit::integer;

-- name: logged_attempts
-- Purpose: Reads attempts at these steps that have left their pages, the newest :limit of each, newest
--   first.
-- Params: :run_id uuid, :step_nos integer[] (step keys), :limit integer (for each step).
-- Plan: attempt_log by key.
select u.step_no, x.attempt
from unnest(:step_nos::integer[]) as u (step_no)
cross join lateral (
  select a.attempt, a.fence, a.kind, a.n
  from drover.attempt_log as a
  where a.run_id = :run_id::uuid and a.step_no = u.step_no
  order by a.run_id desc, a.step_no desc, a.fence desc, a.kind desc, a.n desc
  limit :limit::integer
) as x
order by u.step_no, x.fence desc, x.kind desc, x.n desc;

-- name: run_reused
-- Purpose: Reads the steps that a run reuses, with the run that made the effect of each.
-- Params: :run_id uuid.
-- Plan: step_reused by the run's key.
select k.step_no, k.of_run
from drover.step_reused as k
where k.run_id = :run_id::uuid
order by k.step_no;

-- name: run_changed_inputs
-- Purpose: Reads the inputs that replace those of the plan.
-- Params: :run_id uuid.
-- Plan: step_override by the run's key.
-- Result: input_type is null if the new input is empty.
select o.step_no, o.strategy, o.input_type, o.input_json, o.input_data
from drover.step_override as o
where o.run_id = :run_id::uuid
order by o.step_no, o.strategy;

-- name: run_interventions
-- Purpose: Reads the newest :limit interventions of a run, in the order of their times.
-- Params: :run_id uuid, :limit integer.
-- Plan: intervention by the run's key.
-- Result: total is the number of all interventions of the run.
select * from (
  select i.step_no, i.fence, i.rule, i.n, i.saw, i.did, i.due_at, i.acted_at, i.node, i.partition, i.epoch,
    count(*) over ()::integer as total
  from drover.intervention as i
  where i.run_id = :run_id::uuid
  order by i.acted_at desc
  limit :limit::integer
) as newest
order by newest.acted_at, newest.step_no, newest.fence, newest.n;

-- name: run_escalations
-- Purpose: Reads the newest :limit escalations of a run, in the order of their numbers.
-- Params: :run_id uuid, :limit integer.
-- Plan: escalation by the run's key.
select * from (
  select e.n, e.step_no, e.reason, e.message, e.opened_at, e.closed_at, e.closed_by, e.claimed_by,
    e.claimed_at, e.deadline_at, e.code, e.answer,
    e.answered_by, e.answered_verified, e.answered_why
  from drover.escalation as e
  where e.run_id = :run_id::uuid
  order by e.n desc
  limit :limit::integer
) as newest
order by newest.n;

-- name: run_signs
-- Purpose: Reads the liveness of the agents and of the supervisor of a run. Of each lease: the last
--   heartbeat, and the page with its progress. Of each ready row: the last poll of its lane, whether the
--   agents that polled it have fallen silent since, its pause and its open circuit, how many agents ask for
--   it if all of them are cordoned, and the version of agents that it is for. Of both the queue.
-- Params: :run_id uuid, :polled integer (ms; how long a lane counts as polled after a poll), :owner_lost
--   integer (ms; how long a node counts as live after it was seen).
-- Plan: lease, ready, run_page by the run's key, lane by its own.
-- Result: One row for each lease and ready row. If there is none, one row with step_no null, for the time.
--   unwatched is the name of the region of the run if no live node watches its partition; whole: no live
--   node watches any partition of the region.
with cordoned as (
  select l.id as lane, count(*)::integer as agents
  from drover.lane as l
  left join drover.version_lane as v on v.lane = l.id
  join drover.agent as a on a.namespace_id = l.namespace_id and a.seen_at > now() - interval '1 minute'
    and a.silent_since is null and a.queues ? l.queue and (a.tasks = '[]'::jsonb or a.tasks ? l.task)
    and (v.lane is null or a.agent_version = v.agent_version)
  where l.id in (select r.lane from drover.ready as r where r.run_id = :run_id::uuid)
    and exists (select from drover.cordon as o where o.namespace_id = l.namespace_id)
  group by l.id
  having bool_and(exists (
    select from drover.cordon as o
    where o.namespace_id = a.namespace_id and ((o.kind, o.name) in (
      (:cordon_kind.agent, a.agent_id), (:cordon_kind.version, a.agent_version),
      (:cordon_kind.session, encode(a.session, 'hex'))
    ))
  ))
)
select now() as now, x.step_no, x.is_lease, x.last_heartbeat_at, x.page, x.polled_at, lane.queue,
  h.paused, h.paused_at, h.pause_reason, o.state as circuit, o.since as open_since,
  o.until as open_until, o.saw, o.forced_at, o.forced_by, o.forced_why, k.agents as cordoned,
  v.agent_version, not x.is_lease and exists (
    select from drover.silent_lane as s
    where s.lane = x.lane and coalesce(s.seen_at, '-infinity')
      <= now() - greatest(:polled::integer, 60000) * interval '1 millisecond'
  ) as silent, w.name as unwatched, w.whole
from (select) as one
left join lateral (
  select g.name, not exists (
    select
    from drover.partition_lease as m
    join drover.node as d on d.id = m.node
      and d.last_seen_at > now() - :owner_lost::integer * interval '1 millisecond'
    where m.partition / 256 = g.id
  ) as whole
  from drover.run as r
  join drover.region as g on g.id = r.partition / 256
  left join drover.partition_lease as p on p.partition = r.partition
  left join drover.node as n on n.id = p.node
    and n.last_seen_at > now() - :owner_lost::integer * interval '1 millisecond'
  where r.id = :run_id::uuid and n.id is null
) as w on true
left join (
  select l.step_no, l.lane, false as paused, true as is_lease, s.last_heartbeat_at, (
      select p.state from drover.run_page as p where p.run_id = l.run_id and p.no = drover.page_of(l.step_no)
    ) as page, null::timestamptz as polled_at
  from drover.lease as l
  left join drover.agent_session as s on s.session = l.session
  where l.run_id = :run_id::uuid
  union all
  select r.step_no, r.lane, r.paused, false, null, null,
    (select max(p.seen_at) from drover.lane_poller as p where p.lane = r.lane)
  from drover.ready as r
  where r.run_id = :run_id::uuid
) as x on true
left join drover.lane on lane.id = x.lane
left join lateral (
  select 'workflow' as paused, w.paused_at, w.reason as pause_reason
  from drover.run as n
  join drover.paused_workflow as w on w.namespace_id = n.namespace_id and w.name = n.workflow
  where x.paused and n.id = :run_id::uuid
  union all
  select case p.queue when '' then 'namespace' else 'queue' end, p.paused_at, p.pause_reason
  from drover.paused_lane as p
  where p.lane = x.lane
  order by 1 desc
  limit 1
) as h on not x.is_lease
left join drover.open_lane as o on not x.is_lease and o.lane = x.lane
left join cordoned as k on not x.is_lease and k.lane = x.lane
left join drover.version_lane as v on not x.is_lease and v.lane = x.lane
order by x.step_no;
