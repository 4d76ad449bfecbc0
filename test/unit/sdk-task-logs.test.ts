/** What an agent does with the lines of its handlers while no server takes them. */
import { create } from "@bufbuild/protobuf";
import { AppendLogsResponseSchema } from "@drover/proto/drover/v1/agent_service_pb.ts";
import { TaskSchema } from "@drover/proto/drover/v1/task_pb.ts";
import { expect, test } from "vitest";
import { DroverCallError } from "../../sdk/typescript/call-error.ts";
import { createTaskLogs, type TaskLogMessage } from "../../sdk/typescript/task-logs.ts";
import { createManualClock } from "../support/manual-clock.ts";

const FLUSH_MS = 1_000;
/** Of all lines that wait, as the SDK counts them: 64 bytes a line beside its text. */
const WAITING_BYTES_MAX = 256 * 1_024;
const TRIES_MAX = 5;

/** An agent whose server is down, hangs, or answers. */
function given() {
  const clock = createManualClock();
  const printed: string[] = [];
  const print = (_fields: object, message: string): void => void printed.push(message);
  const log = { debug: print, info: print, warn: print, error: print };
  const calls: TaskLogMessage[][] = [];
  const taken: TaskLogMessage[][] = [];
  const server = { state: "down" as "down" | "hangs" | "up" };
  const logs = createTaskLogs({
    clock,
    log,
    async send(batch) {
      calls.push(batch);
      if (server.state === "hangs") await new Promise(() => undefined);
      if (server.state === "down") throw new DroverCallError("UNAVAILABLE", "no server answers");
      taken.push(batch);
      return create(AppendLogsResponseSchema, { answers: batch.map(() => ({})) });
    },
  });
  const handler = logs.tee(create(TaskSchema, { taskToken: "t", storeLogs: true }), log);
  /** Lets a second pass, and waits until so many calls were made. */
  const secondUntil = async (count: number): Promise<void> => {
    await clock.armed(FLUSH_MS);
    clock.advance(FLUSH_MS);
    await expect.poll(() => calls.length).toBe(count);
  };
  const messages = () =>
    taken.flat().flatMap(({ lines = [] }) => lines.map(({ message }) => message));
  return { clock, printed, calls, taken, server, logs, handler, secondUntil, messages };
}

test("a handler logs on at once, up to 256 KiB wait, and a line says how many found no room", async () => {
  const { printed, calls, taken, server, handler, secondUntil, messages } = given();
  const text = "x".repeat(1_024 - 64);
  const fit = WAITING_BYTES_MAX / 1_024;
  // All in one turn of the event loop: no call is awaited.
  for (let n = 0; n < fit + 10; n++) handler.info({}, text);
  expect(printed).toHaveLength(fit + 10);
  await expect.poll(() => calls.length).toBe(1);
  server.state = "up";
  await secondUntil(2);
  expect(messages()).toEqual(Array.from({ length: fit }, () => text));
  handler.info({}, "the server is back");
  await secondUntil(3);
  expect(messages().slice(fit)).toEqual(["10 lines were not stored", "the server is back"]);
  expect(taken.at(-1)).toMatchObject([{ taskToken: "t", firstLine: fit + 1 }]);
});

test("lines are given up after five calls; the process says why, and the next line how many", async () => {
  const { calls, printed, server, taken, handler, secondUntil } = given();
  for (const text of ["one", "two", "three"]) handler.info({}, text);
  for (let n = 1; n <= TRIES_MAX; n++) await secondUntil(n);
  await expect.poll(() => printed.at(-1)).toBe("log lines were not stored: no server answers");
  expect(calls.every((call) => call[0]?.firstLine === 1)).toBe(true);
  server.state = "up";
  handler.info({}, "four");
  await secondUntil(TRIES_MAX + 1);
  expect(taken).toMatchObject([
    [{ firstLine: 4, lines: [{ message: "3 lines were not stored" }, { message: "four" }] }],
  ]);
});

test("an agent that stops waits for a call for as long as it was told, and sends nothing after that", async () => {
  const { clock, calls, server, logs, handler } = given();
  server.state = "hangs";
  handler.info({}, "last words");
  let isStopped = false;
  const stopped = logs.stop(2_000).then(() => {
    isStopped = true;
  });
  clock.advance(1_999);
  await new Promise(setImmediate);
  expect(isStopped).toBe(false);
  clock.advance(1);
  await stopped;
  handler.info({}, "too late");
  clock.advance(10 * FLUSH_MS);
  expect(calls).toHaveLength(1);
});
