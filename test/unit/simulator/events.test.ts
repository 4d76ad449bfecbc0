// The actions of people in a scenario, and the faults of queues and the server, event by event.
import { describe, expect, test } from "vitest";
import { lines, played } from "../../support/play-scenario.ts";

const WORKFLOW = `
workflow: w
steps:
  - { id: a, task: do-a, queue: left, compensate: { task: undo-a }, on_failure: escalate }
  - { id: paid, needs: [a], signal: { name: paid, within: 1h, on_expiry: skip } }
  - { id: ok, needs: [paid], approval: { approvers: [boss], within: 1h, on_expiry: reject } }
  - { id: b, needs: [ok], task: do-b, queue: right }
`;

const TYPICAL = [
  "{ when: paid WAITING, after: 5s, signal: { name: paid, payload: { cents: 7 } } }",
  "{ when: ok WAITING, after: 5s, approve: ok }",
];

async function whatCameOf(events: readonly string[], agents = "{}") {
  const { came } = await played(
    WORKFLOW,
    `scenarios: [{ scenario: s, agents: ${agents}, events: [${events.join(", ")}], expect: {} }]`,
  );
  return { ...came, lines: lines(came), steps: Object.fromEntries(came.steps) };
}

describe("people", () => {
  test("send signals, and approve with the roles that the step asks for", async () => {
    const came = await whatCameOf(TYPICAL);
    expect(came).toMatchObject({ run: "COMPLETED", endedMs: 12_000, troubles: [] });
    expect(came.outputs.get("paid")).toBe('{"cents":7}');
    expect(came.lines).toContain("6000 the world sends the signal paid");
    expect(came.lines).toContain("11000 person-2 ok approves");
  });

  test("reject", async () => {
    const [signal = ""] = TYPICAL;
    const reject = "{ when: ok WAITING, reject: { step: ok, by: Ann, comment: no } }";
    const came = await whatCameOf([signal, reject]);
    expect(came.steps).toMatchObject({ a: "UNDONE", ok: "FAILED", b: "CANCELLED" });
  });

  test("are refused without the role", async () => {
    const [signal = ""] = TYPICAL;
    const came = await whatCameOf([
      signal,
      "{ when: ok WAITING, approve: { step: ok, roles: [cook] } }",
    ]);
    expect(came.troubles).toEqual([
      expect.stringMatching(/^scenarios\[0\]\.events\[1\] was refused: /),
    ]);
  });

  test("answer what they are asked, with an output where one is needed", async () => {
    const failing = "{ do-a: { fail: { code: NO, permanent: true } } }";
    const answer =
      "{ when: a ESCALATED, after: 2h, answer: { answer: succeed, step: a, payload: { n: 1 } } }";
    const came = await whatCameOf([answer, ...TYPICAL], failing);
    expect(came).toMatchObject({
      run: "COMPLETED",
      escalations: ["step-failed of a"],
      troubles: [],
    });
    expect(came.outputs.get("a")).toBe('{"n":1}');
  });

  test("cancel, with undoing and without", async () => {
    const undone = await whatCameOf(["{ when: paid WAITING, cancel: compensate }"]);
    expect(undone).toMatchObject({ run: "COMPENSATED", reason: "CANCELLED_BY_USER", effects: [] });
    const left = await whatCameOf(["{ when: paid WAITING, cancel: leave }"]);
    expect(left).toMatchObject({ run: "CANCELLED", effects: ["a"] });
  });

  test("pause and resume the run, and queues", async () => {
    const run = await whatCameOf([
      "{ at: 500ms, pause: run }",
      "{ at: 1h, resume: run }",
      ...TYPICAL,
    ]);
    expect(run).toMatchObject({ run: "COMPLETED", troubles: [] });
    expect(run.endedMs).toBeGreaterThan(3_600_000);
    const queue = await whatCameOf([
      "{ at: 500ms, pause: queue right }",
      "{ at: 1h, resume: queue right }",
      ...TYPICAL,
    ]);
    expect(queue.reached).toContainEqual({ atMs: 3_600_000, state: "b LEASED" });
  });

  test("leave a run paused: it is over as soon as no event follows", async () => {
    const came = await whatCameOf(["{ at: 500ms, pause: run }"]);
    expect(came).toMatchObject({ run: "PAUSED", endedMs: null });
    expect(came.playedMs).toBeLessThan(60_000);
    expect(came.why).toMatch(/paused|resume/);
  });
});

describe("the world", () => {
  test("takes the agents of a queue away, and brings them back", async () => {
    const came = await whatCameOf([
      "{ at: 0s, agents_leave: right }",
      "{ at: 2h, agents_return: right }",
      ...TYPICAL,
    ]);
    expect(came).toMatchObject({
      run: "COMPLETED",
      interventions: expect.arrayContaining(["pickup of b"]),
    });
    expect(came.reached).toContainEqual({ atMs: 7_200_000, state: "b LEASED" });
  });

  test("kills the server: an answer is given when it is back, and nothing is done twice", async () => {
    const came = await whatCameOf(["{ at: 500ms, kill_server: 20s }", ...TYPICAL]);
    expect(came).toMatchObject({ run: "COMPLETED", troubles: [] });
    expect(Object.fromEntries(came.calls)).toEqual({ "do-a": 1, "do-b": 1 });
    expect(came.reached.find(({ state }) => state === "a SUCCEEDED")?.atMs).toBeGreaterThan(20_000);
  });
});
