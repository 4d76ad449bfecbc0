// What changes rarely: namespaces, definitions, workflows, lanes.
//
// Each call is a transaction of its own that ends at once, even while another transaction is open:
// plans, and the lanes of their tasks, are made while passes of their runs are in progress. The
// open transaction does not write these tables, so neither sees half of the other.
import type { EpochMs } from "../../core/model/attempt.ts";
import { definitionText } from "../definition-text.ts";
import { definitionDeleted, type NamespaceSettings, namespaceDeleted } from "../namespaces.ts";
import { REGIONS_MAX } from "../partition.ts";
import type { WorkflowRef } from "../queues.ts";
import type { EngineStore, LaneKey, Namespace } from "../store.ts";
import {
  type CatalogueTables,
  classKey,
  contentKey,
  type LaneRow,
  laneKey,
  type NamespaceRow,
  workflowRowKey,
} from "./catalogue-tables.ts";
import { type NamespaceWorld, NOTHING_SET } from "./namespaces.ts";
import type { PinWorld } from "./pins.ts";
import type { SharedChanges } from "./shared-changes.ts";

type CatalogueCalls = Pick<
  EngineStore,
  | "namespace"
  | "createNamespace"
  | "internDefinition"
  | "definition"
  | "registerWorkflow"
  | "setDefaultVersion"
  | "workflowVersion"
  | "lanes"
  | "lanesOfQueues"
>;

interface Catalogue {
  readonly calls: CatalogueCalls;
  namespaceOf(id: number): Namespace;
  namespaceRows(): readonly NamespaceRow[];
  setNamespace(id: number, settings: Partial<NamespaceSettings>): void;
  /** By their ids; the first id is 0. */
  regionNames(): readonly string[];
  isWorkflow(of: WorkflowRef): boolean;
  /** Whether the definition is a version of a workflow. */
  isVersion(definitionId: number): boolean;
  laneOf(lane: number): LaneRow;
  forgetDefinitions: NamespaceWorld["forgetDefinitions"];
  /** What pins need from the catalogue. */
  readonly ofPins: Pick<PinWorld, "makeClass" | "definitionOf">;
}

interface World {
  readonly tables: CatalogueTables;
  readonly now: () => EpochMs;
  readonly runConcurrently: SharedChanges["runConcurrently"];
}

type Part<Call extends keyof CatalogueCalls, More extends keyof Catalogue> = Pick<
  Catalogue,
  More
> & { readonly calls: Pick<CatalogueCalls, Call> };

export function createCatalogue(
  tables: CatalogueTables,
  now: () => EpochMs,
  { runConcurrently }: Pick<SharedChanges, "runConcurrently">,
): Catalogue {
  const world = { tables, now, runConcurrently };
  const named = namespaces(world);
  const defined = definitions(world);
  const { makeClass, ...laned } = lanes(world);
  const registered = workflows(world);
  const definitionOf: PinWorld["definitionOf"] = ({ namespaceId, workflow }, version) =>
    tables.workflow.get(workflowRowKey(namespaceId, workflow))?.definitions[version - 1] ?? null;
  return Object.freeze({
    ...named,
    ...defined,
    ...registered,
    ...laned,
    calls: { ...named.calls, ...defined.calls, ...registered.calls, ...laned.calls },
    ofPins: { makeClass, definitionOf },
  });
}

function namespaces({
  tables,
  runConcurrently,
}: World): Part<
  "namespace" | "createNamespace",
  "namespaceOf" | "namespaceRows" | "regionNames" | "setNamespace"
> {
  const regionOf = (name: string): number => {
    const known = tables.region.get(name);
    if (known) return known.id;
    const id = tables.region.all().length;
    if (id >= REGIONS_MAX) throw new RangeError(`there are ${REGIONS_MAX} regions`);
    tables.region.insert({ id, name });
    return id;
  };
  const create = (name: string, region: string): Namespace => {
    const known = tables.namespace.get(name);
    if (known) return known;
    const place = { id: tables.namespace.next(), name, region: regionOf(region) };
    const made = { ...place, ...NOTHING_SET };
    tables.namespace.insert(made);
    return made;
  };
  const rowOf = (id: number) => tables.namespace.where("id", id)[0];
  const shown = ({ id, name, region }: Namespace): Namespace => Object.freeze({ id, name, region });
  const regionNames = (): readonly string[] =>
    tables.region
      .all()
      .sort((a, b) => a.id - b.id)
      .map(({ name }) => name);
  return {
    calls: {
      async namespace(name) {
        const found = tables.namespace.get(name);
        return found ? shown(found) : null;
      },
      createNamespace: (name, region = "default") =>
        runConcurrently(() => shown(create(name, region))),
    },
    namespaceRows: () => tables.namespace.all(),
    regionNames,
    setNamespace: (id, settings) => {
      const row = rowOf(id);
      if (row) tables.namespace.put({ ...row, ...settings });
    },
    namespaceOf: (id) => {
      const found = rowOf(id);
      if (!found) throw new Error(`there is no namespace ${id}`);
      return shown(found);
    },
  };
}

function definitions({
  tables,
  now,
  runConcurrently,
}: World): Part<"internDefinition" | "definition", "isWorkflow" | "forgetDefinitions"> {
  const isVersion = isVersionIn(tables);
  return {
    isWorkflow: ({ namespaceId, workflow }) =>
      tables.definition.where("workflow", workflowRowKey(namespaceId, workflow)).length > 0,
    calls: {
      internDefinition: (namespaceId, given) =>
        runConcurrently(() => {
          if (tables.namespace.where("id", namespaceId).length === 0) throw namespaceDeleted();
          const content = definitionText(given);
          const [known] = tables.definition.where("content", contentKey({ namespaceId, content }));
          const definition = known?.definition ?? structuredClone(given);
          const id = known?.id ?? tables.definition.next();
          if (known?.unusedSince !== null)
            tables.definition.put({ id, namespaceId, content, definition, unusedSince: null });
          return id;
        }),
      definition: async (id) => {
        const found = tables.definition.get(String(id));
        if (!found) throw new Error(`there is no definition ${id}`);
        return found.definition;
      },
    },
    forgetDefinitions({ after, limit, keptMs }, isUsed) {
      const page = tables.definition
        .all()
        .filter(({ id }) => id > after)
        .sort((a, b) => a.id - b.id)
        .slice(0, limit);
      for (const row of page) {
        const { id, unusedSince } = row;
        const used = isUsed(id) || isVersion(id);
        if (used && unusedSince !== null) tables.definition.put({ ...row, unusedSince: null });
        else if (used) continue;
        else if (unusedSince === null) tables.definition.put({ ...row, unusedSince: now() });
        else if (unusedSince < now() - keptMs) tables.definition.removeRow(row);
      }
      return page.length === limit ? (page.at(-1)?.id ?? null) : null;
    },
  };
}

function isVersionIn({ workflow }: CatalogueTables): Catalogue["isVersion"] {
  return (definitionId) => workflow.all().some((row) => row.definitions.includes(definitionId));
}

function workflows({
  tables,
  now,
  runConcurrently,
}: World): Part<"registerWorkflow" | "setDefaultVersion" | "workflowVersion", "isVersion"> {
  const rowOf = (namespaceId: number, name: string) =>
    tables.workflow.get(workflowRowKey(namespaceId, name));
  return {
    calls: {
      registerWorkflow: ({ namespaceId, name, definitionId, keepDefault }) =>
        runConcurrently(() => {
          const known = rowOf(namespaceId, name);
          const at = known?.definitions.indexOf(definitionId) ?? -1;
          if (at >= 0) return { version: at + 1, created: false };
          if (!tables.definition.get(String(definitionId))) throw definitionDeleted();
          const all = [...(known?.definitions ?? []), definitionId];
          const version = all.length;
          tables.workflow.put({
            namespaceId,
            name,
            definitions: all,
            defaultVersion: known && keepDefault ? known.defaultVersion : version,
            createdAts: [...(known?.createdAts ?? []), now()],
          });
          return { version, created: true };
        }),
      workflowVersion: async (namespaceId, name, wanted) => {
        const known = rowOf(namespaceId, name);
        if (!known) return null;
        const newest = known.definitions.length;
        const version = wanted === 0 ? known.defaultVersion : wanted === "newest" ? newest : wanted;
        const definitionId = known.definitions[version - 1];
        const createdAt = known.createdAts[version - 1];
        if (definitionId === undefined || createdAt === undefined) return null;
        return { definitionId, version, createdAt };
      },
      setDefaultVersion: (namespaceId, name, version) =>
        runConcurrently(() => {
          const known = rowOf(namespaceId, name);
          if (known?.definitions[version - 1] === undefined) return null;
          tables.workflow.put({ ...known, defaultVersion: version });
          return known.defaultVersion;
        }),
    },
    isVersion: isVersionIn(tables),
  };
}

function lanes({
  tables,
  runConcurrently,
}: World): Part<"lanes" | "lanesOfQueues", "laneOf"> & Pick<PinWorld, "makeClass"> {
  const make = (key: LaneKey, agentVersion: string | null, of: number | null): LaneRow => {
    const { namespaceId, queue, task } = key;
    const lane = tables.lane.next();
    const made = { lane, namespaceId, queue, task, agentVersion, base: of ?? lane };
    tables.lane.insert(made);
    return made;
  };
  const known = (key: LaneKey): LaneRow | undefined =>
    tables.lane.where("key", laneKey(key)).find(({ agentVersion }) => agentVersion === null);
  const idOf = (key: LaneKey): number => {
    const { lane } = known(key) ?? make(key, null, null);
    for (const { agentVersion } of tables.versionClass.where("queue", classKey(key)))
      if (!tables.lane.where("key", laneKey(key)).some((one) => one.agentVersion === agentVersion))
        make(key, agentVersion, lane);
    return lane;
  };
  return {
    calls: {
      lanes: (keys) => runConcurrently(() => keys.map(idOf)),
      lanesOfQueues: async (namespaceId, queues) =>
        [...new Set(queues)].flatMap((queue) =>
          tables.lane
            .where("queue", classKey({ namespaceId, queue }))
            .flatMap(({ lane, task, agentVersion }) =>
              agentVersion === null ? [{ lane, queue, task }] : [],
            ),
        ),
    },
    laneOf: (lane) => tables.lane.expect(String(lane)),
    makeClass(of, agentVersion) {
      const all = tables.versionClass.where("queue", classKey(of));
      if (all.some((one) => one.agentVersion === agentVersion)) return [];
      const { namespaceId, queue } = of;
      tables.versionClass.insert({ namespaceId, queue, agentVersion });
      return tables.lane
        .where("queue", classKey(of))
        .filter((one) => one.agentVersion === null)
        .map((one) => make(one, agentVersion, one.lane));
    },
  };
}
