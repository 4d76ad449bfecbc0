-- Regions in use: where nobody watches them, something does not happen.

-- A region is in use while a run of it is open, a schedule has a moment, or an end, a webhook or a row of
-- the inbox (which the region `default` takes) waits for its supervisor.
create view region_use as
select r.id, r.name, (
  exists (
    select from run_open as o where o.partition >= r.id * 256 and o.partition < r.id * 256 + 256 offset 0
  )
  or exists (
    select from schedule as s
    where s.partition >= r.id * 256 and s.partition < r.id * 256 + 256 and s.wake_at is not null offset 0
  )
  or exists (
    select from outbox as x where x.partition >= r.id * 256 and x.partition < r.id * 256 + 256 offset 0
  )
  or exists (
    select from delivery as d
    where d.partition >= r.id * 256 and d.partition < r.id * 256 + 256 and d.next_try_at is not null offset 0
  )
  or exists (
    select from trigger_end as t where t.partition >= r.id * 256 and t.partition < r.id * 256 + 256 offset 0
  )
  or (r.id = 0 and exists (select from inbox as i where i.refused_at is null offset 0))
) as used
from region as r;
