-- Circuits and cordons. All of these tables are tiny; no claim reads them but for the one task that tries.

-- name: count_ends
-- In key order: servers add to the same rows.
insert into drover.circuit_end as e (lane, agent_id, at, good, bad, runs, last_at)
select u.lane, u.agent_id,
  date_bin('5 seconds', now() - u.ago_ms * interval '1 millisecond', timestamptz 'epoch') as at,
  sum(u.good), sum(u.bad), coalesce((array_agg(distinct u.run) filter (where u.run is not null))[1:2], '{}'),
  max(now() - u.ago_ms * interval '1 millisecond')
from (
  select x.lane, x.agent_id, x.ago_ms, x.good, x.bad, x.run_a as run
  from unnest($1::integer[], $2::text[], $3::bigint[], $4::integer[], $5::integer[], $6::uuid[])
    as x (lane, agent_id, ago_ms, good, bad, run_a)
  union all
  select x.lane, x.agent_id, x.ago_ms, 0, 0, x.run_b
  from unnest($1::integer[], $2::text[], $3::bigint[], $7::uuid[]) as x (lane, agent_id, ago_ms, run_b)
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
-- What moves the end of a total.
select o.lane, o.opened_at, o.closed_at
from drover.circuit_outage as o
where o.closed_at is null or o.closed_at > now() - interval '1 day'
order by o.opened_at desc
limit 1000;

-- name: circuits_not_closed
-- All that a claim may have to know: read when it has changed.
select c.lane, c.agent_id, c.version, c.state, c.since, c.until, c.rests, c.saw, c.forced, c.forced_by,
  c.forced_why, c.forced_at
from drover.circuit as c
where c.state <> 0 or c.forced is not null
order by c.lane, c.agent_id;

-- name: all_cordons
select o.namespace_id, o.kind, o.name, o.cordoned_by, o.why, o.cordoned_at
from drover.cordon as o
order by o.namespace_id, o.kind, o.name;

-- name: circuit_tallies
-- Of each agent since the window began and nothing has changed. Runs of a row stand in their order, so
-- these two are different ones if any are. Plan: circuit_end, circuit by key.
select e.lane, e.agent_id, sum(e.good)::integer as good, sum(e.bad)::integer as bad,
  max(e.last_at) as last_at, min(e.runs[1]::text) as one_run,
  max(e.runs[cardinality(e.runs)]::text) as other_run
from unnest($1::integer[]) as u (lane)
join drover.circuit_end as e on e.lane = u.lane
left join drover.circuit as q on q.lane = e.lane and q.agent_id = ''
left join drover.circuit as a on a.lane = e.lane and a.agent_id = e.agent_id
cross join lateral (
  select greatest(now() - $2::bigint * interval '1 millisecond', q.changed_at, a.changed_at) as since
) as f
where e.at >= f.since
group by e.lane, e.agent_id
order by e.lane, e.agent_id;

-- name: circuits_of_lanes
-- With where it stands how the task that tries has ended, once its lease is gone: the page of its step, and
-- the attempts of its fence that are in it no more. Plan: circuit, lease, run_page, attempt_log by key.
select now() as now, u.lane as asked, c.lane, c.agent_id, c.version, c.state, c.since, c.until, c.rests,
  c.saw, c.forced, c.forced_by, c.forced_why, c.forced_at, c.probe_run, c.probe_step, c.probe_fence,
  encode(c.probe_secret, 'hex') as probe_secret, l.run_id is not null as is_out, a.page, a.logged
from unnest($1::integer[]) as u (lane)
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

-- name: take_probes
-- Of several claims one has it; the others pass it by and wait for nobody.
with mine as (
  select c.lane, c.agent_id, u.run_id, u.step_no, u.fence, u.secret
  from unnest($1::integer[], $2::text[], $3::bigint[], $4::uuid[], $5::integer[], $6::integer[], $7::text[])
    as u (lane, agent_id, version, run_id, step_no, fence, secret)
  join drover.circuit as c on c.lane = u.lane and c.agent_id = u.agent_id and c.version = u.version
  where c.state = 1 and c.forced is null and c.until <= now()
  for update of c skip locked
)
update drover.circuit as c
set state = 2, until = null, version = nextval('drover.circuit_version'), changed_at = now(),
  probe_run = m.run_id, probe_step = m.step_no, probe_fence = m.fence,
  probe_secret = decode(m.secret, 'hex')
from mine as m
where c.lane = m.lane and c.agent_id = m.agent_id
returning c.lane, c.agent_id;

-- name: change_circuits
-- Compare and set; a circuit without a row is version 0.
insert into drover.circuit as c (lane, agent_id, state, since, until, rests, saw)
select u.lane, u.agent_id, u.state, to_timestamp(u.since / 1e3::float8), to_timestamp(u.until / 1e3::float8),
  u.rests, u.saw
from unnest($1::integer[], $2::text[], $3::bigint[], $4::smallint[], $5::bigint[], $6::bigint[],
  $7::smallint[], $8::text[])
  as u (lane, agent_id, before, state, since, until, rests, saw)
where u.before = 0 or exists (
  select from drover.circuit as x
  where x.lane = u.lane and x.agent_id = u.agent_id and x.version = u.before
)
order by u.lane, u.agent_id
on conflict (lane, agent_id) do update
set version = excluded.version, changed_at = now(), state = excluded.state, since = excluded.since,
  until = excluded.until, rests = excluded.rests, saw = excluded.saw, probe_run = null,
  probe_step = null, probe_fence = null, probe_secret = null
where c.forced is null and c.version = (
  select u.before
  from unnest($1::integer[], $2::text[], $3::bigint[]) as u (lane, agent_id, before)
  where u.lane = c.lane and u.agent_id = c.agent_id
)
returning c.lane, c.agent_id, c.version;

-- name: intervene_in_circuits
-- Kept with a run that it was decided by; its version tells it apart.
insert into drover.intervention (run_id, step_no, fence, rule, n, partition, saw, did, due_at, acted_at, node,
  epoch, namespace_id)
select u.run_id, u.step_no, u.fence, u.rule, u.n, r.partition, u.saw, u.did,
  to_timestamp(u.due_at / 1e3::float8), now(), $9::uuid, $10::bigint, r.namespace_id
from unnest($1::uuid[], $2::integer[], $3::integer[], $4::smallint[], $5::integer[], $6::text[],
  $7::text[], $8::bigint[])
  as u (run_id, step_no, fence, rule, n, saw, did, due_at)
join drover.run as r on r.id = u.run_id
on conflict (run_id, step_no, fence, rule, n) do nothing;

-- name: end_outages
-- After circuits of these lanes have changed, in the same transaction.
update drover.circuit_outage as o
set closed_at = now()
from unnest($1::integer[]) as u (lane)
where o.lane = u.lane and o.closed_at is null
  and not exists (select from drover.open_lane as c where c.lane = u.lane);

-- name: begin_outages
-- The same, for lanes of which nothing goes through from now on.
insert into drover.circuit_outage (lane, opened_at)
select c.lane, now()
from drover.open_lane as c
where c.lane = any ($1::integer[])
  and not exists (
    select from drover.circuit_outage as o where o.lane = c.lane and o.closed_at is null
  )
on conflict (lane, opened_at) do update set closed_at = null;

-- name: lanes_of_classes
-- A lane, and those of its task for single versions of agents.
select $1::integer as lane
union all
select v.lane from drover.version_lane as v where v.base = $1::integer;

-- name: force_circuit
-- Nothing, if it is said already.
insert into drover.circuit as c (lane, agent_id, forced, forced_by, forced_why, forced_at)
select o.lane, $2::text, $3::smallint, $4::text, $5::text, now()
from (
  select $1::integer as lane
  union all
  select v.lane from drover.version_lane as v where v.base = $1::integer
) as o
on conflict (lane, agent_id) do update
set version = excluded.version, changed_at = now(), forced = excluded.forced,
  forced_by = excluded.forced_by, forced_why = excluded.forced_why, forced_at = now()
where c.forced is distinct from excluded.forced;

-- name: release_circuit
-- It begins closed, and what was counted before counts no more.
update drover.circuit
set version = nextval('drover.circuit_version'), changed_at = now(), forced = null, forced_by = null,
  forced_why = null, forced_at = null, state = 0, since = null, until = null, rests = 0,
  probe_run = null, probe_step = null, probe_fence = null, probe_secret = null
where agent_id = $2::text and forced is not null
  and (lane = $1::integer or lane in (select v.lane from drover.version_lane as v where v.base = $1::integer));

-- name: circuit_by_key
select c.lane, c.agent_id, c.version, c.state, c.since, c.until, c.rests, c.saw, c.forced, c.forced_by,
  c.forced_why, c.forced_at
from drover.circuit as c
where c.lane = $1::integer and c.agent_id = $2::text;

-- name: list_circuits
-- A page, by lane and agent, of these agents ($5) or of all; $6: of open ones alone. What a person says
-- is said of the lanes of all classes, and shown once. Plan: circuit by key.
select c.lane, c.agent_id, c.version, c.state, c.since, c.until, c.rests, c.saw, c.forced, c.forced_by,
  c.forced_why, c.forced_at, l.queue, l.task, v.agent_version
from drover.circuit as c
join drover.lane as l on l.id = c.lane
left join drover.version_class as v on v.namespace_id = l.namespace_id and v.queue = l.queue
  and v.class = l.class
where l.namespace_id = $1::integer and (c.state <> 0 or c.forced is not null)
  and (l.class = 0 or c.forced is null)
  and (c.lane, c.agent_id) > ($2::integer, $3::text)
  and ($5::text[] is null or c.agent_id = any ($5::text[]))
  and (not $6::boolean or coalesce(c.forced = 1, c.state <> 0))
order by c.lane, c.agent_id
limit $4::integer;

-- name: cordon
-- Nothing, if it is cordoned already.
insert into drover.cordon (namespace_id, kind, name, cordoned_by, why)
values ($1::integer, $2::smallint, $3::text, $4::text, $5::text)
on conflict (namespace_id, kind, name) do nothing;

-- name: uncordon
delete from drover.cordon
where namespace_id = $1::integer and kind = $2::smallint and name = $3::text
returning name;

-- name: cordons_of_namespace
select o.namespace_id, o.kind, o.name, o.cordoned_by, o.why, o.cordoned_at
from drover.cordon as o
where o.namespace_id = $1::integer
order by o.kind, o.name;

-- name: forget_circuit_ends
-- What circuits are not evaluated by any more, in small batches. The table is small; no index is by time.
with gone as (
  delete from drover.circuit_end as e
  where (e.lane, e.agent_id, e.at) in (
    select o.lane, o.agent_id, o.at
    from drover.circuit_end as o
    where o.at < now() - $2::bigint * interval '1 millisecond'
    limit $1::integer
  )
  returning 1
)
select count(*) = $1::integer as more from gone;

-- name: forget_circuits
-- Closed for a week; of an agent, a day after it could have tried and never did.
delete from drover.circuit as c
where c.forced is null and (
  (c.state = 0 and c.changed_at < now() - interval '7 days')
  or (c.state = 1 and c.agent_id <> '' and c.until < now() - interval '1 day')
);

-- name: forget_outages
delete from drover.circuit_outage where closed_at < now() - interval '7 days';
