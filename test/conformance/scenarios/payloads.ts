/** What is carried: any text, large bodies, and bodies that the server cannot read. */
import assert from "node:assert/strict";
import { createCipheriv, createDecipheriv, randomBytes } from "node:crypto";
import { fromBinary, toBinary } from "@bufbuild/protobuf";
import { PayloadSchema } from "@drover/proto/drover/v1/payload_pb.ts";
import { SchedulerService } from "@drover/proto/drover/v1/scheduler_service_pb.ts";
import { LogLevel } from "@drover/proto/drover/v1/task_pb.ts";
import { openChannel } from "../../../sdk/typescript/channel.ts";
import { bytes, json } from "../../../sdk/typescript/payload.ts";
import { until } from "../../support/until.ts";
import type { Script } from "../acts.ts";
import { assertAttempts, assertOutput, type Scenario } from "../scenario.ts";
import type { Stage } from "../stage.ts";

const noCodec = "a codec is an SDK's";
const sealedType = "application/x-drover-aes-gcm";
const nonceBytes = 12;
const tagBytes = 16;

/** As PROTOCOL.md says under "The codec". */
function seal(key: Buffer, value: unknown): ReturnType<typeof bytes> {
  const nonce = randomBytes(nonceBytes);
  const cipher = createCipheriv("aes-256-gcm", key, nonce);
  const text = cipher.update(toBinary(PayloadSchema, json(value)));
  const sealed = Buffer.concat([nonce, text, cipher.final(), cipher.getAuthTag()]);
  return bytes(sealed, sealedType);
}

function unseal(key: Buffer, value: unknown): unknown {
  assert.ok(value instanceof Uint8Array, "the server can read what was to be sealed");
  const data = Buffer.from(value);
  const cipher = createDecipheriv("aes-256-gcm", key, data.subarray(0, nonceBytes));
  cipher.setAuthTag(data.subarray(-tagBytes));
  const text = cipher.update(data.subarray(nonceBytes, -tagBytes));
  const { body } = fromBinary(PayloadSchema, Buffer.concat([text, cipher.final()]));
  assert.equal(body.case, "json");
  return JSON.parse(String(body.value));
}

const echo = (ballast: unknown): Script => ({ perform: [[{ echo: "input" }]], ballast });

export const payloads: readonly Scenario[] = [
  {
    name: "unicode",
    guarantee: "Text of any script, and what JSON has to escape, goes there and back unchanged.",
    async play(stage) {
      await stage.start();
      const input = echo({
        "schlüssel ключ 鍵": 'naïve 👩‍👩‍👧 مرحبا 𝄞 "quoted" back\\slash \t\n\u2028 </script> é',
        empty: "",
      });
      assertOutput(await stage.end(await stage.begin(input)), input);
    },
  },
  {
    name: "json-values",
    guarantee: "Numbers, booleans, null and nesting go there and back as they were.",
    async play(stage) {
      await stage.start();
      const input = echo([0, -1, 1.5, 1e21, 9007199254740991, true, false, null, [], {}, [[[1]]]]);
      assertOutput(await stage.end(await stage.begin(input)), input);
    },
  },
  {
    name: "null-output",
    guarantee: "A result of null is an output, and not the lack of one.",
    async play(stage) {
      await stage.start();
      const run = await stage.end(await stage.begin({ perform: [[{ success: null }]] }));
      assertOutput(run, null);
    },
  },
  {
    name: "big-payload",
    guarantee: "Payloads of 200 KB pass in both directions.",
    async play(stage) {
      await stage.start();
      const input = echo("0123456789".repeat(20_000));
      assertOutput(await stage.end(await stage.begin(input)), input);
    },
  },
  {
    name: "large-answer",
    guarantee: "A task that makes an answer of 5 MiB is taken and performed.",
    async play(stage) {
      const polling = stage.wire.poll.next();
      await stage.start();
      const runId = await stage.begin({ perform: [[{ success: "taken" }]] });
      await (await polling).pass(({ tasks }) => {
        for (const task of tasks) task.lastDetails = json("x".repeat(5 * 1024 * 1024));
      });
      const run = await stage.end(runId);
      assertOutput(run, "taken");
      assertAttempts(run, [{ outcome: "SUCCESS" }]);
    },
  },
  {
    name: "output-too-large",
    guarantee:
      "An output over the limit fails its step for good with the reason; completed steps are undone.",
    async play(stage) {
      const agent = await stage.start();
      const script = { perform: [[{ large: 300_000 }]] };
      const runId = await stage.begin(script, { step: { compensate: "undo" } });
      const run = await stage.end(runId);
      assertAttempts(run, [{ outcome: "PERMANENT", code: "drover.output", agentId: agent.id }]);
      assert.match(run.attempts[0]?.failure?.message ?? "", /has 300002 bytes and may have 262144/);
      assertAttempts(run, [{ outcome: "SUCCESS" }], "COMPENSATE");
    },
  },
  {
    name: "codec",
    guarantee: "With a codec the server sees nothing but sealed input, details and output.",
    notForStubs: noCodec,
    async play(stage) {
      const key = randomBytes(32);
      await stage.start({ codecKey: key.toString("hex") });
      const fail = { fail: { code: "busy" } };
      const script: Script = {
        perform: [[{ details: { page: 7 } }, fail], [{ echo: "details" }]],
        ballast: "canary",
      };
      const runId = await stage.beginSteps([stage.bareStep("work")], seal(key, script));
      const run = await stage.end(runId);
      assert.equal(run.run.state, "COMPLETED");
      assert.deepEqual(unseal(key, run.steps[0]?.output), { page: 7 });
      const reported = stage.wire.heartbeat.calls.flatMap(({ request }) => request.reports);
      const details = reported.flatMap((report) => report.details ?? []);
      assert.ok(details.length > 0);
      for (const { contentType } of details) assert.equal(contentType, sealedType);
    },
  },
  {
    name: "codec-undo",
    guarantee: "With a codec an undo gets the output unsealed.",
    notForStubs: noCodec,
    async play(stage) {
      const key = randomBytes(32);
      await stage.start({ codecKey: key.toString("hex") });
      const script: Script = {
        perform: [[{ success: { seat: "12A" } }]],
        compensate: [[{ echo: "output" }]],
      };
      const step = stage.bareStep("work", { compensate: "undo" });
      const runId = await stage.beginSteps(
        [step, { id: "forever", signal: "never", needs: ["work"] }],
        seal(key, script),
      );
      await stage.when(runId, "the step is done", ({ steps }) => steps[0]?.state === "SUCCEEDED");
      await stage.client.cancelRun(runId);
      const run = await stage.end(runId);
      assert.equal(run.run.state, "COMPENSATED");
      const undo = run.attempts.find(({ kind }) => kind === "COMPENSATE");
      assert.deepEqual(unseal(key, undo?.output), { seat: "12A" });
    },
  },
  {
    name: "log",
    guarantee: "A log line of a handler carries its run, its step and its attempt.",
    notForStubs: "the log is an SDK's",
    async play(stage) {
      const agent = await stage.start();
      const runId = await stage.begin({ perform: [[{ log: "a word of the handler" }]] });
      await stage.end(runId);
      const line = agent
        .written()
        .split("\n")
        .find((text) => text.includes("a word of the handler"));
      assert.ok(line?.includes(runId), "the line names no run");
      assert.ok(line?.includes("work"), "the line names no step");
      assert.match(line ?? "", /\b1\b/);
    },
  },
  {
    name: "log-stored",
    guarantee:
      "A handler's lines are stored once with their attempt; with `logs: off` none is sent.",
    notForStubs: "the log is an SDK's",
    async play(stage) {
      await stage.start();
      const quiet = stage.step("quiet", { perform: [[{ log: "a secret" }]] }, { logs: "off" });
      const tries = [[{ log: "one" }, { fail: { code: "busy" } }], [{ log: "two" }]];
      const work = stage.step("work", { perform: tries }, { needs: ["quiet"] });
      const appending = stage.wire.logs.next();
      const runId = await stage.beginSteps([quiet, work]);
      const lost = await appending;
      await lost.send();
      const repeating = stage.wire.logs.next();
      lost.fail("away");
      await (await repeating).pass();
      await stage.end(runId);
      const lines = await until("both lines are stored", async () => {
        const stored = await storedLines(stage, runId);
        return stored.length < 2 ? null : stored;
      });
      const level = LogLevel.INFO;
      assert.deepEqual(lines, [
        { stepId: "work", attemptNumber: 1, level, message: "one" },
        { stepId: "work", attemptNumber: 2, level, message: "two" },
      ]);
      const sent = stage.wire.logs.calls.flatMap(({ request }) => request.logs);
      const messages = sent.flatMap((log) => log.lines.map(({ message }) => message));
      assert.ok(!messages.includes("a secret"), "a line of a step with logs: off was sent");
    },
  },
];

async function storedLines({ servers }: Stage, runId: string): Promise<readonly object[]> {
  const channel = openChannel({ address: servers.first });
  const request = { run: { ref: { case: "runId", value: runId } } } as const;
  try {
    const { lines } = await channel.unary(SchedulerService.method.listLogs, request, {
      timeoutMs: 5_000,
    });
    return lines.map(({ stepId, attemptNumber, level, message }) => ({
      stepId,
      attemptNumber,
      level,
      message,
    }));
  } finally {
    channel.close();
  }
}
