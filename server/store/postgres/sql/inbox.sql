-- The inbox: runs that users ask for in transactions of their own (drover.schedule).

-- name: take_inbox
-- Purpose: Takes the oldest rows that no server works on, for 30 seconds.
-- Params: :limit integer.
-- Locks: Rows, without waiting: a row that another server takes is skipped.
-- Result: digest is the SHA-256 of the request, hex. input null: there is none.
-- Note: There is no watermark, so a row that commits late is found too.
with taken as (
  update drover.inbox as i
  set taken_until = now() + interval '30 seconds'
  where i.id = any (array(
    select o.id
    from drover.inbox as o
    where o.refused_at is null and (o.taken_until is null or o.taken_until < now())
    order by o.id
    limit :limit::integer
    for update skip locked
  ))
  returning i.id, i.namespace, i.workflow, i.version, i.input, i.key, i.labels
)
select t.id, t.namespace, t.workflow, t.version, t.input, t.key, t.labels, encode(sha256(convert_to(
  jsonb_build_array('inbox', t.workflow, t.version, t.input, t.labels)::text, 'UTF8')), 'hex') as digest
from taken as t;

-- name: empty_inbox
-- Purpose: Deletes rows that were scheduled. A row stays if its run is not there: the database has lost it.
-- Params: Parallel arrays: :id bigint[], :key text[], :run_id uuid[] (the run that it began; null: it is in
--   another shard).
-- Plan: inbox, run by key.
-- Note: After a fail-over, another row may have the id.
delete from drover.inbox as i
using unnest(:id::bigint[], :key::text[], :run_id::uuid[]) as u (id, key, run_id)
where i.id = u.id and i.key = u.key
  and (u.run_id is null or (select true from drover.run as r where r.id = u.run_id limit 1));

-- name: refuse_inbox
-- Purpose: Marks rows as refused.
-- Params: Parallel arrays: :id bigint[], :key text[], :reason text[], :message text[].
-- Plan: inbox by key.
-- Note: After a fail-over, another row may have the id.
update drover.inbox as i
set refused_at = now(), reason = u.reason, message = u.message
from unnest(:id::bigint[], :key::text[], :reason::text[], :message::text[]) as u (id, key, reason, message)
where i.id = u.id and i.key = u.key;

-- name: forget_refused
-- Purpose: Deletes rows that were refused more than 30 days ago.
-- Params: :rows_max integer.
-- Result: One row. more: :rows_max rows were deleted, so there may be more.
with gone as (
  delete from drover.inbox as i
  where i.id = any (array(
    select o.id
    from drover.inbox as o
    where o.refused_at < now() - interval '30 days'
    limit :rows_max::integer
  ))
  returning 1
)
select count(*) = :rows_max::integer as more from gone;
