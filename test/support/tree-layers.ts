/**
 * Who may import whom. Dependencies flow one way:
 *
 *     core <- expressions
 *     core <- store <- scheduler, dispatch, supervisor <- api <- main
 *
 * The three roles meet in scheduler/advance.ts; `api` sees of them what scheduler.ts
 * and dispatcher.ts export; protobuf types stop at `api`; main.ts constructs.
 */
import { type Import, importsOf, type SourceFile } from "./tree.ts";
import { besideLayers } from "./tree-layers-beside.ts";
import { webLayers } from "./tree-layers-web.ts";

/** One broken rule, as a line with where, what, and what to do instead. */
export type Finding = string;

export interface Layer {
  /**
   * Its files: all below a folder by `x/`, those in it by `x/*`, or one file. The first row counts.
   */
  readonly of: readonly string[];
  /** What they may import, beside the files of the layer itself. */
  readonly may: readonly string[];
  /** Packages of which they may use types alone. */
  readonly types?: readonly string[];
  readonly node: boolean;
  /** What to do instead of an import that is not allowed. */
  readonly instead: string;
}

/** What is in server/store itself; its folders are the stores that implement it. */
const contract = ["server/store/*"];
const tools = ["server/clock.ts", "server/duration-text.ts", "server/errors.ts", "server/uuid.ts"];
const roles = ["server/scheduler/", "server/dispatch/", "server/supervisor/"];

export const layers: readonly Layer[] = [
  {
    of: ["server/core/"],
    // Its problems name durations. The file is not in core: the command line loads it alone.
    may: ["server/duration-text.ts"],
    node: false,
    instead: "the rules import nothing but themselves: hand the fact in with the event or the plan",
  },
  {
    of: ["server/expressions/"],
    may: [
      "server/core/",
      "@bufbuild/cel",
      "@bufbuild/cel-spec",
      "@bufbuild/protobuf",
      "@bufbuild/re2",
      "ajv",
    ],
    node: false,
    instead: "an expression sees the facts that it is handed, and nothing else",
  },
  {
    of: ["server/clock.ts"],
    may: [],
    node: false,
    instead: "the clock imports nothing, since every module may use it",
  },
  {
    of: ["server/errors.ts"],
    may: [],
    node: false,
    instead: "errors import nothing, since every module may use them",
  },
  {
    of: ["server/duration-text.ts"],
    may: [],
    node: false,
    instead: "durations import nothing, since every module may use them",
  },
  {
    of: ["server/uuid.ts"],
    may: ["server/clock.ts"],
    node: false,
    instead: "names need chance and nothing else",
  },
  {
    of: ["server/api/auth/api-token.ts"],
    may: ["server/clock.ts"],
    node: true,
    instead: "a token needs chance and its digest, and nothing else",
  },
  {
    of: [
      "server/config.ts",
      "server/rpc-config.ts",
      "server/tls-config.ts",
      "server/identity-config.ts",
    ],
    may: ["server/core/model/circuit.ts"],
    node: false,
    instead: "settings are plain data: let each module that uses one import it from here",
  },
  {
    of: ["server/batching/batch-queue.ts"],
    may: [],
    node: false,
    instead: "what a batch takes is decided by what waits alone",
  },
  {
    of: ["server/batching/", "server/loop.ts", "server/background/subject.ts"],
    may: ["server/clock.ts", "server/errors.ts"],
    node: false,
    instead: "batches know no item and loops no task: pass a function",
  },
  {
    of: ["server/telemetry/traces/"],
    may: [
      "server/core/",
      ...contract,
      "server/clock.ts",
      "server/telemetry/spans.ts",
      "server/scheduler/run-traces.ts",
      "server/scheduler/commit-summary.ts",
      "server/dispatch/handed-task.ts",
    ],
    types: ["pino"],
    node: true,
    instead: "traces receive what was committed, and change nothing",
  },
  {
    of: ["server/telemetry/measures.ts", "server/telemetry/gauges.ts"],
    may: ["server/core/", ...contract, "server/clock.ts", "server/telemetry/metrics.ts"],
    types: [
      "server/batching/batcher.ts",
      "server/scheduler/commit-summary.ts",
      "server/dispatch/dispatcher.ts",
      "server/supervisor/",
    ],
    node: false,
    instead: "metrics receive what was committed, and change nothing",
  },
  {
    of: ["server/telemetry/"],
    may: [
      "server/config.ts",
      "pino",
      "pino-pretty",
      "@opentelemetry/api",
      "@opentelemetry/exporter-prometheus",
      "@opentelemetry/exporter-trace-otlp-grpc",
      "@opentelemetry/exporter-trace-otlp-proto",
      "@opentelemetry/resources",
      "@opentelemetry/sdk-metrics",
      "@opentelemetry/sdk-trace",
    ],
    node: true,
    instead: "telemetry receives what happens, and asks no other module",
  },
  {
    of: ["server/store/child-run.ts", "server/store/task-secret.ts"],
    may: [...contract, ...tools],
    node: true,
    instead: "the id of a child and a callback's secret need a digest and nothing else",
  },
  {
    of: ["server/store/sketch.ts"],
    may: ["hdr-histogram-js"],
    node: false,
    instead: "a sketch of durations is what the library makes of it",
  },
  {
    of: contract,
    may: ["server/core/", ...tools],
    node: false,
    instead:
      "the contract of the store knows core alone: what is PostgreSQL's is in store/postgres",
  },
  {
    of: ["server/store/postgres/"],
    may: ["server/core/", ...contract, ...tools, "pg", "kysely"],
    types: ["pino"],
    node: true,
    instead: "the store writes and picks rows and decides nothing: rules belong to core",
  },
  {
    of: ["server/store/memory/"],
    may: ["server/core/", ...contract, ...tools],
    node: false,
    instead: "the store writes and picks rows and decides nothing: rules belong to core",
  },
  {
    of: ["server/scheduler/"],
    may: ["server/core/", ...contract, ...tools, "server/batching/", "croner"],
    types: ["pino"],
    node: false,
    instead: "the scheduler calls no other role: let it be handed a function, as HandOver",
  },
  {
    of: ["server/dispatch/"],
    may: ["server/core/", ...contract, ...tools, "server/batching/", "server/scheduler/advance.ts"],
    types: ["pino"],
    node: true,
    instead: "dispatch meets the other roles in scheduler/advance.ts: submit an event there",
  },
  {
    of: ["server/supervisor/"],
    may: [
      "server/core/",
      ...contract,
      ...tools,
      "server/config.ts",
      "server/loop.ts",
      "server/scheduler/advance.ts",
      "server/scheduler/rewrite-derived.ts",
    ],
    types: ["pino"],
    node: false,
    instead: "the supervisor has no remedy of its own: submit an event to scheduler/advance.ts",
  },
  {
    of: ["server/integrations/webhooks/"],
    may: ["server/core/", "server/clock.ts", "server/supervisor/webhook-deliveries.ts"],
    node: true,
    instead: "it sends what it is handed: what is sent, and when, belongs to the supervisor",
  },
  {
    of: ["server/integrations/triggers/"],
    may: [
      "server/core/",
      "server/expressions/",
      "server/scheduler/",
      ...contract,
      ...tools,
      "server/loop.ts",
    ],
    types: ["pino"],
    node: true,
    instead:
      "a trigger asks the scheduler and no other module: what the edge needs is trigger-work.ts",
  },
  {
    of: ["server/definition-text/"],
    may: [
      "server/core/",
      "server/duration-text.ts",
      "server/errors.ts",
      "proto/gen/ts/",
      "@bufbuild/protobuf",
      "yaml",
    ],
    node: false,
    instead: "a text becomes a message, or a list of problems: what is done with it is the edge's",
  },
  {
    of: ["server/api/"],
    may: [
      "server/core/",
      "server/definition-text/",
      ...contract,
      ...tools,
      "server/config.ts",
      "server/rpc-config.ts",
      "server/tls-config.ts",
      "server/identity-config.ts",
      "server/loop.ts",
      "server/batching/batcher.ts",
      "server/scheduler/scheduler.ts",
      "server/dispatch/dispatcher.ts",
      "server/dispatch/token.ts",
      "proto/gen/ts/",
      "@bufbuild/protobuf",
      "@bufbuild/protovalidate",
      "@connectrpc/connect",
      "@connectrpc/connect-node",
      "@grpc/grpc-js",
      "jose",
      "yaml",
    ],
    types: [
      "server/expressions/trigger-mapping.ts",
      "server/integrations/triggers/trigger-work.ts",
    ],
    node: true,
    instead: "the edge sees scheduler.ts, dispatcher.ts and reads: widen one of them",
  },
  {
    of: [
      "server/control-plane.ts",
      "server/plane/",
      "server/life-cycle.ts",
      "server/background/",
      "server/integrations/inbox.ts",
    ],
    may: [
      ...roles,
      ...contract,
      ...tools,
      "server/config.ts",
      "server/core/",
      "server/expressions/",
      "server/batching/",
      "server/loop.ts",
      "server/telemetry/",
      "server/integrations/triggers/",
    ],
    types: ["pino"],
    node: false,
    instead:
      "the control plane is put together over any store and any edge: main.ts has the real ones",
  },
  {
    of: ["server/first-token.ts"],
    may: ["server/", "proto/gen/ts/drover/v1/token_pb.ts", "@bufbuild/protobuf"],
    node: false,
    instead: "the first token is made by the rules of CreateToken, over the real store",
  },
  {
    of: ["server/main.ts"],
    may: ["server/"],
    types: ["pino"],
    node: true,
    instead: "import it from server/",
  },
  {
    of: ["sdk/typescript/"],
    // `leven` finds the key that a mistyped one means.
    may: [
      "proto/gen/ts/",
      "@bufbuild/protobuf",
      "@grpc/grpc-js",
      "@opentelemetry/api",
      "@standard-schema/spec",
      "leven",
    ],
    node: true,
    instead: "the SDK knows the contract alone, as an agent in any language does",
  },
  {
    of: ["agents/"],
    may: [
      "sdk/typescript/index.ts",
      "proto/gen/ts/drover/v1/task_pb.ts",
      // The expressions of workflows, the reader of their texts, and the addresses to refuse.
      "server/expressions/",
      "server/definition-text/",
      "server/duration-text.ts",
      "server/integrations/webhooks/refused-addresses.ts",
      "server/telemetry/log.ts",
      "@bufbuild/protobuf",
      "@opentelemetry/api",
      "@opentelemetry/exporter-trace-otlp-proto",
      "@opentelemetry/resources",
      "@opentelemetry/sdk-trace",
      "ajv",
    ],
    types: ["server/config.ts"],
    node: true,
    instead: "a ready-made agent is an agent of @drover/sdk: it knows the server by the contract",
  },
  {
    of: ["release/"],
    may: ["@changesets/read"],
    node: true,
    instead: "what packs the packages compiles them and imports nothing of them",
  },
  {
    of: ["cli/graph/"],
    may: [
      "proto/gen/ts/",
      "@bufbuild/protobuf",
      "@dagrejs/dagre",
      "cli/words.ts",
      "cli/run-words.ts",
      "cli/state-words.ts",
    ],
    node: false,
    instead: "a graph is made of the contract's messages alone, so that a browser can make it too",
  },
  {
    of: ["cli/projects/"],
    may: ["sdk/typescript/index.ts", "sdk/typescript/testing.ts"],
    node: true,
    instead: "a project shows what a user can do: import @drover/sdk",
  },
  {
    of: ["cli/mcp/"],
    may: [
      "sdk/typescript/index.ts",
      "server/errors.ts",
      "@modelcontextprotocol/server",
      "zod",
      "cli/client.ts",
      "cli/sdk-connection.ts",
      "cli/check-text.ts",
      "cli/text-refusal.ts",
      "cli/escalation-words.ts",
      "cli/failure.ts",
      "cli/words.ts",
    ],
    node: true,
    instead: "a tool asks a server by @drover/sdk, with the connection of the command line",
  },
  {
    of: ["cli/"],
    may: [
      "proto/gen/ts/",
      "server/main.ts",
      "server/first-token.ts",
      "server/config.ts",
      "server/rpc-config.ts",
      "server/tls-config.ts",
      "server/identity-config.ts",
      "server/store/partition.ts",
      "server/store/postgres/database-schema.ts",
      "server/store/postgres/distribute.ts",
      "server/duration-text.ts",
      "server/errors.ts",
      "dev-postgres/",
      "server/store/postgres/migrate.ts",
      "server/store/postgres/migrations-folder.ts",
      "server/store/postgres/roles.ts",
      // `workflow check` reads a text as the server would, and `test` plays it, without one.
      "server/definition-text/",
      "server/expressions/",
      "server/api/",
      "simulator/",
      "server/core/definition/definition.ts",
      "@bufbuild/protobuf",
      "@connectrpc/connect",
      "@connectrpc/connect-node",
      // `bench` is a client and an agent as a user writes them.
      "sdk/typescript/index.ts",
      "agents/run-agent.ts",
      "hdr-histogram-js",
      "commander",
      "diff",
      "yaml",
    ],
    node: true,
    instead: "the command line asks a server by RPC, or starts one by server/main.ts",
  },
  ...webLayers,
  ...besideLayers,
];

/** Imports across layers that are not allowed, and files that belong to no layer. */
export function brokenLayers(file: SourceFile): readonly Finding[] {
  const layer = layers.find(({ of }) => fits(of, file.path));
  if (!layer)
    return [`${file.path}:1 belongs to no layer: give it a row in test/support/tree-layers.ts`];
  return importsOf(file)
    .filter((one) => !mayImport(layer, one))
    .map(({ line, target }) => `${file.path}:${line} imports ${target}: ${layer.instead}`);
}

function mayImport(layer: Layer, { target, typeOnly }: Import): boolean {
  if (target.startsWith("node:")) return layer.node;
  if (fits(layer.of, target) || fits(layer.may, target)) return true;
  return typeOnly && layer.types !== undefined && fits(layer.types, target);
}

function fits(paths: readonly string[], path: string): boolean {
  return paths.some((allowed) => {
    if (allowed.endsWith("/")) return path.startsWith(allowed);
    const folder = allowed.endsWith("/*") ? allowed.slice(0, -1) : null;
    if (folder === null) return path === allowed;
    return path.startsWith(folder) && !path.slice(folder.length).includes("/");
  });
}
