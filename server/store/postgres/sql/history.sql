-- What is appended: attempts with their outcome, and what supervisors did.

-- name: end_attempts
-- Ends leases ($1 to $3) and appends what ended with them, with the progress and details that they
-- had: a fence ends once, so no such row is there (`on conflict` would cost a row as much again).
-- Returns how many leases have gone, the lanes of queues with limits that they were of, and all of their
-- lanes in order.
-- Plan: lease by key.
with gone as (
  delete from lease as l
  using unnest($1::uuid[], $2::integer[], $3::text[]) with ordinality as u (run_id, step_no, secret, place)
  where l.run_id = u.run_id and l.step_no = u.step_no
    and l.secret = decode(u.secret, 'hex')
  returning l.run_id, l.step_no, l.fence, l.kind, l.lane, l.progress, l.details_type,
    l.details_json, l.details_data, u.place
),
kept as (
  insert into attempt (run_id, step_no, fence, kind, attempt, agent_id, session, secret, started_at,
    ended_at, outcome, class, code, message, no_effect, retry_after_ms, digest, output_type,
    output_json, output_data, progress, details_type, details_json, details_data, n, charged)
  select u.run_id, u.step_no, u.fence, u.kind, u.attempt, u.agent_id, decode(u.session, 'hex'),
    decode(u.secret, 'hex'), to_timestamp(u.started_at / 1e3::float8), to_timestamp(u.ended_at / 1e3::float8),
    u.outcome, u.class, u.code, u.message, u.no_effect, u.retry_after_ms, decode(u.digest, 'hex'),
    u.output_type, u.output_json, u.output_data, g.progress, g.details_type, g.details_json,
    g.details_data, u.n, u.charged
  from (
    select unnest($4::uuid[]) as run_id, unnest($5::integer[]) as step_no,
      unnest($6::integer[]) as fence, unnest($7::smallint[]) as kind, unnest($8::smallint[]) as attempt,
      unnest($9::text[]) as agent_id, unnest($10::text[]) as session, unnest($11::text[]) as secret,
      unnest($12::bigint[]) as started_at, unnest($13::bigint[]) as ended_at,
      unnest($14::smallint[]) as outcome, unnest($15::smallint[]) as class, unnest($16::text[]) as code,
      unnest($17::text[]) as message, unnest($18::boolean[]) as no_effect,
      unnest($19::bigint[]) as retry_after_ms, unnest($20::text[]) as digest,
      unnest($21::text[]) as output_type, unnest($22::text[]) as output_json,
      unnest($23::bytea[]) as output_data, unnest($24::integer[]) as n,
      unnest($25::smallint[]) as charged
  ) as u
  join gone as g on g.run_id = u.run_id and g.step_no = u.step_no and g.fence = u.fence
    and g.kind = u.kind
)
select count(*)::integer as gone,
  (
    select coalesce(array_agg(distinct o.id), '{}')
    from gone as g
    join limited_lane as f on f.lane = g.lane
    join lane as o on o.namespace_id = f.namespace_id and o.queue = f.queue
  ) as freed,
  coalesce(array_agg(lane order by place), '{}') as lanes
from gone;

-- name: keep_attempts
-- What ended and is no lease: a late report, which stays as it is if it is known already; of what no
-- agent holds the last word counts.
insert into attempt as a (run_id, step_no, fence, kind, attempt, agent_id, session, secret, started_at,
  ended_at, outcome, class, code, message, no_effect, retry_after_ms, digest, output_type, output_json,
  output_data, n, charged)
select u.run_id, u.step_no, u.fence, u.kind, u.attempt, u.agent_id, decode(u.session, 'hex'),
  decode(u.secret, 'hex'), to_timestamp(u.started_at / 1e3::float8), to_timestamp(u.ended_at / 1e3::float8),
  u.outcome, u.class, u.code, u.message, u.no_effect, u.retry_after_ms, decode(u.digest, 'hex'),
  u.output_type, u.output_json, u.output_data, u.n, u.charged
from (
  select unnest($1::uuid[]) as run_id, unnest($2::integer[]) as step_no,
    unnest($3::integer[]) as fence, unnest($4::smallint[]) as kind, unnest($5::smallint[]) as attempt,
    unnest($6::text[]) as agent_id, unnest($7::text[]) as session, unnest($8::text[]) as secret,
    unnest($9::bigint[]) as started_at, unnest($10::bigint[]) as ended_at,
    unnest($11::smallint[]) as outcome, unnest($12::smallint[]) as class, unnest($13::text[]) as code,
    unnest($14::text[]) as message, unnest($15::boolean[]) as no_effect,
    unnest($16::bigint[]) as retry_after_ms, unnest($17::text[]) as digest,
    unnest($18::text[]) as output_type, unnest($19::text[]) as output_json,
    unnest($20::bytea[]) as output_data, unnest($21::integer[]) as n,
    unnest($22::smallint[]) as charged
) as u
on conflict (run_id, step_no, fence, kind, n) do update
set attempt = excluded.attempt, agent_id = excluded.agent_id, started_at = excluded.started_at,
  ended_at = excluded.ended_at, outcome = excluded.outcome, class = excluded.class,
  code = excluded.code, message = excluded.message, output_type = excluded.output_type,
  output_json = excluded.output_json, output_data = excluded.output_data
where a.secret is null;

-- name: settle_attempts
-- An attempt that had ended open counts as its agent says after all. Plan: attempt by key.
update attempt as a
set outcome = u.outcome, class = u.class, code = u.code, message = u.message,
  no_effect = u.no_effect, retry_after_ms = u.retry_after_ms, digest = decode(u.digest, 'hex'),
  output_type = u.output_type,
  output_json = u.output_json, output_data = u.output_data, charged = u.charged,
  ended_at = to_timestamp(u.ended_at / 1e3::float8)
from unnest($1::uuid[], $2::integer[], $3::integer[], $4::smallint[], $5::bigint[], $6::smallint[],
  $7::smallint[], $8::text[], $9::text[], $10::boolean[], $11::bigint[], $12::text[], $13::text[],
  $14::text[], $15::bytea[], $16::integer[], $17::smallint[])
  as u (run_id, step_no, fence, kind, ended_at, outcome, class, code, message, no_effect,
    retry_after_ms, digest, output_type, output_json, output_data, n, charged)
where a.run_id = u.run_id and a.step_no = u.step_no and a.fence = u.fence
  and a.kind = u.kind and a.n = u.n
returning a.step_no;

-- name: insert_intervention
-- One outside of a pass, of the run $1, by whoever owns its partition still: the writer row is held as
-- in a flight (hold_writer), so a take-over waits for this statement, or it inserts nothing. Plan: run,
-- partition_lease and writer by key.
with held as (
  select r.id, r.partition, r.namespace_id
  from run as r
  join partition_lease as l on l.partition = r.partition
  join writer as w on w.node = l.node
  where r.id = $1::uuid and l.node = $8::uuid and l.epoch = $9::bigint and w.slot = 0
  for key share of w
)
insert into intervention (run_id, step_no, fence, rule, n, partition, saw, did, due_at, acted_at, node,
  epoch, namespace_id)
select h.id, -1, $2::integer, $3::smallint, $4::integer, h.partition, $5::text, $6::text,
  to_timestamp($7::bigint / 1e3::float8), now(), $8::uuid, $9::bigint, h.namespace_id
from held as h
on conflict (run_id, step_no, fence, rule, n) do nothing;

-- name: insert_interventions
-- Unique by what it is about, so that no two supervisors record one action.
insert into intervention (run_id, step_no, fence, rule, n, partition, saw, did, due_at, acted_at, node,
  epoch, namespace_id)
select u.run_id, u.step_no, u.fence, u.rule, u.n, u.partition, u.saw, u.did,
  to_timestamp(u.due_at / 1e3::float8), to_timestamp(u.acted_at / 1e3::float8), u.node, u.epoch, u.namespace_id
from unnest($1::uuid[], $2::integer[], $3::integer[], $4::smallint[], $5::integer[], $6::smallint[],
  $7::text[], $8::text[], $9::bigint[], $10::bigint[], $11::uuid[], $12::bigint[], $13::integer[])
  as u (run_id, step_no, fence, rule, n, partition, saw, did, due_at, acted_at, node, epoch, namespace_id)
on conflict (run_id, step_no, fence, rule, n) do nothing;
