/**
 * A real Jaeger for tests: built by Go from its module, once, into the repository's .drover/, and
 * started on free ports with its traces in memory. v1.76.0 is the newest version that the module
 * proxy has; its go.mod replaces a module, so `go install` refuses it, and `go build` in its own
 * folder does not. Its page is a placeholder; what the tests ask is its query API.
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdirSync } from "node:fs";
import { join } from "node:path";
import type { TestContext } from "vitest";
import { freeAddress } from "./free-address.ts";
import { go } from "./go-tool.ts";
import { madeOnce } from "./made-once.ts";
import { isRequired } from "./required-tools.ts";
import { until } from "./until.ts";

const VERSION = "v1.76.0";
const cacheFolder = join(import.meta.dirname, "../../.drover");
const program = join(cacheFolder, `jaeger-${VERSION}`);

export interface JaegerSpan {
  readonly traceID: string;
  readonly spanID: string;
  readonly operationName: string;
  readonly references: readonly {
    readonly refType: "CHILD_OF" | "FOLLOWS_FROM";
    readonly traceID: string;
    readonly spanID: string;
  }[];
  /** Microseconds since 1970. */
  readonly startTime: number;
  readonly duration: number;
  readonly processID: string;
  readonly tags: readonly { readonly key: string; readonly value: unknown }[];
  /** What is wrong with it, as one without its parent. */
  readonly warnings: readonly string[] | null;
}

export interface JaegerTrace {
  readonly traceID: string;
  readonly spans: readonly JaegerSpan[];
  readonly processes: Readonly<Record<string, { readonly serviceName: string }>>;
}

export interface Jaeger {
  /** Of OTLP over HTTP, as `http://127.0.0.1:4318`. */
  readonly http: string;
  /** Of OTLP over gRPC, as `grpc://127.0.0.1:4317`. */
  readonly grpc: string;
  /** In which a service has a span; at most so many. */
  traces(service: string, limit: number): Promise<readonly JaegerTrace[]>;
  stop(): Promise<void>;
}

/**
 * For the beginning of a test. Where it is not built the test is skipped: that takes minutes, which
 * CI has (DROVER_REQUIRE), and a first run of the tests has not.
 */
export async function needsJaeger(context: TestContext): Promise<void> {
  if (existsSync(program)) return;
  if (!isRequired("jaeger"))
    context.skip("jaeger is not built: `npm run jaeger` builds it with Go, in minutes");
  await buildJaeger();
}

/** Minutes, the first time. Rejects with what Go prints if it cannot. */
async function buildJaeger(): Promise<void> {
  mkdirSync(cacheFolder, { recursive: true });
  const asked = ["mod", "download", "-json", `github.com/jaegertracing/jaeger@${VERSION}`];
  const { Dir } = JSON.parse(await go(asked, { cwd: cacheFolder })) as { readonly Dir: string };
  const env = { CGO_ENABLED: "0", GOFLAGS: "-buildvcs=false" };
  await madeOnce(program, async (building) => {
    await go(["build", "-o", building, "./cmd/all-in-one"], { cwd: Dir, env });
  });
}

export async function startJaeger(): Promise<Jaeger> {
  const ports = ["collector.otlp.http", "collector.otlp.grpc", "query.http-server"] as const;
  const others = ["query.grpc-server", "admin.http", "collector.grpc-server"];
  const addresses = new Map<string, string>();
  for (const name of [...ports, ...others, "collector.http-server"])
    addresses.set(name, await freeAddress());
  const flags = [...addresses].map(([name, address]) => `--${name}.host-port=${address}`);
  const child = spawn(program, flags, { stdio: "ignore" });
  const [http, grpc, query] = ports.map((name) => addresses.get(name));
  await until("Jaeger is up", async () => {
    if (child.exitCode !== null) throw new Error("Jaeger ended before it was up");
    return fetch(`http://${addresses.get("admin.http")}/`).then(
      ({ status }) => (status === 200 ? true : null),
      () => null,
    );
  });
  return {
    http: `http://${http}`,
    grpc: `grpc://${grpc}`,
    async traces(service, limit) {
      const response = await fetch(`http://${query}/api/traces?service=${service}&limit=${limit}`);
      const { data } = (await response.json()) as { readonly data: readonly JaegerTrace[] | null };
      return data ?? [];
    },
    async stop() {
      child.kill();
      if (child.exitCode === null && child.signalCode === null) await once(child, "exit");
    },
  };
}

if (import.meta.main && !existsSync(program)) await buildJaeger();
