/** Tools that only read: workflows, runs, and the check of a definition. */
import type { RunDetails } from "@drover/sdk";
import { z } from "zod";
import { placed } from "../text-refusal.ts";
import {
  defineTool,
  limitArgument,
  pageArgument,
  runArgument,
  runNameOf,
  type Tool,
  type ToolCall,
} from "./tool.ts";
import {
  attemptSchema,
  attemptView,
  escalationSchema,
  escalationView,
  interventionSchema,
  interventionView,
  payloadView,
  runSchema,
  runView,
  stepSchema,
  stepView,
  timeView,
  waitSchema,
  waitView,
} from "./views.ts";

/** Of a definition, in characters. */
const definitionCharsMax = 200_000;

export const definitionArgument = z
  .string()
  .min(1)
  .max(definitionCharsMax)
  .describe("a workflow in YAML or JSON, as drover workflow check takes it");

const listWorkflows = defineTool({
  name: "list_workflows",
  title: "List workflows",
  description: "Lists the registered workflows of the namespace, by name.",
  kind: "read",
  input: z.strictObject({ limit: limitArgument, page_token: pageArgument }),
  data: z.object({
    workflows: z.array(
      z.object({
        name: z.string(),
        default_version: z.number(),
        newest_version: z.number(),
        registered_time: z.string().nullable(),
      }),
    ),
    next_page_token: z.string(),
  }),
  async call({ limit, page_token: pageToken }, { client, signal }) {
    const { workflows, nextPageToken } = await client.listWorkflows({
      pageSize: limit,
      pageToken,
      signal,
    });
    return {
      drover: "These workflows are registered.",
      data: {
        workflows: workflows.map(({ name, defaultVersion, newestVersion, createdTime }) => ({
          name,
          default_version: defaultVersion,
          newest_version: newestVersion,
          registered_time: timeView(createdTime),
        })),
        next_page_token: nextPageToken,
      },
      narrower: "Repeat the call with a smaller limit.",
    };
  },
});

const checkWorkflow = defineTool({
  name: "check_workflow",
  title: "Check a workflow",
  description:
    "Checks a definition without storing or starting anything, and lists every mistake with its line and column.",
  kind: "read",
  input: z.strictObject({ definition: definitionArgument }),
  data: z.object({
    valid: z.boolean(),
    workflow: z.string(),
    steps: z.array(z.string()),
    problems: z.array(problemSchema()),
    notes: z.array(problemSchema()),
  }),
  async call({ definition: text }) {
    const { checkText } = await import("../check-text.ts");
    const checked = checkText(text);
    if (checked.kind === "bad") {
      const problems = checked.problems.map(problemView);
      return {
        drover: "The definition has mistakes. Correct each of them, and check it again.",
        data: { valid: false, workflow: "", steps: [], problems, notes: [] },
        narrower: "Correct those that are shown first.",
      };
    }
    const { definition, notes } = checked;
    return {
      drover: "The definition is valid. Nothing was stored or started.",
      data: {
        valid: true,
        workflow: definition.workflow,
        steps: definition.steps.map(({ id }) => id),
        problems: [],
        notes: notes.map(problemView),
      },
    };
  },
});

function problemSchema() {
  return z.object({
    path: z.string(),
    message: z.string(),
    line: z.number().nullable(),
    column: z.number().nullable(),
  });
}

function problemView(problem: { readonly path: string; readonly message: string }) {
  const { message, line, column } = placed(problem);
  return { path: problem.path, message, line, column };
}

const showRun = defineTool({
  name: "show_run",
  title: "Show a run",
  description:
    "Shows a run: its state, input, steps, attempts, interventions of the supervisor, and escalations.",
  kind: "read",
  input: z.strictObject({
    run: runArgument,
    step: z.string().max(200).default("").describe("only what concerns this step; empty: all"),
  }),
  data: z.object({
    run: runSchema,
    input: z.string().describe("JSON as text"),
    steps: z.array(stepSchema),
    attempts: z.array(attemptSchema).describe("the newest first"),
    interventions: z.array(interventionSchema).describe("the newest first"),
    escalations: z.array(escalationSchema),
  }),
  async call({ run, step }, call) {
    return {
      drover: "This is the run as it is now.",
      data: await runData(run, step, call),
      narrower: "Repeat the call with a step.",
    };
  },
});

export async function runData(
  run: string,
  step: string,
  { client, signal }: Pick<ToolCall, "client" | "signal">,
) {
  const history = { attempts: true, interventions: true, escalations: true };
  const found = await client.getRun(runNameOf(run), { ...history, signal });
  const of = (id: string) => step === "" || id === step;
  const { attempts, interventions, escalations, steps } = found;
  return {
    run: runView(found.run),
    input: payloadView(found.run.input),
    steps: steps.filter(({ id }) => of(id)).map(stepView),
    attempts: newestFirst(attempts, of).map(attemptView),
    interventions: newestFirst(interventions, of).map(interventionView),
    escalations: escalations.filter(({ stepId }) => of(stepId)).map(escalationView),
  };
}

function newestFirst<Item extends { readonly stepId: string }>(
  items: readonly Item[],
  of: (stepId: string) => boolean,
): readonly Item[] {
  return items.filter(({ stepId }) => of(stepId)).toReversed();
}

const explainRun = defineTool({
  name: "explain_run",
  title: "Explain why a run is not moving",
  description:
    "Says what a run waits for, since when, what happens next and when, and what a person can do.",
  kind: "read",
  input: z.strictObject({ run: runArgument }),
  data: z.object({ run: runSchema, wait: waitSchema, steps: z.array(waitSchema) }),
  async call({ run }, { client, signal }) {
    const explained = await client.explainRun(runNameOf(run), { signal });
    return {
      drover: "This is what the run waits for, and what happens next.",
      data: {
        run: runView(explained.run),
        wait: waitView(explained.wait),
        steps: explained.steps.map(waitView),
      },
      narrower: "show_run shows one step.",
    };
  },
});

const searchRuns = defineTool({
  name: "search_runs",
  title: "Search runs",
  description:
    "Lists runs that match all conditions, the newest first. Conditions, with a space between: state:failed,escalated (also open, ended), waits:approval,signal, workflow:NAME, step:ID, error:CODE, key:NAME, key^:BEGINNING, label.NAME=VALUE, parent:RUN, created>2026-11-01, ended<now-2h.",
  kind: "read",
  input: z.strictObject({
    query: z.string().max(4_096).default("").describe("conditions; empty: all runs"),
    limit: limitArgument,
    page_token: pageArgument,
  }),
  data: z.object({ runs: z.array(runSchema), next_page_token: z.string() }),
  async call({ query, limit, page_token: pageToken }, { client, signal }) {
    const found = await client.listRuns({ query, pageSize: limit, pageToken, signal });
    return {
      drover: "These runs match.",
      data: { runs: found.runs.map(runView), next_page_token: found.nextPageToken },
      narrower: "Repeat the call with a smaller limit.",
    };
  },
});

const waitForRun = defineTool({
  name: "wait_for_run",
  title: "Wait for the end of a run",
  description:
    "Waits until a run has ended, or only a person can move it, or the time is over; then says how the run is.",
  kind: "read",
  input: z.strictObject({
    run: runArgument,
    seconds: z.int().min(1).max(50).default(20).describe("how long to wait at most"),
  }),
  data: z.object({
    run: runSchema,
    ended: z.boolean(),
    needs_person: z.boolean(),
    outputs: z.array(z.object({ step: z.string(), output: z.string() })),
  }),
  async call({ run, seconds }, call) {
    const state = await awaitRun(run, seconds * 1_000, call);
    const { run: found, steps } = await call.client.getRun(runNameOf(run), {
      signal: call.signal,
    });
    const outputs = steps
      .filter(({ output }) => output !== undefined)
      .map(({ id, output }) => ({ step: id, output: payloadView(output) }));
    return {
      drover: WAITED[state],
      data: {
        run: runView(found),
        ended: state === "ended",
        needs_person: state === "person",
        outputs,
      },
      narrower: "show_run shows one step.",
    };
  },
});

type Waited = "ended" | "person" | "open";

const WAITED: Readonly<Record<Waited, string>> = {
  ended: "The run has ended.",
  person: "Only a person can move the run now: explain_run says how.",
  open: "The run has not ended yet: repeat the call to wait longer, or ask explain_run.",
};

async function awaitRun(
  run: string,
  waitMs: number,
  { client, signal }: Pick<ToolCall, "client" | "signal">,
): Promise<Waited> {
  const time = AbortSignal.timeout(waitMs);
  try {
    const either = AbortSignal.any([signal, time]);
    for await (const { run: seen } of client.watchRun(runNameOf(run), { signal: either })) {
      if (seen.ended) return "ended";
      if (needsPerson(seen)) return "person";
    }
  } catch (error) {
    if (!time.aborted || signal.aborted) throw error;
  }
  return "open";
}

/** As `drover run start --wait` decides it. */
function needsPerson({ state, substates }: RunDetails["run"]): boolean {
  if (state === "ESCALATED") return true;
  const isApproval = substates.every(({ substate }) => substate === "WAITING_FOR_APPROVAL");
  return substates.length > 0 && isApproval;
}

export const READ_TOOLS: readonly Tool[] = [
  listWorkflows,
  checkWorkflow,
  searchRuns,
  showRun,
  explainRun,
  waitForRun,
];
