-- Roles with the least privileges, and row-level security for what callers search and look up.
-- `drover migrate --roles` runs this file as one transaction after the migrations (:schema is the schema); it
-- may be repeated.
--
--   the owner        migrates. Policies do not bind it: a server that runs as the owner needs none of this.
--   drover_server    reads and writes rows, and changes no schema. A server may run as a member of it.
--   drover_reader    reads the tables below, and of each only the rows of one namespace: the one in the setting
--                    drover_reader.namespace of the transaction; none without it. A server switches to it.
--   drover_backup    reads everything: pg_dump --enable-row-security.
--
-- They are roles of the whole PostgreSQL server and cannot log in: roles that can are made their members.
do $$
declare
  named text;
begin
  foreach named in array array['drover_server', 'drover_reader', 'drover_backup'] loop
    if not exists (select from pg_roles where rolname = named) then
      execute format('create role %I', named);
    end if;
  end loop;
end
$$;
-- So that a server may switch to it.
grant drover_reader to drover_server;

grant usage on schema :schema to drover_server, drover_reader, drover_backup;
grant select, insert, update, delete on all tables in schema :schema to drover_server;
revoke insert, update, delete on drover.drover_migration from drover_server;
grant usage, select on all sequences in schema :schema to drover_server;
grant select on all tables in schema :schema to drover_backup;
grant select on all sequences in schema :schema to drover_backup;

-- A server analyzes tables that have grown. Before PostgreSQL 17 only their owner may.
do $$
begin
  if current_setting('server_version_num')::integer >= 170000 then
    execute 'grant maintain on all tables in schema :schema to drover_server';
  end if;
end
$$;

-- Without FORCE, so the owner sees all rows. A policy of `true` is left out of a plan: the server's own
-- statements, which write pages of many namespaces at once, cost what they cost without it.
do $$
declare
  own constant text := '(select nullif(current_setting(''drover_reader.namespace'', true), '''')::integer)';
  of_lane constant text := format('exists (select from drover.lane as l where l.id = lane and l.namespace_id = %s)', own);
  of_run constant text := format('exists (select from drover.run as r where r.id = run_id and r.namespace_id = %s)', own);
  of_namespace constant text := format('namespace_id = %s', own);
  found record;
begin
  for found in
    select t.name, t.rows from (values
      ('run', of_namespace), ('run_page', of_namespace), ('run_mark', of_namespace),
      ('idempotency', of_namespace), ('lane', of_namespace), ('escalation', of_namespace),
      ('workflow', of_namespace), ('ready', of_lane), ('lease', of_lane), ('rerun', of_run)
    ) as t (name, rows)
  loop
    execute format('alter table drover.%I enable row level security', found.name);
    execute format('drop policy if exists drover_all on drover.%I', found.name);
    execute format('create policy drover_all on drover.%I to drover_server, drover_backup using (true) with check (true)', found.name);
    execute format('drop policy if exists drover_own on drover.%I', found.name);
    execute format('create policy drover_own on drover.%I for select to drover_reader using (%s)', found.name, found.rows);
    execute format('grant select on drover.%I to drover_reader', found.name);
  end loop;
end
$$;
-- The partitions of all regions, in whose order open runs are searched. It says nothing of a namespace.
grant select on drover.partition_lease to drover_reader;

-- What later migrations make.
do $$
declare
  owner constant text := (select r.rolname from pg_class as c join pg_roles as r on r.oid = c.relowner where c.oid = 'drover.run'::regclass);
begin
  execute format('alter default privileges for role %I in schema :schema grant select, insert, update, delete on tables to drover_server', owner);
  execute format('alter default privileges for role %I in schema :schema grant usage, select on sequences to drover_server', owner);
  execute format('alter default privileges for role %I in schema :schema grant select on tables to drover_backup', owner);
  execute format('alter default privileges for role %I in schema :schema grant select on sequences to drover_backup', owner);
end
$$;
