-- What the runs of each namespace take on the disk, estimated from a sample of the blocks.

-- name: storage_blocks
-- Purpose: Reads the size of the tables that grow with runs, unless their use was estimated within the last
--   :every ms.
-- Params: :every integer (ms).
-- Result: The blocks of each table. No row: the estimate is new enough.
-- Note: On Citus the rows of a table are in another one, with the number of its shard after the name (pool.ts).
select regexp_replace(c.relname, '_[0-9]+$', '') as name, (sum(pg_relation_size(p.relid)) / 8192)::bigint as blocks
from pg_class as c cross join pg_partition_tree(c.oid) as p
where c.relnamespace = (select x.relnamespace from pg_class as x where x.oid = 'drover.run'::regclass)
  and c.relkind = 'p' and c.relname ~ '^(run|run_page|payload|attempt_log|handler_log)(_[0-9]+)?$'
  and not exists (
    select
    from drover.namespace_use as n
    where n.storage_at > now() - :every::integer * interval '1 millisecond'
  )
group by 1;

-- name: count_storage
-- Purpose: Estimates the bytes that the runs of each namespace take, from a share of the blocks of each
--   table: the columns that grow, and 100 bytes for the rest of a row. Without indexes and free space.
-- Params: :run, :run_page, :payload, :attempt_log, :handler_log real (percent of the blocks that are read).
-- Plan: run by key, for each row that a sample scan finds in another table.
-- Note: pg_column_size reads no value that is stored apart: the row has its size. Materialized: otherwise the
--   planner samples all tables once for each namespace.
with used as materialized (
  select s.namespace_id, sum(s.bytes)::bigint as bytes
  from (
    select r.namespace_id,
      100 / :run::double precision * (100 + coalesce(pg_column_size(r.input_json), 0)
        + coalesce(pg_column_size(r.input_data), 0) + pg_column_size(r.labels)) as bytes
    from drover.run as r tablesample system (:run::real)
    union all
    select r.namespace_id, 100 / :run_page::double precision * (100 + pg_column_size(o.state)) as bytes
    from drover.run_page as o tablesample system (:run_page::real)
    cross join lateral (select x.namespace_id from drover.run as x where x.id = o.run_id limit 1) as r
    union all
    select r.namespace_id, 100 / :payload::double precision * (100 + coalesce(pg_column_size(o.json), 0) + coalesce(pg_column_size(o.data), 0)) as bytes
    from drover.payload as o tablesample system (:payload::real)
    cross join lateral (select x.namespace_id from drover.run as x where x.id = o.run_id limit 1) as r
    union all
    select r.namespace_id, 100 / :attempt_log::double precision * (100 + pg_column_size(o.attempt)) as bytes
    from drover.attempt_log as o tablesample system (:attempt_log::real)
    cross join lateral (select x.namespace_id from drover.run as x where x.id = o.run_id limit 1) as r
    union all
    select r.namespace_id, 100 / :handler_log::double precision * (100 + pg_column_size(o.message) + coalesce(pg_column_size(o.fields), 0)) as bytes
    from drover.handler_log as o tablesample system (:handler_log::real)
    cross join lateral (select x.namespace_id from drover.run as x where x.id = o.run_id limit 1) as r
  ) as s
  group by s.namespace_id
),
counted as materialized (
  select x.id, coalesce(u.bytes, 0) as bytes, now() as at
  from drover.namespace as x
  left join used as u on u.namespace_id = x.id
)
insert into drover.namespace_use as n (namespace_id, storage_bytes, storage_at)
select c.id, c.bytes, c.at
from counted as c
on conflict (namespace_id) do update
set storage_bytes = excluded.storage_bytes, storage_at = excluded.storage_at;
