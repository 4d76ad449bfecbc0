// drover run erase, against a server that answers by script.
import type { EraseRunRequest } from "@drover/proto/drover/v1/operator_service_pb.ts";
import { BulkKind } from "@drover/proto/drover/v1/scheduler_service_pb.ts";
import { beforeEach, expect, test } from "vitest";
import { scriptedServer } from "./fixture.ts";

const server = scriptedServer();
let asked: EraseRunRequest[];
beforeEach(() => {
  asked = [];
  server.play({
    eraseRun(request) {
      asked.push(request);
      return { runId: "r1", workflow: "w" };
    },
  });
});

test("a run is erased by its key, with the reason", async () => {
  const options = ["run", "erase", "key:order-17", "--reason", "request 17", "--yes"];
  expect(await server.drover(options)).toEqual({
    code: 0,
    stdout: "run r1 of w is erased\n",
    stderr: "",
  });
  const ref = { case: "key", value: "order-17" };
  expect(asked).toMatchObject([{ run: { ref }, reason: "request 17" }]);
});

test("it asks first, and without a terminal it needs --yes", async () => {
  const { code, stderr } = await server.drover(["run", "erase", "r1", "--reason", "why"]);
  expect(code).toBe(2);
  expect(stderr).toContain("erase the run r1 for ever? Standard input is not a terminal");
  expect(asked).toEqual([]);
});

test("it needs a reason, for one run and for many", async () => {
  expect((await server.drover(["run", "erase", "r1", "--yes"])).code).toBe(2);
  const bulk = await server.drover(["run", "bulk", "erase", "--label", "customer=17", "--yes"]);
  expect(bulk).toMatchObject({ code: 2, stderr: expect.stringContaining("--reason TEXT") });
});

test("many are counted before they are erased", async () => {
  const kinds: BulkKind[] = [];
  server.play({
    bulkAction(request) {
      kinds.push(request.kind);
      return request.dryRun ? { count: 1 } : { count: 1, results: [{ runId: "r1", status: {} }] };
    },
  });
  const options = "run bulk erase --label customer=17 --reason why --yes";
  expect(await server.drover(options.split(" "))).toMatchObject({
    code: 0,
    stdout: "erase: 1 done, 0 refused\n",
  });
  expect(kinds).toEqual([BulkKind.ERASE, BulkKind.ERASE]);
});
