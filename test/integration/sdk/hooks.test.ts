/** Hooks as a client puts, lists and deletes them, and their deliveries. */
import { timestampFromMs } from "@bufbuild/protobuf/wkt";
import { expect, onTestFinished, test } from "vitest";
import { createClient } from "../../../sdk/typescript/client.ts";
import { givenServer } from "../../support/agent-script.ts";

const url = "https://there.com/in";

async function givenHooks() {
  const server = await givenServer();
  const client = createClient({ address: server.address, namespace: "acme" });
  onTestFinished(() => client.close());
  return { server, hooks: client.hooks };
}

test("a hook is put with what it is notified of, and keeps its secret if none is given", async () => {
  const { server, hooks } = await givenHooks();
  const put = hooks.put("ops", { url, events: ["run-ended"], secret: "a secret of sixteen" });
  const call = await server.putHook.next();
  expect(call.request).toMatchObject({
    namespace: "acme",
    name: "ops",
    url,
    events: ["run-ended"],
    secret: "a secret of sixteen",
  });
  call.answer({ created: true });
  expect(await put).toEqual({ created: true });
  const again = hooks.put("ops", { url });
  const second = await server.putHook.next();
  expect(second.request).toMatchObject({ events: [], secret: "" });
  second.answer({});
  expect(await again).toEqual({ created: false });
});

test("hooks are listed without their secrets, and deleted by name", async () => {
  const { server, hooks } = await givenHooks();
  const listed = hooks.list();
  const list = await server.listHooks.next();
  expect(list.request.namespace).toBe("acme");
  const hook = { name: "ops", url, events: ["run-ended"], secretDigest: "ab" };
  list.answer({ hooks: [{ ...hook, createdTime: timestampFromMs(5_000) }] });
  expect(await listed).toEqual([{ ...hook, createdTime: new Date(5_000), changedTime: null }]);
  const gone = hooks.delete("ops");
  const call = await server.deleteHook.next();
  expect(call.request).toMatchObject({ namespace: "acme", name: "ops" });
  call.answer({ deleted: true });
  expect(await gone).toEqual({ deleted: true });
});

test("webhooks are listed page by page, with how their tries went", async () => {
  const { server, hooks } = await givenHooks();
  const listed = hooks.deliveries({ hook: "ops", states: ["pending"], pageSize: 1 });
  const call = await server.listDeliveries.next();
  expect(call.request).toMatchObject({
    namespace: "acme",
    hook: "ops",
    states: ["pending"],
    pageSize: 1,
    pageToken: "",
  });
  const delivery = {
    id: "d1",
    hook: "ops",
    url: "",
    kind: "escalation-opened",
    count: 40,
    runId: "run-1",
    escalationId: "2",
    state: "pending",
    tries: 3,
    error: "answered 500",
  };
  const times = { createdTime: timestampFromMs(1_000), nextTryTime: timestampFromMs(61_000) };
  call.answer({ deliveries: [{ ...delivery, ...times }], nextPageToken: "more" });
  expect(await listed).toEqual({
    deliveries: [
      {
        ...delivery,
        createdTime: new Date(1_000),
        endedTime: null,
        nextTryTime: new Date(61_000),
      },
    ],
    nextPageToken: "more",
  });
});
