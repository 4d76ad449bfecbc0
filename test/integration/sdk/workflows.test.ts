/** What a client asks about workflows and batches of runs, as it is sent and read. */
import { expect, onTestFinished, test } from "vitest";
import { createClient } from "../../../sdk/typescript/client.ts";
import { givenServer } from "../../support/agent-script.ts";

async function givenClient() {
  const server = await givenServer();
  const client = createClient({ address: server.address, namespace: "acme" });
  onTestFinished(() => client.close());
  return { server, client };
}

test("the default is moved, and the answer has where it was", async () => {
  const { server, client } = await givenClient();
  const moved = client.setDefaultVersion("holiday", 2);
  const call = await server.setDefaultVersion.next();
  expect(call.request).toMatchObject({ namespace: "acme", name: "holiday", version: 2 });
  call.answer({ previousVersion: 3, version: 2 });
  expect(await moved).toEqual({ previousVersion: 3, version: 2 });
});

test("versions come with their open runs", async () => {
  const { server, client } = await givenClient();
  const asked = client.getWorkflow("holiday");
  const call = await server.getWorkflow.next();
  expect(call.request).toMatchObject({ name: "holiday", includeVersions: true });
  const createdTime = { seconds: 1_767_225_600n, nanos: 0 };
  call.answer({
    workflow: { name: "holiday", defaultVersion: 1 },
    versions: [{ version: 1, createdTime, openRuns: 4 }],
    definitionText: "workflow: holiday",
  });
  expect(await asked).toEqual({
    name: "holiday",
    defaultVersion: 1,
    definitionText: "workflow: holiday",
    versions: [{ version: 1, createdTime: new Date("2026-01-01T00:00:00Z"), openRuns: 4 }],
  });
});

test("a batch is sent again under the same keys, and each run has its own result", async () => {
  const { server, client } = await givenClient();
  const started = client.scheduleBatch([{ workflow: "w", key: "k1" }, { workflow: "w" }]);
  const first = await server.scheduleBatch.next();
  const keys = first.request.runs.map(({ key }) => key);
  expect(keys).toEqual(["k1", expect.stringMatching(/^[0-9a-f-]{36}$/)]);
  first.fail(14, "STORE_UNAVAILABLE", 1);
  const second = await server.scheduleBatch.next();
  expect(second.request).toEqual(first.request);
  second.answer({
    results: [
      { status: {}, runId: "r1", created: true },
      { status: { code: 5, message: "runs[1]: there is none" } },
    ],
  });
  expect(await started).toMatchObject([
    { runId: "r1", key: "k1", created: true },
    { key: keys[1], error: { code: "NOT_FOUND", message: "runs[1]: there is none" } },
  ]);
});
