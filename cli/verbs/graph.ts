/**
 * `drover workflow graph` draws a workflow, from a file without a server or as registered; `drover
 * run graph` draws a run with the state of each step.
 */
import { writeFileSync } from "node:fs";
import type { Workflow } from "@drover/proto/drover/v1/workflow_pb.ts";
import { type Command, Option } from "commander";
import type { Connection } from "../client.ts";
import { type Context, contextOf } from "../context.ts";
import { type Ended, exitCodes, usageFailure } from "../failure.ts";
import { type GraphFormat, graphFormats } from "../graph/format-names.ts";
import type { DrawnRun, WorkflowGraph } from "../graph/workflow-graph.ts";
import { createOutput } from "../output.ts";
import { addRunRef, type RunRefOptions, runRefOf } from "../run-ref.ts";
import { runOutcome } from "../run-words.ts";
import { clean } from "../words.ts";
import { definitionOfFile, isFile } from "../workflow-file.ts";

interface GraphOptions {
  readonly format: GraphFormat;
  readonly out?: string;
}

export function addWorkflowGraph(workflow: Command, ended: Ended): void {
  workflow
    .command("graph")
    .description("draw a workflow: from a file, without a server, or a registered one")
    .argument("<workflow>", "a file in YAML or JSON, - for a pipe, NAME, or NAME@VERSION")
    .addOption(formatOption())
    .addOption(outOption())
    .action(async (named: string, options: GraphOptions, command: Command) => {
      const context = contextOf(command);
      const { workflowGraph } = await import("../graph/workflow-graph.ts");
      const { definition, version } = isFile(named)
        ? { definition: await definitionOfFile(named), version: 0 }
        : await registered(named, context.connect());
      await write(workflowGraph(definition, version, null), options, context);
      ended(exitCodes.done);
    });
}

export function addRunGraph(run: Command, ended: Ended): void {
  addRunRef(run.command("graph"))
    .description("draw a run: its steps and their states")
    .addOption(formatOption())
    .addOption(outOption())
    .action(
      async (name: string | undefined, options: RunRefOptions & GraphOptions, command: Command) => {
        const context = contextOf(command);
        await write(await drawRun(name, options, context.connect()), options, context);
        ended(exitCodes.done);
      },
    );
}

function formatOption(): Option {
  return new Option(
    "--format <format>",
    "svg for a browser; dot for Graphviz; mermaid for Markdown",
  )
    .choices(graphFormats)
    .default("svg");
}

function outOption(): Option {
  return new Option("--out <file>", "write the drawing to this file");
}

/** Without colours: the words go into a drawing. */
const plain = createOutput("table", false);

async function drawRun(
  name: string | undefined,
  options: RunRefOptions,
  connection: Connection,
): Promise<WorkflowGraph> {
  const { scheduler, namespace } = connection;
  const { runGraph, workflowGraph } = await import("../graph/workflow-graph.ts");
  const asked = { namespace, run: runRefOf(name, options), includeDefinition: true };
  const { run, steps, definition } = await scheduler.getRun(asked);
  if (!run) throw usageFailure("the server returned no run", "drover run list");
  const drawn: DrawnRun = { run, steps, outcome: runOutcome(run, plain) };
  // An older server does not return the definition: then only the steps are drawn.
  return definition ? workflowGraph(definition, run.workflowVersion, drawn) : runGraph(drawn);
}

async function registered(named: string, { scheduler, namespace }: Connection) {
  const [, name = named, digits = "0"] = /^(.*)@([0-9]{1,9})$/.exec(named) ?? [];
  const asked = { namespace, name, version: Number(digits) };
  const { workflow } = await scheduler.getWorkflow(asked);
  return definedIn(workflow, named);
}

function definedIn(workflow: Workflow | undefined, named: string) {
  if (workflow?.definition) return { definition: workflow.definition, version: workflow.version };
  throw usageFailure(`the server returned no workflow ${clean(named)}`, "drover workflow list");
}

/** With `-o` the nodes and edges themselves, for programs. */
async function write(
  graph: WorkflowGraph,
  { format, out }: GraphOptions,
  { output }: Context,
): Promise<void> {
  if (out === undefined && output.format !== "table") {
    output.value(JSON.parse(JSON.stringify(graph)));
    return;
  }
  // Markup on a terminal would be useless to a reader.
  if (out === undefined && format === "svg" && output.screen)
    throw usageFailure(
      "an SVG is not readable in a terminal",
      "repeat with --out graph.svg, or --format mermaid",
    );
  const { graphText } = await import("../graph/formats.ts");
  const text = graphText(graph, format).trimEnd();
  if (out === undefined) output.line(text);
  else {
    writeFileSync(out, `${text}\n`);
    output.note(`wrote ${clean(out)}`);
  }
  const { MERMAID_EDGES_MAX, mermaidEdges } = await import("../graph/mermaid.ts");
  if (format === "mermaid" && mermaidEdges(graph) > MERMAID_EDGES_MAX)
    output.note(
      `more than ${MERMAID_EDGES_MAX} edges, which Mermaid draws only where maxEdges allows it\n  next: --format svg`,
    );
}
