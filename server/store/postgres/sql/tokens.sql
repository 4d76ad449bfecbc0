-- API tokens.

-- name: create_token
-- Purpose: Creates a token, and deletes tokens that ended more than $9 ms ago.
-- Params: $1 id text, $2 digest text (SHA-256 of the token, hex), $3 name text, $4 role text, $5 namespace_id
--   integer (null: every namespace), $6 queues text[] (that an agent may poll; empty: all), $7 made_by text,
--   $8 valid bigint (ms; null: until it is revoked), $9 retention bigint (ms).
with gone as (
  delete from drover.api_token as t
  where least(t.expires_at, t.revoked_at) < now() - $9::bigint * interval '1 millisecond'
)
insert into drover.api_token (id, digest, name, role, namespace_id, queues, made_by, expires_at)
values ($1::text, decode($2::text, 'hex'), $3::text, $4::text, $5::integer, $6::text[], $7::text,
  now() + $8::bigint * interval '1 millisecond');

-- name: list_tokens
-- Purpose: Lists tokens, by id. They are few, and all of them are read.
-- Params: $1 namespace_id integer (null: all tokens), $2 ended boolean (also those that are revoked or
--   expired), $3 after text (the last id of the previous page; null: the first page), $4 limit integer, $5 id
--   text (null: any).
-- Result: namespace is null for a token of every namespace; a time is null if it is not set.
select t.id, t.name, t.role, n.name as namespace, t.queues, t.made_by, t.made_at, t.expires_at, t.used_at,
  t.revoked_at, t.revoked_by
from drover.api_token as t
left join drover.namespace as n on n.id = t.namespace_id
where ($1::integer is null or t.namespace_id = $1::integer)
  and ($2::boolean or (t.revoked_at is null and (t.expires_at is null or t.expires_at > now())))
  and ($3::text is null or t.id > $3::text)
  and ($5::text is null or t.id = $5::text)
order by t.id
limit $4::integer;

-- name: revoke_token
-- Purpose: Revokes a token. One that is revoked stays as it is.
-- Params: $1 id text, $2 by text, $3 namespace_id integer (only a token of this namespace; null: any).
-- Plan: api_token by key.
update drover.api_token as t
set revoked_at = now(), revoked_by = $2::text
where t.id = $1::text and t.revoked_at is null
  and ($3::integer is null or t.namespace_id = $3::integer);

-- name: find_tokens
-- Purpose: Finds tokens by their digests, also those that are revoked or expired.
-- Params: $1 digests text[] (hex), $2 noted bigint (ms; how often the use of a token is noted).
-- Plan: api_token by digest.
-- Result: left_ms is how long the token is still valid; null: no end is set. use_unnoted: its use was not
--   noted for $2 ms. No row: there is no such token.
select encode(t.digest, 'hex') as digest, t.id, t.name, t.role, t.queues, n.name as namespace,
  (extract(epoch from t.expires_at - now()) * 1000)::double precision as left_ms,
  t.revoked_at is not null as revoked,
  t.used_at is null or t.used_at < now() - $2::bigint * interval '1 millisecond' as use_unnoted
from unnest($1::text[]) as u (digest)
join drover.api_token as t on t.digest = decode(u.digest, 'hex')
left join drover.namespace as n on n.id = t.namespace_id;

-- name: note_token_use
-- Purpose: Notes that tokens were used, unless that was noted within $2 ms.
-- Params: $1 ids text[], $2 noted bigint (ms).
-- Locks: Tokens, without waiting: of several servers at once one writes.
-- Plan: api_token by key.
update drover.api_token as t
set used_at = now()
from (
  select o.id from drover.api_token as o
  where o.id = any ($1::text[])
    and (o.used_at is null or o.used_at < now() - $2::bigint * interval '1 millisecond')
  order by o.id
  for update skip locked
) as o
where t.id = o.id;
