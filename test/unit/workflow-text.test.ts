// The text form of a workflow: what can be written, and how mistakes are reported by position.
import { create, equals, toJson } from "@bufbuild/protobuf";
import { durationMs } from "@bufbuild/protobuf/wkt";
import { WorkflowDefinitionSchema } from "@drover/proto/drover/v1/workflow_pb.ts";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { parseWorkflowText } from "../../server/definition-text/workflow-text.ts";
import { DroverError } from "../../server/errors.ts";
import { definitions, plainOf, styles } from "../support/random-workflow-text.ts";

const holiday = `\
workflow: book-holiday
timeout: 1h30m
steps:
  - id: flight
    task: book-flight
    queue: travel
    input: { from: Oslo, seats: [12, 14], window: true, note: null }
    retry:
      - { on: [rate-limited], attempts: 10, initial: 2s, max: 2m }
      - { attempts: 5, initial: 250ms, factor: 2, jitter: 0.2 }
    timeouts: { pickup: 1m, attempt: 2m, heartbeat: 10s, stall: 30s, total: 7d, cancel: 0s }
    effects: verifiable
    verify: { task: find-flight-booking }
    compensate: { task: cancel-flight, when: attempted, timeouts: { settle: 5s } }
  - id: hotel
    needs: [flight]
    task: book-hotel
    retry: { attempts: 2 }
    fallback: [{ input: { chain: second } }, { queue: travel-eu }]
    on_failure: continue
    when: \${input.wants_hotel}
`;

const people = `\
workflow: order
input_schema: { type: object, required: [total] }
steps:
  - { id: pause, wait: 10m }
  - { id: monday, wait: { until: "\${input.monday}" } }
  - { id: paid, signal: order-paid }
  - id: shipped
    signal: { name: order-shipped, within: 2d, on_expiry: fail }
    run_if: any_ok
    needs: [paid]
  - id: release
    approval:
      approvers: [finance, ann@example.com]
      need: 2
      not_requester: true
      form: { type: object }
      within: 2d
      on_expiry: reject
  - { id: capture, task: capture, pivot: true, on_pickup: escalate, output_schema: true }
  - { id: tell, task: mail, always: true, timeouts: { callback: 1h } }
`;

function refusal(text: string): DroverError {
  try {
    parseWorkflowText(text);
  } catch (error) {
    if (error instanceof DroverError) return error;
    throw error;
  }
  throw new Error(`was not refused: ${text.slice(0, 80)}`);
}

const messages = (text: string) =>
  refusal(text).fields.map(({ path, message }) => `${path}: ${message}`);

const step = (lines: string) => `workflow: w\nsteps:\n  - id: a\n    ${lines}`;

describe("what can be written", () => {
  test("every part of a workflow, in the names of its message", () => {
    expect(toJson(WorkflowDefinitionSchema, parseWorkflowText(holiday).definition)).toEqual({
      workflow: "book-holiday",
      timeout: "5400s",
      steps: [
        {
          id: "flight",
          task: { name: "book-flight", queue: "travel" },
          input: { json: '{"from":"Oslo","seats":[12,14],"window":true,"note":null}' },
          retry: [
            { on: ["rate-limited"], attempts: 10, initial: "2s", max: "120s" },
            { attempts: 5, initial: "0.250s", factor: 2, jitter: 0.2 },
          ],
          timeouts: {
            pickup: "60s",
            attempt: "120s",
            heartbeat: "10s",
            stall: "30s",
            total: "604800s",
            cancel: "0s",
          },
          effects: "EFFECTS_VERIFIABLE",
          verify: { task: "find-flight-booking" },
          compensate: {
            task: "cancel-flight",
            when: "COMPENSATE_WHEN_ATTEMPTED",
            timeouts: { settle: "5s" },
          },
        },
        {
          id: "hotel",
          needs: ["flight"],
          task: { name: "book-hotel" },
          retry: [{ attempts: 2 }],
          fallback: [{ input: { json: '{"chain":"second"}' } }, { queue: "travel-eu" }],
          onFailure: "ON_FAILURE_CONTINUE",
          // biome-ignore lint/suspicious/noTemplateCurlyInString: an expression of a workflow.
          when: "${input.wants_hotel}",
        },
      ],
    });
  });

  test("every kind of step, in short and in full", () => {
    expect(toJson(WorkflowDefinitionSchema, parseWorkflowText(people).definition)).toEqual({
      workflow: "order",
      inputSchema: { json: '{"type":"object","required":["total"]}' },
      steps: [
        { id: "pause", wait: { for: "600s" } },
        // biome-ignore lint/suspicious/noTemplateCurlyInString: an expression of a workflow.
        { id: "monday", wait: { until: "${input.monday}" } },
        { id: "paid", signal: { name: "order-paid" } },
        {
          id: "shipped",
          signal: { name: "order-shipped", within: "172800s", onExpiry: "SIGNAL_EXPIRY_FAIL" },
          runIf: "RUN_IF_ANY_OK",
          needs: ["paid"],
        },
        {
          id: "release",
          approval: {
            approvers: ["finance", "ann@example.com"],
            need: 2,
            notRequester: true,
            form: { json: '{"type":"object"}' },
            within: "172800s",
            onExpiry: "APPROVAL_EXPIRY_REJECT",
          },
        },
        {
          id: "capture",
          task: { name: "capture" },
          pivot: true,
          onPickup: "ON_PICKUP_ESCALATE",
          outputSchema: { json: "true" },
        },
        { id: "tell", task: { name: "mail" }, always: true, timeouts: { callback: "3600s" } },
      ],
    });
  });

  test("JSON, also indented with tabs and with escapes", () => {
    const text = '{\n\t"workflow": "w",\n\t"steps": [{"id": "\\u0061", "task": "t"}]\n}';
    expect(parseWorkflowText(text).definition.steps[0]?.id).toBe("a");
  });

  test.each([
    ["a date stays the text that it is", "2026-01-31", '"2026-01-31"'],
    ["and so does a text that older YAML took for false", "no", '"no"'],
    ["a whole number keeps all its digits", "12345678901234567890", "12345678901234567890"],
    ["null is a value", "null", "null"],
    ["keys keep their order", "{ b: 1, 2b: 2, a: 3 }", '{"b":1,"2b":2,"a":3}'],
    ["no key is special", "{ __proto__: { x: 1 } }", '{"__proto__":{"x":1}}'],
    ["text may span lines", "|\n      one\n      two", '"one\\ntwo\\n"'],
  ])("as input: %s", (_, written, json) => {
    const { definition } = parseWorkflowText(step(`task: t\n    input: ${written}\n`));
    expect(definition.steps[0]?.input?.body).toEqual({ case: "json", value: json });
  });

  test.each([
    ["250ms", 250],
    ["30s", 30_000],
    ["1h30m", 5_400_000],
    ["1d2h3m4s5ms", 93_784_005],
    ["0s", 0],
  ])("the duration %s", (written, ms) => {
    const { timeout } = parseWorkflowText(`timeout: ${written}\n${step("task: t")}`).definition;
    expect(timeout && durationMs(timeout)).toBe(ms);
  });

  test("whatever a definition holds, its text gives the same message", () => {
    fc.assert(
      fc.property(definitions, styles, (init, style) => {
        const definition = create(WorkflowDefinitionSchema, init);
        const text = style(plainOf(definition));
        expect(
          equals(WorkflowDefinitionSchema, parseWorkflowText(text).definition, definition),
        ).toBe(true);
      }),
      { numRuns: 300 },
    );
  });
});

describe("a position for each path", () => {
  const { locate } = parseWorkflowText(holiday);
  test.each([
    ["workflow", 1, 11],
    ["steps[1].needs[0]", 16, 13],
    ["steps[1].task.name", 17, 11],
    ["steps[0].task.queue", 6, 12],
    ["steps[0].retry[1].initial", 10, 33],
    ["steps[1].retry[0].attempts", 18, 24],
    ["steps[0].input.json", 7, 12],
  ])("%s is at %i:%i", (path, line, column) => {
    expect(locate(path)).toEqual({ line, column });
  });

  test("what is within an input has its own, and what only the message has that of its holder", () => {
    expect(locate("steps[0].input.seats[1]")).toEqual({ line: 7, column: 38 });
    expect(locate("steps[1].fallback[0].input.chain")).toEqual({ line: 19, column: 34 });
    const parsed = parseWorkflowText(people);
    expect(parsed.locate("steps[0].wait.for")).toEqual({ line: 4, column: 24 });
    expect(parsed.locate("steps[2].signal.name")).toEqual({ line: 6, column: 25 });
    expect(parsed.locate("steps[0].wait.over")).toEqual({ line: 4, column: 24 });
    expect(parsed.locate("input_schema.required[0]")).toEqual({ line: 2, column: 42 });
  });

  test("what the text does not have is found where its holder begins", () => {
    expect(locate("steps[1].compensate.task")).toEqual({ line: 15, column: 5 });
    expect(parseWorkflowText(step("task: t")).locate("timeout")).toEqual({ line: 1, column: 1 });
  });

  test("what no workflow has is nowhere", () => {
    expect(locate("namespace")).toBeNull();
    expect(locate("")).toBeNull();
  });
});

describe("mistakes are reported with their position and what would be right", () => {
  test.each([
    [
      "a misspelt key of a step",
      step("task: t\n    timeout: { attempt: 1m }"),
      'steps[0].timeout: unknown key "timeout" in a step: did you mean "timeouts"? (line 5, column 5)',
    ],
    [
      "a key in camel case",
      step("task: t\n    onFailure: fail"),
      'steps[0].onFailure: unknown key "onFailure" in a step: did you mean "on_failure"? (line 5, column 5)',
    ],
    [
      "an unknown key deep inside",
      step("task: t\n    compensate: { task: u, retry: [{ tries: 3 }] }"),
      'steps[0].compensate.retry[0].tries: unknown key "tries" in retrypolicy: write one of on, attempts, initial, factor, max, jitter (line 5, column 38)',
    ],
    [
      "an unknown value",
      step("task: t\n    effects: idempotant"),
      'steps[0].effects: "idempotant" is not known here: did you mean "idempotent"? (line 5, column 14)',
    ],
    [
      "a number where text is needed",
      "workflow: 12\nsteps: [{ id: a, task: t }]",
      'workflow: "12" must be text: put it in quotes, as "12" (line 1, column 11)',
    ],
    [
      "a text where a list is needed",
      step("task: t\n    needs: b"),
      "steps[0].needs: this must be a list, as [b] (line 5, column 12)",
    ],
    [
      "a fraction of a try",
      step("task: t\n    retry: { attempts: 1.5 }"),
      'steps[0].retry[0].attempts: "1.5" must be a whole number, as 5 (line 5, column 24)',
    ],
    [
      "a duration without unit",
      step("task: t\n    timeouts: { attempt: 30 }"),
      'steps[0].timeouts.attempt: "30" needs a unit, as 30s: durations are written as 1h30m, 250ms, 30s or 7d (line 5, column 26)',
    ],
    [
      "a negative duration",
      `timeout: -5s\n${step("task: t")}`,
      'timeout: "-5s" is negative: no time here can be; durations are written as 1h30m, 250ms, 30s or 7d (line 1, column 10)',
    ],
    [
      "a duration in the wrong order",
      `timeout: 5s1h\n${step("task: t")}`,
      'timeout: "5s1h" is no duration: durations are written as 1h30m, 250ms, 30s or 7d (line 1, column 10)',
    ],
    [
      "a duration beyond all measure",
      `timeout: 999999999d\n${step("task: t")}`,
      'timeout: "999999999d" is too long: no time here is longer than 3650d (line 1, column 10)',
    ],
    [
      "a step without kind",
      step("needs: []"),
      "steps[0]: the step does not say what it does: add `task: NAME`, or `wait`, `signal`, `approval`, `run` or `map` (line 3, column 5)",
    ],
    [
      "a signal without a name",
      step("signal: { within: 1d }"),
      "steps[0].signal.name: name is missing: add `name: ...` (line 4, column 13)",
    ],
    [
      "a wait with two conditions",
      step("wait: { for: 1m, until: 2026-03-01T08:00:00Z }"),
      "steps[0].wait: write one of for and until, not both (line 4, column 11)",
    ],
    [
      "a wait without unit",
      step("wait: 10"),
      'steps[0].wait: "10" needs a unit, as 10s: durations are written as 1h30m, 250ms, 30s or 7d (line 4, column 11)',
    ],
    [
      "a misspelt key of an approval",
      step("approval: { aprovers: [ann] }"),
      'steps[0].approval.aprovers: unknown key "aprovers" in an approval: did you mean "approvers"? (line 4, column 17)',
    ],
    [
      "a misspelt key of a signal",
      step("signal: { name: paid, on_expiry: escalte }"),
      'steps[0].signal.on_expiry: "escalte" is not known here: did you mean "escalate"? (line 4, column 38)',
    ],
    [
      "a text where true or false is needed",
      step("task: t\n    always: yes"),
      'steps[0].always: "yes" must be true or false (line 5, column 13)',
    ],
    [
      "a queue of a step that has no agent",
      step("wait: 10m\n    queue: q"),
      'steps[0].queue: a step of the kind "wait" is in no queue: remove it (line 3, column 5)',
    ],
    [
      "a key that is given twice",
      step("task: t\n    task: u"),
      'steps[0].task: the key "task" is given twice in this map: remove one (line 5, column 5)',
    ],
    [
      "a key without value",
      step("task: t\n    input:"),
      "steps[0].input: input is empty: give it a value, or remove the key (line 5, column 5)",
    ],
    [
      "an alias without its anchor",
      step("task: t\n    input: { a: *r, b: &r 1 }"),
      "text: the alias *r follows no anchor of its name: write &r before the value that it repeats (line 5, column 17)",
    ],
    [
      "a merge of what is no map",
      step("task: &t t\n    retry: { <<: *t }"),
      "text: `<<` adds the entries of a map: write an alias of a map, or a list of them (line 4, column 14)",
    ],
    [
      "an alias as a key",
      step("task: &t t\n    input: { *t : 1 }"),
      "steps[0].input: the alias *t is no key: write it out (line 5, column 14)",
    ],
    [
      "a problem that aliases repeat, once",
      `${step("task: t\n    retry: &r { attempts: x }")}\n  - { id: b, task: t, retry: *r }\n`,
      'steps[0].retry[0].attempts: "x" must be a whole number, as 5 (line 5, column 27)',
    ],
    [
      "a problem in the defaults, once",
      `defaults: { timeouts: { attempt: 5 } }\n${step("task: t")}\n  - { id: b, task: t }\n`,
      'defaults.timeouts.attempt: "5" needs a unit, as 5s: durations are written as 1h30m, 250ms, 30s or 7d (line 1, column 34)',
    ],
    [
      "a key that has no default",
      `defaults: { needs: [a] }\n${step("task: t")}`,
      "defaults.needs: needs has no default: write it in each step; defaults are for queue, retry, timeouts, effects, on_failure, on_pickup, escalation, logs (line 1, column 13)",
    ],
    [
      "an unknown key in the defaults",
      `defaults: { retrys: { attempts: 2 } }\n${step("task: t")}`,
      'defaults.retrys: unknown key "retrys" in defaults: did you mean "retry"? (line 1, column 13)',
    ],
    [
      "binary data",
      step("task: t\n    input: { a: !!binary aGk= }"),
      "steps[0].input.a: the tag tag:yaml.org,2002:binary is not read: write plain text, numbers, lists and maps (line 5, column 26)",
    ],
    [
      "what JSON cannot hold",
      step("task: t\n    input: [.nan]"),
      'steps[0].input[0]: ".nan" cannot be written in JSON: write it as text, in quotes (line 5, column 13)',
    ],
    [
      "a key of an input that is no text",
      step("task: t\n    input: { 1: a }"),
      "steps[0].input: the key 1 must be text: put it in quotes (line 5, column 14)",
    ],
    [
      "a key of the whole text that is a number",
      `${step("task: t")}\n1: x`,
      "text: the key 1 must be text: put it in quotes (line 5, column 1)",
    ],
    [
      "a list instead of a workflow",
      "- a",
      "text: a workflow is a map: begin with a line `workflow: NAME` (line 1, column 1)",
    ],
    [
      "nothing",
      "# to do\n",
      "text: the text is empty: a workflow begins with a line `workflow: NAME` (line 1, column 1)",
    ],
    [
      "a second document",
      `${step("task: t")}\n---\nworkflow: v`,
      "text: a second document begins here: keep each workflow in a text of its own (line 5, column 1)",
    ],
    [
      "a tab",
      "workflow: w\nsteps:\n\t- id: a",
      "text: a tab indents this line: YAML is indented with spaces (line 3, column 1)",
    ],
    [
      "another version of YAML",
      `%YAML 1.1\n---\n${step("task: t")}`,
      "text: this is YAML 1.1: remove the %YAML line, or write 1.2 (line 1, column 1)",
    ],
    [
      "two values in one line",
      "workflow: w: v\n",
      "text: a second `: ` in one line: put the value in quotes, or on lines of its own (line 1, column 11)",
    ],
  ])("%s", (_, text, expected) => {
    expect(messages(text)).toEqual([expected]);
    expect(refusal(text).reason).toBe("INVALID_DEFINITION");
  });

  test("an expression in braces that lacks quotes", () => {
    const text = step("task: t\n    input: { from: $" + "{input.from} }");
    expect(messages(text)[0]).toMatch(/within \{ \} an expression needs quotes.*\(line 5, /);
  });

  test("all of them at once, in the order of the text", () => {
    const text = "steps:\n  - id: 1\n    tusk: t\n  - task: t\n    needs: [2]\n";
    expect(messages(text).map((message) => message.split(": ")[0])).toEqual([
      "steps[0].id",
      "steps[0].tusk",
      "steps[0]",
      "steps[1].needs[0]",
      "steps[1].id",
      "workflow",
    ]);
    expect(refusal(text).message).toMatch(/^The workflow text has 6 problems\. The first: steps/);
  });

  test("but no more than twenty", () => {
    const text = `workflow: w\nsteps:\n${"  - { id: 1, task: t }\n".repeat(40)}`;
    expect(refusal(text).fields).toHaveLength(20);
    expect(refusal(text).message).toMatch(/^The workflow text has more than 20 problems/);
  });
});

describe("what steps have in common", () => {
  const same = (text: string, as: string) =>
    expect(parseWorkflowText(text).definition).toEqual(parseWorkflowText(as).definition);

  test("stands once in the defaults; a key of a step counts, also within a map", () => {
    const text = `\
workflow: w
defaults:
  queue: q
  retry: { attempts: 5, max: 1m }
  timeouts: { heartbeat: 10s, attempt: 2m }
  effects: idempotent
steps:
  - { id: a, task: t }
  - { id: b, task: t, queue: other, timeouts: { attempt: 5m }, retry: [{ attempts: 1 }] }
  - { id: c, map: { over: "[1]", task: t }, effects: once }
  - { id: d, map: { over: "[1]", task: t, queue: other }, retry: { attempts: 2 } }
  - { id: e, wait: 5m }
  - { id: f, run: child }
`;
    const usual = "effects: idempotent, timeouts: { heartbeat: 10s, attempt: 2m }";
    const retry = "retry: { attempts: 5, max: 1m }";
    const as = `\
workflow: w
steps:
  - { id: a, task: t, queue: q, ${usual}, ${retry} }
  - id: b
    task: t
    queue: other
    effects: idempotent
    timeouts: { heartbeat: 10s, attempt: 5m }
    retry: [{ attempts: 1 }]
  - id: c
    map: { over: "[1]", task: t, queue: q }
    effects: once
    timeouts: { heartbeat: 10s, attempt: 2m }
    ${retry}
  - id: d
    map: { over: "[1]", task: t, queue: other }
    ${usual.replaceAll(", t", "\n    t")}
    retry: { attempts: 2, max: 1m }
  - { id: e, wait: 5m }
  - { id: f, run: child }
`;
    same(text, as);
  });

  test("is repeated by aliases, from a key of any name that begins with x-", () => {
    const text = `\
workflow: w
x-usual: &usual { attempts: 5, initial: 2s }
x-patient: &patient
  timeouts: { attempt: 1h }
  retry: { <<: *usual, attempts: 50 }
steps:
  - { id: a, task: t, retry: *usual, input: &trip { from: Oslo, "<<": quoted } }
  - { <<: *patient, id: b, task: t, input: { <<: [{ to: Rome }, *trip], from: Bergen } }
`;
    const as = `\
workflow: w
steps:
  - { id: a, task: t, retry: { attempts: 5, initial: 2s }, input: { from: Oslo, "<<": quoted } }
  - id: b
    task: t
    timeouts: { attempt: 1h }
    retry: { attempts: 50, initial: 2s }
    input: { from: Bergen, to: Rome, "<<": quoted }
`;
    same(text, as);
  });

  test("has the position where it is written", () => {
    const { locate } = parseWorkflowText(
      `workflow: w\ndefaults: { timeouts: { attempt: 5m } }\nsteps:\n  - { id: a, task: t }\n`,
    );
    expect(locate("steps[0].timeouts.attempt")).toEqual({ line: 2, column: 34 });
  });
});

describe("the kind of a step", () => {
  test("is one, and not two", () => {
    expect(messages(step("task: t\n    wait: 5m"))).toContain(
      "steps[0]: a step has exactly one kind, not task and wait (line 3, column 5)",
    );
  });
});

/** Each line has the one before it ten times: 10^12 values. */
const bomb = Array.from(
  { length: 12 },
  (_, no) => `x-${no}: &a${no} [${Array(10).fill(no === 0 ? "1" : `*a${no - 1}`)}]\n`,
).join("");
const largeDefaults = `workflow: w
defaults: { retry: [${Array(10_000).fill("{ attempts: 1 }")}] }
steps: [${Array(10_000).fill("{ task: t }")}]
`;

describe("a hostile text costs little", () => {
  test.each([
    ["brackets without end", "[".repeat(1_000_000)],
    ["maps in maps", `workflow: ${"{a: ".repeat(5_000)}`],
    ["deep block lists", "- ".repeat(5_000)],
    ["keys without end", "a: 1\n".repeat(200_000)],
    ["more than a mebibyte", "#".repeat(1024 * 1024 + 1)],
    ["aliases that multiply", `a: &a [x, x]\nb: &b [*a, *a]\nc: [*b, *b]\n`],
    ["aliases that multiply without end", bomb],
    ["merges that multiply", bomb.replaceAll(/\[.*\]/g, (list) => `{ <<: ${list} }`)],
    ["an alias of itself", "workflow: &a [*a]"],
    ["defaults that multiply", largeDefaults],
    ["a deep input", step(`task: t\n    input: ${"[".repeat(100)}${"]".repeat(100)}`)],
  ])("%s", (_, text) => {
    const { reason, fields } = refusal(text);
    expect(reason).toBe("INVALID_DEFINITION");
    expect(fields.length).toBeGreaterThan(0);
    expect(fields.every(({ message }) => message.length < 400)).toBe(true);
  });

  test("and is refused whatever it is, never with another error", () => {
    const piece = fc.oneof(
      fc.constantFrom("workflow: ", "steps:\n", "  - ", "id: a\n", "{", "}", "[", "]", "&a ", "*a"),
      fc.constantFrom("\t", "\n", "? ", ": ", "!x ", "|\n", "'", '"', "#", "---\n", "%YAML 1.2\n"),
      fc.string({ maxLength: 5 }),
    );
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 30 }), (pieces) => {
        expect(refusal(pieces.join(""))).toBeInstanceOf(DroverError);
      }),
      { numRuns: 500 },
    );
  });
});
