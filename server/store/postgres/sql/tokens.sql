-- API tokens.

-- name: create_token
-- Those that ended $9 milliseconds ago go.
with gone as (
  delete from drover.api_token as t
  where least(t.expires_at, t.revoked_at) < now() - $9::bigint * interval '1 millisecond'
)
insert into drover.api_token (id, digest, name, role, namespace_id, queues, made_by, expires_at)
values ($1::text, decode($2::text, 'hex'), $3::text, $4::text, $5::integer, $6::text[], $7::text,
  now() + $8::bigint * interval '1 millisecond');

-- name: list_tokens
-- All of them, a page: they are few. $5: the one of this id alone.
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
-- Plan: api_token by key.
update drover.api_token as t
set revoked_at = now(), revoked_by = $2::text
where t.id = $1::text and t.revoked_at is null
  and ($3::integer is null or t.namespace_id = $3::integer);

-- name: find_tokens
-- $2: how often its use is noted, in milliseconds. Plan: api_token by digest.
select encode(t.digest, 'hex') as digest, t.id, t.name, t.role, t.queues, n.name as namespace,
  (extract(epoch from t.expires_at - now()) * 1000)::double precision as left_ms,
  t.revoked_at is not null as revoked,
  t.used_at is null or t.used_at < now() - $2::bigint * interval '1 millisecond' as use_unnoted
from unnest($1::text[]) as u (digest)
join drover.api_token as t on t.digest = decode(u.digest, 'hex')
left join drover.namespace as n on n.id = t.namespace_id;

-- name: note_token_use
-- Several servers may say it at once: the first one writes. Plan: api_token by key.
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
