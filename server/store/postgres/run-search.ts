// Which runs a filter finds. Run ids begin with the time of creation, so their order is the order
// of creation. A search has a few parts. An index has each part in that order, and the search reads
// no more rows of each than it was asked for:
//
//   any state, or COMPLETED   the runs of the namespace, of a workflow, of a parent, of a label or
//                             of a failure
//   states of open runs       run_page_open_partition, partition by partition
//   other ends                their search keys (run_mark), a part for each
//   substates of open runs    what a run waits for: an index for each kind (run_page_waits_*);
//                             tasks that are ready or that agents have: as for states of open runs
//
// Times of creation are bounds of ids. A child's id has the time of its parent. So children that
// began after a time, and whose ids are older, are a part of their own.
//
// Two conditions are in no index in that order. Of the runs whose keys begin with a text, up to
// FEW_MAX are read by run_by_key and sorted; if there are more, and for the time of the end, the
// search reads runs in order and tests each: `readMax` of them at most, so a page may be short.
import { type RawBuilder, sql } from "kysely";
import type { EpochMs } from "../../core/model/attempt.ts";
import { type EndKind, isEndKind } from "../../core/model/model.ts";
import { waitBit } from "../../core/model/waits.ts";
import type { KeyFilter, RunFilter, RunPage, SubstateFilter } from "../lists.ts";
import { failureKey, labelKeys } from "../search-keys.ts";
import { runStates } from "./codes.ts";

interface Search extends Pick<RunPage, "order" | "after" | "limit" | "readMax"> {
  /** The schema of the database. */
  readonly schema: string;
  readonly namespaceId: number;
  readonly filter: RunFilter;
  /** The lanes of the namespace, if the filter asks for tasks (`asksTasks`); else empty. */
  readonly lanes: readonly number[];
}

type Sql = RawBuilder<unknown>;
type Ids = RawBuilder<{ id: string }>;

/**
 * Whether the filter asks for tasks that are ready or that agents have. Their tables know a
 * namespace by its lanes; as values, they tell the planner how many rows to expect.
 */
export function asksTasks({ substates }: RunFilter): boolean {
  return substates.includes("working") || substates.includes("agent");
}

/** Selects `id`, in order, at most `limit` rows. */
export function runIds(search: Search): Ids {
  return together(
    search,
    partsOf(search).map(({ ids }) => ids),
  );
}

/**
 * Selects `id` of the run up to which the search is complete; no row: all of it. Of several parts,
 * the one that stops first bounds the page. null: no part stops before its end.
 */
export function searchedToId(search: Search): Ids | null {
  const stopping = partsOf(search).flatMap(({ searchedTo }) => searchedTo ?? []);
  return stopping.length === 0 ? null : together({ ...search, limit: 1 }, stopping);
}

function together(search: Search, parts: readonly Ids[]): Ids {
  const [only, ...more] = parts.map((part) => sql<{ id: string }>`(${part})`);
  if (!only) return sql<{ id: string }>`select null::uuid as id where false`;
  if (more.length === 0) return only;
  const all = sql`(${sql.join([only, ...more], sql` union all `)}) as found`;
  return inOrder(search, "found.id", [all], []);
}

interface Part {
  readonly ids: Ids;
  /** The last run that it reads, if it stops at `readMax`; left out: it never does. */
  readonly searchedTo?: Ids;
}

function partsOf(search: Search): readonly Part[] {
  const { filter } = search;
  const states = [...new Set(filter.states)];
  const ended = states.filter(isEndKind);
  // A run that is open has no time of its end, and one that has ended no substate.
  const open = asksEnd(filter) ? [] : states.filter((kind) => !isEndKind(kind)).map(runStates.code);
  const times = timesOf(filter);
  if (filter.substates.length > 0) {
    const codes = states.length === 0 && !asksEnd(filter) ? OPEN_STATES : open;
    if (codes.length === 0) return [];
    return times.flatMap((time) => substateParts(search, time, codes).map((ids) => ({ ids })));
  }
  if (states.length === 0) return times.map((time) => partOf(search, time, {}));
  if (ended.includes("COMPLETED")) {
    const codes = [...ended.map(runStates.code), ...open];
    return times.map((time) => partOf(search, time, { states: codes }));
  }
  return times.flatMap((time) => [
    ...ended.map((kind) => partOf(search, time, { mark: endSearchKey(kind, filter) })),
    ...(open.length === 0 ? [] : [{ ids: openPart(search, time, inStates(search, open)) }]),
  ]);
}

function asksEnd({ endedAfter, endedBefore }: RunFilter): boolean {
  return endedAfter !== null || endedBefore !== null;
}

const OPEN_STATES = runStates.names.filter((kind) => !isEndKind(kind)).map(runStates.code);

/** A condition on the first page `o` of a run: it is open, in one of these states. */
function inStates({ namespaceId }: Search, open: readonly number[]): Sql {
  return sql`o.namespace_id = ${namespaceId} and o.no = 0 and o.ended_at is null
    and o.run_state = any (${open}::smallint[])`;
}

/**
 * The rows of a substate are walked in the order of ids; with a further condition, few of them are
 * read first, as for states. A run with several of the substates is found by the first one alone.
 */
function substateParts(search: Search, time: Time, open: readonly number[]): readonly Ids[] {
  const asked = [...new Set(search.filter.substates)];
  const isPlain = rareOf(search) === null;
  return asked.map((substate, at) => {
    const others = asked.slice(0, at).map((other) => sql`not ${hasSubstate(search, other)}`);
    const conditions = [inStates(search, open), hasSubstate(search, substate), ...others];
    const state = sql.join(conditions, sql` and `);
    if (!isPlain) return openPart(search, time, state, substateTable(search, time, substate));
    return runsOfSubstate(search, time, substate, state);
  });
}

/** The runs whose first page `o` meets `state`. What a run waits for is in that page. */
function runsOfSubstate(search: Search, time: Time, substate: SubstateFilter, state: Sql): Ids {
  const pages = sql`${tableOf(search, "run_page")} as o`;
  if (substate !== "working" && substate !== "agent") {
    const probes = conditionsOf(search, time, sql`o.run_id`);
    const where = [state, ...within(search, time, "o.run_id")];
    return inOrder(search, "o.run_id", [pages, ...probes], where);
  }
  const { id, table, where } = substateTable(search, time, substate);
  const page = sql`cross join lateral (select from ${pages}
    where o.run_id = ${sql.ref(id)} and ${state} limit 1) as p`;
  return inOrder(search, id, [table, page, ...conditionsOf(search, time, sql.ref(id))], where);
}

/** A condition on the first page `o` of a run. */
function hasSubstate(search: Search, substate: SubstateFilter): Sql {
  if (substate === "working" || substate === "agent")
    return sql`exists (select from ${tableOf(search, taskTableName(substate))} as t where t.run_id = o.run_id)`;
  // The planner uses the index only if the bit is written as it is in the index.
  return sql`o.waits & ${sql.raw(String(waitBit(substate)))} <> 0`;
}

function taskTableName(substate: "working" | "agent"): "lease" | "ready" {
  return substate === "working" ? "lease" : "ready";
}

/** The runs of the namespace with this substate, each once, in the order of ids. */
function substateTable(search: Search, time: Time, substate: SubstateFilter): Table {
  const { namespaceId } = search;
  const rows =
    substate === "working" || substate === "agent"
      ? sql`${tableOf(search, taskTableName(substate))} as o
          where o.lane = any (${search.lanes}::integer[])`
      : sql`${tableOf(search, "run_page")} as o where o.namespace_id = ${namespaceId}
          and ${hasSubstate(search, substate)}`;
  const bounds = within(search, time, "o.run_id");
  const all = bounds.length === 0 ? rows : sql`${rows} and ${sql.join(bounds, sql` and `)}`;
  return {
    table: sql`(select distinct on (o.run_id) o.run_id from ${all} order by o.run_id ${directionOf(search)}) as t`,
    id: "t.run_id",
    where: [],
  };
}

function endSearchKey(kind: EndKind, { workflow }: RunFilter): string {
  const code = String(runStates.code(kind));
  return workflow === null ? code : `${code} ${workflow}`;
}

/** At most one of these: the states that a run may have, or a search key that implies its state. */
interface Wanted {
  readonly states?: readonly number[];
  readonly mark?: string;
}

function partOf(search: Search, time: Time, wanted: Wanted): Part {
  const { filter } = search;
  if (filter.key !== null) return keyPart(search, time, wanted, filter.key);
  if (asksEnd(filter)) return readPart(search, time, wanted, []);
  return { ids: walk(search, time, wanted) };
}

/** What the filter asks for, the rarest first, besides what the first page of a run says. */
function tablesOf(search: Search, time: Time, { mark }: Wanted): readonly Table[] {
  const { filter } = search;
  const marks = [failureKey(filter.failure), mark, ...labelKeys(filter.labels)].flatMap(
    (name) => name ?? [],
  );
  const asksRun =
    (filter.workflow !== null && mark === undefined) ||
    filter.key !== null ||
    filter.parent !== null ||
    time.run.length > 0;
  return [
    ...marks.map((name, at) => markTable(search, name, at)),
    ...(asksRun ? [runTable(search, time)] : []),
  ];
}

/**
 * Reads all runs with such a key, if they are few, and sorts them; else reads runs in order. The
 * statement itself counts which of the two applies.
 */
function keyPart(search: Search, time: Time, wanted: Wanted, key: KeyFilter): Part {
  const few = firstByKey(search, key);
  const areFew = sql`(select count(*) from few) <= ${FEW_MAX}`;
  const probes = probesOf(search, tablesOf(search, time, wanted), wanted.states, sql`f.id`);
  const sorted = inOrder(
    search,
    "f.id",
    [sql`few as f`, ...probes],
    [areFew, ...within(search, time, "f.id")],
  );
  const { ids, searchedTo } = readPart(search, time, wanted, [sql`not ${areFew}`]);
  const found = together(search, [sorted, ids]);
  const withFew = (of: Ids) => sql<{ id: string }>`with few as materialized (${few}) ${of}`;
  return { ids: withFew(found), ...(searchedTo && { searchedTo: withFew(searchedTo) }) };
}

/** One more than FEW_MAX runs at most, in the order of run_by_key. */
function firstByKey(search: Search, key: KeyFilter): Ids {
  const where = sql`r.namespace_id = ${search.namespaceId} and ${hasKey(key)}`;
  return sql<{ id: string }>`select r.id from ${tableOf(search, "run")} as r where ${where}
    order by r.key collate "C", r.id limit ${FEW_MAX + 1}`;
}

/** Nothing in UTF-8 is greater than this character, in the collation "C". */
const GREATEST = "\u{10ffff}";

/** A condition on a run `r`. */
function hasKey(filter: KeyFilter): Sql {
  if (filter.kind === "is") return sql`r.key collate "C" = ${filter.key}`;
  const { prefix } = filter;
  return sql`r.key collate "C" >= ${prefix} and r.key collate "C" < ${prefix + GREATEST}`;
}

/** Reads the runs of the first table in order, `readMax` at most, and tests each of them. */
function readPart(search: Search, time: Time, wanted: Wanted, when: readonly Sql[]): Part {
  // The condition on the key is looked up for each run: by its index they would not be in order.
  const ordered = { ...search, filter: { ...search.filter, key: null } };
  const [first = runTable(ordered, time), ...others] = tablesOf(ordered, time, wanted);
  const { readMax } = search;
  const id = sql.ref(first.id);
  const asks = [...first.where, ...within(search, time, first.id)];
  const rows = sql`select ${id} as id from ${first.table} where ${sql.join(asks, sql` and `)}`;
  const inTurn = sql`order by ${id} ${directionOf(search)}`;
  const read = readMax === undefined ? rows : sql`${rows} ${inTurn} limit ${readMax}`;
  const tables = search.filter.key === null ? others : [...others, runTable(search, time)];
  const probes = probesOf(search, tables, wanted.states, sql`b.id`);
  const ids = inOrder(search, "b.id", [sql`(${read}) as b`, ...probes], when);
  if (readMax === undefined) return { ids };
  const last = sql`${rows} ${inTurn} limit 1 offset ${readMax - 1}`;
  const searchedTo = inOrder({ ...search, limit: 1 }, "b.id", [sql`(${last}) as b`], when);
  return { ids, searchedTo };
}

/** Looks a run up in these tables, and in its first page. A limit makes the planner use the key. */
function probesOf(
  search: Search,
  tables: readonly Table[],
  states: readonly number[] | undefined,
  runId: Sql,
): readonly Sql[] {
  const probes = tables.map(({ table, id, where }, at) => {
    const is = sql.join([sql`${sql.ref(id)} = ${runId}`, ...where], sql` and `);
    return sql`cross join lateral (select from ${table} where ${is} limit 1) as ${sql.ref(`asked${at}`)}`;
  });
  const { endedAfter, endedBefore } = search.filter;
  const page = [
    ...(states ? [sql`o.run_state = any (${states}::smallint[])`] : []),
    ...(endedAfter === null ? [] : [sql`o.ended_at >= ${timeOf(endedAfter)}`]),
    ...(endedBefore === null ? [] : [sql`o.ended_at < ${timeOf(endedBefore)}`]),
  ];
  if (page.length === 0) return probes;
  const where = sql.join([sql`o.run_id = ${runId} and o.no = 0`, ...page], sql` and `);
  const first = sql`cross join lateral (select from ${tableOf(search, "run_page")} as o
    where ${where} limit 1) as first_page`;
  return [...probes, first];
}

function timeOf(at: EpochMs): Sql {
  return sql`to_timestamp(${at} / 1000.0::float8)`;
}

/**
 * Reads from the open runs, and not from all that have ended; or, if the filter asks for something
 * that only few runs have, from those few. The statement itself counts which of the two applies,
 * and looks each run up by its key, whatever the planner expects: of a workflow that is new today
 * it expects one run, and would read ten thousand once for each partition. If many runs have what
 * is asked for, the first open runs are read alone, and all of them only if too few of those match.
 */
function openPart(search: Search, time: Time, state: Sql, rare = rareOf(search)): Ids {
  if (!rare) return ofOpen(search, time, state);
  const few = rare.few ?? fewInOrder(search, time, rare);
  const firstMax = FIRST_OF_LIMIT * search.limit;
  const first = ofOpen({ ...search, limit: firstMax }, time, state);
  const probes = (id: string): readonly Sql[] => conditionsOf(search, time, sql.ref(id));
  const met = inOrder(search, "f.id", [sql`open_first as f`, ...probes("f.id")], []);
  const areFew = sql`(select count(*) from few) <= ${FEW_MAX}`;
  const isEnough = sql`((select count(*) from met) >= ${search.limit}
    or (select count(*) from open_first) < ${firstMax})`;
  const all = ofOpen(search, time, state, {
    probes: probes("o.run_id"),
    when: [sql`not ${areFew}`, sql`not ${isEnough}`],
  });
  const each = sql`((${ofFew(search, time, state, [areFew])})
    union all (select met.id from met where not ${areFew} and ${isEnough})
    union all (${all})) as found`;
  const found = inOrder(search, "found.id", [each], []);
  return sql<{
    id: string;
  }>`with few as materialized (${few}), open_first as materialized (${first}),
    met as materialized (${met}) ${found}`;
}

/** One more than FEW_MAX at most. */
function fewInOrder(search: Search, time: Time, { id, table, where }: Table): Ids {
  const bounds = [...where, ...within(search, time, id)];
  return inOrder({ ...search, limit: FEW_MAX + 1 }, id, [table], bounds);
}

/** Up to this many runs are searched for open ones; beyond that, the open runs are searched. */
const FEW_MAX = 2_000;
/** How many open runs are read first, as a multiple of the runs that are wanted. */
const FIRST_OF_LIMIT = 2;

/** What the filter asks for that may be rare; each kind has an index in the order of ids. */
function rareOf(search: Search): (Table & { readonly few?: Ids }) | null {
  const { filter, namespaceId } = search;
  const run = { table: sql`${tableOf(search, "run")} as r`, id: "r.id" };
  const ofRun = (is: Sql) => ({ ...run, where: [sql`r.namespace_id = ${namespaceId}`, is] });
  if (filter.key !== null)
    return { ...ofRun(hasKey(filter.key)), few: firstByKey(search, filter.key) };
  if (filter.parent !== null) return ofRun(sql`r.parent_id = ${filter.parent}`);
  const mark = failureKey(filter.failure) ?? labelKeys(filter.labels)[0];
  if (mark !== undefined) return markTable(search, mark, 0);
  return filter.workflow === null ? null : ofRun(sql`r.workflow = ${filter.workflow}`);
}

function ofFew(search: Search, time: Time, state: Sql, when: readonly Sql[]): Ids {
  const open = sql`select from ${tableOf(search, "run_page")} as o where o.run_id = f.id and ${state} limit 1`;
  const laterals = [
    sql`cross join lateral (${open}) as o`,
    ...conditionsOf(search, time, sql`f.id`),
  ];
  const where = [...when, ...within(search, time, "f.id")];
  return inOrder(search, "f.id", [sql`few as f`, ...laterals], where);
}

/** By partition, as the index of open runs is. */
function ofOpen(
  search: Search,
  time: Time,
  state: Sql,
  {
    probes = [],
    when = [],
  }: { readonly probes?: readonly Sql[]; readonly when?: readonly Sql[] } = {},
): Ids {
  const rows = [sql`${tableOf(search, "run_page")} as o`, ...probes];
  const where = [sql`o.partition = p.partition`, state, ...within(search, time, "o.run_id")];
  const each = sql`cross join lateral (${inOrder(search, "o.run_id", rows, where)}) as e`;
  return inOrder(search, "e.id", [sql`${tableOf(search, "partition_lease")} as p`, each], when);
}

/** All that the filter asks for besides the state. */
function conditionsOf(search: Search, time: Time, runId: Sql): readonly Sql[] {
  return probesOf(search, tablesOf(search, time, {}), undefined, runId);
}

/** A table that has rows of runs, by their ids. */
interface Table {
  readonly table: Sql;
  readonly id: string;
  readonly where: readonly Sql[];
}

function runTable(search: Search, time: Time): Table {
  const { namespaceId, filter } = search;
  const where = [sql`r.namespace_id = ${namespaceId}`, ...time.run];
  if (filter.workflow !== null) where.push(sql`r.workflow = ${filter.workflow}`);
  if (filter.parent !== null) where.push(sql`r.parent_id = ${filter.parent}`);
  if (filter.key !== null) where.push(hasKey(filter.key));
  return { table: sql`${tableOf(search, "run")} as r`, id: "r.id", where };
}

function markTable(search: Search, name: string, at: number): Table {
  const m = sql.ref(`m${at}`);
  const where = [sql`${m}.namespace_id = ${search.namespaceId} and ${m}.mark = ${name}`];
  return { table: sql`${tableOf(search, "run_mark")} as ${m}`, id: `m${at}.run_id`, where };
}

function tableOf({ schema }: Search, name: string): Sql {
  return sql`${sql.table(`${schema}.${name}`)}`;
}

/**
 * In the order of the first table, and only its ids are bounded. The planner expects no rows within
 * a short time. If both tables had these bounds, it would read the second by the time for each row
 * of the first, and not by the id.
 */
function walk(search: Search, time: Time, wanted: Wanted): Ids {
  const [first = runTable(search, time), ...others] = tablesOf(search, time, wanted);
  const { states } = wanted;
  const joined = others.map(
    ({ table, id }) => sql`join ${table} on ${sql.ref(id)} = ${sql.ref(first.id)}`,
  );
  const from = [first.table, ...joined];
  const where = [
    ...[first, ...others].flatMap((table) => table.where),
    ...within(search, time, first.id),
  ];
  if (states) {
    // Without the limit the planner may read all pages of all runs.
    from.push(sql`cross join lateral (select o.run_state from ${tableOf(search, "run_page")} as o
      where o.run_id = ${sql.ref(first.id)} and o.no = 0 limit 1) as p`);
    where.push(sql`p.run_state = any (${states}::smallint[])`);
  }
  return inOrder(search, first.id, from, where);
}

/** A range of time, by ids and, where these do not say it, by conditions on the run. */
interface Time {
  /** `from`: ids from this one on. `below`: ids below this one. null: no bound. */
  readonly from: string | null;
  readonly below: string | null;
  readonly run: readonly Sql[];
}

/** A run is created before it ends, so the time of its end bounds its id, too. */
function timesOf({ createdAfter, createdBefore, endedBefore, parent }: RunFilter): readonly Time[] {
  const until = Math.min(createdBefore ?? Infinity, endedBefore ?? Infinity);
  const below = until === Infinity ? null : idAt(until);
  const before =
    createdBefore === null
      ? []
      : [sql`r.created_at < to_timestamp(${createdBefore} / 1000.0::float8)`];
  if (createdAfter === null) return [{ from: null, below, run: before }];
  const after = sql`r.created_at >= to_timestamp(${createdAfter} / 1000.0::float8)`;
  if (parent !== null) return [{ from: null, below, run: [after, ...before] }];
  const from = idAt(createdAfter);
  const children = [sql`r.parent_id is not null`, after, ...before];
  return [
    { from, below, run: before },
    { from: null, below: from, run: children },
  ];
}

/** The least id of runs that are created at this time or later, to the millisecond. */
function idAt(time: number): string {
  const ms = Math.min(2 ** 48 - 1, Math.max(0, Math.ceil(time)));
  const hex = ms.toString(16).padStart(12, "0");
  return `${hex.slice(0, 8)}-${hex.slice(8)}-0000-0000-000000000000`;
}

function within({ order, after }: Search, { from, below }: Time, column: string): readonly Sql[] {
  const id = sql.ref(column);
  const ascending = order === "created-asc";
  return [
    ...(from === null ? [] : [sql`${id} >= ${from}::uuid`]),
    ...(below === null ? [] : [sql`${id} < ${below}::uuid`]),
    ...(after === null ? [] : [ascending ? sql`${id} > ${after}` : sql`${id} < ${after}`]),
  ];
}

function directionOf({ order }: Pick<Search, "order">): Sql {
  return order === "created-asc" ? sql`asc` : sql`desc`;
}

function inOrder(
  { order, limit }: Search,
  column: string,
  from: readonly Sql[],
  where: readonly Sql[],
): Ids {
  const id = sql.ref(column);
  const rows = sql.join(from, sql` `);
  const all = where.length === 0 ? rows : sql`${rows} where ${sql.join(where, sql` and `)}`;
  return sql<{
    id: string;
  }>`select ${id} as id from ${all} order by ${id} ${directionOf({ order })} limit ${limit}`;
}
