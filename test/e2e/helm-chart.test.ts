// The chart of deploy/helm: helm and kubeconform accept it with each file of values; what it runs,
// drover takes; its parts find each other; and what its pods run serves where probes ask, stops in
// time, and needs no more than the rights that the database's roles give.
import { randomBytes } from "node:crypto";
import { copyFileSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { get as getPlain, type IncomingMessage } from "node:http";
import { get as getSecure } from "node:https";
import { dirname, join } from "node:path";
import pg from "pg";
import { afterAll, beforeEach, describe, expect, inject, onTestFinished, test } from "vitest";
import { parse } from "yaml";
import { createProgram } from "../../cli/program.ts";
import { statusPages } from "../../server/api/transport/pages.ts";
import { RPC_DEFAULTS } from "../../server/rpc-config.ts";
import { createCertificates } from "../support/certificates.ts";
import {
  type DeploymentTools,
  deploymentTools,
  KUBERNETES,
  TOOLS_MS_MAX,
} from "../support/deployment-tools.ts";
import { drover, startDrover } from "../support/drover-process.ts";
import { makeTestFolder } from "../support/global-postgres.ts";
import {
  chartFolder,
  environmentOf,
  type Labels,
  type Pod,
  type Rendered,
  render,
} from "../support/helm-chart.ts";
import { commandProblems } from "../support/known-command.ts";
import { createTestDatabase } from "../support/postgres.ts";

const CI = ["minimal", "full", "trial"] as const;
const certificates = createCertificates();
afterAll(() => certificates.remove());
const valuesFile = (name: string) => join(chartFolder, `ci/${name}-values.yaml`);

let tools: DeploymentTools;
let folder: string;
beforeEach(async (context) => {
  tools = await deploymentTools(context);
  folder = makeTestFolder();
  onTestFinished(() => rmSync(folder, { recursive: true }));
}, TOOLS_MS_MAX);

const rendered = (name: string, ...sets: readonly string[]): Promise<Rendered> =>
  render(tools, { values: valuesFile(name), sets, to: folder });

interface Summary {
  readonly summary: Readonly<Record<"valid" | "invalid" | "errors" | "skipped", number>>;
}

describe.each(CI)("with the values %s", (name) => {
  test("helm accepts it", async () => {
    const how = ["--strict", "--kube-version", KUBERNETES[0], "--values", valuesFile(name)];
    const { code, stdout } = await tools.helm(["lint", ...how, chartFolder]);
    expect(code, stdout).toBe(0);
  });

  test.each(KUBERNETES)("its manifests are those of Kubernetes %s", async (version) => {
    const { file, all } = await rendered(name);
    const { stdout } = await tools.kubeconform(file, version);
    const { summary }: Summary = JSON.parse(stdout);
    expect(summary, stdout).toEqual({ valid: all.length, invalid: 0, errors: 0, skipped: 0 });
  });

  test("drover takes each command with its settings", async () => {
    const manifests = await rendered(name);
    expect(manifests.pods.length).toBeGreaterThanOrEqual(2);
    for (const { pod } of manifests.pods) {
      const [container] = pod.spec.containers;
      const env = environmentOf(manifests, container, () => "postgresql://db/drover");
      expect(await commandProblems(container.args, env)).toEqual([]);
      const wrong = { ...env, DROVER_LOG_RETENTIONS: "1d" };
      expect(await commandProblems(container.args, wrong)).toHaveLength(1);
    }
  });

  test("servers and supervisors leave the migration to the Job before them", async () => {
    const { pods, ofKind } = await rendered(name);
    for (const { name: of, pod } of pods)
      expect(pod.spec.containers[0].args.includes("--no-migrate"), of).toBe(of !== "migrate");
    const [job] = ofKind("Job");
    expect(job?.metadata.annotations?.["helm.sh/hook"]).toBe("pre-install,pre-upgrade");
    // What the chart creates is not there yet.
    expect(job?.spec.template.spec.serviceAccountName).toBeUndefined();
    expect(job?.spec.template.spec.containers[0].envFrom).toBeUndefined();
  });

  test("each pod is without privileges, without a token, and bounded", async () => {
    const { pods, ofKind } = await rendered(name);
    for (const { pod } of pods) {
      const { spec } = pod;
      expect(spec).toMatchObject({
        automountServiceAccountToken: false,
        // Kubernetes would set DROVER_PORT, which is no setting.
        enableServiceLinks: false,
        securityContext: {
          runAsNonRoot: true,
          runAsUser: 65532,
          seccompProfile: { type: "RuntimeDefault" },
        },
      });
      const [container] = spec.containers;
      expect(container.securityContext).toEqual({
        allowPrivilegeEscalation: false,
        readOnlyRootFilesystem: true,
        capabilities: { drop: ["ALL"] },
      });
      expect(container.image).not.toMatch(/:latest|:$/);
      expect(container.resources.limits.memory).toMatch(/^\d+(Mi|Gi)$/);
      const mounted = (container.volumeMounts ?? []).map((mount) => mount.name).sort();
      expect(mounted).toEqual((spec.volumes ?? []).map((volume) => volume.name).sort());
    }
    for (const account of ofKind("ServiceAccount"))
      expect(account.automountServiceAccountToken).toBe(false);
  });

  test("a server is given the time that it needs to stop", async () => {
    const { pods, ofKind } = await rendered(name);
    const lameDuck = ofKind("ConfigMap")[0]?.data?.DROVER_LAME_DUCK ?? "";
    const seconds = Number(/^(\d+)s$/.exec(lameDuck)?.[1]);
    for (const { name: of, pod } of pods.filter((one) => one.name !== "migrate")) {
      const needed = of === "server" ? seconds + RPC_DEFAULTS.drainMs / 1_000 + 20 : 20;
      expect(pod.spec.terminationGracePeriodSeconds, of).toBeGreaterThanOrEqual(needed);
    }
  });

  test("probes ask pages that there are, at ports that there are", async () => {
    const pages = Object.keys(
      statusPages(
        async () => undefined,
        () => false,
        healthy,
      ),
    );
    const { pods } = await rendered(name);
    for (const { pod } of pods.filter((one) => one.name !== "migrate")) {
      const { startupProbe, livenessProbe, readinessProbe, ports = [] } = pod.spec.containers[0];
      for (const probe of [startupProbe, livenessProbe, readinessProbe]) {
        expect(pages).toContain(probe?.httpGet.path);
        expect(ports.map((port) => port.name)).toContain(probe?.httpGet.port);
        expect(probe?.httpGet.scheme).toBe(name === "full" ? "HTTPS" : "HTTP");
      }
      expect(readinessProbe?.httpGet.path).toBe("/readyz");
      expect(livenessProbe?.httpGet.path).toBe("/healthz");
    }
  });

  test("its parts find each other", async () => {
    const { pods, ofKind } = await rendered(name);
    const found = (selector: Labels) => pods.filter(({ pod }) => hasLabels(pod, selector));
    const services = ofKind("Service");
    for (const { metadata, spec } of services) {
      const [target, ...others] = found(spec.selector);
      expect(others, metadata.name).toEqual([]);
      const names = target?.pod.spec.containers[0].ports?.map((port) => port.name);
      for (const { targetPort } of spec.ports) expect(names).toContain(targetPort);
    }
    for (const { metadata, spec } of ofKind("PodDisruptionBudget"))
      expect(found(spec.selector.matchLabels), metadata.name).toHaveLength(1);
    for (const { metadata, spec } of ofKind("NetworkPolicy")) {
      const [target, ...others] = found(spec.podSelector.matchLabels);
      expect(others, metadata.name).toEqual([]);
      const names = target?.pod.spec.containers[0].ports?.map((port) => port.name) ?? [];
      for (const { ports } of spec.ingress ?? []) expect(names).toContain(ports[0]?.port);
    }
    for (const { metadata, spec } of ofKind("ServiceMonitor")) {
      const scraped = services.filter((one) => hasLabels(one, spec.selector.matchLabels));
      expect(scraped, metadata.name).toHaveLength(1);
      expect(scraped[0]?.metadata.labels[spec.jobLabel ?? ""]).toBe("drover");
      for (const { port } of spec.endpoints)
        expect(scraped[0]?.spec.ports.map((one) => one.name)).toContain(port);
    }
  });

  test("what it runs is served, by the rights of the roles, and stops in time", async () => {
    await runsAndStops(await rendered(name));
  });
});

const healthy = () => ({ status: "ok", reasons: [] }) as const;
const hasLabels = ({ metadata }: Pick<Pod, "metadata">, selector: Labels) =>
  Object.entries(selector).every(([name, value]) => metadata.labels[name] === value);

test("kubeconform refuses a field that does not exist, also of a ServiceMonitor", async () => {
  const { file } = await rendered("full");
  const text = readFileSync(file, "utf8");
  writeFileSync(file, text.replace("maxUnavailable: 1\n", "maxUnavailabel: 1\n"));
  const wrong = await tools.kubeconform(file, KUBERNETES[1]);
  expect(wrong.stdout).toContain("maxUnavailabel");
  writeFileSync(file, text.replace("jobLabel:", "jobLabels:"));
  expect((await tools.kubeconform(file, KUBERNETES[1])).stdout).toContain("jobLabels");
});

describe("values are refused", () => {
  test.each([
    ["a setting that does not exist", "settings.DROVER_LOG_RETENTIONS=1d", "DROVER_LOG_RETENTIONS"],
    ["a setting that another value decides", "settings.DROVER_MIGRATE=yes", "DROVER_MIGRATE"],
    ["a value that does not exist", "server.replica=2", "replica"],
    ["a lame-duck time in words", "server.lameDuckSeconds=10s", "lameDuckSeconds"],
    ["an image that may change", "image.tag=latest", "/image/tag"],
    ["no database", "database.secretName=", "/database/secretName"],
    ["tokens in plain text", "tls.inFront=false", "set tls.secretName, or tls.inFront: true"],
    ["tokens that nothing asks for", "insecureNoAuth=true", "set one of them to false"],
    ["an open server that is not meant", "requireTokens=false", "insecureNoAuth: true"],
    ["client certificates without TLS", "tls.clientsSecretName=a", "set tls.secretName"],
  ])("%s", async (_, set, says) => {
    await expect(rendered("minimal", set)).rejects.toThrow(says);
  });

  test("unless a database and TLS are named", async () => {
    await expect(render(tools, { to: folder })).rejects.toThrow("/database/secretName");
  });
});

test("the settings of values.schema.json are those of servers and supervisors", async () => {
  const { commands } = await createProgram("0", () => undefined);
  const verbs = commands.filter((one) => ["server", "supervisor"].includes(one.name()));
  const names = verbs.flatMap(({ options }) => options.flatMap(({ envVar }) => envVar ?? []));
  // Other values decide them; and Kubernetes' probes have no certificate.
  const others = new Set([
    ...["DATABASE_URL", "DROVER_DIRECT_URL", "DROVER_DATABASE_SCHEMA", "DROVER_DATA_DIR"],
    ...["DROVER_MIGRATE", "DROVER_SUPERVISOR", "DROVER_LAME_DUCK", "DROVER_REQUIRE_TOKENS"],
    ...["DROVER_TLS_IN_FRONT", "DROVER_TLS_CERT_FILE", "DROVER_TLS_KEY_FILE"],
    ...["DROVER_TLS_CLIENT_CA_FILE", "DROVER_TLS_CLIENT_IDENTITIES_FILE"],
    "DROVER_TLS_REQUIRE_CLIENT_CERT",
  ]);
  const allowed = [...new Set(names)].filter((name) => !others.has(name)).sort();
  expect(valuesSchema().properties?.settings?.propertyNames?.enum).toEqual(allowed);
});

test("values.yaml has each value of the schema", () => {
  const values: unknown = parse(readFileSync(join(chartFolder, "values.yaml"), "utf8"));
  const missing: string[] = [];
  const compare = (schema: ValuesSchema, value: unknown, path: string): void => {
    if (typeof value !== "object" || value === null) missing.push(path);
    else
      for (const [name, of] of Object.entries(schema.properties ?? {})) {
        const found: unknown = Reflect.get(value, name);
        const where = `${path}.${name}`;
        if (found === undefined && !["requests", "limits", "claims", "global"].includes(name))
          missing.push(where);
        else if (of.properties && found !== undefined) compare(of, found, where);
      }
  };
  compare(valuesSchema(), values, "");
  expect(missing).toEqual([]);
});

interface ValuesSchema {
  readonly properties?: Readonly<Record<string, ValuesSchema>>;
  readonly propertyNames?: { readonly enum: readonly string[] };
}

function valuesSchema(): ValuesSchema {
  const schema: ValuesSchema = JSON.parse(
    readFileSync(join(chartFolder, "values.schema.json"), "utf8"),
  );
  return schema;
}

describe("the page of Kubernetes", () => {
  const page = readFileSync(join(chartFolder, "../../../docs/KUBERNETES.md"), "utf8");

  test("shows values that the chart takes, with a role of their own for migrations", async () => {
    const [, text = ""] = /^```yaml\n(.*?)^```$/ms.exec(page) ?? [];
    const values = join(folder, "values.yaml");
    writeFileSync(values, text);
    const manifests = await render(tools, { values, to: folder });
    const secrets = manifests.pods.map(({ name, pod }) => {
      const url = pod.spec.containers[0].env.find((one) => one.name === "DATABASE_URL");
      return [name, url?.valueFrom?.secretKeyRef.name];
    });
    expect(secrets.sort()).toEqual([
      ["migrate", "drover-owner"],
      ["server", "drover-database"],
    ]);
  });

  test("names values that there are", () => {
    const values: unknown = parse(readFileSync(join(chartFolder, "values.yaml"), "utf8"));
    const tops = Object.keys(valuesSchema().properties ?? {});
    const names = [...page.matchAll(/`(\w+\.\w+)(?:: [^`]+)?`/g)].map(([, name = ""]) => name);
    const ours = names.filter((name) => tops.includes(name.split(".")[0] ?? ""));
    expect(ours.length).toBeGreaterThan(10);
    const isThere = (name: string) =>
      name.split(".").reduce<unknown>((of, key) => Reflect.get(Object(of), key), values);
    expect(ours.filter((name) => isThere(name) === undefined)).toEqual([]);
  });

  test("calls the command by its path in the image, as NOTES.txt does", () => {
    const file = readFileSync(join(chartFolder, "../../container/Containerfile"), "utf8");
    const [, entrypoint = "[]"] = /^ENTRYPOINT (.*)$/m.exec(file) ?? [];
    const command = (JSON.parse(entrypoint) as readonly string[]).join(" ");
    expect(page).toContain(command);
    expect(readFileSync(join(chartFolder, "templates/NOTES.txt"), "utf8")).toContain(command);
  });
});

/** An empty database, and a role that is a member of drover_server. */
async function openDatabase() {
  const database = await createTestDatabase({ empty: true });
  const role = `drover_chart_${randomBytes(4).toString("hex")}`;
  const admin = new URL(inject("testAdminUrl"));
  admin.pathname = new URL(database.connectionString).pathname;
  const onAdmin = async (text: string) => {
    const client = new pg.Client({ connectionString: admin.href });
    await client.connect();
    await client.query(text).finally(() => client.end());
  };
  const owner = admin.href;
  const server = new URL(database.connectionString);
  server.username = role;
  server.password = "secret";
  onTestFinished(async () => {
    await onAdmin(`drop owned by ${role}; drop role ${role}`).catch(() => undefined);
    await database.drop();
  });
  const createRole = () =>
    onAdmin(`create role ${role} login password 'secret' in role drover_server`);
  return { owner, server: server.href, createRole };
}

/** What Secrets contain, as files where pods mount them. */
async function mountSecrets(databaseUrl: string) {
  const authority = await certificates.authority("Test");
  const { certFile, keyFile } = await authority.issue({ name: "server" });
  const at = (path: string) => join(folder, "etc", path);
  for (const path of ["tls/tls.crt", "clients/ca.crt", "config/drover.yaml"])
    mkdirSync(dirname(at(path)), { recursive: true });
  copyFileSync(certFile, at("tls/tls.crt"));
  copyFileSync(keyFile, at("tls/tls.key"));
  copyFileSync(authority.certFile, at("clients/ca.crt"));
  writeFileSync(at("clients/identities.yaml"), "identities:\n  - cn: ada\n    role: viewer\n");
  writeFileSync(at("config/drover.yaml"), `database-url: ${databaseUrl}\n`);
  return readFileSync(authority.certFile);
}

/** The pods' processes, with free ports of loopback and the Secrets in a folder. */
async function runsAndStops(manifests: Rendered): Promise<void> {
  const database = await openDatabase();
  const ca = await mountSecrets(database.owner);
  const commandOf = (of: string, url: string) => {
    const found = manifests.pods.find((one) => one.name === of)?.pod.spec;
    if (!found) throw new Error(`there is no ${of}`);
    const [container] = found.containers;
    const env = environmentOf(manifests, container, () => url);
    const here = (text: string) =>
      text
        .replace("/etc/drover/", `${join(folder, "etc")}/`)
        .replace(/0\.0\.0\.0:\d+/, "127.0.0.1:0");
    const entries = Object.entries(env).map(([name, value]) => [name, here(value)]);
    const given = Object.fromEntries(entries);
    if (given.DROVER_LAME_DUCK !== undefined) given.DROVER_LAME_DUCK = "1s";
    return { args: container.args.map(here), options: { env: given }, container, spec: found };
  };
  const migration = commandOf("migrate", database.owner);
  expect(await drover(migration.args, migration.options)).toMatchObject({ code: 0 });
  const hasRoles = migration.args.includes("--roles");
  if (hasRoles) await database.createRole();
  const url = hasRoles ? database.server : database.owner;
  const others = manifests.pods.filter((one) => one.name !== "migrate").map((one) => one.name);
  expect(others).toContain("server");
  for (const of of others) {
    const { args, options, container, spec } = commandOf(of, url);
    const one = startDrover(args, options);
    const port = Number(/:\/\/127\.0\.0\.1:(\d+)/.exec(await one.wrote("://127"))?.[1]);
    for (const probe of [container.livenessProbe, container.readinessProbe]) {
      const { path = "", scheme } = probe?.httpGet ?? {};
      expect(await statusOf(scheme === "HTTPS" ? ca : null, port, path)).toBe(200);
    }
    const startedAt = performance.now();
    one.signal("SIGTERM");
    expect(await one.ended).toMatchObject({ code: 0 });
    const graceMs = (spec.terminationGracePeriodSeconds ?? 0) * 1_000;
    expect(performance.now() - startedAt).toBeLessThan(graceMs);
  }
  // As NOTES.txt says it, in the pod of a server.
  const first = "token create first --role admin --all-namespaces --by ada --in-database";
  const { options } = commandOf("server", url);
  expect(await drover(first.split(" "), options)).toMatchObject({ code: 0 });
}

/** `ca` null: plain text. As kubelet asks, by the address. */
async function statusOf(ca: Buffer | null, port: number, path: string): Promise<number> {
  return new Promise((resolve, reject) => {
    const to = { host: "127.0.0.1", port, path };
    const answered = (response: IncomingMessage) => {
      response.resume();
      resolve(response.statusCode ?? 0);
    };
    const asked = ca === null ? getPlain(to, answered) : getSecure({ ...to, ca }, answered);
    asked.once("error", reject);
  });
}
