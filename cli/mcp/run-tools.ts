/** Tools that start runs, and act on them. */
import type { Client, Run } from "@drover/sdk";
import { DroverError } from "@drover/server/errors.ts";
import { z } from "zod";
import { definitionArgument } from "./read-tools.ts";
import {
  defineTool,
  type Person,
  reasonArgument,
  runArgument,
  runNameOf,
  type Tool,
} from "./tool.ts";
import { stateSchema, stateView } from "./views.ts";

const keyArgument = z
  .string()
  .min(1)
  .max(256)
  .describe("your own name for this run: the same call with the same key starts it once");

/** Labels that say who started a run: no caller sets them. */
const OWN_LABELS = ["requester", "via"] as const;

const labelsArgument = z
  .record(z.string().min(1).max(128), z.string().max(256))
  .refine((labels) => OWN_LABELS.every((name) => !Object.hasOwn(labels, name)), {
    message: `drover mcp itself sets the labels ${OWN_LABELS.join(" and ")}`,
  })
  .default({})
  .describe("labels to find the run by");

const payloadArgument = z.unknown().optional();

const startedSchema = z.object({
  run_id: z.string(),
  key: z.string(),
  created: z.boolean().describe("false: an earlier call with this key started it"),
});

type StartSpec = Parameters<Client["schedule"]>[0];

async function start(
  spec: StartSpec,
  { client, person, signal }: { client: Client; person: Person; signal: AbortSignal },
) {
  const labels = { ...spec.labels, ...(person.by && { requester: person.by }), via: "mcp" };
  const { runId, key, created } = await client.schedule({ ...spec, labels }, { signal });
  return {
    drover: created ? "The run was started." : "The run was started before, with this key.",
    data: { run_id: runId, key, created },
  };
}

const startRun = defineTool({
  name: "start_run",
  title: "Start a run of a workflow",
  description: "Starts a run of a registered workflow.",
  kind: "write",
  input: z.strictObject({
    workflow: z.string().min(1).max(128).describe("name of the workflow"),
    version: z.int().min(0).default(0).describe("0: the default version"),
    input: payloadArgument.describe("the input, any JSON"),
    key: keyArgument,
    labels: labelsArgument,
  }),
  data: startedSchema,
  call: (spec, call) => start(spec, call),
});

const startInlineRun = defineTool({
  name: "start_inline_run",
  title: "Start a run of an inline definition",
  description:
    "Checks a definition, and starts a run of it if it has no mistake. The definition is for this run only: no workflow is registered.",
  kind: "write",
  input: z.strictObject({
    definition: definitionArgument,
    input: payloadArgument.describe("the input, any JSON"),
    key: keyArgument,
    labels: labelsArgument,
  }),
  data: startedSchema,
  async call({ definition: text, ...spec }, call) {
    const { checkText } = await import("../check-text.ts");
    const checked = checkText(text);
    if (checked.kind === "bad")
      throw new DroverError("INVALID_DEFINITION", "the definition has mistakes", {
        fields: checked.problems,
      });
    return start({ ...spec, workflow: checked.definition }, call);
  },
});

const sendSignal = defineTool({
  name: "send_signal",
  title: "Send a signal to a run",
  description: "Sends a named event with a payload to a run; a signal step of it takes the event.",
  kind: "write",
  input: z.strictObject({
    run: runArgument,
    name: z.string().min(1).max(128).describe("name of the signal"),
    signal_id: z
      .string()
      .min(1)
      .max(256)
      .describe("your own name for this signal: the same id sends it once"),
    payload: payloadArgument.describe("any JSON"),
  }),
  data: z.object({ signal_id: z.string(), repeated: z.boolean() }),
  async call({ run, name, signal_id: id, payload }, { client, signal }) {
    const sent = await client.signal(runNameOf(run), name, { id, payload, signal });
    return {
      drover: sent.repeated ? "The signal was stored before." : "The signal is stored.",
      data: { signal_id: sent.id, repeated: sent.repeated },
    };
  },
});

/** A run after a command to it. */
const commandedSchema = z.object({ run: stateSchema });

function commanded(drover: string, run: Run) {
  return { drover, data: { run: stateView(run) } };
}

const pauseRun = defineTool({
  name: "pause_run",
  title: "Pause a run",
  description: "Pauses a run: no further task is handed out, and agents finish what they hold.",
  kind: "write",
  input: z.strictObject({ run: runArgument, reason: reasonArgument }),
  data: commandedSchema,
  async call({ run, reason }, { client, signal }) {
    const paused = await client.pauseRun(runNameOf(run), { reason, signal });
    return commanded("The run is paused.", paused);
  },
});

const resumeRun = defineTool({
  name: "resume_run",
  title: "Resume a run",
  description: "Lets a paused run continue.",
  kind: "write",
  input: z.strictObject({ run: runArgument, reason: reasonArgument }),
  data: commandedSchema,
  async call({ run, reason }, { client, signal }) {
    const resumed = await client.resumeRun(runNameOf(run), { reason, signal });
    return commanded("The run continues.", resumed);
  },
});

const cancelRun = defineTool({
  name: "cancel_run",
  title: "Cancel a run",
  description: "Cancels a run. What it has done is undone, or left as it is. There is no way back.",
  kind: "destroy",
  input: z.strictObject({
    run: runArgument,
    undo: z.enum(["compensate", "leave"]).describe("compensate: undo what was done"),
    reason: reasonArgument,
  }),
  data: commandedSchema,
  async call({ run, undo, reason }, { client, signal }) {
    const cancelled = await client.cancelRun(runNameOf(run), { undo, reason, signal });
    return commanded("The run is cancelled, or is being cancelled.", cancelled);
  },
});

export const RUN_TOOLS: readonly Tool[] = [
  startRun,
  startInlineRun,
  sendSignal,
  pauseRun,
  resumeRun,
  cancelRun,
];
