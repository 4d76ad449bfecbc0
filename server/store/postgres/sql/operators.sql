-- What operators see of queues, partitions, nodes and interventions. Nothing is locked.

-- name: queue_overview
-- Purpose: Reads how long the oldest task of each queue waits, when the queue was polled, and how many
--   agents ask for it.
-- Params: :namespace_id integer, :names text[] (queues).
-- Plan: ready_lane, agent_by_name.
-- Result: One row for each name, in the order of the names. oldest_at is null if no task waits, polled_at
--   if no poll was seen lately. agents counts sessions that were seen in the last minute and are not
--   silent.
-- Note: Tasks of paused workflows count.
with asking as (
  select q.name, count(*)::integer as agents
  from drover.agent as a
  cross join lateral jsonb_array_elements_text(a.queues) as q (name)
  where a.namespace_id = :namespace_id::integer and a.seen_at > now() - interval '1 minute'
    and a.silent_since is null and q.name = any (:names::text[])
  group by q.name
)
select u.name, min(o.oldest_at) as oldest_at, max(p.polled_at) as polled_at,
  coalesce(max(g.agents), 0) as agents
from unnest(:names::text[]) with ordinality as u (name, place)
left join drover.lane as l on l.namespace_id = :namespace_id::integer and l.queue = u.name
left join lateral (
  select min(r.oldest_at) as oldest_at from drover.oldest_ready as r where r.lane = l.id
) as o on true
left join lateral (
  select max(e.seen_at) as polled_at from drover.lane_poller as e where e.lane = l.id
) as p on true
left join asking as g on g.name = u.name
group by u.name, u.place
order by u.place;

-- name: queue_tasks
-- Purpose: Reads the same for each task of a queue, with the numbers of ready and leased tasks. A lane for
--   one version of agents is listed while a pin names it, or while it has tasks.
-- Params: :namespace_id integer, :queue text, :limit integer, :ready_max integer (tasks counted of each
--   lane).
-- Plan: ready_lane, lease_lane, agent_by_name.
-- Result: One row for each lane, by task and class. agent_version is null for a lane of all agents.
with asking as materialized (
  select a.tasks, a.agent_version
  from drover.agent as a
  where a.namespace_id = :namespace_id::integer and a.seen_at > now() - interval '1 minute'
    and a.silent_since is null and a.queues ? :queue::text
),
page as (
  select l.id, l.task, l.class, c.agent_version
  from drover.lane as l
  left join drover.version_class as c on c.namespace_id = l.namespace_id and c.queue = l.queue
    and c.class = l.class
  where l.namespace_id = :namespace_id::integer and l.queue = :queue::text and (
    l.class = 0
    or exists (
      select from drover.version_pin as p
      where p.namespace_id = l.namespace_id and p.queue = l.queue and p.class = l.class
    )
    or exists (select from drover.ready as r where r.lane = l.id offset 0)
    or exists (select from drover.lease as e where e.lane = l.id offset 0)
  )
  order by l.task, l.class
  limit :limit::integer
)
select l.task, l.agent_version, o.oldest_at, p.polled_at,
  (select count(*) from (
    select from drover.ready as r where r.lane = l.id limit :ready_max::integer
  ) as counted)::integer as ready,
  (select count(*) from drover.lease as e where e.lane = l.id)::integer as leased,
  (
    select count(*)
    from asking as a
    where (a.tasks = '[]'::jsonb or a.tasks ? l.task)
      and (l.agent_version is null or a.agent_version = l.agent_version)
  )::integer as agents
from page as l
left join lateral (
  select min(r.oldest_at) as oldest_at from drover.oldest_ready as r where r.lane = l.id
) as o on true
left join lateral (
  select max(e.seen_at) as polled_at from drover.lane_poller as e where e.lane = l.id
) as p on true
order by l.task, l.class;

-- name: queue_holdings
-- Purpose: Reads the runs of tasks of a queue that agents hold: any :limit of these tasks.
-- Params: :namespace_id integer, :queue text, :limit integer.
-- Plan: lease_lane; run by key.
-- Result: One row for each task.
with held as materialized (
  select e.run_id, e.granted_at
  from drover.lane as n
  cross join lateral (
    select x.run_id, x.granted_at from drover.lease as x where x.lane = n.id limit :limit::integer
  ) as e
  where n.namespace_id = :namespace_id::integer and n.queue = :queue::text
  limit :limit::integer
)
select h.granted_at, r.workflow, r.labels
from held as h
cross join lateral (
  select x.workflow, x.labels from drover.run as x where x.id = h.run_id offset 0
) as r;

-- name: list_partitions
-- Purpose: Lists partitions with their owner and their oldest due time that has passed. Due times of pages
--   are in the pages (late_pages).
-- Params: :after integer (partition), :limit integer, :owner_lost integer (ms; an owner seen within this
--   time watches).
-- Plan: escalation_wake, message_wake, schedule_wake, one probe a partition.
-- Result: node is null if the partition has no owner, address and last_seen_at if the row of the node is
--   gone, overdue_at if nothing is due.
with page as (
  select p.*
  from drover.partition_lease as p
  where p.partition > :after::integer
  order by p.partition
  limit :limit::integer
),
used as materialized (
  select u.id, u.name, u.used from drover.region_use as u
)
select now() as now, p.partition, g.name as region, g.used, p.epoch, p.taken_at, coalesce(n.process, p.node) as node, n.address,
  n.last_seen_at,
  coalesce(n.last_seen_at > now() - :owner_lost::integer * interval '1 millisecond', false) as watched,
    o.overdue_at
from page as p
join used as g on g.id = p.partition / 256
left join drover.node as n on n.id = p.node
cross join lateral (
  select min(x.wake_at) as overdue_at
  from (
    (select e.wake_at from drover.escalation as e where e.partition = p.partition and e.wake_at <= now()
      order by e.wake_at limit 1)
    union all
    (select g.wake_at from drover.message as g where g.partition = p.partition and g.wake_at <= now()
      order by g.wake_at limit 1)
    union all
    (select s.wake_at from drover.schedule as s where s.partition = p.partition and s.wake_at <= now()
      order by s.wake_at limit 1)
  ) as x
) as o
order by p.partition;

-- name: list_hand_overs
-- Purpose: Lists the owners that partitions have had, newest first.
-- Params: :partition integer (null: all), :last_taken_at bigint (ms since 1970), :last_partition integer,
--   :last_epoch bigint (the last row of the previous page; null: the first page), :limit integer.
-- Result: address is null if the node had left, left_at while the owner still has the partition.
-- Note: There are few rows, so any plan will do.
select h.partition, h.epoch, coalesce(h.process, h.node) as node, h.address, h.why, h.taken_at, h.left_at
from drover.partition_history as h
where (:partition::integer is null or h.partition = :partition::integer)
  and (:last_taken_at::bigint is null or (h.taken_at, -h.partition::integer, h.epoch)
    < (to_timestamp(:last_taken_at::bigint / 1e3::float8), -:last_partition::integer, :last_epoch::bigint))
order by h.taken_at desc, h.partition, h.epoch desc
limit :limit::integer;

-- name: list_nodes
-- Purpose: Lists the nodes that were seen in the last minute, in the order in which they joined.
-- Params: :owner_lost integer (ms; a node seen within this time is alive), :limit integer.
-- Note: There is one row for each process, so any plan will do.
select n.process as id, n.address, n.started_at, n.last_seen_at,
  n.last_seen_at > now() - :owner_lost::integer * interval '1 millisecond' as alive,
  (select count(*) from drover.partition_lease as p where p.node = n.id)::integer as partitions
from drover.node as n
where n.last_seen_at > now() - interval '1 minute'
order by n.started_at, n.id
limit :limit::integer;

-- name: list_interventions
-- Purpose: Lists interventions of these rules, newest first: of one run (:only_run), or of the whole
--   namespace, where the newest of each rule are read by the index of each range of runs and then merged.
-- Params: :namespace_id integer, :rules smallint[] (codes), :from bigint, :until bigint (ms since 1970;
--   acted at from or later, and before until; null: no bound), :acted_at bigint (ms since 1970), :run_id
--   uuid, :step_no integer, :fence integer, :rule smallint, :n integer (the last row of the previous page;
--   null: the first page), :limit integer, :only_run uuid (null: all runs).
-- Plan: intervention by the run's key; run_page, attempt_log by key.
-- Result: page is the page of the step; null: no step, or one that was never tried. logged is an attempt of
--   the fence that has left the page; null: none.
with found as (
  select x.*
  from unnest(:rules::smallint[]) as u (of_rule)
  cross join lateral (
    select i.*
    from drover.intervention as i
    where i.namespace_id = :namespace_id::integer and i.rule = u.of_rule
      and i.acted_at >= coalesce(to_timestamp(:from::bigint / 1e3::float8), '-infinity')
      and i.acted_at < coalesce(to_timestamp(:until::bigint / 1e3::float8), 'infinity')
      and i.acted_at <= coalesce(to_timestamp(:acted_at::bigint / 1e3::float8), 'infinity')
      and (:acted_at::bigint is null or (i.acted_at, i.run_id, i.step_no, i.fence, i.rule, i.n)
        < (to_timestamp(:acted_at::bigint / 1e3::float8), :run_id::uuid, :step_no::integer,
          :fence::integer, :rule::smallint, :n::integer))
    order by i.acted_at desc, i.run_id desc, i.step_no desc, i.fence desc, i.n desc
    limit :limit::integer
  ) as x
  where :only_run::uuid is null
  union all
  select i.*
  from drover.intervention as i
  where i.run_id = :only_run::uuid and i.namespace_id = :namespace_id::integer
    and i.rule = any (:rules::smallint[])
    and i.acted_at >= coalesce(to_timestamp(:from::bigint / 1e3::float8), '-infinity')
    and i.acted_at < coalesce(to_timestamp(:until::bigint / 1e3::float8), 'infinity')
    and (:acted_at::bigint is null or (i.acted_at, i.run_id, i.step_no, i.fence, i.rule, i.n)
      < (to_timestamp(:acted_at::bigint / 1e3::float8), :run_id::uuid, :step_no::integer, :fence::integer,
        :rule::smallint, :n::integer))
)
select i.run_id, i.step_no, i.fence, i.rule, i.n, i.saw, i.did, i.due_at, i.acted_at, i.node, i.partition,
  i.epoch, r.workflow, r.definition_id,
  (select p.state from drover.run_page as p
    where p.run_id = i.run_id and p.no = drover.page_of(i.step_no) and i.step_no >= 0) as page,
  (select t.attempt from drover.attempt_log as t
    where t.run_id = i.run_id and t.step_no = i.step_no and t.fence = i.fence limit 1) as logged
from found as i
join drover.run as r on r.id = i.run_id
order by i.acted_at desc, i.run_id desc, i.step_no desc, i.fence desc, i.rule desc, i.n desc
limit :limit::integer;

-- name: database_now
-- Purpose: Reads the time and the version of the database.
select now() as now, current_setting('server_version') as version;

-- name: applied_migrations
-- Purpose: Lists the migrations that were applied, in their order.
select m.number, m.name, m.applied_at from drover.drover_migration as m order by m.number;

-- name: durability
-- Purpose: Reads what the database would keep after a crash, a failover or a restore: settings, and the
--   statistics of the archiver, which every role may read.
select current_setting('fsync') = 'on' and current_setting('full_page_writes') = 'on' as crash_safe,
  current_setting('synchronous_commit') as synchronous_commit,
  current_setting('synchronous_standby_names') as synchronous_standbys,
  current_setting('archive_mode') <> 'off' as archives_log,
  a.last_archived_time as archived_at,
  case when a.last_failed_time > coalesce(a.last_archived_time, '-infinity') then a.last_failed_time end
    as archive_failed_at
from pg_stat_archiver as a;

-- name: count_open_escalations
-- Purpose: Counts the open escalations of a namespace, up to :counted_max. The order clause keeps the
--   planner on the index of open escalations.
-- Params: :namespace_id integer, :counted_max integer.
select count(*)::integer as escalations
from (
  select from drover.escalation as e
  where e.namespace_id = :namespace_id::integer and e.closed_at is null
  order by e.run_id desc
  limit :counted_max::integer
) as counted;

-- name: gauges
-- Purpose: Reads gauges over all namespaces: how many tasks may be claimed (up to :waiting_max of each
--   lane) and how long the oldest waits, open escalations (up to :escalations_max of each namespace), and
--   open circuits.
-- Params: :waiting_max integer, :escalations_max integer.
-- Plan: ready_lane.
-- Result: One row. waiting_ms is in ms; 0: no task waits. queue_circuits are circuits of lanes,
--   agent_circuits of single agents.
with waiting as (
  select coalesce(sum(n.waiting), 0)::integer as waiting,
    coalesce(extract(epoch from now() - min(o.oldest_at)) * 1000, 0)::bigint as waiting_ms
  from drover.lane as l
  cross join lateral (
    select count(*) as waiting from (
      select from drover.ready as r where r.lane = l.id and not r.paused limit :waiting_max::integer
    ) as counted
  ) as n
  left join lateral (
    select min(r.oldest_at) as oldest_at from drover.oldest_ready as r where r.lane = l.id and not r.paused
  ) as o on true
  where n.waiting > 0 and not exists (select from drover.paused_lane as p where p.lane = l.id)
),
asked as (
  select coalesce(sum(n.escalations), 0)::integer as escalations
  from drover.namespace as s
  cross join lateral (
    select count(*) as escalations from (
      select from drover.escalation as e
      where e.namespace_id = s.id and e.closed_at is null
      order by e.run_id desc
      limit :escalations_max::integer
    ) as counted
  ) as n
),
open_circuits as (
  select count(*) filter (where c.agent_id = '')::integer as queue_circuits,
    count(*) filter (where c.agent_id <> '')::integer as agent_circuits
  from drover.circuit as c
  join drover.lane as l on l.id = c.lane
  where coalesce(c.forced = :circuit_setting.open, c.state <> :circuit_state.closed) and (l.class = 0
    or c.forced is null)
)
select w.waiting, w.waiting_ms, a.escalations, c.queue_circuits, c.agent_circuits
from waiting as w cross join asked as a cross join open_circuits as c;

-- name: orphan_lanes
-- Purpose: Lists lanes with claimable tasks that no agent has polled for :polled ms, or whose agents have
--   fallen silent since.
-- Params: :namespace_id integer, :limit integer, :polled integer (ms).
-- Plan: ready_lane.
-- Result: By queue and task. agent_version is null for a lane of all agents, polled_at if no poll was seen
--   lately.
with orphan as (
  select l.id, l.queue, l.task, c.agent_version
  from drover.lane as l
  left join drover.version_class as c on c.namespace_id = l.namespace_id and c.queue = l.queue
    and c.class = l.class
  where l.namespace_id = :namespace_id::integer
    -- With an offset the planner probes each lane; without one it may read all ready rows.
    and exists (select from drover.ready as r where r.lane = l.id and not r.paused offset 0)
    and not exists (select from drover.paused_lane as p where p.lane = l.id)
    and (
      not exists (
        select from drover.lane_poller as p
        where p.lane = l.id and p.seen_at > now() - :polled::integer * interval '1 millisecond'
      )
      or exists (
        select from drover.silent_lane as s
        where s.lane = l.id and coalesce(s.seen_at, '-infinity')
          <= now() - greatest(:polled::integer, 60000) * interval '1 millisecond'
      )
    )
  order by l.queue, l.task, l.id
  limit :limit::integer
)
select l.queue, l.task, l.agent_version, o.oldest_at,
  (select max(p.seen_at) from drover.lane_poller as p where p.lane = l.id) as polled_at
from orphan as l
left join lateral (
  select min(r.oldest_at) as oldest_at from drover.oldest_ready as r where r.lane = l.id and not r.paused
) as o on true
order by l.queue, l.task, l.id;

-- name: paused_things
-- Purpose: Lists paused queues and paused workflows, by name. The name '' is the whole namespace.
-- Params: :namespace_id integer, :limit integer (for each kind; one more queue, as '' is among them),
--   :counted_max integer (schedules are counted up to it).
-- Result: schedules: of a workflow, how many start it and are not paused themselves.
(select false as is_workflow, q.name, q.paused_at, q.pause_reason, 0 as schedules
from drover.queue as q
where q.namespace_id = :namespace_id::integer and q.paused_at is not null
order by q.name
limit :limit::integer + 1)
union all
(select true, w.name, w.paused_at, w.reason, (
    select count(*)::integer from (
      select from drover.schedule as s
      where s.workflow = w.name and s.namespace_id = w.namespace_id and s.deleted_at is null
        and s.paused_at is null
      limit :counted_max::integer
    ) as counted
  )
from drover.paused_workflow as w
where w.namespace_id = :namespace_id::integer
order by w.name
limit :limit::integer);
