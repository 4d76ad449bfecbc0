-- The trace that a run is part of.
alter table run add column traceparent text, add column tracestate text;
comment on column run.traceparent is 'W3C: trace, span of who scheduled it (zeros: nobody), whether it is sampled; null: not traced.';
comment on column run.tracestate is 'As the caller gave it.';
