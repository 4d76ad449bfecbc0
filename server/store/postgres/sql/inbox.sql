-- The inbox: runs that users have put there in transactions of their own (drover.schedule).

-- name: take_inbox
-- The oldest rows that nobody is at, for half a minute; what another server takes is skipped. A row that
-- commits late is found whenever it comes, as there is no mark of how far one has read.
update drover.inbox as i
set taken_until = now() + interval '30 seconds'
where i.id in (
  select o.id
  from drover.inbox as o
  where o.refused_at is null and (o.taken_until is null or o.taken_until < now())
  order by o.id
  limit $1::integer
  for update skip locked
)
returning i.id, i.namespace, i.workflow, i.version, i.input, i.key, i.labels, encode(sha256(convert_to(
  jsonb_build_array('inbox', i.workflow, i.version, i.input, i.labels)::text, 'UTF8')), 'hex') as digest;

-- name: empty_inbox
-- One stays whose run ($2) is lost again. Plan: run by key.
delete from drover.inbox as i
using unnest($1::bigint[], $2::uuid[]) as u (id, run_id)
where i.id = u.id
  and (u.run_id is null or (select true from drover.run as r where r.id = u.run_id limit 1));

-- name: refuse_inbox
update drover.inbox as i
set refused_at = now(), reason = u.reason, message = u.message
from unnest($1::bigint[], $2::text[], $3::text[]) as u (id, reason, message)
where i.id = u.id;

-- name: forget_refused
-- Nobody has looked at them for 30 days.
with gone as (
  delete from drover.inbox as i
  where i.id in (
    select o.id
    from drover.inbox as o
    where o.refused_at < now() - interval '30 days'
    limit $1::integer
  )
  returning 1
)
select count(*) = $1::integer as more from gone;
