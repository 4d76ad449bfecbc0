// The image of deploy/container, without a container engine: what its Containerfile builds, from a
// tree that cannot be written and as the user of the image, runs as deploy/compose.yaml starts it,
// until a run has completed. And both files are sound by tools that engines have, too.
import { readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import {
  afterAll,
  beforeAll,
  describe,
  expect,
  onTestFinished,
  type TestContext,
  test,
} from "vitest";
import { theVersion } from "../../release/versions.ts";
import { createAgent } from "../../sdk/typescript/agent.ts";
import { RPC_DEFAULTS } from "../../server/rpc-config.ts";
import { silentLog } from "../support/agent-script.ts";
import { composeFile, composeServices, secondsOf } from "../support/compose-file.ts";
import {
  buildImage,
  containerfile,
  type Image,
  type ImageProcess,
  instructionsOf,
} from "../support/container-image.ts";
import { deploymentTools, TOOLS_MS_MAX } from "../support/deployment-tools.ts";
import { freeAddress } from "../support/free-address.ts";
import { makeTestFolder } from "../support/global-postgres.ts";
import { commandProblems } from "../support/known-command.ts";
import { createTestDatabase, type TestDatabase } from "../support/postgres.ts";
import { until } from "../support/until.ts";

const BUILD_MS_MAX = 600_000;
const ENOUGH_MS = 60_000;
const text = readFileSync(containerfile, "utf8");
const instructions = instructionsOf(text);
const valuesOf = (name: string) =>
  instructions.filter((one) => one.name === name).map(({ value }) => value);

/** It is removed with the test. */
function aFolder(): string {
  const folder = makeTestFolder();
  onTestFinished(() => rmSync(folder, { recursive: true }));
  return folder;
}

describe("the Containerfile", () => {
  test(
    "is accepted by hadolint, which refuses a root without a tag",
    async (context: TestContext) => {
      const { hadolint } = await deploymentTools(context);
      const { code, stdout } = await hadolint(["--no-color", containerfile]);
      expect(stdout).toBe("");
      expect(code).toBe(0);
      const wrong = join(aFolder(), "Containerfile");
      writeFileSync(wrong, "FROM node\nUSER root\nCOPY . .\nCMD node a.js\n");
      const { stdout: found } = await hadolint(["--no-color", wrong]);
      for (const rule of ["DL3006", "DL3002", "DL3025"]) expect(found).toContain(rule);
    },
    TOOLS_MS_MAX,
  );

  test("names base images by a tag other than latest, in arguments that may have a digest", () => {
    const images = valuesOf("ARG").filter((value) => value.includes("_IMAGE="));
    expect(images).toHaveLength(2);
    for (const image of images) {
      expect(image).toMatch(/=\S+\/\S+:\S+$/);
      expect(image).not.toContain(":latest");
    }
    const froms = valuesOf("FROM").map((value) => /^\$\{(\w+)\}/.exec(value)?.[1]);
    expect(froms).toEqual(images.map((image) => image.split("=")[0]));
  });

  test("ends with a user by number, and needs no shell in its last stage", () => {
    expect(valuesOf("USER")).toEqual([expect.stringMatching(/^[1-9]\d*:[1-9]\d*$/)]);
    const last = instructions.slice(instructions.findLastIndex(({ name }) => name === "FROM"));
    expect(last.map(({ name }) => name)).not.toContain("RUN");
    for (const name of ["ENTRYPOINT", "CMD"])
      for (const value of valuesOf(name)) expect(JSON.parse(value)).toBeInstanceOf(Array);
    expect(valuesOf("ENTRYPOINT")).toHaveLength(1);
  });

  test("has the labels of OCI, and the version of the packages", () => {
    const labels = valuesOf("LABEL").join(" ");
    for (const label of ["title", "description", "licenses", "version", "revision"])
      expect(labels).toContain(`org.opencontainers.image.${label}=`);
    expect(valuesOf("ARG")).toContain(`VERSION=${theVersion()}`);
  });
});

describe("the compose file", () => {
  const services = composeServices({ POSTGRES_PASSWORD: "secret" });

  test(
    "is read by the parser of Compose, which refuses an unknown key",
    async (context) => {
      const { compose } = await deploymentTools(context);
      // The parser as a command does not read the environment.
      const { code, stdout, stderr } = await compose(["-no-interpolation", composeFile]);
      expect(stderr).toBe("");
      expect(code).toBe(0);
      expect(Object.keys(JSON.parse(stdout).services).sort()).toEqual(Object.keys(services).sort());
      const wrong = join(aFolder(), "compose.yaml");
      writeFileSync(wrong, readFileSync(composeFile, "utf8").replace("read_only:", "read_onli:"));
      expect((await compose(["-no-interpolation", wrong])).stderr).toContain("read_onli");
    },
    TOOLS_MS_MAX,
  );

  test("needs a password", () => {
    expect(() => composeServices({})).toThrow("POSTGRES_PASSWORD is not set");
  });

  test("names images by a tag other than latest, its own by the version", () => {
    for (const { image } of Object.values(services)) {
      expect(image).toMatch(/:[\w.-]+$/);
      expect(image).not.toContain(":latest");
    }
    expect(services.server?.image).toBe(`localhost/drover:${theVersion()}`);
  });

  test.each(["migrate", "server", "supervisor"])("starts %s as drover takes it", async (name) => {
    const { command = [], environment = {} } = services[name] ?? {};
    expect(command[0]).toBe(name);
    expect(await commandProblems(command, environment)).toEqual([]);
    const wrong = { ...environment, DROVER_LAME_DUK: "1s" };
    expect(await commandProblems(command, wrong)).toEqual([
      expect.stringContaining("DROVER_LAME_DUCK"),
    ]);
    expect(await commandProblems([...command, "--no-such"], environment)).toEqual([
      expect.stringContaining("--no-such"),
    ]);
  });

  test("gives a server the time that it needs to stop", () => {
    const { environment, stop_grace_period } = services.server ?? {};
    const lameDuck = secondsOf(environment?.DROVER_LAME_DUCK);
    expect(secondsOf(stop_grace_period)).toBeGreaterThanOrEqual(
      lameDuck + RPC_DEFAULTS.drainMs / 1_000 + 20,
    );
  });
});

describe("the page of containers", () => {
  const page = readFileSync(join(dirname(composeFile), "../docs/CONTAINERS.md"), "utf8");
  const rowsOf = (heading: string) => {
    const [table = ""] = new RegExp(`^\\| ${heading} \\|(?:.*\\n)+?\\n`, "m").exec(page) ?? [];
    return [...table.matchAll(/^\| `(\w+)` \| (?:`([^`]+)`|none)/gm)].map(
      ([, name = "", byDefault = ""]) => [name, byDefault],
    );
  };

  test("names the variables of the compose file with their defaults", () => {
    const written = readFileSync(composeFile, "utf8");
    const variables = [...written.matchAll(/\$\{(\w+):([-?])([^}]*)\}/g)].map(
      ([, name = "", kind, word = ""]) => [name, kind === "-" ? word : ""],
    );
    expect(Object.fromEntries(rowsOf("variable"))).toEqual(Object.fromEntries(variables));
  });

  test("names build arguments with their defaults", () => {
    const rows = rowsOf("build argument");
    expect(rows).toHaveLength(3);
    for (const [name, byDefault = ""] of rows) {
      const [value = ""] = valuesOf("ARG").filter((one) => one.startsWith(`${name}=`));
      expect(value.endsWith(byDefault), value).toBe(true);
    }
  });

  test("asks for health as the compose file does", () => {
    const { healthcheck } = composeServices({ POSTGRES_PASSWORD: "secret" }).server ?? {};
    const [, program = "", option = "", code = ""] = healthcheck?.test ?? [];
    expect(page).toContain(`${program} ${option} '${code}'`);
  });
});

describe("the image", () => {
  let image: Image;
  let database: TestDatabase;
  beforeAll(async () => {
    database = await createTestDatabase({ empty: true });
    image = await buildImage();
  }, BUILD_MS_MAX);
  afterAll(async () => {
    image?.remove();
    await database?.drop();
  });

  /** As the compose file starts it, but for what is another here: the database and the ports. */
  function start(name: string, ports: Readonly<Record<string, string>> = {}) {
    const services = composeServices({ POSTGRES_PASSWORD: "secret", DROVER_SUPERVISOR: "none" });
    const service = services[name];
    if (!service) throw new Error(`the compose file has no ${name}`);
    const { command = [], environment = {}, healthcheck } = service;
    const here = (word: string) => {
      let replaced = word;
      for (const [port, other] of Object.entries(ports))
        replaced = replaced.replaceAll(`:${port}`, `:${other}`);
      return replaced;
    };
    const given = Object.entries(environment).map(([key, value]) => [key, here(value)]);
    const env = { ...Object.fromEntries(given), DATABASE_URL: database.connectionString };
    const child = image.start(command.map(here), env);
    const check = (healthcheck?.test ?? []).slice(1).map(here);
    return { child, check, env, graceMs: secondsOf(service.stop_grace_period) * 1_000 };
  }

  async function printedBy(child: ImageProcess): Promise<string> {
    expect(await child.ended, child.printed()).toBe(0);
    return child.printed();
  }

  test("holds the packages of the release, and none that only building needs", () => {
    const manifest = (name: string): { readonly version: string } =>
      JSON.parse(
        readFileSync(join(image.root, "drover/node_modules", name, "package.json"), "utf8"),
      );
    expect(manifest("@drover/cli").version).toBe(theVersion());
    expect(() => manifest("typescript")).toThrow("ENOENT");
    expect(() => manifest("vite")).toThrow("ENOENT");
  });

  test("cannot be written by its user", async () => {
    const write = "fs.writeFileSync(process.argv[1], '')";
    for (const folder of ["", "drover", dirname("drover/node_modules/@drover/cli")]) {
      const command = ["/nodejs/bin/node", "--eval", write, join(image.root, folder, "x")];
      const child = image.exec(command);
      expect(await child.ended).not.toBe(0);
      expect(child.printed()).toContain("EACCES");
    }
  });

  test("migrates, serves, supervises, completes a run, and stops within its time", async () => {
    const [port = "", pages = ""] = await Promise.all(
      [0, 1].map(async () => (await freeAddress()).split(":")[1] ?? ""),
    );
    await printedBy(start("migrate").child);
    const ports = { 7420: port, 7421: pages };
    const running = [start("server", ports), start("supervisor", ports)];
    for (const { child, check } of running)
      await until(
        "its health check succeeds",
        async () => {
          const ended = await Promise.race([child.ended.then(() => true), image.exec(check).ended]);
          if (ended === true) throw new Error(child.printed());
          return ended === 0 ? true : null;
        },
        ENOUGH_MS,
      );
    const address = `127.0.0.1:${port}`;
    const env = { DATABASE_URL: database.connectionString, DROVER_ADDRESS: address };
    const asked = ["--role", "admin", "--all-namespaces", "--by", "ada", "--in-database"];
    const made = await printedBy(image.start(["token", "create", "first", ...asked], env));
    const [token = ""] = /drover_\S+/.exec(made) ?? [];
    const agent = createAgent({
      address,
      token,
      id: "greeter",
      log: silentLog,
      handlers: { greet: async () => ({ greeting: "Hello" }) },
    });
    agent.start();
    const file = join(aFolder(), "greet.yaml");
    writeFileSync(file, "workflow: greet\nsteps:\n  - id: greet\n    task: greet\n");
    const own = { ...env, DROVER_TOKEN: token };
    await printedBy(image.start(["workflow", "apply", file], own));
    const watched = image.start(["run", "start", "greet", "--watch"], own);
    expect(await printedBy(watched)).toContain("run: completed");
    await agent.stop();
    for (const { child, graceMs } of running) {
      const startedAt = performance.now();
      child.kill("SIGTERM");
      expect(await child.ended, child.printed()).toBe(0);
      expect(performance.now() - startedAt).toBeLessThan(graceMs);
    }
  });
});
