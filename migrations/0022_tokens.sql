-- API tokens: who may call a server that asks for them.

-- One row for each token, also when it is revoked or over: who made it, for what, and who revoked it. Gone a
-- year after its end, when another one is made.
create table api_token (
  id text primary key,
  digest bytea not null unique,
  name text not null,
  role text not null check (role in ('viewer', 'client', 'agent', 'operator', 'admin')),
  namespace_id integer,
  queues text[] not null default '{}',
  made_by text not null,
  made_at timestamptz not null default now(),
  expires_at timestamptz,
  used_at timestamptz,
  revoked_at timestamptz,
  revoked_by text
);
comment on column api_token.digest is 'SHA-256 of the token. It has 256 random bits, so nobody guesses it, and a slow hash would protect nothing.';
comment on column api_token.namespace_id is 'null: it is for every namespace.';
comment on column api_token.queues is 'Those that an agent may poll with it; empty: all.';
comment on column api_token.used_at is 'When it was shown, as one server noted it: at most once a minute.';
