-- What operators look at: agents as servers see them, and what supervisors did, newest first.

-- One row for each agent session, written by the server that it calls, every 20 seconds at most; gone when
-- it has not called for 10 minutes and holds nothing.
create table agent (
  session bytea primary key,
  namespace_id integer not null,
  agent_id text not null,
  agent_version text not null,
  labels jsonb not null,
  queues jsonb,
  tasks jsonb,
  server text not null,
  first_seen_at timestamptz not null default now(),
  seen_at timestamptz not null,
  succeeded_at timestamptz
) with (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.01, autovacuum_vacuum_threshold = 1000,
  autovacuum_vacuum_cost_delay = 0);
comment on table agent is 'An agent session as the servers see it; agent_session is what leases go by.';
comment on column agent.queues is 'Those of its last poll; null: it has not polled yet.';
comment on column agent.tasks is 'Those of its last poll; empty: any of its queues.';
comment on column agent.server is 'The address of the server that it called last.';
comment on column agent.succeeded_at is 'When a success that it reported was last taken.';
-- Nothing in it changes.
create index agent_by_name on agent (namespace_id, agent_id, session);

alter table intervention add column namespace_id integer not null default 0;
update intervention as i
set namespace_id = r.namespace_id
from run as r
where r.id = i.run_id;
create index intervention_by_rule on intervention (namespace_id, rule, acted_at);
