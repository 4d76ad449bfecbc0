// A workflow drawn: what is in its graph, and that each language of drawings takes it.
import { create, type MessageInitShape } from "@bufbuild/protobuf";
import {
  RunSchema,
  type StepSchema,
  StepState,
  StepSchema as Steps,
  UndoState,
} from "@drover/proto/drover/v1/run_pb.ts";
import type { WorkflowDefinition } from "@drover/proto/drover/v1/workflow_pb.ts";
import { Graphviz } from "@hpcc-js/wasm-graphviz";
import { describe, expect, test } from "vitest";
import { checkText } from "../../../cli/check-text.ts";
import { graphFormats } from "../../../cli/graph/format-names.ts";
import { graphText } from "../../../cli/graph/formats.ts";
import { legendOf } from "../../../cli/graph/legend.ts";
import { xml } from "../../../cli/graph/svg.ts";
import {
  type DrawnRun,
  type GraphNode,
  runGraph,
  type WorkflowGraph,
  workflowGraph,
} from "../../../cli/graph/workflow-graph.ts";

const everything = `
workflow: everything
steps:
  - id: flight
    task: book-flight
    queue: travel
    effects: verifiable
    verify: { task: find-flight }
    compensate: { task: cancel-flight, when: attempted }
    fallback: [{ task: book-train, queue: rail }, { input: { by: bus } }]
    on_pickup: fallback
  - { id: pause, needs: [flight], wait: 90m }
  - { id: paid, needs: [pause], signal: { name: paid, within: 3d } }
  - id: agree
    needs: [flight]
    when: \${input.euros > 500 && input.name != "<b>&"}
    approval: { approvers: [finance, 'legal "&" <x>'], need: 2 }
  - { id: refund, needs: [paid], run: refund-customer, on_failure: continue }
  - id: deploy
    needs: [agree]
    map:
      over: \${input.servers}
      task: install
      queue: deploy-\${item}
      concurrency: 5
      tolerate: 2
      waves: { percent: 25, pause: 10s, gate: { task: health } }
  - { id: charge, needs: [deploy, refund], task: charge, effects: once, pivot: true, run_if: all_ok }
  - { id: tell, always: true, task: tell }
`;

function definitionOf(text: string): WorkflowDefinition {
  const checked = checkText(text);
  if (checked.kind === "bad") throw new Error(JSON.stringify(checked.problems));
  return checked.definition;
}

const graph = workflowGraph(definitionOf(everything), 3, null);

function node(of: WorkflowGraph, id: string): GraphNode {
  const found = of.nodes.find((one) => one.id === id);
  if (!found) throw new Error(`no node ${id}`);
  return found;
}

/** As they are in the node. */
const lines = (id: string) => node(graph, id).marks.map(({ label, text }) => `${label} ${text}`);

function drawn(...steps: readonly MessageInitShape<typeof StepSchema>[]): DrawnRun {
  return {
    run: create(RunSchema, { runId: "r1", workflow: "everything", workflowVersion: 3 }),
    steps: steps.map((step) => create(Steps, step)),
    outcome: "compensating",
  };
}

describe("a definition as a graph", () => {
  test("each step has what it does", () => {
    expect(graph.title).toBe("everything v3");
    expect(graph.nodes.map(({ id, kind, does }) => [id, kind, does])).toEqual([
      ["flight", "task", "task book-flight"],
      ["pause", "wait", "waits 1h30m"],
      ["paid", "signal", "waits for signal paid"],
      ["agree", "approval", '2 approvals of finance, legal "&" <x>'],
      ["refund", "run", "run of refund-customer"],
      ["deploy", "map", "task install for each"],
      ["charge", "task", "task charge"],
      ["tell", "task", "task tell"],
    ]);
  });

  test("queue, verify, fallbacks and what no agent takes are marked", () => {
    expect(lines("flight")).toEqual([
      "queue travel",
      "verify find-flight",
      "else 1 task book-train, queue rail",
      "else 2 other input",
      "not picked up uses the fallback",
    ]);
  });

  test("conditions, times, maps, pivots and last steps are marked", () => {
    expect(lines("agree")).toEqual(['when input.euros > 500 && input.name != "<b>&"']);
    expect(lines("paid")).toEqual(["within 3d"]);
    expect(lines("refund")).toEqual(["fails the run continues"]);
    expect(lines("deploy")).toEqual([
      "each of input.servers",
      "at a time 5",
      "may fail 2",
      "waves of 25 %, 10s between",
      "gate health",
      `queue deploy-${"$"}{item}`,
    ]);
    expect(lines("charge")).toEqual([
      "if all needs succeeded",
      "once escalates instead of repeating",
      "pivot no compensation after it",
    ]);
    expect(lines("tell")).toEqual(["always last, in any case"]);
  });

  test("what undoes a step is beside it", () => {
    expect(node(graph, "flight").undo).toEqual({
      does: "undo cancel-flight, also if only attempted",
      status: null,
    });
    expect(node(graph, "charge").undo).toBeNull();
  });

  test("edges are needs, and the way to what is done last", () => {
    expect(graph.edges.map(({ from, to, kind }) => `${from} ${kind} ${to}`)).toEqual([
      "flight needs pause",
      "pause needs paid",
      "flight needs agree",
      "paid needs refund",
      "agree needs deploy",
      "deploy needs charge",
      "refund needs charge",
      "charge last tell",
    ]);
  });

  test("the legend explains what occurs, and nothing else", () => {
    const entries = legendOf(
      workflowGraph(definitionOf("{workflow: w, steps: [{id: a, wait: 1s}]}"), 0, null),
    );
    expect(entries.map(({ text }) => text)).toEqual(["waits for a time"]);
    expect(legendOf(graph)).toHaveLength(6 + 3);
  });

  test("of more needs than can be distinguished those that follow from others are left out", () => {
    const steps = Array.from({ length: 60 }, (_, no) => ({
      id: `s${no}`,
      task: "t",
      needs: Array.from({ length: no }, (_, before) => `s${before}`),
    }));
    const dense = workflowGraph(definitionOf(JSON.stringify({ workflow: "w", steps })), 0, null);
    expect(dense.reduced).toBe(true);
    expect(dense.edges).toHaveLength(59);
    expect(legendOf(dense).at(-1)?.text).toBe("needs that follow from others are left out");
  });
});

describe("a run as a graph", () => {
  const steps = [
    { id: "flight", state: StepState.SUCCEEDED, undoState: UndoState.ACTIVE, attempt: 1 },
    { id: "agree", state: StepState.BLOCKED, needs: ["flight"] },
    {
      id: "charge",
      state: StepState.FAILED,
      attempt: 3,
      error: { code: "refused", message: "no money" },
    },
    { id: "refund", state: StepState.WAITING, childRunId: "r2" },
  ];
  const run = workflowGraph(definitionOf(everything), 3, drawn(...steps));

  test("each step has its state, with a style that a legend explains", () => {
    expect(run.subtitle).toBe("run r1: compensating");
    expect(node(run, "flight").status).toMatchObject({ word: "succeeded", look: "well" });
    expect(node(run, "flight").undo?.status).toMatchObject({
      word: "compensating",
      look: "moving",
    });
    expect(node(run, "agree").status).toMatchObject({ word: "blocked", look: "ahead" });
    expect(node(run, "charge").status).toEqual({
      word: "failed",
      look: "badly",
      details: ["attempt 3", "refused: no money"],
    });
    expect(node(run, "refund").status?.details).toEqual(["for run r2"]);
    expect(legendOf(run).map(({ text }) => text)).toContain("failed");
  });

  test("agent and attempts of an undo are drawn with the undo, not with what it undoes", () => {
    const [flight] = steps;
    const undone = drawn({ ...flight, attempt: 2, agentId: "flights-1" });
    const { status, undo } = node(workflowGraph(definitionOf(everything), 3, undone), "flight");
    expect(status?.details).toEqual([]);
    expect(undo?.status?.details).toEqual(["attempt 2, flights-1"]);
    for (const format of graphFormats)
      expect(graphText(runGraph(undone), format)).toContain("attempt 2, flights-1");
  });

  test("the name of each state is in each drawing", () => {
    for (const format of graphFormats)
      for (const word of ["succeeded", "compensating", "blocked", "failed"])
        expect(graphText(run, format)).toContain(word);
  });

  test("without its definition it is drawn from its steps", () => {
    const bare = runGraph(drawn(...steps));
    expect(bare.edges).toEqual([{ from: "flight", to: "agree", kind: "needs" }]);
    expect(node(bare, "flight").undo?.status?.word).toBe("compensating");
  });
});

describe("drawings", () => {
  test.each(graphFormats)("the same graph is the same %s", (format) => {
    const again = workflowGraph(definitionOf(everything), 3, null);
    expect(graphText(again, format)).toBe(graphText(graph, format));
  });

  test("an SVG has every step with all of its text, and its colours by night", () => {
    const svg = graphText(graph, "svg");
    expect(svg.match(/<g class="node (?:task|wait|signal|approval|run|map)"/g)?.length).toBe(8 + 6);
    expect(svg).toContain("&lt;b&gt;&amp;");
    expect(svg).toContain("@media (prefers-color-scheme:dark)");
    expect(svg).not.toMatch(/<script|<b>|NaN|undefined/);
  });

  test("hostile text is text in SVG", () => {
    const hostile = `</text><script>alert("1")</script>\u0000\u0007]]>&amp;`;
    expect(xml(hostile)).toBe(
      "&lt;/text&gt;&lt;script&gt;alert(&quot;1&quot;)&lt;/script&gt;\ufffd\ufffd]]&gt;&amp;amp;",
    );
  });

  test("Graphviz takes the DOT, whatever is in it", async () => {
    const graphviz = await Graphviz.load();
    const hostile = runGraph(
      drawn(
        { id: 'a"]; evil [label="', state: StepState.FAILED, error: { message: "\\N \\" } },
        { id: "<b>\n&quot;", state: StepState.READY, needs: ['a"]; evil [label="'] },
      ),
    );
    const plain = JSON.parse(graphviz.dot(graphText(hostile, "dot"), "json"));
    expect(plain.objects.map(({ name }: { name: string }) => name)).toEqual(["n0", "n1", "legend"]);
    expect(plain.edges).toHaveLength(1);
    const whole = JSON.parse(graphviz.dot(graphText(graph, "dot"), "json"));
    expect(whole.edges).toHaveLength(8 + 1);
  });

  test("Mermaid gets nothing that it could read as Markdown, HTML or the end of a text", () => {
    const hostile = runGraph(
      drawn({ id: 'a"] --> b `x` **y** <i> #quot;', state: StepState.READY }),
    );
    const nodes = graphText(hostile, "mermaid")
      .split("\n")
      .filter((line) => line.startsWith("  n"));
    expect(nodes).toEqual([expect.stringMatching(/^ {2}n0\["[^"`<>*]*(?:<br\/>[^"`<>*]*)+"\]$/)]);
  });

  test("500 steps are drawn, and of 500 that each need half of the others, too", () => {
    const wide = Array.from({ length: 500 }, (_, no) => ({
      id: `s${no}`,
      state: StepState.READY,
      needs: no < 250 ? [] : Array.from({ length: 250 }, (_, before) => `s${before}`),
    }));
    const tree = wide.map((step, no) => ({ ...step, needs: no > 0 ? [`s${(no - 1) >> 1}`] : [] }));
    for (const steps of [wide, tree])
      expect(graphText(runGraph(drawn(...steps)), "svg").match(/<title>s\d/g)).toHaveLength(500);
  });
});
