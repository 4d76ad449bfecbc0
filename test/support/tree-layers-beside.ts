// Who may import whom in what is beside the program: rows of the table in tree-layers.ts.
import type { Layer } from "./tree-layers.ts";

export const besideLayers: readonly Layer[] = [
  {
    of: ["migrations/"],
    may: [
      "server/store/postgres/database-schema.ts",
      "server/store/postgres/migrate.ts",
      "dev-postgres/postgres.ts",
      "pg",
    ],
    node: true,
    instead: "it is a program of its own: a migrated, empty database is all that it needs",
  },
  {
    // Started by the command line, the demo and the tests; the server is handed a launcher.
    of: ["dev-postgres/"],
    may: ["server/clock.ts", "pg"],
    types: ["server/config.ts"],
    node: true,
    instead: "the embedded PostgreSQL is a database like any other: it knows nothing of runs",
  },
  {
    // A server, its store and its agents in one process, by virtual time.
    of: ["simulator/"],
    may: [
      "server/core/",
      "server/definition-text/",
      "server/expressions/",
      "server/api/",
      "server/store/*",
      "server/store/memory/",
      "server/clock.ts",
      "server/config.ts",
      "server/rpc-config.ts",
      "server/control-plane.ts",
      "server/duration-text.ts",
      "server/errors.ts",
      "server/uuid.ts",
      "proto/gen/ts/",
      "@bufbuild/protobuf",
      "pino",
      "yaml",
    ],
    node: false,
    instead: "a simulated server is called as any: what it needs more belongs to the server",
  },
  {
    // The world that a story needs around its agents: a server and its database.
    of: ["agents-examples/stage/"],
    may: [
      "sdk/typescript/index.ts",
      "server/main.ts",
      "server/config.ts",
      "dev-postgres/postgres.ts",
      "@opentelemetry/api",
      "@opentelemetry/exporter-trace-otlp-proto",
      "@opentelemetry/resources",
      "@opentelemetry/sdk-trace",
    ],
    node: true,
    instead: "the stage starts a server by server/main.ts, asks it by @drover/sdk, knows no story",
  },
  {
    of: ["agents-examples/stubs/"],
    may: ["proto/gen/ts/", "@bufbuild/protobuf", "@connectrpc/connect", "@connectrpc/connect-node"],
    node: true,
    instead: "a stub is made of generated code alone: what it needs of ours is the contract",
  },
  {
    // Its assistant is a client of MCP.
    of: ["agents-examples/planner/"],
    may: ["agents-examples/stage/", "sdk/typescript/index.ts", "@modelcontextprotocol/client"],
    node: true,
    instead:
      "an example shows what a user can do: import @drover/sdk, or start a process of its own",
  },
  {
    of: ["agents-examples/"],
    may: ["agents-examples/stage/", "sdk/typescript/index.ts"],
    node: true,
    instead:
      "an example shows what a user can do: import @drover/sdk, or start a process of its own",
  },
  {
    of: ["bench/peers/"],
    may: ["@dbos-inc/dbos-sdk", "@restatedev/restate-sdk", "graphile-worker", "pg", "pg-boss"],
    node: true,
    instead: "the program of a peer uses that product as its users do, and nothing of ours",
  },
  {
    of: ["bench/"],
    may: [
      "proto/gen/ts/",
      "sdk/typescript/index.ts",
      "sdk/typescript/channel.ts",
      "sdk/typescript/client.ts",
      "pg",
      "playwright-core",
      "server/main.ts",
      "dev-postgres/postgres.ts",
      "server/store/postgres/migrate.ts",
      "server/store/postgres/migrations-folder.ts",
      "test/support/blackhole-proxy.ts",
      "test/support/http2-bytes.ts",
    ],
    node: true,
    instead: "a benchmark starts a server as a process, and asks it as an agent or a client would",
  },
  {
    of: ["spec/"],
    may: [],
    node: true,
    instead: "a model is beside the code that it mirrors, and needs Spin alone",
  },
  {
    of: ["deploy/sbom/"],
    may: [],
    node: true,
    instead: "the bill of materials is made from the lock file alone",
  },
  {
    of: ["deploy/"],
    may: [],
    node: false,
    instead: "what watches a server from outside knows the names of its metrics alone",
  },
  {
    of: ["docs/"],
    may: [
      "cli/examples.ts",
      "cli/program.ts",
      "commander",
      "deploy/grafana/dashboard.ts",
      "server/core/",
      "simulator/",
      "server/api/operator/limit-list.ts",
      "server/definition-text/schema.ts",
      "server/telemetry/metric-list.ts",
      "server/telemetry/spans.ts",
    ],
    node: true,
    instead: "pages are made from the rules and their tables, which are in core",
  },
];
