-- What is known of runs and their steps: for granted tasks, and for expressions. Plain reads of facts
-- that never change once they are there.

-- name: task_facts
-- What granted tasks carry besides their lease, read after the commit: the details of the newest
-- attempt of a kind ($4) before a fence ($3), and for an undo ($5) the output of the step and the run
-- that made its effect. A task whose lease ($6, its secret) has ended meanwhile has no row: the step
-- may be tried in another way by now. Plan: lease, run, attempt, step, step_kept by key; `limit 1` keeps the planner from
-- reaching a step through the run alone, which reads all items of a map for each of its tasks.
select t.place, r.definition_id, r.version, r.labels, r.input_type, r.input_json, r.input_data,
  r.traceparent, r.tracestate, s.forward, s.strategies, s.items, p.details_type, p.details_json, p.details_data,
  o.output_type, o.output_json, o.output_data, k.of_run
from unnest($1::uuid[], $2::integer[], $3::integer[], $4::smallint[], $5::boolean[], $6::text[])
  with ordinality as t (run_id, step_no, before_fence, details_of, with_output, secret, place)
join lease as l on l.run_id = t.run_id and l.step_no = t.step_no
  and l.secret = decode(t.secret, 'hex')
join run as r on r.id = t.run_id
cross join lateral (
  select s.forward, s.strategies, s.items, s.result_fence, s.result_kind, s.result_n
  from step as s
  where s.run_id = t.run_id and s.no = t.step_no
  limit 1
) as s
left join lateral (
  select a.details_type, a.details_json, a.details_data
  from attempt as a
  where a.run_id = t.run_id and a.step_no = t.step_no
    and a.fence < t.before_fence and a.kind = t.details_of and a.details_type is not null
  order by a.fence desc
  limit 1
) as p on t.before_fence > 1
left join lateral (
  select a.output_type, a.output_json, a.output_data
  from attempt as a
  where a.run_id = t.run_id and a.step_no = t.step_no
    and a.fence = s.result_fence and a.kind = s.result_kind and a.n = s.result_n
  limit 1
) as o on t.with_output
left join step_kept as k on t.with_output and k.run_id = t.run_id and k.step_no = t.step_no
order by t.place;

-- name: changed_inputs
-- Plan: step_override by key.
select o.run_id, o.step_no, o.input_type, o.input_json, o.input_data
from unnest($1::uuid[], $2::integer[], $3::smallint[]) as u (run_id, step_no, strategy)
join step_override as o on o.run_id = u.run_id and o.step_no = u.step_no
  and o.strategy = u.strategy;

-- name: run_facts
-- Plan: run by key.
select r.id as run_id, r.workflow, r.version, r.key, r.labels, r.created_at, r.input_type, r.input_json,
  r.input_data
from run as r
where r.id = any ($1::uuid[]);

-- name: step_facts
-- Of the named steps those in one of the states $3, with their output; for a step in the state $4 the
-- newest of its attempts that is of a kind in $5 and ended by an outcome in $6. Plan: step, attempt by key.
select s.run_id, s.no, s.forward, o.output_type, o.output_json, o.output_data, e.code, e.message
from unnest($1::uuid[], $2::integer[]) as u (run_id, no)
join step as s on s.run_id = u.run_id and s.no = u.no
left join attempt as o on o.run_id = s.run_id and o.step_no = s.no
  and o.fence = s.result_fence and o.kind = s.result_kind and o.n = s.result_n
left join lateral (
  select a.code, a.message
  from attempt as a
  where a.run_id = s.run_id and a.step_no = s.no and a.kind = any ($5::smallint[])
    and a.outcome = any ($6::smallint[])
  order by a.fence desc, a.ended_at desc, a.kind desc
  limit 1
) as e on s.forward = $4::smallint
where s.forward = any ($3::smallint[]);

-- name: item_outputs
-- Of maps ($1, $2) the outputs of the items in the state $3, with their size together; above $4 bytes
-- no output is told. Plan: step and attempt by the run's key.
select o.run_id, o.map, o.no, case when o.bytes <= $4::integer then o.output_json end as output_json, o.bytes
from (
  select s.run_id, m.no as map, s.no, a.output_json,
    sum(octet_length(a.output_json)) over (partition by s.run_id, m.no)::float8 as bytes
  from unnest($1::uuid[], $2::integer[]) as m (run_id, no)
  join step as s on s.run_id = m.run_id and s.no >= 512 and s.no % 512 = m.no
  join attempt as a on a.run_id = s.run_id and a.step_no = s.no and a.fence = s.result_fence
    and a.kind = s.result_kind and a.n = s.result_n
  where s.forward = $3::smallint and a.output_json is not null
) as o
order by o.run_id, o.no;
