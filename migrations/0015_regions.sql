-- Regions: where the runs of a namespace are watched. A partition is region * 256 + the last byte of
-- the run's id, so 128 regions fit.

create table region (
  id smallint primary key check (id between 0 and 127),
  name text not null unique,
  created_at timestamptz not null default now()
);
insert into region (id, name) values (0, 'default');
comment on table region is 'Comes with its first namespace, together with its 256 rows of partition_lease, and stays.';

-- A node lives while its session holds the advisory lock of its number.
alter table node
  add column number integer generated always as identity,
  add column regions smallint[],
  add column standby boolean not null default false;
comment on column node.regions is 'Those whose partitions it watches; null: all.';
