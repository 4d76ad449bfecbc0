-- The floor of `chain`: the same rows in the same tables, made and changed by SQL alone, a hundred runs of
-- three steps at a time, with one commit for each of the four moments at which a run of Drover has one: it
-- begins and its first task is handed out, and three reports, of which two hand out the next task. Nothing
-- is decided, nothing is locked against anybody, nothing leaves the database.
create procedure floor_of_chain(batches integer) language plpgsql as $$
declare
  ids uuid[];
  token constant bytea := decode('00112233445566778899aabbccddeeff', 'hex');
begin
  for batch in 1..batches loop
    ids := array(select uuidv7() from generate_series(1, 100));
    insert into idempotency (namespace_id, key, run_id, digest, expires_at)
    select 1, u.id::text, u.id, sha256(token), now() + interval '30 d'
    from unnest(ids) as u (id) order by u.id::text;
    insert into run (id, namespace_id, partition, definition_id, workflow, version, key, priority, labels,
      input_type, input_json, created_at)
    select u.id, 1, (hashtext(u.id::text) & 255), 1, 'chain', 1, u.id::text, 5, '{}', 'application/json',
      '{"order":4711,"to":"Lisbon","seats":2}', now()
    from unnest(ids) as u (id);
    insert into run_open (partition, run_id, namespace_id, definition_id, priority, state, version,
      steps_left, finally_left, moving, asking, undos_left, undone, warnings, escalations, pivoted, wake_at)
    select (hashtext(u.id::text) & 255), u.id, 1, 1, 5, 0, 1, 3, 0, 1, 0, 0, 0, 0, 0, false,
      null
    from unnest(ids) as u (id);
    call floor_open(ids, 0, token);
    commit;
    for place in 0..2 loop
      with gone as (
        delete from lease as l using unnest(ids) as u (id)
        where l.run_id = u.id and l.step_no = place and l.secret = token
        returning l.*
      )
      insert into attempt (run_id, step_no, fence, kind, attempt, agent_id, session, secret, started_at,
        ended_at, outcome, digest, output_type, output_json)
      select g.run_id, g.step_no, g.fence, g.kind, g.attempt, g.agent_id, g.session, g.secret, g.granted_at,
        now(), 0, sha256(g.secret), 'application/json', 'null'
      from gone as g;
      update step as s
      set forward = 4, held = null, result_fence = 1, result_kind = 0, result_n = 0
      from unnest(ids) as u (id)
      where s.run_id = u.id and s.no = place;
      if place < 2 then
        call floor_open(ids, place + 1, token);
        update run_open as o
        set version = o.version + 1, steps_left = o.steps_left - 1
        from unnest(ids) as u (id)
        where o.partition = (hashtext(u.id::text) & 255) and o.run_id = u.id;
      else
        delete from run_open as o using unnest(ids) as u (id)
        where o.partition = (hashtext(u.id::text) & 255) and o.run_id = u.id;
        update run as r
        set state = 4, reason = 0, last_version = 4, warnings = 0, ended_at = now()
        from unnest(ids) as u (id)
        where r.id = u.id;
      end if;
      commit;
    end loop;
  end loop;
end
$$;

create procedure floor_open(ids uuid[], place integer, token bytea) language plpgsql as $$
begin
  insert into step (run_id, no, forward, undo, waiting_for, needs_ok, needs_skipped, verifies, fence, attempt,
    lost, tries, strategies, first_ready_at)
  select u.id, floor_open.place, 1, 0, 0, 0, 0, 0, 1, 1, 0, '{}', '{0}', now()
  from unnest(ids) as u (id);
  insert into lease (run_id, step_no, partition, lane, kind, fence, attempt, secret, session, agent_id, poll_seq,
    granted_at, attempt_by, heartbeat_ms, cancel_ms, progress_at, wake_at)
  select u.id, floor_open.place, (hashtext(u.id::text) & 255), 1, 0, 1, 1, floor_open.token, floor_open.token,
    'chain', 1, now(), now() + interval '10 min', 30000, 10000, now(), now() + interval '30 s'
  from unnest(ids) as u (id);
end
$$;
