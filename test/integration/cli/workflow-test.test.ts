// `drover workflow test` as a user starts it: without a server, in a folder with files.
import { globSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { callDrover } from "../../support/drover-call.ts";

const root = join(import.meta.dirname, "../../..");

const WORKFLOW = `
workflow: order
steps:
  - { id: pay, run: take-payment }
  - { id: ship, needs: [pay], task: ship-parcel, queue: parcels }
`;

function folderWith(files: Readonly<Record<string, string>>): string {
  const folder = mkdtempSync(join(tmpdir(), "drover-scenarios-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text);
  return folder;
}

const scenarios = (text: string) => `workflow: order.yaml\nscenarios:\n${text}`;
const GOOD = scenarios("  - { scenario: all goes well, expect: COMPLETED }\n");
const BAD = scenarios("  - { scenario: it is thought to fail, expect: FAILED }\n");

test("every workflow of the examples has scenarios, and all of them pass", async () => {
  const { code, stdout, stderr } = await callDrover(["workflow", "test", "agents-examples"], {
    cwd: root,
  });
  expect(code, stdout + stderr).toBe(0);
  expect(stdout).toMatch(/^(?:[5-9]\d|\d{3}) scenarios, all passed$/m);
  const workflows = globSync("agents-examples/*/{workflow,holiday}.yaml", { cwd: root });
  expect(workflows).toHaveLength(9);
  for (const path of workflows)
    expect(stdout).toContain(path.replace(/\.yaml$/, ".scenarios.yaml"));
}, 120_000);

describe("which are played", () => {
  const cwd = () => folderWith({ "order.yaml": WORKFLOW, "order.scenarios.yaml": GOOD });

  test.for(["", ".", "order.yaml", "order.scenarios.yaml"])("all of %j", async (path) => {
    const paths = path === "" ? [] : [path];
    const { code, stdout } = await callDrover(["workflow", "test", ...paths], { cwd: cwd() });
    expect(stdout).toMatch(
      /^order\.scenarios\.yaml\n {2}✓ all goes well +\d\.\ds in \d+ ms\n1 scenario, all passed\n$/,
    );
    expect(code).toBe(0);
  });

  test("those with words in their name, and none is a mistake", async () => {
    const folder = cwd();
    const some = await callDrover(["workflow", "test", "--scenario", "goes", "--timeline"], {
      cwd: folder,
    });
    expect(some.stdout).toMatch(/runs-1 +takes take-payment|parcels-1 +ship +takes ship-parcel/);
    const none = await callDrover(["workflow", "test", "--scenario", "x"], { cwd: folder });
    expect(none.code).toBe(2);
    expect(none.stderr).toContain('no scenario has "x" in its name: there are "all goes well"');
  });

  test("a folder without any, and a workflow without one beside it, are reported", async () => {
    const empty = await callDrover(["workflow", "test"], { cwd: folderWith({}) });
    expect(empty).toMatchObject({ code: 2 });
    expect(empty.stderr).toContain("a scenario file is called NAME.scenarios.yaml");
    const alone = folderWith({ "order.yaml": WORKFLOW });
    const missing = await callDrover(["workflow", "test", "order.yaml"], { cwd: alone });
    expect(missing).toMatchObject({ code: 2 });
    expect(missing.stderr).toContain("there is no order.scenarios.yaml next to it");
  });
});

describe("how it ends", () => {
  test("with 1, the difference and the timeline, if an expectation is not met", async () => {
    const cwd = folderWith({ "order.yaml": WORKFLOW, "order.scenarios.yaml": BAD });
    const { code, stdout } = await callDrover(["workflow", "test"], { cwd });
    expect(code).toBe(1);
    expect(stdout).toContain("  ✗ it is thought to fail");
    expect(stdout).toMatch(
      /order\.scenarios\.yaml:3:48 {2}run\n +expected {2}FAILED\n +was {7}COMPLETED/,
    );
    expect(stdout).toMatch(/1\.0s +runs-1 +run +reports: succeeded/);
    expect(stdout).toContain("1 scenario, 1 failed");
  });

  test("with 2, and what to write instead, if a file is wrong", async () => {
    const wrong = scenarios(
      "  - { scenario: s, expect: COMPLETED, agents: { ship-parcle: hang } }\n",
    );
    const cwd = folderWith({ "order.yaml": WORKFLOW, "order.scenarios.yaml": wrong });
    const { code, stderr } = await callDrover(["workflow", "test"], { cwd });
    expect(code).toBe(2);
    expect(stderr).toMatch(/order\.scenarios\.yaml:3:\d+: .*did you mean "ship-parcel"\?/);
  });

  test("with 2 if its workflow is not there, or is wrong itself", async () => {
    const cwd = folderWith({ "order.scenarios.yaml": GOOD });
    const missing = await callDrover(["workflow", "test"], { cwd });
    expect(missing.code).toBe(2);
    expect(missing.stderr).toContain(
      "order.scenarios.yaml:1:11: workflow: there is no file order.yaml",
    );
    writeFileSync(join(cwd, "order.yaml"), "workflow: order\nsteps: []\n");
    const wrong = await callDrover(["workflow", "test"], { cwd });
    expect(wrong.code).toBe(2);
    expect(wrong.stderr).toContain("order.yaml has a problem");
  });

  test("for programs, in JSON", async () => {
    const cwd = folderWith({ "order.yaml": WORKFLOW, "order.scenarios.yaml": BAD });
    const { code, stdout } = await callDrover(["workflow", "test", "-o", "json"], { cwd });
    expect(code).toBe(1);
    expect(JSON.parse(stdout)).toMatchObject({
      passed: false,
      scenarios: [
        {
          scenario: "it is thought to fail",
          passed: false,
          run: "COMPLETED",
          differences: [{ what: "run", expected: "FAILED", was: "COMPLETED (DONE)", line: 3 }],
          steps: { pay: "SUCCEEDED", ship: "SUCCEEDED" },
        },
      ],
    });
  });
});

describe("a workflow that another one begins", () => {
  test("is one task of its name where no file is given", async () => {
    const text = scenarios(
      "  - { scenario: s, agents: { take-payment: { fail: declined } }, expect: FAILED }\n",
    );
    const cwd = folderWith({ "order.yaml": WORKFLOW, "order.scenarios.yaml": text });
    expect(await callDrover(["workflow", "test"], { cwd })).toMatchObject({ code: 0 });
  });

  test("is played as it is where its file is given", async () => {
    const payment =
      "workflow: take-payment\nsteps:\n  - { id: charge, task: charge-card, retry: { attempts: 2, initial: 1s } }\n";
    const text = `workflows: [payment.yaml]\n${scenarios(
      "  - { scenario: s, agents: { charge-card: [fail: busy, succeed] }, expect: { run: COMPLETED, calls: { charge-card: 2 } } }\n",
    )}`;
    const cwd = folderWith({
      "order.yaml": WORKFLOW,
      "payment.yaml": payment,
      "order.scenarios.yaml": text,
    });
    expect(await callDrover(["workflow", "test"], { cwd })).toMatchObject({ code: 0 });
  });
});
