import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import {
  chmodSync,
  cpSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { Client } from "pg";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { accountFor, obstacleTo } from "../../dev-postgres/account.ts";
import { findPackage } from "../../dev-postgres/binaries.ts";
import {
  createEmbeddedPostgres,
  type EmbeddedPostgres,
  type EmbeddedPostgresOptions,
  stopAbandonedPostgres,
} from "../../dev-postgres/postgres.ts";
import { findPostmaster } from "../../dev-postgres/postmaster.ts";
import { makeTestFolder } from "../support/global-postgres.ts";

const isRoot = process.getuid?.() === 0;
const launcher = join(import.meta.dirname, "../../dev-postgres/postgres.ts");

let folder: string;
let dataDir: string;
let messages: string[];
let opened: EmbeddedPostgres[];
let children: ChildProcess[];

beforeEach(() => {
  folder = makeTestFolder();
  dataDir = join(folder, "data");
  messages = [];
  opened = [];
  children = [];
});

afterEach(async () => {
  for (const child of children) child.kill("SIGKILL");
  for (const postgres of opened) await postgres.stop();
  if (existsSync(dataDir)) await stopAbandonedPostgres(dataDir);
  rmSync(folder, { recursive: true, force: true });
});

function open(options: Partial<EmbeddedPostgresOptions> = {}): EmbeddedPostgres {
  const postgres = createEmbeddedPostgres({
    dataDir,
    durable: false,
    log: (message) => messages.push(message),
    ...options,
  });
  opened.push(postgres);
  return postgres;
}

async function ask(connectionString: string, sql: string): Promise<unknown[]> {
  const client = new Client({ connectionString });
  client.on("error", () => undefined);
  await client.connect();
  try {
    const result = await client.query<unknown[]>({ text: sql, rowMode: "array" });
    return result.rows.flat();
  } finally {
    await client.end();
  }
}

function inspect() {
  return findPostmaster(join(dataDir, "postgres", "data"));
}

function serverPid(): number {
  const found = inspect();
  if (found.kind !== "live") throw new Error(`The server is ${found.kind}.`);
  return found.pid;
}

async function until(condition: () => boolean): Promise<void> {
  await expect.poll(condition, { interval: 20, timeout: 20_000 }).toBe(true);
}

/** Another program that starts the server, prints its address, and never ends. */
async function startElsewhere(): Promise<{ child: ChildProcess; connectionString: string }> {
  const program = `
    import { createEmbeddedPostgres } from ${JSON.stringify(launcher)};
    process.on("SIGTERM", () => process.exit(0));
    const postgres = createEmbeddedPostgres({
      dataDir: ${JSON.stringify(dataDir)}, durable: false, log: () => undefined });
    console.log((await postgres.start()).connectionString);
    setInterval(() => undefined, 60_000);`;
  const child = spawn(process.execPath, ["--input-type=module", "--eval", program], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  children.push(child);
  for await (const line of createInterface({ input: child.stdout })) {
    return { child, connectionString: line };
  }
  throw new Error("The other program ended without starting a server.");
}

describe("an embedded PostgreSQL", () => {
  test("keeps its data and its address from one start to the next", async () => {
    const postgres = open();
    const { connectionString } = await postgres.start();
    await ask(connectionString, "create table sheep as select 'Dolly' as name");
    await postgres.stop();
    expect(inspect().kind).toBe("absent");
    expect(await postgres.start()).toMatchObject({ connectionString });
    expect(await ask(connectionString, "select name from sheep")).toEqual(["Dolly"]);
  });

  test("may be started twice and stopped twice", async () => {
    const postgres = open();
    const [first, second] = await Promise.all([postgres.start(), postgres.start()]);
    expect(second).toEqual(first);
    await Promise.all([postgres.stop(), postgres.stop()]);
    await postgres.stop();
    expect(inspect().kind).toBe("absent");
  });

  test("gives Drover a role that owns its database and is no superuser", async () => {
    const { connectionString, adminConnectionString } = await open().start();
    const superuser = "select current_setting('is_superuser')";
    expect(await ask(connectionString, superuser)).toEqual(["off"]);
    expect(await ask(adminConnectionString, superuser)).toEqual(["on"]);
    expect(await ask(connectionString, "select current_setting('jit')")).toEqual(["off"]);
  });

  test("refuses logins without the password, which only its account can read", async () => {
    const { connectionString } = await open().start();
    const wrong = new URL(connectionString);
    wrong.password = "guess";
    await expect(ask(wrong.href, "select 1")).rejects.toThrow(/password authentication failed/);
    expect(statSync(join(dataDir, "postgres", "password")).mode & 0o777).toBe(0o600);
  });

  test("never runs as root", async () => {
    await open().start();
    expect(statSync(`/proc/${serverPid()}`).uid).toBe(accountFor([dataDir]).uid);
    expect(statSync(`/proc/${serverPid()}`).uid).not.toBe(0);
  });

  test("uses another port when another process has taken the old one", async () => {
    const postgres = open();
    const before = new URL((await postgres.start()).connectionString);
    await postgres.stop();
    const squatter = createServer().listen(Number(before.port), "127.0.0.1");
    await once(squatter, "listening");
    const after = new URL((await postgres.start()).connectionString);
    squatter.close();
    expect(after.port).not.toBe(before.port);
  });

  test("is one server when two start it in an empty folder at once", async () => {
    const [one, other] = await Promise.all([open().start(), open().start()]);
    expect(other).toEqual(one);
    expect(readdirSync(dataDir).sort()).toEqual(["postgres", "programs"]);
  });

  test("does not take a cluster that was cut off while it was made for a whole one", async () => {
    const gone = spawn("true");
    await once(gone, "exit");
    const halfMade = join(dataDir, `postgres.new-${gone.pid}-cafe`);
    mkdirSync(halfMade, { recursive: true });
    const { connectionString } = await open().start();
    expect(await ask(connectionString, "select 1")).toEqual([1]);
    expect(existsSync(halfMade)).toBe(false);
  });

  test("prints what PostgreSQL printed when it refuses to start", async () => {
    await expect(open({ settings: { shared_buffers: "lots" } }).start()).rejects.toThrow(
      /PostgreSQL did not start[\s\S]*invalid value for parameter "shared_buffers"/,
    );
  });
});

describe("after a crash", () => {
  test("of the server, what was committed is there", async () => {
    const postgres = open({ durable: true });
    const { connectionString } = await postgres.start();
    await ask(connectionString, "create table sheep as select generate_series(1, 1000) as id");
    await postgres.kill();
    expect(inspect().kind).toBe("stale");
    expect(await postgres.start()).toMatchObject({ connectionString });
    expect(await ask(connectionString, "select count(*)::int from sheep")).toEqual([1000]);
  });

  test("of the program that started it, the next one takes the server over", async () => {
    const { child, connectionString } = await startElsewhere();
    const pid = serverPid();
    child.kill("SIGKILL");
    await once(child, "exit");
    const postgres = open();
    expect(await postgres.start()).toMatchObject({ connectionString });
    expect(serverPid()).toBe(pid);
    expect(messages.join()).toContain("taken over");
    await postgres.stop();
    expect(inspect().kind).toBe("absent");
  });

  test("a process that got the dead server's number does not keep it from starting", async () => {
    const postgres = open();
    await postgres.start();
    await postgres.kill();
    const { uid, gid, switchTo } = accountFor([dataDir]);
    const bystander = spawn("sleep", ["600"], switchTo ? { uid, gid } : {});
    children.push(bystander);
    const pidFile = join(dataDir, "postgres", "data", "postmaster.pid");
    const lines = readFileSync(pidFile, "utf8").split("\n");
    writeFileSync(pidFile, [bystander.pid, ...lines.slice(1)].join("\n"));
    const { connectionString } = await postgres.start();
    expect(await ask(connectionString, "select 1")).toEqual([1]);
    expect(bystander.exitCode).toBe(null);
  });
});

describe("a server that another program runs", () => {
  test("is shared, and stopped only by that program", async () => {
    const { child, connectionString } = await startElsewhere();
    const postgres = open();
    expect(await postgres.start()).toMatchObject({ connectionString });
    await postgres.stop();
    expect(await ask(connectionString, "select 1")).toEqual([1]);
    expect(messages.join()).toContain("shared");
    child.kill("SIGTERM");
    await until(() => inspect().kind === "absent");
  });
});

describe("the programs from npm", () => {
  /** As npm leaves the package where install scripts are off. */
  function copyWithoutLinks(): string {
    const copy = join(folder, "modules", "package");
    const filter = (path: string) => !lstatSync(path).isSymbolicLink();
    cpSync(findPackage(), copy, { recursive: true, filter });
    return copy;
  }

  test("run where no install script has made their links", async () => {
    const packageDir = copyWithoutLinks();
    expect(existsSync(join(packageDir, "native/lib/libpq.so.5"))).toBe(false);
    const { connectionString } = await open({ packageDir }).start();
    expect(await ask(connectionString, "select 1")).toEqual([1]);
  });

  test.runIf(isRoot)("are copied where PostgreSQL's account cannot read them", async () => {
    const packageDir = copyWithoutLinks();
    chmodSync(join(folder, "modules"), 0o700);
    expect(obstacleTo(packageDir, accountFor([]))).toBe(join(folder, "modules"));
    const { connectionString } = await open({ packageDir }).start();
    expect(await ask(connectionString, "select 1")).toEqual([1]);
    expect(readdirSync(join(dataDir, "programs")).join()).toContain("native-");
  });

  test("are missing for other systems, and the error names what to do", () => {
    expect(() => findPackage("darwin-arm64")).toThrow(/darwin-arm64.*Set DATABASE_URL/);
  });
});

test.runIf(isRoot)("as root, a data directory out of PostgreSQL's reach is refused", async () => {
  chmodSync(folder, 0o700);
  await expect(open().start()).rejects.toThrow(
    new RegExp(`who may not enter ${folder}\\. Choose a data directory elsewhere`),
  );
  expect(existsSync(dataDir)).toBe(false);
});
