-- The floor of `chain`: the same rows in the same tables, made and changed by SQL alone, a hundred runs of
-- three steps at a time, with one commit for each of the four times when a run of Drover has one: it
-- begins and its first task is handed out, and three reports, of which two hand out the next task. Nothing
-- is decided, nothing is locked against others, nothing leaves the database.
create procedure floor_of_chain(batches integer) language plpgsql as $$
declare
  ids uuid[];
  page text;
  token constant bytea := decode('00112233445566778899aabbccddeeff', 'hex');
begin
  for batch in 1..batches loop
    ids := array(select uuidv7() from generate_series(1, 100));
    insert into drover.idempotency (namespace_id, key, run_id, digest, expires_at)
    select 1, u.id::text, u.id, sha256(token), now() + interval '30 d'
    from unnest(ids) as u (id) order by u.id::text;
    insert into drover.run (id, namespace_id, partition, definition_id, workflow, version, key, priority, labels,
      input_type, input_json, created_at)
    select u.id, 1, (hashtext(u.id::text) & 255), 1, 'chain', 1, u.id::text, 5, '{}', 'application/json',
      '{"order":4711,"to":"Lisbon","seats":2}', now()
    from unnest(ids) as u (id);
    -- Once for all: what it takes to write a page is not of the floor.
    page := floor_page(0);
    insert into drover.run_page (run_id, no, partition, version, wake_at, namespace_id, definition_id, run_state,
      settled, state)
    select u.id, 0, (hashtext(u.id::text) & 255), 1, now() + interval '10 min', 1, 1, 0, false, page
    from unnest(ids) as u (id);
    call floor_lease(ids, 0, token);
    commit;
    for place in 0..2 loop
      delete from drover.lease as l using unnest(ids) as u (id)
      where l.run_id = u.id and l.step_no = place and l.secret = token;
      page := floor_page(place + 1);
      update drover.run_page as p
      set version = p.version + 1, state = page,
        wake_at = case when place < 2 then p.wake_at end,
        run_state = case when place < 2 then 0 else 4 end,
        ended_at = case when place = 2 then now() end
      from unnest(ids) as u (id)
      where p.run_id = u.id and p.no = 0 and p.version = place + 1;
      if place < 2 then
        call floor_lease(ids, place + 1, token);
      end if;
      commit;
    end loop;
  end loop;
end
$$;

create procedure floor_lease(ids uuid[], place integer, token bytea) language plpgsql as $$
begin
  insert into drover.lease (run_id, step_no, partition, lane, fence, session, secret, poll_seq, granted_at,
    heartbeat_ms, cancel)
  select u.id, floor_lease.place, (hashtext(u.id::text) & 255), 1, 1, floor_lease.token, floor_lease.token, 1,
    now(), 30000, 'none'
  from unnest(ids) as u (id);
end
$$;

-- The page of a run of which so many steps are done, and the next is with an agent: as the codec writes it.
create function floor_page(done integer) returns text language sql stable as $$
  with at as (
    select (extract(epoch from now()) * 1000)::bigint as ms, 'ABEiM0RVZneImaq7zN3u_w' as token
  )
  select format('{"f":1,"n":0,"h":{"s":%s,"v":%s,"c":%s%s},"s":{',
      case when done < 3 then (ms + 600000)::text else '{"kind":"COMPLETED","reason":"DONE"}' end,
      done + 1, case when done < 3 then format('[%s,0,1]', 3 - done) else '[]' end,
      case when done < 3 then '' else format(',"e":%s', ms) end)
    || (
      select string_agg(case when place < done then format(E'\n"%s":{"w":"SUCCEEDED","f":1,'
          '"e":[{"e":0,"o":"null","d":"%s","g":"chain","s":"%s","x":"%s"}],"r":%s}', place, token, token, token, ms)
        else format(E'\n"%s":{"z":[1],"w":[{"k":"LEASED","p":1,"w":450000,"g":"chain","s":"%s","x":"%s"}],"r":%s}',
          place, token, token, ms)
        end, ',' order by place desc)
      from generate_series(0, least(done, 2)) as place
    ) || E'\n},"of":[1,1,5]}'
  from at
$$;
