-- The audit of what people and tokens changed. Entries are appended in the transaction of the change.

-- name: insert_audit
-- Purpose: Records changes.
-- Params: Parallel arrays: :namespace_id integer[] (0: all namespaces), :action text[], :subject_kind text[],
--   :subject text[], :claimed_by text[], :by_verified boolean[], :token_id text[], :token_name text[],
--   :token_role text[] (null: no token), :peer text[], :reason text[], :details text[] (JSON).
insert into drover.audit_entry (namespace_id, action, subject_kind, subject, claimed_by, by_verified, token_id,
  token_name, token_role, peer, reason, details)
select u.namespace_id, u.action, u.subject_kind, u.subject, u.claimed_by, u.by_verified, u.token_id,
  u.token_name, u.token_role, u.peer, u.reason, u.details::jsonb
from unnest(:namespace_id::integer[], :action::text[], :subject_kind::text[], :subject::text[],
  :claimed_by::text[], :by_verified::boolean[], :token_id::text[], :token_name::text[],
  :token_role::text[], :peer::text[], :reason::text[], :details::text[])
  as u (namespace_id, action, subject_kind, subject, claimed_by, by_verified, token_id, token_name, token_role,
    peer, reason, details);

-- name: list_audit
-- Purpose: Lists entries of a namespace, newest first. Reads :read_max entries at most, of one subject or of
--   the namespace, and returns those that pass the filter.
-- Params: :namespace_id integer (0: entries that concern all namespaces), :subject_kind text and :subject text
--   (null: any), :actions text[] (empty: any), :by text (null: any), :token text (id or name; null: any),
--   :from bigint, :until bigint (ms since 1970; from that time on, and before it; null: no bound), :at bigint
--   (ms since 1970) and :id uuid (the last entry of the previous page; null: the first page), :limit integer,
--   :read_max integer.
-- Plan: audit_entry_by_time, audit_entry_by_subject.
-- Result: passes is false for the last entry that was read, if :read_max were read; it may be there twice.
with page as materialized (
  (
    select e.*
    from drover.audit_entry as e
    where :subject_kind::text is null and e.namespace_id = :namespace_id::integer
      and e.at >= coalesce(to_timestamp(:from::bigint / 1e3::float8), '-infinity')
      and e.at < coalesce(to_timestamp(:until::bigint / 1e3::float8), 'infinity')
      and e.at <= coalesce(to_timestamp(:at::bigint / 1e3::float8), 'infinity')
      and (:at::bigint is null or (e.at, e.id) < (to_timestamp(:at::bigint / 1e3::float8), :id::uuid))
    order by e.namespace_id desc, e.at desc, e.id desc
    limit :read_max::integer
  )
  union all
  (
    select e.*
    from drover.audit_entry as e
    where e.namespace_id = :namespace_id::integer and e.subject_kind = :subject_kind::text
      and e.subject = :subject::text
      and e.at >= coalesce(to_timestamp(:from::bigint / 1e3::float8), '-infinity')
      and e.at < coalesce(to_timestamp(:until::bigint / 1e3::float8), 'infinity')
      and e.at <= coalesce(to_timestamp(:at::bigint / 1e3::float8), 'infinity')
      and (:at::bigint is null or (e.at, e.id) < (to_timestamp(:at::bigint / 1e3::float8), :id::uuid))
    order by e.namespace_id desc, e.subject_kind desc, e.subject desc, e.at desc, e.id desc
    limit :read_max::integer
  )
)
(
  select p.*, true as passes
  from page as p
  where (cardinality(:actions::text[]) = 0 or p.action = any (:actions::text[]))
    and (:by::text is null or p.claimed_by = :by::text)
    and (:token::text is null or p.token_id = :token::text or p.token_name = :token::text)
  order by p.at desc, p.id desc
  limit :limit::integer
)
union all
(
  select p.*, false as passes
  from page as p
  order by p.at desc, p.id desc
  offset :read_max::integer - 1
  limit 1
);

-- name: forget_audit
-- Purpose: Deletes entries that are older than :retention ms.
-- Params: :rows_max integer, :retention bigint (ms).
-- Locks: The deleted rows, without waiting: a locked row is skipped.
-- Plan: audit_entry_by_time.
-- Result: One row. more: :rows_max rows were deleted, so there may be more.
with gone as (
  delete from drover.audit_entry as e
  where e.id = any (array(
    select o.id
    from (select n.id from drover.namespace as n union all select 0) as n (id)
    cross join lateral (
      select x.id
      from drover.audit_entry as x
      where x.namespace_id = n.id and x.at < now() - :retention::bigint * interval '1 millisecond'
      order by x.namespace_id, x.at
      limit :rows_max::integer
      for update skip locked
    ) as o
    limit :rows_max::integer
  ))
  returning 1
)
select count(*) = :rows_max::integer as more from gone;
