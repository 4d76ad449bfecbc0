// drover hook put, list, delete and deliveries.
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { PutHookRequest } from "@drover/proto/drover/v1/operator_service_pb.ts";
import { afterAll, beforeAll, expect, test } from "vitest";
import { scriptedServer } from "./fixture.ts";

const AT = { seconds: 1_767_225_600n };

const server = scriptedServer();
let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "drover-cli-"));
});
afterAll(() => rmSync(folder, { recursive: true }));

const hook = (...args: readonly string[]) => server.drover(["hook", ...args], { cwd: folder });

async function put(...args: readonly string[]) {
  const asked: PutHookRequest[] = [];
  server.play({
    putHook: (request) => {
      asked.push(request);
      return { created: true };
    },
  });
  const answer = await hook("put", "ops", "https://there.com/in", ...args);
  return { ...answer, asked: asked[0] };
}

test("a hook is put with what it is notified of, and a secret out of a file", async () => {
  writeFileSync(join(folder, "secret"), "a secret of sixteen\n");
  const events = ["--event", "run-ended", "--event", "escalation-opened"];
  const { code, stdout, asked } = await put(...events, "--secret-file", "secret");
  expect({ code, stdout }).toEqual({ code: 0, stdout: "hook ops created\n" });
  expect(asked).toMatchObject({
    namespace: "default",
    name: "ops",
    url: "https://there.com/in",
    events: ["run-ended", "escalation-opened"],
    secret: "a secret of sixteen",
  });
});

test("a new secret is printed once, beside the data", async () => {
  const { stdout, stderr, asked } = await put("--new-secret");
  expect(asked?.secret).toMatch(/^[0-9a-f]{64}$/);
  expect(stderr).toContain(asked?.secret);
  expect(stdout).toBe("hook ops created\n");
});

test("an event that there is not is a mistake of usage", async () => {
  const { code, stderr } = await put("--event", "run-lost");
  expect(code).toBe(2);
  expect(stderr).toContain("escalation-opened, escalation-reminder, escalation-closed, run-ended");
});

test("hooks are listed by name, with the beginning of their secret's digest", async () => {
  server.play({
    listHooks: () => ({
      hooks: [
        {
          name: "ops",
          url: "https://there.com/in",
          events: [],
          secretDigest: "0123456789abcdef",
          createdTime: AT,
          changedTime: AT,
        },
      ],
    }),
  });
  const { stdout } = await hook("list");
  expect(stdout).toContain("https://there.com/in  runs that name it  0123456789ab  2026-01-01");
});

test("programs get hooks and webhooks as one document, or one in each line", async () => {
  const deliveries = [{ id: "d1" }, { id: "d2" }];
  server.play({
    listHooks: () => ({ hooks: [{ name: "a" }, { name: "b" }] }),
    listDeliveries: ({ pageToken }) =>
      pageToken === ""
        ? { deliveries: deliveries.slice(0, 1), nextPageToken: "more" }
        : { deliveries: deliveries.slice(1) },
  });
  expect((await hook("list", "-o", "jsonl")).stdout).toBe('{"name":"a"}\n{"name":"b"}\n');
  expect((await hook("deliveries", "-o", "jsonl")).stdout).toBe('{"id":"d1"}\n{"id":"d2"}\n');
  expect(JSON.parse((await hook("deliveries", "-o", "json")).stdout)).toEqual({ deliveries });
});

test("a hook is deleted, and one that is not there is reported", async () => {
  server.play({ deleteHook: () => ({ deleted: true }) });
  expect(await hook("delete", "ops")).toMatchObject({ code: 0, stdout: "hook ops deleted\n" });
  server.play({ deleteHook: () => ({ deleted: false }) });
  const { code, stdout, stderr } = await hook("delete", "ops");
  expect({ code, stdout }).toEqual({ code: 4, stdout: "" });
  expect(stderr).toBe('drover: there is no hook "ops"\n  next: drover hook list\n');
});

test("webhooks are listed with their error and their next try", async () => {
  server.play({
    listDeliveries: ({ hook: of, states }) => ({
      deliveries: [
        {
          id: "d",
          hook: of,
          kind: "escalation-opened",
          count: 40,
          runId: "r1",
          url: "",
          escalationId: "2",
          state: states[0] ?? "",
          tries: 3,
          error: "answered\u001b500",
          createdTime: AT,
          nextTryTime: { seconds: AT.seconds + 60n },
        },
      ],
      nextPageToken: "more",
    }),
  });
  const { stdout, stderr } = await hook(
    "deliveries",
    "--hook",
    "ops",
    "--state",
    "pending",
    "--limit",
    "1",
  );
  expect(stdout).toContain("ops   escalation-opened  40     r1/2   pending  3");
  expect(stdout).toContain("2026-01-01 00:01:00Z  answered\\u001b500");
  expect(stderr).toBe("more exist\n  next: --limit 10\n");
});
