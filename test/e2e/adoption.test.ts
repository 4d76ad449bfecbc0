/**
 * A stranger's first day: in an empty folder the packed packages run the demo's workflow, with an
 * agent in each of four languages and the agent without code. Once all is installed, every tool is
 * told to fetch nothing.
 */
import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { cpSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { delimiter, dirname, join } from "node:path";
import { pathToFileURL } from "node:url";
import { promisify } from "node:util";
import { beforeEach, expect, onTestFinished, test } from "vitest";
import { packGo } from "../../release/go-module.ts";
import { packNpm } from "../../release/npm-packages.ts";
import { packPython } from "../../release/python-package.ts";
import { theVersion } from "../../release/versions.ts";
import { makeTestFolder } from "../support/global-postgres.ts";
import { go, needsGo } from "../support/go-tool.ts";
import { builtJavaSdk } from "../support/java-build.ts";
import { javaTool, needsJava } from "../support/java-tool.ts";
import { preparePython } from "../support/python-env.ts";
import { endForLack } from "../support/required-tools.ts";
import { until } from "../support/until.ts";

const root = join(import.meta.dirname, "../..");
const sources = join(import.meta.dirname, "adoption");
const run = promisify(execFile);
/** Most of it is what Maven and npm fetch the first time. */
const testMs = 1_000_000;
/** Apart from that of the user, where a jar of this version may be an older build. */
const mavenRepository = join(root, ".drover/maven");

/** What each tool obeys. */
const OFFLINE = {
  npm_config_offline: "true",
  PIP_NO_INDEX: "1",
  GOPROXY: "off",
  GOFLAGS: "-mod=mod",
  HTTPS_PROXY: "http://127.0.0.1:9",
};

let folder: string;
beforeEach(() => {
  folder = makeTestFolder();
  cpSync(sources, folder, { recursive: true });
  return () => rmSync(folder, { recursive: true });
});

async function installNode(): Promise<void> {
  const tarballs = await packNpm(join(folder, "release/npm"));
  writeFileSync(join(folder, "package.json"), '{ "type": "module", "private": true }');
  const quiet = ["--no-audit", "--no-fund", "--ignore-scripts"];
  await run("npm", ["install", ...quiet, ...tarballs], { cwd: folder });
}

/** `build`: a Python that can pack the wheel. */
async function installPython(build: string): Promise<void> {
  const files = await packPython(join(folder, "release/python"), build);
  const [wheel = ""] = files.filter((file) => file.endsWith(".whl"));
  await run("python3", ["-m", "venv", join(folder, "venv")]);
  await run(join(folder, "venv/bin/pip"), ["install", "-q", wheel]);
}

async function installGo(): Promise<void> {
  const release = join(folder, "release/go");
  await packGo(release, theVersion());
  const cwd = join(folder, "cars");
  const [proxy = "", cache = ""] = (await go(["env", "GOPROXY", "GOMODCACHE"])).split("\n");
  const places = [pathToFileURL(release).href, pathToFileURL(`${cache}/cache/download`).href];
  const module = "github.com/drover-dev/drover/sdk/go";
  const env = { ...goEnv(), GOPROXY: [...places, proxy].join(), GONOSUMDB: module };
  await go(["mod", "init", "cars"], { cwd, env });
  await go(["get", `${module}@v${theVersion()}`], { cwd, env });
  await go(["mod", "tidy"], { cwd, env });
}

function goEnv() {
  return { GOMODCACHE: join(folder, "go-modules"), GOFLAGS: "-mod=mod -modcacherw" };
}

async function installJava(): Promise<void> {
  const release = pathToFileURL(join(await builtJavaSdk(), "release")).href;
  rmSync(join(mavenRepository, "dev/drover"), { recursive: true, force: true });
  const own = [`-Drelease=${release}`, `-Ddrover=${theVersion()}`];
  const args = ["-q", "-B", `-Dmaven.repo.local=${mavenRepository}`, ...own, "package"];
  await javaTool("mvn", args, { cwd: join(folder, "insurances") });
}

/** The remote services: what was asked of each, by its idempotency key. */
async function openServices() {
  const asked = new Map<string, Set<string>>();
  const server = createServer((request, response) => {
    const service = (request.url ?? "/").slice(1);
    const keys = asked.get(service) ?? new Set();
    asked.set(service, keys.add(String(request.headers["idempotency-key"])));
    response.setHeader("content-type", "application/json");
    response.end(JSON.stringify({ id: `${service}-1` }));
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => void server.close());
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("no port was given");
  return { asked, url: `http://127.0.0.1:${address.port}` };
}

test("the packages of a release do the demo's workflow", { timeout: testMs }, async (context) => {
  await needsGo(context);
  await needsJava(context);
  const build = await preparePython(["build==1.6.1"]);
  if (build.kind === "missing") return endForLack(context, "python3", build.why);
  await installNode();
  await installPython(build.python);
  await installGo();
  await installJava();
  const services = await openServices();
  const bin = [join(folder, "node_modules/.bin"), dirname(process.execPath), process.env.PATH];
  const base = { ...process.env, ...OFFLINE, PATH: bin.join(delimiter), SERVICES: services.url };
  const cwd = folder;

  /** By all processes: what a person needs if the run does not complete. */
  const printed: string[] = [];
  /** A process that ends with the test. */
  function start(command: string, args: readonly string[], env: NodeJS.ProcessEnv, at = cwd) {
    const child = spawn(command, args, { cwd: at, env, stdio: ["ignore", "pipe", "pipe"] });
    onTestFinished(async () => {
      if (child.exitCode === null && child.kill("SIGTERM")) await once(child, "exit");
    });
    const lines: string[] = [];
    for (const stream of [child.stdout, child.stderr])
      stream.on("data", (bytes: Buffer) => {
        lines.push(bytes.toString());
        printed.push(`${command}: ${bytes.toString()}`);
      });
    return {
      wrote: (what: RegExp) =>
        until(`${command} prints ${what}`, () => {
          if (child.exitCode !== null) throw new Error(lines.join(""));
          return what.exec(lines.join(""))?.[1] ?? null;
        }),
    };
  }

  const data = ["--data-dir", join(folder, "data"), "--address", "127.0.0.1:0"];
  const server = start("drover", ["dev", ...data], base);
  const env = { ...base, DROVER_ADDRESS: await server.wrote(/^server +([\d.:]+):/m) };
  const drover = async (...args: string[]) => (await run("drover", args, { cwd, env })).stdout;

  writeFileSync(
    join(folder, "holiday.yaml"),
    readFileSync(join(root, "agents-examples/holiday/holiday.yaml"), "utf8") +
      readFileSync(join(folder, "more-steps.yaml"), "utf8"),
  );
  const settings = `agent: invoices\nqueues: [http]\nhosts:\n  - origin: ${services.url}\n    addresses: [127.0.0.1]\n`;
  writeFileSync(join(folder, "http-agent.yaml"), settings);
  await drover("workflow", "apply", "holiday.yaml");
  start("node", ["flights.ts"], env);
  start(join(folder, "venv/bin/python"), ["hotels.py"], env);
  await go(["build", "-o", "cars", "."], {
    cwd: join(folder, "cars"),
    env: { ...OFFLINE, ...goEnv(), GOPROXY: "off" },
  });
  start("./cars", [], env, join(folder, "cars"));
  const classes = ["-cp", "target/classes:target/jars/*", "Insurances"];
  start("java", classes, env, join(folder, "insurances"));
  start("drover", ["agent", "http", "http-agent.yaml"], env);

  const input = JSON.stringify({ services: services.url });
  await drover("run", "start", "book-holiday", "--key", "ada", "--input", input);
  // A run that escalates or fails ends the wait with another code; what it shows then tells why.
  await drover("run", "watch", "key:ada").catch(() => undefined);
  expect(await drover("run", "show", "key:ada"), printed.join("\n")).toMatch(/^state +completed$/m);
  // Each of five services was asked by its agent, under one key.
  const keys = Object.fromEntries([...services.asked].map(([name, of]) => [name, of.size]));
  expect(keys).toEqual({ flight: 1, hotel: 1, car: 1, insurance: 1, invoice: 1 });
});
