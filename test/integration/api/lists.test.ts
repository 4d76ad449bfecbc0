// Runs and workflows in pages.
import type { MessageInitShape } from "@bufbuild/protobuf";
import { RunState } from "@drover/proto/drover/v1/run_pb.ts";
import {
  type ListRunsRequestSchema,
  RunOrder,
  SchedulerService,
} from "@drover/proto/drover/v1/scheduler_service_pb.ts";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { ANY_RUN, type RunPage } from "../../../server/store/lists.ts";
import { type GrpcClient, grpcClient } from "./rpc-clients.ts";
import { runRecord, startWorld, type World } from "./rpc-world.ts";

const { listRuns, listWorkflows } = SchedulerService.method;

let world: World;
let grpc: GrpcClient;
beforeEach(async () => {
  world = await startWorld();
  grpc = grpcClient(world.port);
});
afterEach(async () => {
  grpc.close();
  await world.close();
});

describe("lists come in pages", () => {
  const ids = ["01", "02", "03"].map((end) => `0198c0de-0000-7000-8000-0000000000${end}`);

  test("of runs: the token leads on, and fits its filter and order alone", async () => {
    const pages: RunPage[] = [];
    world.lists.runs = async (_namespaceId, page) => {
      pages.push(page);
      const from = page.after === null ? 0 : ids.indexOf(page.after) + 1;
      return ids.slice(from, from + page.limit).map((runId) => runRecord({ runId }));
    };
    const filter = { states: [RunState.RUNNING], labels: { b: "2", a: "1" }, workflow: "holiday" };
    const first = await grpc.unary(listRuns, { filter, pageSize: 2 });
    expect(first.answer?.runs.map(({ runId }) => runId)).toEqual(ids.slice(0, 2));
    expect(first.answer?.runs[0]?.input).toBeUndefined();
    const pageToken = first.answer?.nextPageToken ?? "";
    const sameFilter = { ...filter, labels: { a: "1", b: "2" } };
    const second = await grpc.unary(listRuns, { filter: sameFilter, pageSize: 2, pageToken });
    expect(second.answer?.runs.map(({ runId }) => runId)).toEqual(ids.slice(2));
    expect(second.answer?.nextPageToken).toBe("");
    expect(pages[0]).toEqual({
      filter: {
        ...ANY_RUN,
        states: ["RUNNING"],
        workflow: "holiday",
        labels: { a: "1", b: "2" },
      },
      order: "created-desc",
      limit: 3,
      after: null,
      readMax: 10_000,
    });
    const others: MessageInitShape<typeof ListRunsRequestSchema>[] = [
      { filter: { ...filter, workflow: "other" }, pageToken },
      { filter, order: RunOrder.CREATED_ASC, pageToken },
      { filter, pageToken: "nonsense!" },
      { filter, pageToken: pageToken.slice(0, -4) },
    ];
    for (const other of others) {
      const answer = await grpc.unary(listRuns, other);
      expect(answer).toMatchObject({ code: 3, reason: "PAGE_TOKEN_INVALID" });
      expect(answer.fields[0]?.[0]).toBe("page_token");
    }
  });

  test("of workflows, by name", async () => {
    const names = ["a", "b", "c"];
    world.lists.workflows = async (_namespaceId, after, limit) =>
      names
        .filter((name) => after === null || name > after)
        .slice(0, limit)
        .map((name) => ({ name, defaultVersion: 1, latestVersion: 1, createdAt: 0 }));
    const first = await grpc.unary(listWorkflows, { pageSize: 2 });
    const pageToken = first.answer?.nextPageToken ?? "";
    const second = await grpc.unary(listWorkflows, { pageSize: 2, pageToken });
    expect([first, second].map(({ answer }) => answer?.workflows.map(({ name }) => name))).toEqual([
      ["a", "b"],
      ["c"],
    ]);
  });
});
