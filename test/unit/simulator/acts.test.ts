// What an agent of a scenario does, act by act, and how the engine reacts.
import { describe, expect, test } from "vitest";
import { lines, played } from "../../support/play-scenario.ts";

const WORKFLOW = `
workflow: w
steps:
  - id: a
    task: do-a
    effects: verifiable
    verify: { task: find-a, retry: { attempts: 2, initial: 100ms } }
    retry: { attempts: 3, initial: 1s, jitter: 0 }
    timeouts: { heartbeat: 2s, attempt: 10s, stall: 5s, cancel: 3s, callback: 1m, settle: 2s }
    compensate: { task: undo-a }
`;

const scenario = (acts: string, more = "") =>
  `scenarios: [{ scenario: s, agents: { do-a: ${acts} ${more} }, expect: COMPLETED }]`;

/** What came of a task that is done so: the run, its calls, and what supervisors did. */
async function whatCameOf(acts: string, more = "") {
  const { came } = await played(WORKFLOW, scenario(acts, more));
  expect(came.troubles).toEqual([]);
  return {
    run: came.run,
    calls: Object.fromEntries(came.calls),
    by: came.interventions.filter((one) => !/^(?:backoff|settle)/.test(one)),
    effects: came.effects,
    lines: lines(came),
  };
}

describe("an agent", () => {
  test("succeeds after a second, or when it is set to, with an output", async () => {
    const { came } = await played(
      WORKFLOW,
      scenario("{ succeed: { after: 6h, output: { n: 1 } } }"),
    );
    // Its attempt has only 10 s, so it is cancelled, and obeys.
    expect(lines(came)).toContainEqual(expect.stringMatching(/^10\d\d\d .* reports: cancelled$/));
    const quick = await played(WORKFLOW, scenario("{ succeed: { output: { n: 1 } } }"));
    expect(quick.came.endedMs).toBe(1_000);
    expect(quick.came.outputs.get("a")).toBe('{"n":1}');
  });

  test("fails, and is retried by its policy", async () => {
    const came = await whatCameOf("[fail: BUSY, succeed]");
    expect(came).toMatchObject({ run: "COMPLETED", calls: { "do-a": 2 }, by: [] });
    expect(came.lines).toContain("1000 default-1 a reports: failed, BUSY");
    expect(came.lines).toContainEqual(expect.stringMatching(/^200\d supervisor a backoff: /));
  });

  test("fails for good, having done half of it or not", async () => {
    const came = await whatCameOf("{ fail: { code: NO, permanent: true, effect: true } }");
    expect(came).toMatchObject({ run: "FAILED", calls: { "do-a": 1 }, effects: ["a"] });
    const sure = await whatCameOf("{ fail: { code: NO, permanent: true, no_effect: true } }");
    expect(sure).toMatchObject({ run: "FAILED", effects: [] });
  });

  test("loses the answer: the verify finds what was done", async () => {
    const came = await whatCameOf("lose-answer");
    expect(came).toMatchObject({
      run: "COMPLETED",
      calls: { "do-a": 1, "find-a": 1 },
      effects: ["a"],
    });
    expect(came.lines).toContain("2000 default-2 a reports: it is there");
  });

  test("loses the request: the verify finds nothing, and it is done again", async () => {
    const came = await whatCameOf("[lose-request, succeed]");
    expect(came).toMatchObject({ run: "COMPLETED", calls: { "do-a": 2, "find-a": 1 } });
    expect(came.lines).toContain("2000 default-2 a reports: it is not there");
  });

  test("cannot determine it, whichever way it checks: a person is asked", async () => {
    const { came } = await played(WORKFLOW, scenario("lose-answer", ", find-a: lose-request"));
    expect(came.run).toBe("ESCALATED");
    expect(came.escalations).toEqual(["unverified of a"]);
    expect(came.why).toMatch(/waits for a person's answer/);
  });

  test("falls silent for good: its lease is lost", async () => {
    const came = await whatCameOf("[freeze, succeed]");
    expect(came).toMatchObject({ run: "COMPLETED", by: ["lease of a"], calls: { "do-a": 2 } });
  });

  test("falls silent for a while, and is refused when it is back", async () => {
    const came = await whatCameOf("[freeze: 20s, succeed: { after: 8s }]");
    expect(came).toMatchObject({ run: "COMPLETED", by: ["lease of a"] });
    expect(came.lines).toContainEqual(expect.stringMatching(/^20000 default-1 a is back$/));
    expect(came.lines).toContainEqual(expect.stringMatching(/^20000 .* succeeded \(refused: /));
  });

  test("answers late: it was done, and is found", async () => {
    const came = await whatCameOf("[answer-late, succeed]");
    expect(came).toMatchObject({ run: "COMPLETED", by: ["lease of a"], effects: ["a"] });
    expect(came.lines).toContainEqual(expect.stringMatching(/reports: succeeded, late/));
  });

  test("hangs, and does not listen: its attempt times out twice over", async () => {
    const came = await whatCameOf("[hang, succeed]");
    expect(came).toMatchObject({ run: "COMPLETED", by: ["attempt of a", "attempt of a"] });
    expect(came.lines).toContainEqual(expect.stringMatching(/is asked to stop, and ignores it$/));
  });

  test("stalls at 47 %: the stall is found while it sends heartbeats", async () => {
    const came = await whatCameOf("[stall, succeed]");
    expect(came).toMatchObject({ run: "COMPLETED", by: ["stall of a", "attempt of a"] });
    expect(came.lines).toContain("0 default-1 a stalls at 47 %");
  });

  test("crashes, having done it or not", async () => {
    const came = await whatCameOf("[crash: { after: 1s, effect: true }, succeed]");
    expect(came).toMatchObject({ run: "COMPLETED", by: ["lease of a"], calls: { "do-a": 1 } });
    const before = await whatCameOf("[crash, succeed]");
    expect(before).toMatchObject({ run: "COMPLETED", calls: { "do-a": 2 } });
  });

  test("defers to a callback that comes, fails, or never comes", async () => {
    const came = await whatCameOf("{ defer: 30s }");
    expect(came).toMatchObject({ run: "COMPLETED", calls: { "do-a": 1 }, by: [] });
    expect(came.lines).toContain("31000 the world a calls back: succeeded");
    const no = await whatCameOf(
      "{ defer: { callback: 30s, answer: { fail: { code: NO, permanent: true } } } }",
    );
    expect(no.run).toBe("FAILED");
    const never = await whatCameOf("{ defer: { callback: never, effect: true } }");
    expect(never).toMatchObject({
      run: "COMPLETED",
      by: ["callback of a"],
      calls: { "find-a": 1 },
    });
  });

  test("asks to be asked again, and gives back what it has not started", async () => {
    const came = await whatCameOf("[again: 10m, release, succeed]");
    expect(came).toMatchObject({ run: "COMPLETED", calls: { "do-a": 3 } });
    expect(came.lines).toContainEqual(expect.stringMatching(/^60\d\d\d\d .* takes do-a/));
  });

  test("is scripted for one item of a map, for one step, or for all", async () => {
    const map = `workflow: m
steps:
  - { id: all, map: { over: "\${3}", task: t, tolerate: 3 } }
  - { id: one, task: t }
`;
    const { came } = await played(
      map,
      `scenarios:
  - scenario: s
    agents:
      t of all[1]: { fail: { code: B, permanent: true } }
      t of one: { succeed: { output: own } }
      t: { succeed: { output: other } }
    expect: COMPLETED
`,
    );
    expect(came.steps.get("all[1]")).toBe("FAILED");
    expect([came.outputs.get("all[0]"), came.outputs.get("one")]).toEqual(['"other"', '"own"']);
  });
});

test("days without happenings take no time of ours", async () => {
  const workflow = "workflow: w\ntimeout: 300d\nsteps:\n  - { id: a, wait: 200d }\n";
  const { came } = await played(
    workflow,
    "scenarios: [{ scenario: s, expect: { run: COMPLETED, within: 201d } }]",
  );
  expect(came).toMatchObject({ run: "COMPLETED", endedMs: 200 * 86_400_000, troubles: [] });
});

describe("the effects of a step that falls back", () => {
  const fallback = (more: string) => `
workflow: w
steps:
  - { id: a, task: do-a, retry: { attempts: 1 }, fallback: [{ task: do-b }]${more} }
`;
  const lost = "scenarios: [{ scenario: s, agents: { do-a: lose-answer }, expect: COMPLETED }]";

  test("are listed with their strategy: two bookings of one step are two", async () => {
    const { came } = await played(fallback(""), lost);
    expect(came.effects).toEqual(["a", "a/1"]);
  });

  test("are one where the step can be undone: the first is undone before the fallback", async () => {
    const { came } = await played(fallback(", compensate: { task: undo-a }"), lost);
    expect(came).toMatchObject({ run: "COMPLETED", effects: ["a/1"] });
    expect(Object.fromEntries(came.calls)).toEqual({ "do-a": 1, "undo-a": 1, "do-b": 1 });
  });
});
