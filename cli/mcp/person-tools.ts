/** Tools for what needs a person: escalations, and approvals. */
import { z } from "zod";
import { answerMeanings } from "../escalation-words.ts";
import {
  defineTool,
  limitArgument,
  reasonArgument,
  runArgument,
  runNameOf,
  type Tool,
} from "./tool.ts";
import {
  approvalSchema,
  approvalView,
  attemptSchema,
  attemptView,
  escalationSchema,
  escalationView,
  payloadView,
  runSchema,
  runView,
  stateSchema,
  stateView,
} from "./views.ts";

const escalationArgument = z
  .string()
  .min(1)
  .max(20)
  .describe("number of the escalation in the run, as list_needs_person lists it");

const listNeedsPerson = defineTool({
  name: "list_needs_person",
  title: "List what needs a person",
  description:
    "Lists what waits for a person in the namespace: open escalations, of the newest runs first, and open approvals, of the oldest runs first.",
  kind: "read",
  input: z.strictObject({ limit: limitArgument }),
  data: z.object({
    escalations: z.array(escalationSchema),
    more_escalations: z.boolean(),
    approvals: z.array(approvalSchema),
    more_approvals: z.boolean(),
  }),
  async call({ limit: pageSize }, { client, signal }) {
    const [asked, waiting] = await Promise.all([
      client.escalations.list({ pageSize, signal }),
      client.approvals.list({ pageSize, signal }),
    ]);
    return {
      drover: "This waits for a person.",
      data: {
        escalations: asked.escalations.map(escalationView),
        more_escalations: asked.nextPageToken !== "",
        approvals: waiting.approvals.slice(0, pageSize).map(approvalView),
        more_approvals: waiting.nextPageToken !== "" || waiting.approvals.length > pageSize,
      },
      narrower: "Repeat the call with a smaller limit.",
    };
  },
});

const showEscalation = defineTool({
  name: "show_escalation",
  title: "Show an escalation",
  description:
    "Shows an escalation with its history: the run, the step, every attempt, and the answers that it accepts now.",
  kind: "read",
  input: z.strictObject({ run: runArgument, escalation: escalationArgument }),
  data: z.object({
    escalation: escalationSchema,
    run: runSchema,
    run_input: z.string().describe("JSON as text"),
    step_output: z.string().describe("JSON as text; empty: none"),
    attempts: z.array(attemptSchema).describe("the newest first"),
    effect_key: z.string().describe("the key by which the remote service knows the effect"),
  }),
  async call({ run, escalation }, { client, signal }) {
    const found = await client.escalations.get(runNameOf(run), escalation, { signal });
    return {
      drover: "This is the escalation with its history.",
      data: {
        escalation: escalationView(found.escalation),
        run: runView(found.run),
        run_input: payloadView(found.run.input),
        step_output: payloadView(found.step?.output),
        attempts: found.attempts.toReversed().map(attemptView),
        effect_key: found.effectKey,
      },
    };
  },
});

const ANSWERS = [
  "retry",
  "retry-changed",
  "succeed",
  "skip",
  "compensate",
  "fail",
  "acknowledge",
] as const;

/** For the description: here a payload is an argument, and no option. */
const meanings = ANSWERS.map((one) => {
  return `${one} (${answerMeanings[one]?.replaceAll("--payload", "the payload")})`;
}).join("; ");

const answerEscalation = defineTool({
  name: "answer_escalation",
  title: "Answer an escalation",
  description: `Answers an escalation, under the name and role of this server: ${meanings}. show_escalation lists the answers that it accepts now.`,
  kind: "destroy",
  input: z.strictObject({
    run: runArgument,
    escalation: escalationArgument,
    answer: z.enum(ANSWERS),
    reason: reasonArgument,
    payload: z
      .unknown()
      .optional()
      .describe("any JSON: for retry-changed the whole input, for succeed the output"),
  }),
  data: z.object({ run: stateSchema, repeated: z.boolean() }),
  async call({ run, escalation, answer, reason, payload }, { client, person, signal }) {
    const spec = { answer, by: person.by, why: reason, payload, signal };
    const resolved = await client.escalations.resolve(runNameOf(run), escalation, spec);
    return {
      drover: resolved.repeated
        ? "The same answer was given before."
        : "The escalation is answered.",
      data: { run: stateView(resolved.run), repeated: resolved.repeated },
    };
  },
});

const decideApproval = defineTool({
  name: "decide_approval",
  title: "Approve or reject a step",
  description:
    "Approves or rejects an approval step, under the name and roles of this server: list_needs_person lists who may decide.",
  kind: "destroy",
  input: z.strictObject({
    run: runArgument,
    step: z.string().min(1).max(128).describe("id of the approval step"),
    decision: z.enum(["approve", "reject"]),
    reason: reasonArgument,
    form: z.unknown().optional().describe("the form of the step, filled in: any JSON"),
  }),
  data: z.object({ run: stateSchema, repeated: z.boolean() }),
  async call({ run, step, decision, reason, form }, { client, person, signal }) {
    const { by: approver, roles } = person;
    const decided = await client.decide(runNameOf(run), step, {
      decision,
      approver,
      roles,
      comment: reason,
      form,
      signal,
    });
    return {
      drover: decided.repeated ? "The same decision was made before." : "The decision is recorded.",
      data: { run: stateView(decided.run), repeated: decided.repeated },
    };
  },
});

export const PERSON_TOOLS: readonly Tool[] = [
  listNeedsPerson,
  showEscalation,
  answerEscalation,
  decideApproval,
];
