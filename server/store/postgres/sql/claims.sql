-- Claims: tasks that are ready are handed out.

-- name: lock_ready
-- Up to `most` rows of each lane in its order; what another claim or a pass holds is skipped, and so
-- is a row whose time is over: its ready moment ends it. A paused lane gives nothing: this look is what
-- a pause relies on (claims_under_way). A lane that gives nothing and is not paused has a row without a
-- run; one of a queue with limits always, which names the queue, until $3 says that this transaction has
-- locked it. `moves`: a pin or a paused workflow has a say in where rows of its namespace go. A lane is
-- walked in ranges (from priorities $4 and transactions $5 up to priorities $6), which leave out what is
-- dead (store/watermarks.ts). With the page of each row, locked with it: a page that somebody else holds is
-- skipped, too. Plan: ready_lane, one probe a lane; run_page by key.
select w.lane as asked, w.moves, w.namespace_id, case when not $3::boolean then w.queue end as queue,
  r.run_id, r.partition, r.step_no, r.lane, r.priority, r.no, r.version, r.wake_at, r.state
from (
  select u.lane, u.most, u.priorities::smallint[] as priorities, u.firsts::xid8[] as firsts,
    u.lasts::smallint[] as lasts, l.namespace_id, s.queue,
    exists (select from drover.paused_workflow as p where p.namespace_id = l.namespace_id)
      or exists (select from drover.version_pin as v where v.namespace_id = l.namespace_id) as moves
  from unnest($1::integer[], $2::integer[], $4::text[], $5::text[], $6::text[])
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
      and p.no = case when x.step_no < 512 then x.step_no / 32 else x.step_no end
    where x.lane = w.lane and (x.priority, x.ordered_by) >= (g.priority, g.first)
      and x.priority <= g.last and (w.queue is null or $3::boolean)
      and (x.until is null or x.until > now())
    order by x.priority, x.ordered_by, x.ordinal
    limit w.most
    for update of x skip locked
    for no key update of p skip locked
  ) as c
  limit w.most
) as r on true;

-- name: hold_empty_lanes
-- Refused unless these lanes are neither paused nor of queues with limits, no pin or paused workflow has a
-- say in where their rows go, and they give no ready row, walked in ranges as in lock_ready. The rows are
-- locked like there, which is what a pause waits for (claims_under_way). Plan: ready_lane, one probe a lane.
select drover.expect_known(count(*) = 0, 'a lane')
from (
  select
  from unnest($1::integer[], $2::text[], $3::text[], $4::text[]) as u (lane, priorities, firsts, lasts)
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
        where x.lane = u.lane and (x.priority, x.ordered_by) >= (g.priority, g.first)
          and x.priority <= g.last and (x.until is null or x.until > now())
        order by x.priority, x.ordered_by, x.ordinal
        limit 1
        for update of x skip locked
      ) as c
    )
) as met;

-- name: undelivered_leases
-- Of many sessions: a row of the question for each poll. Plan: lease_session.
select distinct l.run_id, l.partition, l.step_no, l.fence, encode(l.secret, 'hex') as secret
from unnest($1::text[], $2::bigint[]) as u (session, poll_seq)
join drover.lease as l on l.session = decode(u.session, 'hex') and l.poll_seq = u.poll_seq;

-- name: mark_polled
-- In key order. HOT: no index on what changes; gone 5 minutes after the last poll.
insert into drover.lane_poller (lane, node, seen_at)
select u.lane, $1::uuid, now()
from unnest($2::integer[]) as u (lane)
order by u.lane
on conflict (lane, node) do update set seen_at = excluded.seen_at;

-- name: poll_query
-- One statement for everything that waits in a process; lanes in ranges, as lock_ready has them. Of each
-- mark ($7, $8, $9) the first row from there on, and the oldest transaction that writes, in one snapshot. Of
-- circuits, unless $10 is null, a mark that is another one after any change that has been committed, and
-- the lanes with a bad end within so many milliseconds; these tables are tiny. And up to $11 sessions that
-- fell silent within $12 milliseconds.
-- Plan: ready_lane, run_page by key, agent_silent.
select 0 as kind, w.lane, null::uuid as run_id, null::integer as version, null::smallint as priority,
  null::text as first, null::text as oldest, null::text as incarnation, null::timestamptz as now,
  null::text as mark, null::integer[] as watched
from unnest($1::integer[], $4::smallint[], $5::text[], $6::smallint[]) as w (lane, priority, first, last)
where exists (
  select from drover.ready as r
  where r.lane = w.lane and (r.priority, r.ordered_by) >= (w.priority, w.first::xid8)
    and r.priority <= w.last and (r.until is null or r.until > now())
)
and not exists (select from drover.paused_lane as p where p.lane = w.lane)
union all
select 1, null, o.run_id, ((split_part(o.state, E'\n', 1) || '}}')::json #>> '{h,v}')::integer, null, null, null, null, null,
  null, null
from (
  select u.partition, u.run_id, 0 as no
  from unnest($2::smallint[], $3::uuid[]) as u (partition, run_id)
  offset 0
) as u
join drover.run_page as o on o.run_id = u.run_id and o.no = u.no and o.partition = u.partition
where o.ended_at is null
union all
select 2, u.lane, null, null, u.priority, x.ordered_by::text,
  pg_snapshot_xmin(pg_current_snapshot())::text,
  (select concat_ws(' ', pg_postmaster_start_time(), w.stats_reset) from pg_stat_wal as w), null, null, null
from unnest($7::integer[], $8::smallint[], $9::text[]) as u (lane, priority, mark)
left join lateral (
  select r.ordered_by
  from drover.ready as r
  where r.lane = u.lane and r.priority = u.priority and r.ordered_by >= u.mark::xid8
  order by r.ordered_by
  limit 1
) as x on true
union all
select 3, null, null, null, null, null, null, null, now(),
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
    where e.bad > 0 and e.at > now() - $10::bigint * interval '1 millisecond'
  )
where $10::bigint is not null
union all
(select 4, null, null, null, null, null, null, null, null, encode(a.session, 'hex'), null
from drover.agent as a
where a.silent_since > now() - $12::integer * interval '1 millisecond'
limit $11::integer);
