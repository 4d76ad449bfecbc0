-- API tokens.

-- name: create_token
-- Purpose: Creates a token, and deletes tokens that ended more than :retention ms ago.
-- Params: :id text, :digest text (SHA-256 of the token, hex), :name text, :role text, :namespace_id integer
--   (null: every namespace), :queues text[] (that an agent may poll; empty: all), :made_by text, :valid
--   bigint (ms; null: until it is revoked), :retention bigint (ms).
with gone as (
  delete from drover.api_token as t
  where least(t.expires_at, t.revoked_at) < now() - :retention::bigint * interval '1 millisecond'
)
insert into drover.api_token (id, digest, name, role, namespace_id, queues, made_by, expires_at)
values (:id::text, decode(:digest::text, 'hex'), :name::text, :role::text, :namespace_id::integer,
  :queues::text[], :made_by::text,
  now() + :valid::bigint * interval '1 millisecond')
returning id;

-- name: list_tokens
-- Purpose: Lists tokens, by id. They are few, and all of them are read.
-- Params: :namespace_id integer (null: all tokens), :ended boolean (also those that are revoked or
--   expired), :after text (the last id of the previous page; null: the first page), :limit integer, :id
--   text (null: any).
-- Result: namespace is null for a token of every namespace; a time is null if it is not set.
select t.id, t.name, t.role, n.name as namespace, t.queues, t.made_by, t.made_at, t.expires_at, t.used_at,
  t.revoked_at, t.revoked_by
from drover.api_token as t
left join drover.namespace as n on n.id = t.namespace_id
where (:namespace_id::integer is null or t.namespace_id = :namespace_id::integer)
  and (:ended::boolean or (t.revoked_at is null and (t.expires_at is null or t.expires_at > now())))
  and (:after::text is null or t.id > :after::text)
  and (:id::text is null or t.id = :id::text)
order by t.id
limit :limit::integer;

-- name: revoke_token
-- Purpose: Revokes a token. One that is revoked stays as it is.
-- Params: :id text, :by text, :namespace_id integer (only a token of this namespace; null: any).
-- Plan: api_token by key.
-- Result: No row: there is none, or it is revoked.
update drover.api_token as t
set revoked_at = now(), revoked_by = :by::text
where t.id = :id::text and t.revoked_at is null
  and (:namespace_id::integer is null or t.namespace_id = :namespace_id::integer)
returning t.name, t.namespace_id;

-- name: find_tokens
-- Purpose: Finds tokens by their digests, also those that are revoked or expired.
-- Params: :digests text[] (hex), :interval_ms bigint (ms; how often the use of a token is noted).
-- Plan: api_token by digest.
-- Result: left_ms is how long the token is still valid; null: no end is set. use_is_stale: its use was not
--   noted for :interval_ms. No row: there is no such token.
select encode(t.digest, 'hex') as digest, t.id, t.name, t.role, t.queues, n.name as namespace,
  (extract(epoch from t.expires_at - now()) * 1000)::double precision as left_ms,
  t.revoked_at is not null as revoked,
  t.used_at is null or t.used_at < now() - :interval_ms::bigint * interval '1 millisecond' as use_is_stale
from unnest(:digests::text[]) as u (digest)
join drover.api_token as t on t.digest = decode(u.digest, 'hex')
left join drover.namespace as n on n.id = t.namespace_id;

-- name: note_token_use
-- Purpose: Notes that tokens were used, unless that was noted within :interval_ms.
-- Params: :ids text[], :interval_ms bigint (ms).
-- Locks: Tokens, without waiting: of several servers at once one writes.
-- Plan: api_token by key.
update drover.api_token as t
set used_at = now()
from (
  select o.id from drover.api_token as o
  where o.id = any (:ids::text[])
    and (o.used_at is null or o.used_at < now() - :interval_ms::bigint * interval '1 millisecond')
  order by o.id
  for update skip locked
) as o
where t.id = o.id;
