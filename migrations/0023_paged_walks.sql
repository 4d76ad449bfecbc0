-- What walks of any length need: a place to go on from, and no definition that has to be read.

-- The open runs of a namespace, and of a definition, in an order: both are walked in pages. Not by run_id
-- itself: the planner would take this index, from end to end, for a look at one run.
drop index run_open_definition;
create index run_open_definition on run_open (namespace_id, definition_id, uuid_send(run_id));

-- Definitions by the workflow that they name, those of inline runs too.
create index definition_workflow on definition (namespace_id, ((body::jsonb) ->> 'workflow'), id);

comment on table pin_move is
  'Ready rows of this workflow may stand where its pins, or its pause, do not want them. Written with the change, gone when they have been moved; housekeeping finishes what was left in the middle.';
