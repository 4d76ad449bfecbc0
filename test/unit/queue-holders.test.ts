// What the tasks of a queue that agents hold have in common.
import { timestampFromMs } from "@bufbuild/protobuf/wkt";
import { expect, test } from "vitest";
import { holdersMessage } from "../../server/api/operator/queue-holders.ts";

const held = (grantedAt: number, workflow: string, labels: Record<string, string> = {}) => ({
  grantedAt,
  workflow,
  labels,
});

test("labels and workflows of at least half of the tasks are named, the most frequent first", () => {
  const holdings = [
    held(1_000, "sync", { tenant: "acme", order: "1" }),
    held(4_000, "sync", { tenant: "acme", order: "2" }),
    held(2_000, "sync", { tenant: "acme", order: "3", host: "a" }),
    held(3_000, "load", { tenant: "globex", order: "4", host: "a" }),
  ];
  expect(holdersMessage(holdings, 4)).toEqual({
    tasks: 4,
    more: false,
    lastGrantedTime: timestampFromMs(4_000),
    shares: [
      { label: "tenant", value: "acme", tasks: 3 },
      { label: "host", value: "a", tasks: 2 },
      { label: "", value: "sync", tasks: 3 },
    ],
  });
});

test("tasks that were not counted are not kept secret", () => {
  expect(holdersMessage([held(0, "sync")], 300)).toMatchObject({ tasks: 1, more: true });
});
