// Texts of every language, sent to the RPCs that read them.
import fc from "fast-check";
import type { Chance } from "../../simulator/chance.ts";
import type { Planted } from "./plant.ts";
import type { Draft } from "./rpc.ts";
import { jsonTexts, TEXTS, type TextKind } from "./texts.ts";

/** The texts of a round. */
export interface Texts {
  readonly kind: TextKind;
  readonly texts: readonly string[];
  readonly values: readonly string[];
}

export function textsOf(kind: TextKind, seed: number, count: number): Texts {
  const texts = fc.sample(TEXTS[kind], { seed, numRuns: count });
  return { kind, texts, values: fc.sample(jsonTexts, { seed, numRuns: 20 }) };
}

export function textDraft(
  { kind, texts, values }: Texts,
  index: number,
  chance: Chance,
  planted: Planted,
): Draft {
  const text = texts[index % texts.length] ?? "";
  const json = chance.pick(values);
  const [method, body] = BODIES[kind](text, json, chance);
  const sent = JSON.stringify({ namespace: planted.namespace, ...body });
  return {
    how: "http",
    what: `POST /drover.v1.${method}`,
    headers: { "content-type": "application/json" },
    base64: Buffer.from(sent).toString("base64"),
    text: sent,
  };
}

type Body = readonly [method: string, body: object];

const task = (more: object) => ({ id: "b", task: { name: "t" }, ...more });

const BODIES: Readonly<Record<TextKind, (text: string, json: string, chance: Chance) => Body>> = {
  expressions(text, json, chance) {
    const template = { json: JSON.stringify({ x: `\${${text}}` }) };
    const steps: readonly object[] = [
      task({ when: text }),
      task({ input: template }),
      { id: "b", map: { over: text, task: "t" }, input: { json: '{"i":"${item}"}' } },
      { id: "b", wait: { until: text } },
    ];
    if (chance.happens(0.2)) {
      const definition = {
        trigger: "t",
        http: { bearer: {} },
        when: text,
        schedule: { workflow: "work", input: template },
      };
      return ["OperatorService/TryTrigger", { definition, body: json }];
    }
    // A step that waits for nothing, so that the expression is evaluated at once.
    const first = { id: "a", wait: { for: "0.001s" } };
    const definition = { workflow: "w", steps: [first, { ...chance.pick(steps), needs: ["a"] }] };
    return ["SchedulerService/Schedule", { definition, input: { json } }];
  },
  yaml(text, _json, chance) {
    return chance.happens(0.8)
      ? ["SchedulerService/RegisterWorkflow", { text }]
      : ["OperatorService/PutTrigger", { text, secret: "a-secret-of-sixteen" }];
  },
  schema(text, json, chance) {
    const schema = { json: text };
    const steps = [task({ outputSchema: schema }), { id: "b", approval: { form: schema } }];
    const definition = { workflow: "w", inputSchema: schema, steps: [chance.pick(steps)] };
    return ["SchedulerService/Schedule", { definition, input: { json } }];
  },
  cron(text, _json, chance) {
    const timeZone = chance.pick([
      "UTC",
      "America/New_York",
      "Europe/Berlin",
      "../etc",
      "UTC+1",
      "",
    ]);
    const overlap = chance.between(0, 5);
    const spec = { workflow: "work", cron: { expression: text, timeZone }, overlap };
    const name = `s${chance.between(0, 30)}`;
    const others: readonly Body[] = [
      ["SchedulerService/UpdateSchedule", { name, spec }],
      ["SchedulerService/GetSchedule", { name }],
      [
        "SchedulerService/BackfillSchedule",
        { name, startTime: "2020-01-01T00:00:00Z", endTime: "2026-01-01T00:00:00Z" },
      ],
      ["SchedulerService/TriggerSchedule", { name }],
      ["SchedulerService/DeleteSchedule", { name }],
    ];
    if (chance.happens(0.3)) return chance.pick(others);
    return ["SchedulerService/CreateSchedule", { name, spec }];
  },
  filter(text, _json, chance) {
    const filter = { query: text };
    const order = chance.pick(["RUN_ORDER_CREATED_DESC", "RUN_ORDER_UNSPECIFIED"]);
    return ["SchedulerService/ListRuns", { filter, order, pageSize: chance.between(0, 3) }];
  },
};
