// drover run input: the evaluated input of a step, and the sentences where there is none.
import type { MessageInitShape } from "@bufbuild/protobuf";
import type { GetStepInputResponseSchema } from "@drover/proto/drover/v1/scheduler_service_pb.ts";
import { expect, test } from "vitest";
import { scriptedServer } from "./fixture.ts";

const server = scriptedServer();

async function inputOf(answer: MessageInitShape<typeof GetStepInputResponseSchema>, step = "pay") {
  const asked: (readonly [string, number | undefined])[] = [];
  server.play({
    getStepInput({ stepId, item }) {
      asked.push([stepId, item]);
      return answer;
    },
  });
  const { code, stdout, stderr } = await server.drover(["run", "input", "r1", step]);
  expect(code).toBe(0);
  return { asked, stdout, stderr };
}

const payload = (json: string) =>
  ({
    hasInput: true,
    result: { case: "payload", value: { body: { case: "json", value: json } } },
  }) as const;

test("prints the input alone, so that it can be piped", async () => {
  const { asked, stdout, stderr } = await inputOf(payload('{"cents":1200}'), "deploy[3]");
  expect(asked).toEqual([["deploy", 3]]);
  expect([stdout, stderr]).toEqual(['{"cents":1200}\n', ""]);
});

test("says why there is none", async () => {
  const notes = [
    [{ hasInput: false }, "there is no input: the step has not started, or it has no task\n"],
    [{ hasInput: true }, "the input is empty\n"],
    [
      { hasInput: true, result: { case: "problem", value: "input.first: no such key" } },
      "the input could not be evaluated: input.first: no such key\n",
    ],
  ] as const;
  for (const [answer, note] of notes) {
    const { stdout, stderr } = await inputOf(answer);
    expect([stdout, stderr]).toEqual(["", note]);
  }
});
