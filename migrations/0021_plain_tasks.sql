-- A task that is its step's first try, as the plan has it, is made of the plan and the run alone; a server
-- that knows the run asks nothing more about it.

alter table ready add column plain boolean not null default false;
comment on column ready.plain is 'The first try of its step, as planned: its task is made of the plan and the run alone. False where nobody said so.';
