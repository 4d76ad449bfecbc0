/** Runs of defined workflows on a real server: from a checked input to outputs with types. */
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { z } from "zod";
import { createAgent } from "../../../sdk/typescript/agent.ts";
import { DroverCallError } from "../../../sdk/typescript/call-error.ts";
import { createClient } from "../../../sdk/typescript/client.ts";
import { ErrorReason } from "../../../sdk/typescript/error-reason.ts";
import { RunNotCompletedError } from "../../../sdk/typescript/run-outputs.ts";
import { defineTask } from "../../../sdk/typescript/task-definition.ts";
import { PermanentError } from "../../../sdk/typescript/task-errors.ts";
import { type BoundHandler, handle } from "../../../sdk/typescript/typed-handler.ts";
import { defineWorkflow } from "../../../sdk/typescript/workflow-definition.ts";
import { step } from "../../../sdk/typescript/workflow-step.ts";
import { givenServer, silentLog } from "../../support/agent-script.ts";
import { startDroverServer, type TestServer } from "../../support/drover-server.ts";

let server: TestServer;
beforeAll(async () => {
  server = await startDroverServer();
});
afterAll(() => server.stop());

const tripInput = z.object({ to: z.string(), seats: z.number().default(1) });
const booking = z.object({ id: z.string() });
const book = defineTask("book", { input: tripInput, output: booking });
const cancel = defineTask("cancel", { compensates: book });
const mail = defineTask("mail", { input: booking });
const trip = defineWorkflow("trip", {
  input: tripInput,
  steps: [
    step({ id: "flight", task: book, compensate: cancel }),
    step({
      id: "mail",
      task: mail,
      needs: ["flight"],
      // biome-ignore lint/suspicious/noTemplateCurlyInString: an expression of a workflow
      input: { id: "${steps.flight.output.id}" },
    }),
    step({ id: "hotel", task: book, when: "false" }),
  ],
});

async function given(handlers: readonly BoundHandler[]) {
  const { address } = server;
  const client = createClient({ address });
  const agent = createAgent({ address, id: "typed", handlers, log: silentLog });
  onTestFinished(async () => {
    await agent.stop();
    client.close();
  });
  agent.start();
  await client.registerWorkflow(trip.spec);
  return client;
}

const mailed: string[] = [];
const mailing = handle(mail, (task) => void mailed.push(task.input().id));

test("the outputs of a run are those of its bound steps, and a skipped one has none", async () => {
  const booking = handle(book, (task) => {
    const { to, seats } = task.input();
    return { id: `${to}-${seats}` };
  });
  const client = await given([booking, mailing, handle(cancel, () => undefined)]);
  const { runId } = await client.schedule({ workflow: trip, input: { to: "Rome" } });
  expect(await client.waitOutputs(trip, runId)).toEqual({ flight: { id: "Rome-1" } });
  expect(mailed).toEqual(["Rome-1"]);
});

test("a wrong output is no output of the step, which is undone", async () => {
  const wrong = JSON.parse('{ "id": 7 }');
  const undone: string[] = [];
  const client = await given([
    handle(book, () => wrong),
    handle(cancel, (task) => void undone.push(task.effectKey)),
    mailing,
  ]);
  const { runId } = await client.schedule({ workflow: trip, input: { to: "Rome" } });
  const failed = await client.waitOutputs(trip, runId).catch((error: unknown) => error);
  expect(failed).toBeInstanceOf(RunNotCompletedError);
  expect(failed).toMatchObject({ run: { runId, state: "COMPENSATED" } });
  const { steps } = await client.getRun(runId);
  expect(steps[0]?.error).toMatchObject({ code: "drover.output" });
  expect(steps[0]?.error?.message).toContain("id:");
  expect(undone).toHaveLength(1);
});

test("an input that an agent does not take fails the step at once", async () => {
  const client = await given([
    handle(book, () => {
      throw new PermanentError("not-reached", "the handler was started");
    }),
    handle(cancel, () => undefined),
    mailing,
  ]);
  // By its name, so that the caller does not check it.
  const { runId } = await client.schedule({ workflow: "trip", input: { to: 7 } });
  expect(await client.waitRun(runId)).toMatchObject({ ended: true });
  const { steps } = await client.getRun(runId);
  expect(steps[0]).toMatchObject({ attempt: 1, error: { code: "bad-input" } });
  expect(steps[0]?.error?.message).toContain("to:");
});

test("an output that no longer fits is refused where it is read", async () => {
  const client = await given([
    handle(book, () => ({ id: "f-1" })),
    handle(cancel, () => undefined),
    mailing,
  ]);
  const { runId } = await client.schedule({ workflow: trip, input: { to: "Rome" } });
  const newer = defineWorkflow("trip", {
    outputs: { flight: booking.extend({ seat: z.string() }) },
  });
  await expect(client.waitOutputs(newer, runId)).rejects.toThrow(
    `The output of flight in run ${runId} is not as expected: seat:`,
  );
});

describe("a caller with a wrong input", () => {
  const wrong = JSON.parse('{ "to": 7, "seats": "two" }');

  test("gets the error of a server, and none was asked", async () => {
    const fake = await givenServer();
    const client = createClient({ address: fake.address });
    onTestFinished(() => client.close());
    fake.schedule.always((call) => call.answer({ runId: "sent" }));
    const error = await client
      .schedule({ workflow: trip, input: wrong })
      .catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(DroverCallError);
    expect(error).toMatchObject({
      code: "INVALID_ARGUMENT",
      reason: ErrorReason.INVALID_REQUEST,
      message: expect.stringMatching(/^The input for the workflow trip is not as expected: to: /),
      fields: [{ path: "input.to" }, { path: "input.seats" }],
    });
    const right = { workflow: trip, input: { to: "Rome" } } as const;
    await expect(client.scheduleBatch([right, { ...right, input: wrong }])).rejects.toThrow(
      "is not as expected",
    );
    // The first call that arrives is the one that may be sent.
    expect(await client.schedule(right)).toMatchObject({ runId: "sent" });
  });

  test("sends the input as it was given, without defaults of the schema", async () => {
    const fake = await givenServer();
    const client = createClient({ address: fake.address });
    onTestFinished(() => client.close());
    const started = client.schedule({ workflow: trip, input: { to: "Rome" } });
    const call = await fake.schedule.next();
    expect(call.request).toMatchObject({
      target: { case: "workflow", value: { name: "trip" } },
      input: { body: { case: "json", value: '{"to":"Rome"}' } },
    });
    call.answer({ runId: "r", created: true });
    await started;
  });
});

test("a reason of a newer server is read as one that is not known", async () => {
  const fake = await givenServer();
  const client = createClient({ address: fake.address });
  onTestFinished(() => client.close());
  const notFound = 5;
  const reasons = [];
  for (const reason of ["WORKFLOW_NOT_FOUND", "OF_A_NEWER_SERVER"]) {
    const started = client.schedule({ workflow: "w" }).catch((error: unknown) => error);
    (await fake.schedule.next()).fail(notFound, reason);
    const error = await started;
    reasons.push(error instanceof DroverCallError ? error.reason : error);
  }
  expect(reasons).toEqual([ErrorReason.WORKFLOW_NOT_FOUND, ErrorReason.UNSPECIFIED]);
});
