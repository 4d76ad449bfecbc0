-- Agents that have fallen silent: they do not count as polling until they call again.

alter table agent add column called_at timestamptz, add column silent_since timestamptz;
comment on column agent.called_at is 'When it last called; a poll that is parked since counts for seen_at alone.';
comment on column agent.silent_since is
  'It lost a lease for silence, or its connection, and has not called since; null: it has not.';

create index agent_silent on agent (silent_since) where silent_since is not null;

-- Lanes that a silent agent has asked for, and when another one that asks for them was last seen.
create view silent_lane as
select l.id as lane, (
    select max(a.seen_at)
    from agent as a
    where a.namespace_id = l.namespace_id and a.silent_since is null and a.queues ? l.queue
      and (a.tasks = '[]'::jsonb or a.tasks ? l.task)
      and (v.lane is null or a.agent_version = v.agent_version)
  ) as seen_at
from lane as l
left join version_lane as v on v.lane = l.id
where exists (
  select
  from agent as a
  where a.silent_since is not null and a.namespace_id = l.namespace_id and a.queues ? l.queue
    and (a.tasks = '[]'::jsonb or a.tasks ? l.task)
    and (v.lane is null or a.agent_version = v.agent_version)
);
