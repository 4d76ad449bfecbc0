/**
 * What a trigger has to be to be stored; and what one shows of itself, which is never its secret.
 */
import { describe, expect, test } from "vitest";
import { DroverCallError, type TriggerSpec } from "../../../sdk/typescript/index.ts";
import { callJson } from "../../support/json-call.ts";
import { SECRET, triggerServer } from "./fixture.ts";

const drover = triggerServer();

const HTTP = "trigger: bad\nhttp: { bearer: {} }\n";
const END = "trigger: bad\nrun_end: { workflow: build }\n";
const GOOD = "schedule: { workflow: deploy }\n";

async function refused(text: string, secret: string): Promise<DroverCallError> {
  const error = await drover.client.triggers.put(text, { secret }).then(
    () => null,
    (thrown: unknown) => thrown,
  );
  if (error instanceof DroverCallError) return error;
  throw new Error(`it was put: ${text}`);
}

describe("a trigger is refused, and nothing is stored,", () => {
  test.for<[string, string, string, string]>([
    ["without a source", `trigger: bad\n${GOOD}`, SECRET, "give exactly one of http, run_end"],
    ["without an action", HTTP, SECRET, "give exactly one of schedule, signal, complete"],
    ["with two sources", `${HTTP}run_end: { workflow: build }\n${GOOD}`, SECRET, "not both"],
    ["with two actions", `${HTTP}${GOOD}signal: { name: a, signal_id: b }\n`, SECRET, "not both"],
    ["without a name", `http: { bearer: {} }\n${GOOD}`, SECRET, "trigger is missing"],
    ["with a name that is none", `trigger: a b\nhttp: { bearer: {} }\n${GOOD}`, SECRET, "trigger"],
    ["with an unknown key", `${HTTP}${GOOD}secret: x\n`, SECRET, 'unknown key "secret"'],
    ["over HTTP without a secret", `${HTTP}${GOOD}`, "", "secret: is needed"],
    ["with a short secret", `${HTTP}${GOOD}`, "short", "secret"],
    ["at an end with a secret", `${END}${GOOD}`, SECRET, "secret: is for calls over HTTP"],
    [
      "at an end that signals",
      `${END}signal: { run_key: a, name: b, signal_id: c }\n`,
      "",
      "end of a run",
    ],
    [
      "at an end with a key",
      `${END}schedule: { workflow: deploy, key: a }\n`,
      "",
      "has a key of its own",
    ],
    [
      "at an unknown end",
      `trigger: bad\nrun_end: { workflow: b, states: [lost] }\n${GOOD}`,
      "",
      "states",
    ],
    ["that signals no run", `${HTTP}signal: { name: b, signal_id: c }\n`, SECRET, "names the run"],
    [
      "that signals two",
      `${HTTP}signal: { run_key: a, run_id: a, name: b, signal_id: c }\n`,
      SECRET,
      "one of the two",
    ],
    [
      "with a workflow that cannot be",
      `${HTTP}schedule: { workflow: no such }\n`,
      SECRET,
      "1 to 128 characters",
    ],
    ["with a condition that is a number", `${HTTP}when: "1"\n${GOOD}`, SECRET, "a bool is needed"],
    [
      "with a condition over a run",
      `${HTTP}when: run.id == "a"\n${GOOD}`,
      SECRET,
      'there is no "run"',
    ],
    [
      "at an end with a condition over a body",
      `${END}when: body.ok\n${GOOD}`,
      "",
      'there is no "body"',
    ],
    [
      "with a state that is none",
      `${END}when: run.state == "LOST"\n${GOOD}`,
      "",
      '"LOST" is no final state',
    ],
    [
      "with a broken expression",
      `${HTTP}schedule: { workflow: deploy, key: "\${body.}" }\n`,
      SECRET,
      "line 3, column",
    ],
    [
      "with a computed key of its input",
      `${HTTP}schedule: { workflow: deploy, input: { "\${body.a}": 1 } }\n`,
      SECRET,
      "is computed",
    ],
    [
      "with an input that is too large",
      `${HTTP}schedule: { workflow: deploy, input: ${"x".repeat(270_000)} }\n`,
      SECRET,
      "bytes",
    ],
  ])("%s", async ([, text, secret, expected]) => {
    const { message, fields } = await refused(text, secret);
    expect([message, ...fields.map((field) => JSON.stringify(field))].join("\n")).toContain(
      expected,
    );
    expect(await drover.client.triggers.list()).toEqual([]);
  });
});

test("a trigger is listed as it was put, and its secret is listed nowhere", async () => {
  const spec = {
    trigger: "full",
    when: "body.ok",
    http: {
      hmac: { header: "x-sign", prefix: "v1=", timestampHeader: "x-time", tolerance: 60_000 },
    },
    schedule: {
      workflow: "deploy",
      version: 2,
      key: `\${body.id}`,
      priority: 3,
      labels: { team: `\${body.team}` },
      input: { a: [`\${body.b}`] },
    },
  } as const;
  const { created, trigger } = await drover.client.triggers.put(spec, { secret: SECRET });
  expect([created, trigger.path]).toEqual([true, "/hooks/default/full"]);
  expect(trigger.definition).toEqual(spec);
  expect(await drover.client.triggers.get("full")).toEqual(trigger);
  expect(await drover.client.triggers.list()).toEqual([trigger]);
  const { address } = drover.server;
  for (const method of ["GetTrigger", "ListTriggers"]) {
    const answer = await callJson(address, `OperatorService/${method}`, { name: "full" });
    expect(JSON.stringify(answer)).not.toContain(SECRET);
  }
  expect(await drover.client.triggers.delete("full")).toEqual({ deleted: true });
});

test.for<TriggerSpec>([
  {
    trigger: "signals",
    http: { bearer: true } as const,
    signal: { runKey: "a", name: "b", signalId: "c", payload: 1 },
  },
  {
    trigger: "completes",
    http: { bearer: true } as const,
    complete: { callbackToken: `\${body.token}`, outcome: { success: `\${body.result}` } },
  },
  {
    trigger: "ends",
    runEnd: { workflow: "build", states: ["failed"] },
    schedule: { workflow: "a", version: 0, key: "", labels: {}, priority: 0 },
  },
])("what a program puts it reads again: $trigger", async (spec) => {
  const secret = "runEnd" in spec ? "" : SECRET;
  const { trigger } = await drover.client.triggers.put(spec, { secret });
  expect(trigger.definition).toEqual(spec);
  await drover.client.triggers.delete(spec.trigger);
});

test("trying a trigger gives what it would ask for, of a body or of a run that has ended", async () => {
  const http = { trigger: "tried", http: { bearer: true } } as const;
  const asked = await drover.client.triggers.try(
    { ...http, complete: { callbackToken: "t", outcome: `\${body}` } },
    { body: { failed: { code: "denied" } } },
  );
  const failed = { code: "denied", message: "", permanent: false, no_effect: false };
  expect(asked).toEqual({ complete: { callbackToken: "t", outcome: { failed } } });
  await drover.workflow("waits", "    wait: 1h");
  const { runId } = await drover.client.schedule({ workflow: "waits" });
  const ends = {
    trigger: "tried",
    runEnd: { workflow: "waits" },
    schedule: { workflow: "next", input: `\${run.state}` },
  } as const;
  const open = drover.client.triggers.try(ends, { run: runId });
  await expect(open).rejects.toThrow("has not ended");
  await drover.client.cancelRun(runId, { undo: "leave" });
  await drover.client.waitRun(runId);
  expect(await drover.client.triggers.try(ends, { run: runId })).toMatchObject({
    schedule: { workflow: "next", input: "CANCELLED" },
  });
  await expect(drover.client.triggers.try(ends)).rejects.toThrow("name a run that has ended");
});
