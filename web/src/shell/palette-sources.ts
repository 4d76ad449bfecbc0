// The entries of the command palette: the pages, and what the lists of the namespace contain. The
// lists are loaded when the palette opens. A run is also searched for by its whole id or key.
import type { AgentInfo } from "@drover/proto/drover/v1/agent_info_pb.ts";
import type { Run } from "@drover/proto/drover/v1/run_pb.ts";
import { operator, scheduler } from "../calls/clients.ts";
import { type Loaded, useCall } from "../calls/use-call.ts";
import { pages } from "../pages.tsx";
import { addressOf, routes } from "../routes.ts";
import { useNamespace } from "./namespace.tsx";
import type { Entry, Source } from "./palette-entries.ts";

/** The most that a list returns at once. */
const LISTED_MAX = 1_000;
const NEWEST_RUNS = 200;

const pageEntries: readonly Entry[] = routes
  .filter(({ id, letter }) => letter !== null && pages[id] !== undefined)
  .map((route) => ({ name: route.title, href: addressOf(route) }));

export interface Found {
  readonly sources: readonly Source[];
  readonly loading: boolean;
  /** What could not be loaded, as sentences. */
  readonly problems: readonly string[];
}

/** Without a typed text only the pages. */
export function useSources(typed: string): Found {
  const lists = useLists();
  const named = useNamedRun(typed);
  const asked = [named, ...lists];
  const found = lists.flatMap((list) => (list.kind === "loaded" ? [list.value] : []));
  const run = named.kind === "loaded" ? named.value : null;
  return {
    sources: [
      { title: "Pages", entries: pageEntries, among: "" },
      ...(typed === "" ? [] : found.map((source) => withRun(source, run))),
    ],
    loading: asked.some(({ kind }) => kind === "loading"),
    problems: asked.flatMap((one) => (one.kind === "failed" ? [one.problem.message] : [])),
  };
}

const RUNS = "Runs";

/** The named run may be older than those of the list. */
function withRun(source: Source, run: Entry | null): Source {
  const { title, entries } = source;
  const isNew = run !== null && entries.every(({ href }) => href !== run.href);
  return title === RUNS && isNew ? { ...source, entries: [run, ...entries] } : source;
}

function useLists(): readonly Loaded<Source>[] {
  const namespace = useNamespace();
  const page = { namespace, pageSize: LISTED_MAX };
  const workflows = useCall(`palette workflows ${namespace}`, async (signal) => {
    const { workflows: all, nextPageToken } = await scheduler.listWorkflows(page, { signal });
    return sourceOf("Workflows", all.map(entryIn("workflows")), nextPageToken);
  });
  const queues = useCall(`palette queues ${namespace}`, async (signal) => {
    const { queues: all, nextPageToken } = await operator.listQueues(page, { signal });
    return sourceOf("Queues", all.map(entryIn("queues")), nextPageToken);
  });
  const agents = useCall(`palette agents ${namespace}`, async (signal) => {
    const { agents: all, nextPageToken } = await operator.listAgents(page, { signal });
    return sourceOf("Agents", all.map(agentEntry), nextPageToken);
  });
  const schedules = useCall(`palette schedules ${namespace}`, async (signal) => {
    const { schedules: all, nextPageToken } = await scheduler.listSchedules(page, { signal });
    return sourceOf("Schedules", all.map(entryIn("schedules")), nextPageToken);
  });
  const runs = useCall(`palette runs ${namespace}`, async (signal) => {
    const asked = { namespace, pageSize: NEWEST_RUNS };
    const { runs: newest, nextPageToken } = await scheduler.listRuns(asked, { signal });
    const among = nextPageToken === "" ? "" : `the newest ${NEWEST_RUNS}`;
    return { title: RUNS, entries: newest.map(runEntry), among };
  });
  return [workflows, queues, agents, schedules, runs];
}

function sourceOf(title: string, entries: readonly Entry[], nextPageToken: string): Source {
  return { title, entries, among: nextPageToken === "" ? "" : `the first ${entries.length}` };
}

const entryIn =
  (folder: string) =>
  ({ name }: { readonly name: string }): Entry => ({ name, href: `/${folder}/${name}` });

function agentEntry({ id, session, version, silentSinceTime }: AgentInfo): Entry {
  const note = [version, silentSinceTime ? "silent" : ""].filter((one) => one !== "").join(", ");
  return { name: id, note, href: `/queues?agent=${session.toHex()}` };
}

const UUID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

/** null: nothing is typed, or no run has this name. */
function useNamedRun(typed: string): Loaded<Entry | null> {
  const namespace = useNamespace();
  const run = UUID.test(typed)
    ? ({ ref: { case: "runId", value: typed.toLowerCase() } } as const)
    : ({ ref: { case: "key", value: typed } } as const);
  const key = typed === "" ? null : `palette run ${namespace} ${typed}`;
  const found = useCall(key, async (signal) => {
    const answer = await scheduler.getRun({ namespace, run }, { signal });
    return answer.run ? runEntry(answer.run) : null;
  });
  // Most of what is typed names no run, and some of it cannot be a key.
  const isNone = found.kind === "failed" && /missing|refused/.test(found.problem.kind);
  return key === null || isNone ? { kind: "loaded", value: null } : found;
}

function runEntry({ runId, key, workflow }: Run): Entry {
  const href = `/runs/${runId}`;
  if (key === "") return { name: runId, note: workflow, href };
  return { name: key, note: workflow, id: runId, href };
}
