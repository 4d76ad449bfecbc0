-- Servers keep ids of namespaces, definitions and lanes in memory. A sequence gives an id out again after
-- a fail-over that lost its tail, or a restore, to somebody else: ids are drawn at random instead.
alter table namespace alter column id drop identity;
alter table namespace alter column id set default (1 + floor(random() * 2147483646))::integer;
alter table lane alter column id drop identity;
alter table lane alter column id set default (1 + floor(random() * 2147483646))::integer;
alter table definition alter column id drop identity;
alter table definition alter column id set default (1 + floor(random() * 9007199254740990))::bigint;
