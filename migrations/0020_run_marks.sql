-- What runs are found by, in the order of their ids: their workflow, their labels, and how they ended
-- where that is not the usual way.

create index run_by_workflow on run (namespace_id, workflow, id);

-- The end of a run finds room in its page more often, and then leaves all indexes of run as they are.
alter table run_default set (fillfactor = 85);

-- Children alone have an id with another time than their own: that of the run above them.
create index run_child_by_time on run (namespace_id, created_at, id) where parent_id is not null;

-- Of a run one row for each label, written with it; if it ended otherwise than COMPLETED, one with its state
-- and one with its state and workflow, written with its end. Gone with the run.
create table run_mark (
  namespace_id integer not null,
  mark text collate "C" not null,
  run_id uuid not null,
  primary key (namespace_id, mark, run_id)
) partition by range (run_id);
create table run_mark_default partition of run_mark default;
comment on table run_mark is 'What a run is found by, in lists with a filter.';
comment on column run_mark.mark is 'NAME=VALUE of a label, the code of a state in which runs end, or that code and a WORKFLOW.';

insert into run_mark (namespace_id, mark, run_id)
select r.namespace_id, l.key || '=' || l.value, r.id
from run as r
cross join lateral jsonb_each_text(r.labels) as l;

insert into run_mark (namespace_id, mark, run_id)
select r.namespace_id, m.mark, r.id
from run as r
cross join lateral (values (r.state::text), (r.state || ' ' || r.workflow)) as m (mark)
where r.state <> 4;
