// Every filter and both orders of ListRuns over a history of four weeks, by the call itself: the
// first page, and pages that are deep in the list or, where it is short, its last one.
import { type Client, createClient, type ListRunsSpec } from "../../sdk/typescript/index.ts";
import { loadHistory } from "../bulk-history.ts";
import { settle } from "../bulk-rows.ts";
import { filtersOf, makeListed } from "../listed-runs.ts";
import { type Measured, spreadOf, type Wish } from "../profile.ts";
import { openWorld } from "../world.ts";
import { ROOMY } from "./chain.ts";

const LONG = { runs: 10_000_000, calls: 200 };
const SHORT = { runs: 200_000, calls: 20 };
const DAYS = 28;
const PAGE_SIZE = 50;
/** The first that is deep. */
const DEEP_PAGE = 20;
/** Of a list that does not work: it is not asked for more. */
const FAILURES_MAX = 3;
const CALL_MS = 5_000;
const ORDERS = ["newest-first", "oldest-first"] as const;

export async function list({ short, log }: Wish): Promise<Measured> {
  const form = short ? SHORT : LONG;
  const world = await openWorld(ROOMY);
  const client = createClient({ address: world.address });
  try {
    const { originals, parent } = await makeListed(world.address, form.runs);
    const loadS = await loadHistory(world.database, {
      of: originals,
      days: DAYS,
      log: (done, all) => log(`${done.toLocaleString("en")} of ${all.toLocaleString("en")} runs`),
    });
    log(`loaded in ${Math.round(loadS)} s`);
    await settle(world.database);
    const rows = [];
    for (const [filter, spec] of Object.entries(filtersOf(parent))) {
      for (const order of ORDERS) {
        const asked = { ...spec, order, pageSize: PAGE_SIZE };
        const row = { filter, order, ...(await measure(client, asked, form.calls)) };
        log(`${filter}, ${order}: ${row.first_p99_ms.toFixed(1)} ms`);
        rows.push(row);
      }
    }
    return {
      settings: {
        ...form,
        days: DAYS,
        page_size: PAGE_SIZE,
        deep_page: DEEP_PAGE,
        load_s_per_million: loadS / (form.runs / 1_000_000),
      },
      columns: Object.keys(rows[0] ?? {}),
      rows,
      figures: Object.fromEntries(
        rows.map(({ filter, order, ...row }) => [`${filter}, ${order}`, row]),
      ),
    };
  } finally {
    await client.close();
    await world.stop();
  }
}

interface Page {
  readonly ms: number;
  readonly runs: number;
  /** "": it is the last; null: there was no answer. */
  readonly next: string | null;
}

type Ask = (pageToken: string) => Promise<Page>;

async function measure(client: Client, asked: ListRunsSpec, calls: number) {
  const ask: Ask = async (pageToken) => {
    const startedAt = performance.now();
    const page = await client
      .listRuns({ ...asked, pageToken, signal: AbortSignal.timeout(CALL_MS) })
      .catch(() => null);
    const ms = performance.now() - startedAt;
    return { ms, runs: page?.runs.length ?? 0, next: page?.nextPageToken ?? null };
  };
  const first = await timesOf(ask, calls, { from: "", inTurn: false });
  const deep = first.failed > 0 ? null : await findDeepPage(ask);
  const later = deep && (await timesOf(ask, calls, { from: deep.token, inTurn: true }));
  return {
    found: deep?.found ?? null,
    first_p50_ms: first.p50,
    first_p99_ms: first.p99,
    first_max_ms: first.max,
    later_from_page: deep?.page ?? null,
    later_p50_ms: later?.p50 ?? null,
    later_p99_ms: later?.p99 ?? null,
    later_max_ms: later?.max ?? null,
    failed: first.failed + (later?.failed ?? 0),
  };
}

/** The same page again and again, or in turn all from there on, and again from there. */
async function timesOf(ask: Ask, calls: number, how: { from: string; inTurn: boolean }) {
  const times: number[] = [];
  let failed = 0;
  for (let token = how.from; times.length < calls && failed < FAILURES_MAX; ) {
    const { ms, next } = await ask(token);
    times.push(ms);
    if (next === null) failed++;
    else if (how.inTurn) token = next || how.from;
  }
  return { ...spreadOf(times), failed };
}

/** Where the deep pages begin, or the last page of a list that has none; "950+": there are more. */
async function findDeepPage(ask: Ask) {
  let token = "";
  let page = 1;
  let runs = 0;
  for (; page < DEEP_PAGE; page++) {
    const answer = await ask(token);
    runs += answer.runs;
    if (!answer.next) return { token, page, found: String(runs) };
    token = answer.next;
  }
  return { token, page, found: `${runs}+` };
}
