// What changes seldom and is no part of any transaction: namespaces, definitions, workflows, lanes.
// Each call is done at once, so these, alone of the store, may be used while a transaction is open.

import type { Moment } from "../../core/attempt.ts";
import type { Definition } from "../../core/definition.ts";
import { definitionText } from "../definition-text.ts";
import type { NamespaceSettings } from "../namespaces.ts";
import { REGIONS_MAX } from "../partition.ts";
import type { WorkflowRef } from "../queues.ts";
import type { NamespaceRecord, WorkflowRecord } from "../reads.ts";
import type { LaneKey, Namespace, Store, WorkflowVersion } from "../store.ts";
import { type NamespaceWorld, NOTHING_SET } from "./namespaces.ts";
import type { PinWorld } from "./pins.ts";
import type { KnownLane } from "./queues.ts";

type CatalogueCalls = Pick<
  Store,
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

export interface Catalogue extends CatalogueCalls {
  workflows(namespaceId: number): readonly WorkflowRecord[];
  /** Newest first. */
  versions(namespaceId: number, name: string): readonly WorkflowVersion[];
  namespaceOf(id: number): Namespace;
  /** By name. */
  namespaceRecords(): readonly NamespaceRecord[];
  setNamespace(id: number, settings: Partial<NamespaceSettings>): void;
  /** By their ids, the first of which is 0. */
  regionNames(): readonly string[];
  isWorkflow(of: WorkflowRef): boolean;
  /** Whether the definition is a version of a workflow. */
  isVersion(definitionId: number): boolean;
  /** By their ids, the first of which is 1. */
  knownLanes(): readonly KnownLane[];
  laneOf(lane: number): KnownLane;
  forgetDefinitions: NamespaceWorld["forgetDefinitions"];
  /** What pins ask of it. */
  readonly ofPins: Pick<PinWorld, "makeClass" | "definitionOf">;
}

interface Workflow extends Omit<WorkflowRecord, "latestVersion"> {
  /** Definitions by version, the first of which is 1. */
  readonly definitions: readonly number[];
  readonly createdAts: readonly Moment[];
}

export function createCatalogue(now: () => Moment): Catalogue {
  const { makeClass, ...laned } = lanes();
  const named = workflows(now);
  const definitionOf: PinWorld["definitionOf"] = ({ namespaceId, workflow }, version) =>
    named.versions(namespaceId, workflow).find((one) => one.version === version)?.definitionId ??
    null;
  const ofPins = { makeClass, definitionOf };
  return Object.freeze({
    ...namespaces(now),
    ...definitions(now, named.isVersion),
    ...named,
    ...laned,
    ofPins,
  });
}

function namespaces(
  now: () => Moment,
): Pick<
  Catalogue,
  | "namespace"
  | "createNamespace"
  | "namespaceOf"
  | "namespaceRecords"
  | "regionNames"
  | "setNamespace"
> {
  const byName = new Map<string, Namespace & NamespaceSettings & { readonly createdAt: Moment }>();
  const regions: string[] = [];
  const regionOf = (name: string): number => {
    const known = regions.indexOf(name);
    if (known >= 0) return known;
    if (regions.length >= REGIONS_MAX) throw new RangeError(`there are ${REGIONS_MAX} regions`);
    return regions.push(name) - 1;
  };
  const create = (name: string, region: string): Namespace => {
    const known = byName.get(name);
    if (known) return known;
    const place = { id: byName.size + 1, name, region: regionOf(region) };
    const made = { ...place, createdAt: now(), ...NOTHING_SET };
    byName.set(name, made);
    return made;
  };
  create("default", "default");
  const shown = ({ id, name, region }: Namespace): Namespace => Object.freeze({ id, name, region });
  return {
    async namespace(name) {
      const found = byName.get(name);
      return found ? shown(found) : null;
    },
    createNamespace: async (name, region = "default") => shown(create(name, region)),
    namespaceRecords: () =>
      [...byName.values()]
        .map((one) => ({ ...one, region: regions[one.region] ?? "" }))
        .sort((a, b) => (a.name < b.name ? -1 : 1)),
    regionNames: () => regions,
    setNamespace: (id, settings) => {
      for (const [name, one] of byName)
        if (one.id === id) byName.set(name, { ...one, ...settings });
    },
    namespaceOf: (id) => {
      const found = [...byName.values()].find((one) => one.id === id);
      if (!found) throw new Error(`there is no namespace ${id}`);
      return shown(found);
    },
  };
}

type Definitions = Pick<
  Catalogue,
  "internDefinition" | "definition" | "isWorkflow" | "forgetDefinitions"
>;

function definitions(now: () => Moment, isVersion: (definitionId: number) => boolean): Definitions {
  interface Stored {
    readonly namespaceId: number;
    readonly content: string;
    readonly definition: Definition;
    unusedSince: Moment | null;
  }
  const all = new Map<number, Stored>();
  const ids = new Map<string, number>();
  let made = 0;
  return {
    isWorkflow: (of) =>
      [...all.values()].some(
        ({ namespaceId, definition }) =>
          namespaceId === of.namespaceId && definition.workflow === of.workflow,
      ),
    internDefinition: async (namespaceId, definition) => {
      const content = `${namespaceId} ${definitionText(definition)}`;
      const id = ids.get(content) ?? ++made;
      const copy = all.get(id)?.definition ?? structuredClone(definition);
      ids.set(content, id);
      all.set(id, { namespaceId, content, definition: copy, unusedSince: null });
      return id;
    },
    definition: async (id) => {
      const found = all.get(id);
      if (!found) throw new Error(`there is no definition ${id}`);
      return found.definition;
    },
    forgetDefinitions({ after, limit, keptMs }, isUsed) {
      const page = [...all].filter(([id]) => id > after).slice(0, limit);
      for (const [id, stored] of page) {
        const { unusedSince, content } = stored;
        if (isUsed(id) || isVersion(id)) stored.unusedSince = null;
        else if (unusedSince === null) stored.unusedSince = now();
        else if (unusedSince < now() - keptMs) {
          all.delete(id);
          ids.delete(content);
        }
      }
      return page.length === limit ? (page.at(-1)?.[0] ?? null) : null;
    },
  };
}

function workflows(
  now: () => Moment,
): Pick<
  Catalogue,
  | "registerWorkflow"
  | "setDefaultVersion"
  | "workflowVersion"
  | "workflows"
  | "versions"
  | "isVersion"
> {
  const byName = new Map<string, Workflow>();
  const keyOf = (namespaceId: number, name: string): string => `${namespaceId}/${name}`;
  return {
    registerWorkflow: async ({ namespaceId, name, definitionId, keepDefault }) => {
      const key = keyOf(namespaceId, name);
      const known = byName.get(key);
      const at = known?.definitions.indexOf(definitionId) ?? -1;
      if (at >= 0) return { version: at + 1, created: false };
      const definitionsSoFar = [...(known?.definitions ?? []), definitionId];
      const version = definitionsSoFar.length;
      const defaultVersion = known && keepDefault ? known.defaultVersion : version;
      const createdAt = known?.createdAt ?? now();
      const createdAts = [...(known?.createdAts ?? []), now()];
      byName.set(key, {
        name,
        defaultVersion,
        createdAt,
        createdAts,
        definitions: definitionsSoFar,
      });
      return { version, created: true };
    },
    workflowVersion: async (namespaceId, name, wanted) => {
      const known = byName.get(keyOf(namespaceId, name));
      if (!known) return null;
      const version = wanted === 0 ? known.defaultVersion : wanted;
      const definitionId = known.definitions[version - 1];
      const createdAt = known.createdAts[version - 1];
      if (definitionId === undefined || createdAt === undefined) return null;
      return { definitionId, version, createdAt };
    },
    setDefaultVersion: async (namespaceId, name, version) => {
      const key = keyOf(namespaceId, name);
      const known = byName.get(key);
      if (known?.definitions[version - 1] === undefined) return null;
      byName.set(key, { ...known, defaultVersion: version });
      return known.defaultVersion;
    },
    isVersion: (definitionId) =>
      [...byName.values()].some(({ definitions: all }) => all.includes(definitionId)),
    versions: (namespaceId, name) => {
      const { definitions: all = [], createdAts = [] } = byName.get(keyOf(namespaceId, name)) ?? {};
      return all
        .map((definitionId, at) => ({
          definitionId,
          version: at + 1,
          createdAt: createdAts[at] ?? 0,
        }))
        .reverse();
    },
    workflows: (namespaceId) =>
      [...byName]
        .filter(([key]) => key.startsWith(keyOf(namespaceId, "")))
        .map(([, { name, defaultVersion, createdAt, definitions: all }]) => ({
          name,
          defaultVersion,
          createdAt,
          latestVersion: all.length,
        })),
  };
}

function lanes(): Pick<Catalogue, "lanes" | "lanesOfQueues" | "knownLanes" | "laneOf"> &
  Pick<PinWorld, "makeClass"> {
  const all: KnownLane[] = [];
  const ids = new Map<string, number>();
  /** By queue, the versions of agents that have lanes of their own. */
  const classes = new Map<string, Set<string>>();
  const queueOf = ({ namespaceId, queue }: Pick<LaneKey, "namespaceId" | "queue">) =>
    JSON.stringify([namespaceId, queue]);
  const make = (key: LaneKey, agentVersion: string | null, of: number | null): KnownLane => {
    const { namespaceId, queue, task } = key;
    const lane = all.length + 1;
    const made = { lane, namespaceId, queue, task, agentVersion, base: of ?? lane };
    all.push(made);
    return made;
  };
  const idOf = (key: LaneKey): number => {
    const name = JSON.stringify([key.namespaceId, key.queue, key.task]);
    const known = ids.get(name);
    if (known !== undefined) return known;
    const { lane } = make(key, null, null);
    ids.set(name, lane);
    for (const agentVersion of classes.get(queueOf(key)) ?? []) make(key, agentVersion, lane);
    return lane;
  };
  return {
    knownLanes: () => all,
    lanes: async (keys) => keys.map(idOf),
    lanesOfQueues: async (namespaceId, queues) =>
      all.flatMap(({ lane, queue, task, agentVersion, ...key }) =>
        key.namespaceId === namespaceId && queues.includes(queue) && agentVersion === null
          ? [{ lane, queue, task }]
          : [],
      ),
    laneOf(lane) {
      const known = all[lane - 1];
      if (!known) throw new Error(`there is no lane ${lane}`);
      return known;
    },
    makeClass(of, agentVersion) {
      const known = classes.get(queueOf(of)) ?? new Set();
      if (known.has(agentVersion)) return [];
      classes.set(queueOf(of), known.add(agentVersion));
      return all
        .filter((one) => queueOf(one) === queueOf(of) && one.agentVersion === null)
        .map((one) => make(one, agentVersion, one.lane));
    },
  };
}
