-- Definitions that nothing uses any more are removed: inline ones, once their last run is gone.

alter table definition add column unused_since timestamptz;
comment on column definition.unused_since is
  'No version of a workflow and no run has had it since then; null: one had, or nobody has looked.';

-- Runs by what they brought along. A definition that no version names is of such runs alone.
create index run_inline on run (definition_id) where version = 0;
