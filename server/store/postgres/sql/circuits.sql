-- Circuit breakers and cordons. All of these tables are tiny. No claim reads them, except to take a probe.

-- name: count_ends
-- Purpose: Adds outcomes of tasks to the counts of their lane and agent, in intervals of 5 seconds. A row
--   contains up to two runs with a bad outcome.
-- Params: Parallel arrays: :lane integer[], :agent_id text[], :ago bigint[] (ms since the outcomes), :good
--   integer[], :bad integer[] (counts), :run_a uuid[], :run_b uuid[] (runs with a bad outcome; null: none).
-- Locks: Rows in key order, because several servers add to the same rows; waits for them.
insert into drover.circuit_end as e (lane, agent_id, at, good, bad, runs, last_at)
select u.lane, u.agent_id,
  date_bin('5 seconds', now() - u.ago_ms * interval '1 millisecond', timestamptz 'epoch') as at,
  sum(u.good), sum(u.bad), coalesce((array_agg(distinct u.run) filter (where u.run is not null))[1:2], '{}'),
  max(now() - u.ago_ms * interval '1 millisecond')
from (
  select x.lane, x.agent_id, x.ago_ms, x.good, x.bad, x.run_a as run
  from unnest(:lane::integer[], :agent_id::text[], :ago::bigint[], :good::integer[], :bad::integer[],
    :run_a::uuid[])
    as x (lane, agent_id, ago_ms, good, bad, run_a)
  union all
  select x.lane, x.agent_id, x.ago_ms, 0, 0, x.run_b
  from unnest(:lane::integer[], :agent_id::text[], :ago::bigint[], :run_b::uuid[]) as x (lane, agent_id,
    ago_ms, run_b)
) as u
group by 1, 2, 3
order by 1, 2, 3
on conflict (lane, agent_id, at) do update
set good = e.good + excluded.good, bad = e.bad + excluded.bad,
  runs = (
    select coalesce((array_agg(distinct r.run))[1:2], '{}')
    from unnest(e.runs || excluded.runs) as r (run)
  ),
  last_at = greatest(e.last_at, excluded.last_at);

-- name: outages_of_late
-- Purpose: Reads the newest 1,000 outages that have not ended or ended within a day. An outage extends the
--   `total` timeout of steps.
-- Result: closed_at is null while the outage lasts.
select o.lane, o.opened_at, o.closed_at
from drover.circuit_outage as o
where o.closed_at is null or o.closed_at > now() - interval '1 day'
order by o.opened_at desc
limit 1000;

-- name: circuits_not_closed
-- Purpose: Reads every circuit that is open, has a probe out, or is set by an operator. That is all that
--   admission needs to know; a server reads it again after a change (poll_query).
select c.lane, c.agent_id, c.version, c.state, c.since, c.until, c.cooldowns, c.saw, c.forced, c.forced_by,
  c.forced_why, c.forced_at
from drover.circuit as c
where c.state <> :circuit_state.closed or c.forced is not null
order by c.lane, c.agent_id;

-- name: all_cordons
-- Purpose: Reads all cordons of all namespaces.
-- Result: agent_id is null unless the cordon is of a session.
select o.namespace_id, o.kind, o.name, o.cordoned_by, o.why, o.cordoned_at, a.agent_id
from drover.cordon as o
left join drover.agent as a on a.session = case
    when o.kind = :cordon_kind.session then decode(o.name, 'hex')
  end
order by o.namespace_id, o.kind, o.name;

-- name: circuit_tallies
-- Purpose: Sums the outcome counts of each agent in these lanes, within the window and since the last
--   change of the circuits of the lane and of the agent.
-- Params: :lanes integer[], :window bigint (ms).
-- Plan: circuit_end, circuit by key.
-- Result: One row for each lane and agent with outcomes. The runs of each row are sorted, so one_run and
--   other_run differ if any of the runs differ; null: no run.
select e.lane, e.agent_id, sum(e.good)::integer as good, sum(e.bad)::integer as bad,
  max(e.last_at) as last_at, min(e.runs[1]::text) as one_run,
  max(e.runs[cardinality(e.runs)]::text) as other_run
from unnest(:lanes::integer[]) as u (lane)
join drover.circuit_end as e on e.lane = u.lane
left join drover.circuit as q on q.lane = e.lane and q.agent_id = ''
left join drover.circuit as a on a.lane = e.lane and a.agent_id = e.agent_id
cross join lateral (
  select greatest(now() - :window::bigint * interval '1 millisecond', q.changed_at, a.changed_at) as since
) as f
where e.at >= f.since
group by e.lane, e.agent_id
order by e.lane, e.agent_id;

-- name: circuits_of_lanes
-- Purpose: Reads the circuits of these lanes, and the evidence of how the probe of each has ended.
-- Params: :lanes integer[].
-- Plan: circuit, lease, run_page, attempt_log by key.
-- Result: One row for each circuit, and one with lane null for a lane without any. is_out: the lease of the
--   probe exists. If not, page is the page of the probe's step, and logged contains the attempts of its
--   fence that have left the page.
select now() as now, u.lane as asked, c.lane, c.agent_id, c.version, c.state, c.since, c.until, c.cooldowns,
  c.saw, c.forced, c.forced_by, c.forced_why, c.forced_at, c.probe_run, c.probe_step, c.probe_fence,
  encode(c.probe_secret, 'hex') as probe_secret, l.run_id is not null as is_out, a.page, a.logged
from unnest(:lanes::integer[]) as u (lane)
left join drover.circuit as c on c.lane = u.lane
left join drover.lease as l on l.run_id = c.probe_run and l.step_no = c.probe_step
  and l.secret = c.probe_secret
left join lateral (
  select
    (
      select p.state from drover.run_page as p
      where p.run_id = c.probe_run and p.no = drover.page_of(c.probe_step)
    ) as page,
    array(
      select x.attempt
      from drover.attempt_log as x
      where x.run_id = c.probe_run and x.step_no = c.probe_step and x.fence = c.probe_fence
    ) as logged
) as a on l.run_id is null
order by u.lane, c.agent_id;

-- name: draw_circuit_versions
-- Purpose: Draws new versions for changes of circuits, with the time of these changes. Of a store with
--   several shards every node has the rows of circuits, and runs what changes them, so a change is given
--   both as values.
-- Params: :count integer.
-- Result: One row.
select now() as changed_at, array(select nextval('drover.circuit_version') from generate_series(1, :count::integer)) as versions;

-- name: lock_probed
-- Purpose: Locks those of these circuits that are open and whose `until` has passed.
-- Params: Parallel arrays: :lane integer[], :agent_id text[], :version bigint[] (of the circuit).
-- Locks: Circuits, without waiting: of several claims one gets the circuit, and the others skip it.
-- Result: A missing circuit: another claim has it, or it has changed.
select c.lane, c.agent_id
from unnest(:lane::integer[], :agent_id::text[], :version::bigint[]) as u (lane, agent_id, version)
join drover.circuit as c on c.lane = u.lane and c.agent_id = u.agent_id and c.version = u.version
where c.state = :circuit_state.open and c.forced is null and c.until <= now()
for update of c skip locked;

-- name: take_probes
-- Purpose: Makes the tasks that a claim is about to grant the probes of circuits, which are locked.
-- Params: Parallel arrays: :lane integer[], :agent_id text[], :run_id uuid[], :step_no integer[], :fence
--   integer[], :secret text[] (hex, of the lease), :next bigint[] (version after the change).
update drover.circuit as c
set state = :circuit_state.trying, until = null, version = u.next, changed_at = now(),
  probe_run = u.run_id, probe_step = u.step_no, probe_fence = u.fence,
  probe_secret = decode(u.secret, 'hex')
from unnest(:lane::integer[], :agent_id::text[], :run_id::uuid[], :step_no::integer[], :fence::integer[],
  :secret::text[], :next::bigint[])
  as u (lane, agent_id, run_id, step_no, fence, secret, next)
where c.lane = u.lane and c.agent_id = u.agent_id;

-- name: change_circuits
-- Purpose: Moves circuits whose version is the one that the change was decided by, and that no operator has
--   set.
-- Params: Parallel arrays: :lane integer[], :agent_id text[], :before bigint[] (version; 0: the circuit has
--   no row), :state smallint[] (code), :since bigint[] (ms since 1970; null: closed), :until bigint[] (ms
--   since 1970; null: not open), :cooldowns smallint[] (cool-downs of this outage so far), :saw text[] (what
--   the evaluator saw, in words), :version bigint[] (after the change). For all: :changed_at bigint (ms since
--   1970).
-- Locks: Circuits in key order; waits.
-- Result: The circuits that were changed, with their new version. A missing circuit had changed before.
insert into drover.circuit as c (lane, agent_id, version, changed_at, state, since, until, cooldowns, saw)
select u.lane, u.agent_id, u.version, to_timestamp(:changed_at::bigint / 1e3::float8), u.state,
  to_timestamp(u.since / 1e3::float8), to_timestamp(u.until / 1e3::float8), u.cooldowns, u.saw
from unnest(:lane::integer[], :agent_id::text[], :before::bigint[], :state::smallint[], :since::bigint[],
  :until::bigint[], :cooldowns::smallint[], :saw::text[], :version::bigint[])
  as u (lane, agent_id, before, state, since, until, cooldowns, saw, version)
where u.before = 0 or exists (
  select from drover.circuit as x
  where x.lane = u.lane and x.agent_id = u.agent_id and x.version = u.before
)
order by u.lane, u.agent_id
on conflict (lane, agent_id) do update
set version = excluded.version, changed_at = excluded.changed_at, state = excluded.state, since = excluded.since,
  until = excluded.until, cooldowns = excluded.cooldowns, saw = excluded.saw, probe_run = null,
  probe_step = null, probe_fence = null, probe_secret = null
where c.forced is null and c.version = (
  select u.before
  from unnest(:lane::integer[], :agent_id::text[], :before::bigint[]) as u (lane, agent_id, before)
  where u.lane = c.lane and u.agent_id = c.agent_id
)
returning c.lane, c.agent_id, c.version;

-- name: intervene_in_circuits
-- Purpose: Records the interventions that moved circuits. Each is stored with a run that the decision was
--   based on; the version of the circuit makes it unique.
-- Params: Parallel arrays: :run_id uuid[], :step_no integer[] (-1: the run as a whole), :fence integer[],
--   :rule smallint[] (code), :n integer[] (version of the circuit), :saw text[], :did text[], :due_at
--   bigint[] (ms since 1970). For all: :node uuid, :epoch bigint (of the supervisor that acted).
insert into drover.intervention (run_id, step_no, fence, rule, n, partition, saw, did, due_at, acted_at, node,
  epoch, namespace_id)
select u.run_id, u.step_no, u.fence, u.rule, u.n, r.partition, u.saw, u.did,
  to_timestamp(u.due_at / 1e3::float8), drover.transaction_time(r.id), :node::uuid, :epoch::bigint, r.namespace_id
from unnest(:run_id::uuid[], :step_no::integer[], :fence::integer[], :rule::smallint[], :n::integer[],
  :saw::text[],
  :did::text[], :due_at::bigint[])
  as u (run_id, step_no, fence, rule, n, saw, did, due_at)
join drover.run as r on r.id = u.run_id
on conflict (run_id, step_no, fence, rule, n) do nothing;

-- name: end_outages
-- Purpose: Ends the outages of lanes whose circuits are closed now. It follows a change of circuits, in the
--   same transaction.
-- Params: :lanes integer[].
update drover.circuit_outage as o
set closed_at = now()
from unnest(:lanes::integer[]) as u (lane)
where o.lane = u.lane and o.closed_at is null
  and not exists (select from drover.open_lane as c where c.lane = u.lane);

-- name: begin_outages
-- Purpose: Begins an outage for each of these lanes whose circuit is not closed now, unless one has begun.
--   It follows a change of circuits, in the same transaction.
-- Params: :lanes integer[], :opened_at bigint (ms since 1970).
insert into drover.circuit_outage (lane, opened_at)
select c.lane, to_timestamp(:opened_at::bigint / 1e3::float8)
from drover.open_lane as c
where c.lane = any (:lanes::integer[])
  and not exists (
    select from drover.circuit_outage as o where o.lane = c.lane and o.closed_at is null
  )
on conflict (lane, opened_at) do update set closed_at = null;

-- name: lanes_of_classes
-- Purpose: Reads the id of a lane and of the lanes of the same task for single versions of agents.
-- Params: :lane integer (of class 0).
select :lane::integer as lane
union all
select v.lane from drover.version_lane as v where v.base = :lane::integer;

-- name: force_circuit
-- Purpose: Sets a circuit as an operator says, in the lane and in the lanes of the same task for single
--   versions of agents. A circuit that is set so already stays as it is.
-- Params: :lane integer (of class 0), :agent_id text (empty: the circuit of the lane), :forced smallint
--   (code), :by text, :why text, :version bigint (after the change), :changed_at bigint (ms since 1970).
-- Result: No row: it was set so before.
insert into drover.circuit as c (lane, agent_id, version, changed_at, forced, forced_by, forced_why, forced_at)
select o.lane, :agent_id::text, :version::bigint, to_timestamp(:changed_at::bigint / 1e3::float8),
  :forced::smallint, :by::text, :why::text, to_timestamp(:changed_at::bigint / 1e3::float8)
from (
  select :lane::integer as lane
  union all
  select v.lane from drover.version_lane as v where v.base = :lane::integer
) as o
on conflict (lane, agent_id) do update
set version = excluded.version, changed_at = excluded.changed_at, forced = excluded.forced,
  forced_by = excluded.forced_by, forced_why = excluded.forced_why, forced_at = excluded.forced_at
where c.forced is distinct from excluded.forced
returning c.lane;

-- name: release_circuit
-- Purpose: Takes back what an operator has set, in the same lanes as force_circuit. The circuit starts
--   closed, and outcomes that were counted before no longer count.
-- Params: :lane integer (of class 0), :agent_id text (empty: the circuit of the lane), :version bigint (after
--   the change).
-- Result: No row: nothing was set.
update drover.circuit as c
set version = :version::bigint, changed_at = now(), forced = null, forced_by = null,
  forced_why = null, forced_at = null, state = :circuit_state.closed, since = null, until = null, cooldowns = 0,
  probe_run = null, probe_step = null, probe_fence = null, probe_secret = null
where c.agent_id = :agent_id::text and c.forced is not null
  and (c.lane = :lane::integer or c.lane in (select v.lane from drover.version_lane as v
    where v.base = :lane::integer))
returning c.lane;

-- name: circuit_by_key
-- Purpose: Reads one circuit.
-- Params: :lane integer, :agent_id text.
-- Result: No row: the circuit is closed.
select c.lane, c.agent_id, c.version, c.state, c.since, c.until, c.cooldowns, c.saw, c.forced, c.forced_by,
  c.forced_why, c.forced_at
from drover.circuit as c
where c.lane = :lane::integer and c.agent_id = :agent_id::text;

-- name: list_circuits
-- Purpose: Lists the circuits of a namespace that are open, have a probe out, or are set by an operator, by
--   lane and agent. A setting of an operator holds for the lanes of all classes and is listed once.
-- Params: :namespace_id integer, :after_lane integer and :after_agent_id text (the last row of the previous
--   page; 0 and empty: the first page), :limit integer, :agent_ids text[] (null: all), :open_only boolean.
-- Plan: circuit by key.
-- Result: agent_version is null for a lane of all agents.
select c.lane, c.agent_id, c.version, c.state, c.since, c.until, c.cooldowns, c.saw, c.forced, c.forced_by,
  c.forced_why, c.forced_at, l.queue, l.task, v.agent_version
from drover.circuit as c
join drover.lane as l on l.id = c.lane
left join drover.version_class as v on v.namespace_id = l.namespace_id and v.queue = l.queue
  and v.class = l.class
where l.namespace_id = :namespace_id::integer and (c.state <> :circuit_state.closed or c.forced is not null)
  and (l.class = 0 or c.forced is null)
  and (c.lane, c.agent_id) > (:after_lane::integer, :after_agent_id::text)
  and (:agent_ids::text[] is null or c.agent_id = any (:agent_ids::text[]))
  and (not :open_only::boolean or coalesce(c.forced = :circuit_setting.open, c.state <> :circuit_state.closed))
order by c.lane, c.agent_id
limit :limit::integer;

-- name: cordon
-- Purpose: Cordons an agent, a version of agents or a session. A cordon that exists stays as it is. A session
--   that is unknown is not cordoned.
-- Params: :namespace_id integer, :kind smallint (code), :name text (agent id, version, or session in hex),
--   :by text, :why text.
-- Result: No row: there is a cordon, or no such session.
with known as materialized (
  select n.id, now() as at
  from drover.namespace as n
  where n.id = :namespace_id::integer and (:kind::smallint <> :cordon_kind.session or exists (
    select
    from drover.agent as a
    where a.namespace_id = n.id and a.session = decode(
      case when :kind::smallint = :cordon_kind.session then :name::text else '' end, 'hex'
    )
  ))
)
insert into drover.cordon (namespace_id, kind, name, cordoned_by, why, cordoned_at)
select k.id, :kind::smallint, :name::text, :by::text, :why::text, k.at
from known as k
on conflict (namespace_id, kind, name) do nothing
returning name;

-- name: uncordon
-- Purpose: Removes a cordon.
-- Params: :namespace_id integer, :kind smallint (code), :name text (agent id, version, or session in hex).
-- Result: No row: there was no such cordon.
delete from drover.cordon
where namespace_id = :namespace_id::integer and kind = :kind::smallint and name = :name::text
returning name;

-- name: cordons_of_namespace
-- Purpose: Lists the cordons of a namespace by kind and name.
-- Params: :namespace_id integer.
-- Result: agent_id is null unless the cordon is of a session.
select o.namespace_id, o.kind, o.name, o.cordoned_by, o.why, o.cordoned_at, a.agent_id
from drover.cordon as o
left join drover.agent as a on a.session = case
    when o.kind = :cordon_kind.session then decode(o.name, 'hex')
  end
where o.namespace_id = :namespace_id::integer
order by o.kind, o.name;

-- name: forget_circuit_ends
-- Purpose: Deletes outcome counts of intervals that began more than :retention ms ago, which no evaluator
--   needs any more.
-- Params: :rows_max integer, :retention bigint (ms).
-- Locks: The deleted rows, without waiting: a locked row is skipped.
-- Result: One row. more: :rows_max rows were deleted, so there may be more.
-- Note: The table is small and has no index on the time.
with gone as (
  delete from drover.circuit_end as e
  where e.ctid = any (array(
    select o.ctid
    from drover.circuit_end as o
    where o.at < now() - :retention::bigint * interval '1 millisecond'
    limit :rows_max::integer
    for update skip locked
  ))
  returning 1
)
select count(*) = :rows_max::integer as more from gone;

-- name: forget_circuits
-- Purpose: Deletes circuits that have been closed for a week, and circuits of single agents whose probe was
--   due more than a day ago and was never taken.
delete from drover.circuit as c
where c.forced is null and (
  (c.state = :circuit_state.closed and c.changed_at < now() - interval '7 days')
  or (c.state = :circuit_state.open and c.agent_id <> '' and c.until < now() - interval '1 day')
);

-- name: forget_outages
-- Purpose: Deletes outages that ended more than a week ago.
delete from drover.circuit_outage where closed_at < now() - interval '7 days';
