/** Files of settings: each mistake with its place, and how to correct it. */
import { expect, test } from "vitest";
import { prepareAgent } from "../../../agents/run-agent.ts";

const HTTP = `agent: http-1
hosts:
  - origin: https://api.example.com
    secrets: { token: { env: TOKEN, prefix: "Bearer " } }
`;

async function problemsOf(kind: "http" | "shell", text: string, env = {}) {
  const found = await prepareAgent(kind, text, env);
  return found.kind === "good"
    ? []
    : found.problems.map(({ path, message }) => `${path}: ${message}`);
}

test("a file without mistakes makes an agent, with its defaults", async () => {
  const found = await prepareAgent("http", HTTP, { TOKEN: "0123456789" });
  expect(found).toMatchObject({ kind: "good", agent: { task: "http", queues: ["default"] } });
});

test.each([
  [
    "an unknown key",
    "agent: a\nhost: []\n",
    'unknown key "host": did you mean "hosts"? (line 2, column 7)',
  ],
  ["a missing key", "agent: a\n", "hosts: hosts is missing: add `hosts: ...`"],
  [
    "a path in an origin",
    "agent: a\nhosts:\n  - origin: https://a.example/x\n",
    "(line 3, column 13)",
  ],
  [
    "a host that is listed twice",
    "agent: a\nhosts:\n  - origin: http://a\n  - origin: http://A:80\n",
    "hosts[1].origin: http://A:80 is listed twice (line 4, column 13)",
  ],
  [
    "no address",
    "agent: a\nhosts:\n  - origin: http://a\n    addresses: [10.0.0.0/99]\n",
    "is no address or net: 10.0.0.0/8 (line 4, column 17)",
  ],
  [
    "certificates for http",
    "agent: a\nhosts:\n  - { origin: http://a, ca: a.pem }\n",
    "certificates are for https",
  ],
  [
    "no duration",
    "agent: a\ntimeout: soon\nhosts:\n  - origin: http://a\n",
    'timeout: "soon" must match pattern',
  ],
  ["no YAML", "agent: [\n", "this is not valid YAML"],
  ["nothing", "", "the text is empty: a file of an agent begins with a line `agent: NAME`"],
])("%s is refused where it is", async (_what, text, message) => {
  expect((await problemsOf("http", text)).join("\n")).toContain(message);
});

test("a secret that is not there is found at the start, and named without its value", async () => {
  expect(await problemsOf("http", HTTP)).toEqual([
    ': the secret "token" has 0 characters in the variable TOKEN: it needs 8, so that it can be removed from texts',
  ]);
  const [short] = await problemsOf("http", HTTP, { TOKEN: "abc" });
  expect(short).toContain("has 3 characters");
  expect(short).not.toContain("abc");
});

test.each([
  ["a mistaken expression", "    run: [echo, '${arg.x}']", "commands.echo.run[1]: "],
  ["a mistaken schema", "    run: [echo]\n    args: { type: nothing }", "commands.echo.args: "],
  ["a code that is none", "    run: [echo]\n    exit: { permanent: [300] }", "must be <= 255"],
  ["no program", "    cwd: x", "commands.echo.run: run is missing"],
])("a command with %s is refused where it is", async (_what, lines, message) => {
  const [problem] = await problemsOf("shell", `agent: s\ncommands:\n  echo:\n${lines}\n`);
  expect(problem).toContain(message);
  expect(problem).toMatch(/\(line \d+, column \d+\)$/);
});
