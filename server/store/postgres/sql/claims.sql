-- Claims: the statements that choose and lock ready tasks (their leases are inserted by leases.sql), and
-- the poll query.

-- name: lock_ready
-- Purpose: Locks up to `most` ready rows of each lane, in the order of the lane, with their pages. A paused
--   lane gives nothing. A lane whose queue has limits gives nothing until :queues_locked is true. A row
--   whose `until` has passed is left out: its timer ends it.
-- Params: :lane integer[], :most integer[]; :queues_locked boolean (this transaction has locked the queues
--   with limits); :priorities text[], :firsts text[], :lasts text[] (one array literal per lane: the ranges
--   in which the lane is read, each from a priority and a transaction up to a last priority). The ranges
--   leave out dead entries (store/watermarks.ts).
-- Locks: Ready rows and their pages, without waiting: a row is skipped if another claim or a pass holds it
--   or its page.
-- Plan: ready_lane, one probe a lane; run_page by key.
-- Result: asked is the lane that was asked for. A lane that is not paused and gives nothing has one row
--   with run_id null. There queue names a queue with limits that is not locked yet; null: no such queue.
--   has_overrides: the namespace has a pin or a paused workflow, so its ready rows may belong to other
--   lanes.
-- Note: A pause relies on this read: it waits for the claims that began before it (claims_under_way).
select w.lane as asked, w.has_overrides, w.namespace_id,
  case when not :queues_locked::boolean then w.queue end as queue,
  r.run_id, r.partition, r.step_no, r.lane, r.priority, r.no, r.version, r.wake_at, r.state
from (
  select u.lane, u.most, u.priorities::smallint[] as priorities, u.firsts::xid8[] as firsts,
    u.lasts::smallint[] as lasts, l.namespace_id, s.queue,
    exists (select from drover.paused_workflow as p where p.namespace_id = l.namespace_id)
      or exists (select from drover.version_pin as v where v.namespace_id = l.namespace_id) as has_overrides
  from unnest(:lane::integer[], :most::integer[], :priorities::text[], :firsts::text[], :lasts::text[])
    as u (lane, most, priorities, firsts, lasts)
  join drover.lane as l on l.id = u.lane
  left join lateral (
    select bool_or(q.paused_at is not null) as paused,
      max(q.name) filter (where q.leases_max is not null or q.rate is not null) as queue
    from drover.queue as q
    where q.namespace_id = l.namespace_id and q.name = any (array[l.queue, ''])
  ) as s on true
  where s.paused is not true
  offset 0
) as w
left join lateral (
  select c.*
  from unnest(w.priorities, w.firsts, w.lasts) as g (priority, first, last)
  cross join lateral (
    select x.run_id, x.partition, x.step_no, x.lane, x.priority, p.no, p.version,
      nullif(p.wake_at, 'infinity') as wake_at, p.state
    from drover.ready as x
    join drover.run_page as p on p.run_id = x.run_id
      and p.no = drover.page_of(x.step_no)
    where x.lane = w.lane and not x.paused and (x.priority, x.ordered_by) >= (g.priority, g.first)
      and x.priority <= g.last and (w.queue is null or :queues_locked::boolean)
      and (x.until is null or x.until > now())
    order by x.priority, x.ordered_by, x.ordinal
    limit w.most
    for update of x skip locked
    for no key update of p skip locked
  ) as c
  limit w.most
) as r on true;

-- name: assert_lanes_empty
-- Purpose: Fails the transaction with DR001 unless these lanes are as the server knows them: neither paused
--   nor of queues with limits, in namespaces without pins and paused workflows, and without a ready row in
--   the given ranges.
-- Params: :lane integer[]; :priorities text[], :firsts text[], :lasts text[] (ranges as in lock_ready).
-- Locks: Ready rows as in lock_ready, without waiting. A pause waits for this (claims_under_way).
-- Plan: ready_lane, one probe a lane.
select drover.expect_known(count(*) = 0, 'a lane')
from (
  select
  from unnest(:lane::integer[], :priorities::text[], :firsts::text[], :lasts::text[]) as u (lane,
    priorities, firsts, lasts)
  join drover.lane as l on l.id = u.lane
  where exists (select from drover.paused_workflow as p where p.namespace_id = l.namespace_id)
    or exists (select from drover.version_pin as v where v.namespace_id = l.namespace_id)
    or exists (
      select from drover.queue as q
      where q.namespace_id = l.namespace_id and q.name = any (array[l.queue, ''])
        and (q.paused_at is not null or q.leases_max is not null or q.rate is not null)
    )
    or exists (
      select
      from unnest(u.priorities::smallint[], u.firsts::xid8[], u.lasts::smallint[])
        as g (priority, first, last)
      cross join lateral (
        select
        from drover.ready as x
        where x.lane = u.lane and not x.paused and (x.priority, x.ordered_by) >= (g.priority, g.first)
          and x.priority <= g.last and (x.until is null or x.until > now())
        order by x.priority, x.ordered_by, x.ordinal
        limit 1
        for update of x skip locked
      ) as c
    )
) as met;

-- name: undelivered_leases
-- Purpose: Finds the leases that were granted to polls of many sessions. The polls ended without an answer.
-- Params: Parallel arrays, one element per poll: :namespace_id integer[], :session text[] (hex), :poll_seq
--   bigint[].
-- Plan: lease_session; lane by key.
-- Result: Each lease once. A poll without leases has no row, and neither has a lease of another namespace.
select distinct l.run_id, l.partition, l.step_no, l.fence, encode(l.secret, 'hex') as secret
from unnest(:namespace_id::integer[], :session::text[], :poll_seq::bigint[])
  as u (namespace_id, session, poll_seq)
cross join lateral (
  select x.* from drover.lease as x where x.session = decode(u.session, 'hex') and x.poll_seq = u.poll_seq offset 0
) as l
cross join lateral (select x.namespace_id from drover.lane as x where x.id = l.lane offset 0) as n
where n.namespace_id = u.namespace_id;

-- name: mark_polled
-- Purpose: Notes that polls for these lanes wait on a node.
-- Params: :node uuid, :lanes integer[].
-- Locks: Rows in key order.
-- Note: Updates are HOT, because no changed column is indexed. A row is deleted 5 minutes after the last
--   poll.
insert into drover.lane_poller (lane, node, seen_at)
select u.lane, :node::uuid, now()
from unnest(:lanes::integer[]) as u (lane)
order by u.lane
on conflict (lane, node) do update set seen_at = excluded.seen_at;

-- name: poll_query
-- Purpose: Answers everything that waits in a process, in one statement and one snapshot: lanes with ready
--   rows, open runs, the first rows after watermarks, changes of circuits, and silent sessions.
-- Params: :lane integer[], with :priority smallint[], :first text[], :last smallint[] (one element per
--   range, as in lock_ready); :partition smallint[], :run_id uuid[] (watched runs); :mark_lane integer[],
--   :mark_priority smallint[], :mark text[] (watermarks; mark is a transaction number); :circuits bigint
--   (ms; how far back a bad outcome makes a lane watched; null: circuits are not asked about); :silent_max
--   integer, :silent_within integer (ms; sessions that fell silent within this time).
-- Plan: ready_lane, run_page by key, agent_silent.
-- Result: kind lane: a lane with a ready row that a claim may take. run: an open run with its version; a run
--   that has ended has no row. watermark: for each watermark the transaction of the first row from there on
--   (null:
--   no row), the oldest transaction that still writes, and the incarnation of the database. circuits: one
--   row if
--   :circuits is not null, with a mark that differs after every committed change of circuits, cordons, pins
--   or lanes of classes, and the watched lanes, which had a bad outcome. silent: a silent session in mark.
-- Note: The tables of circuits are tiny.
select 'lane' as kind, w.lane, null::uuid as run_id, null::integer as version, null::smallint as priority,
  null::text as first, null::text as oldest, null::text as incarnation, null::timestamptz as now,
  null::text as mark, null::integer[] as watched
from unnest(:lane::integer[], :priority::smallint[], :first::text[], :last::smallint[]) as w (lane,
  priority, first, last)
where exists (
  select from drover.ready as r
  where r.lane = w.lane and not r.paused and (r.priority, r.ordered_by) >= (w.priority, w.first::xid8)
    and r.priority <= w.last and (r.until is null or r.until > now())
)
and not exists (select from drover.paused_lane as p where p.lane = w.lane)
union all
select 'run', null, o.run_id, ((split_part(o.state, E'\n', 1) || '}}')::json #>> '{h,v}')::integer, null,
  null, null, null, null,
  null, null
from (
  select u.partition, u.run_id, 0 as no
  from unnest(:partition::smallint[], :run_id::uuid[]) as u (partition, run_id)
  offset 0
) as u
join drover.run_page as o on o.run_id = u.run_id and o.no = u.no and o.partition = u.partition
where o.ended_at is null
union all
select 'watermark', u.lane, null, null, u.priority, x.ordered_by::text,
  pg_snapshot_xmin(pg_current_snapshot())::text,
  (select concat_ws(' ', pg_postmaster_start_time(), w.stats_reset) from pg_stat_wal as w), null, null, null
from unnest(:mark_lane::integer[], :mark_priority::smallint[], :mark::text[]) as u (lane, priority, mark)
left join lateral (
  select r.ordered_by
  from drover.ready as r
  where r.lane = u.lane and not r.paused and r.priority = u.priority and r.ordered_by >= u.mark::xid8
  order by r.ordered_by
  limit 1
) as x on true
union all
select 'circuits', null, null, null, null, null, null, null, now(),
  (
    select coalesce(sum(c.version), 0)::text || '/' || count(*)
    from drover.circuit as c
  ) || '/' || (
    select coalesce(sum(extract(epoch from o.cordoned_at)), 0)::text || '/' || count(*)
    from drover.cordon as o
  ) || '/' || (
    select coalesce(sum(extract(epoch from p.pinned_at)), 0)::text || '/' || count(*)
    from drover.version_pin as p
  ) || '/' || (
    select coalesce(sum(l.id), 0)::text from drover.lane as l where l.class <> 0
  ),
  (
    select coalesce(array_agg(distinct e.lane), '{}')
    from drover.circuit_end as e
    where e.bad > 0 and e.at > now() - :circuits::bigint * interval '1 millisecond'
  )
where :circuits::bigint is not null
union all
(select 'silent', null, null, null, null, null, null, null, null, encode(a.session, 'hex'), null
from drover.agent as a
where a.silent_since > now() - :silent_within::integer * interval '1 millisecond'
limit :silent_max::integer);
