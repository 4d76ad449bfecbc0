-- What the planner believes of the size of tables.

-- name: grown_tables
-- Tables that the planner takes for nearly empty, and that are not (statistics.ts).
select format('%I.%I', n.nspname, c.relname) as name
from pg_class as c
join pg_namespace as n on n.oid = c.relnamespace
where c.relnamespace = (select x.relnamespace from pg_class as x where x.oid = 'drover.lease'::regclass)
  and c.relkind = 'r' and c.reltuples < 1000
  and pg_stat_get_live_tuples(c.oid) > 8 * greatest(c.reltuples, 6);
