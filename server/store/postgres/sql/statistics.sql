-- What the planner assumes of the size of tables.

-- name: grown_tables
-- Purpose: Lists tables that the planner takes for nearly empty although they are not (statistics.ts).
-- Result: Qualified and quoted names, to be analyzed.
select format('%I.%I', n.nspname, c.relname) as name
from pg_class as c
join pg_namespace as n on n.oid = c.relnamespace
where c.relnamespace = (select x.relnamespace from pg_class as x where x.oid = 'drover.lease'::regclass)
  and c.relkind = 'r' and c.reltuples < 1000
  and pg_stat_get_live_tuples(c.oid) > 8 * greatest(c.reltuples, 6);
