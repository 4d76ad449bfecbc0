// drover run items: the items of a map, those in one state, and what is printed where there are
// none.
import { Code } from "@connectrpc/connect";
import { StepKind, StepState } from "@drover/proto/drover/v1/run_pb.ts";
import { expect, test } from "vitest";
import { refusedBy, type Script } from "../../support/fake-scheduler.ts";
import { scriptedServer } from "./fixture.ts";

const server = scriptedServer();

const items = (...args: readonly string[]) => server.drover(["run", "items", ...args]);

/** Five items on two pages or more; the second failed. */
const fiveItems: Script = {
  listItems({ stepId, states, pageSize, pageToken }) {
    const from = Number(pageToken || "0");
    const to = Math.min(from + Math.min(pageSize, 3), 5);
    const read = Array.from({ length: to - from }, (_, at) => {
      const failed = from + at === 1;
      return {
        id: `${stepId}[${from + at}]`,
        kind: StepKind.TASK,
        state: failed ? StepState.FAILED : StepState.SUCCEEDED,
        task: "install",
        ...(failed ? { error: { code: "in-repair", message: "it is in repair" } } : {}),
      };
    });
    return {
      items: read.filter(({ state }) => states.length === 0 || states.includes(state)),
      nextPageToken: to < 5 ? String(to) : "",
    };
  },
};

test("lists all of them, page after page", async () => {
  server.play(fiveItems);
  const { code, stdout } = await items("r1", "deploy");
  expect(code).toBe(0);
  expect(stdout).toBe(
    [
      "STEP       STATE      TASK     RESULT",
      "deploy[0]  succeeded  install",
      "deploy[1]  failed     install  in-repair: it is in repair",
      "deploy[2]  succeeded  install",
      "deploy[3]  succeeded  install",
      "deploy[4]  succeeded  install",
      "",
    ].join("\n"),
  );
});

test("prints that there are more than the limit", async () => {
  server.play(fiveItems);
  const { stdout, stderr } = await items("r1", "deploy", "--limit", "4", "-o", "jsonl");
  expect(stdout.trim().split("\n")).toHaveLength(4);
  expect(stderr).toBe("more exist\n  next: --limit 40\n");
});

test("lists those in one state alone", async () => {
  server.play(fiveItems);
  const { stdout } = await items("r1", "deploy", "--state", "failed");
  expect(stdout.match(/^deploy.*?(?= )/gm)).toEqual(["deploy[1]"]);
  const { stderr } = await items("r1", "deploy", "--state", "escalated");
  expect(stderr).toBe("no item is in such a state\n");
});

test.each(["with-an-agent", "with an agent", "leased", "LEASED"])(
  "takes %s as a state",
  async (state) => {
    const asked: StepState[] = [];
    server.play({
      listItems({ states }) {
        asked.push(...states);
        return {};
      },
    });
    await items("r1", "deploy", "--state", state);
    expect(asked).toEqual([StepState.LEASED]);
    const { code, stderr } = await items("r1", "deploy", "--state", "done");
    expect(code).toBe(2);
    expect(stderr).toContain("States are blocked, ready, with-an-agent, to-be-retried, waiting,");
  },
);

test("of what is no map prints where to find the maps", async () => {
  server.play({
    listItems() {
      const message = '"look" is no map: of maps it has "deploy".';
      throw refusedBy({ code: Code.NotFound, reason: "STEP_NOT_FOUND", message });
    },
  });
  expect(await items("r1", "look")).toEqual({
    code: 4,
    stdout: "",
    stderr:
      'drover: "look" is no map: of maps it has "deploy".\n' +
      "  next: drover run show RUN lists its steps with their kinds\n",
  });
});
