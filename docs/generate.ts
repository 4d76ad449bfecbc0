/**
 * Generates docs/STATES.md from the rules: the table of states, what each outcome leads to
 * (evaluated by the rules, one by one), and the defaults. `node docs/generate.ts` writes the page,
 * and the other pages and schemas below with it; tests compare them.
 */
import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { dashboardText } from "../deploy/grafana/dashboard.ts";
import { decide, start } from "../server/core/decide.ts";
import type { Effects, RetryPolicy } from "../server/core/definition/definition.ts";
import { EVENT_TABLE } from "../server/core/events/event-table.ts";
import { currentEffectStatus } from "../server/core/evolve.ts";
import { NO_EXPRESSIONS } from "../server/core/model/evaluator.ts";
import type { RunEvent } from "../server/core/model/event.ts";
import { type Lease, movingSide, type View } from "../server/core/model/model.ts";
import { FORWARD_EDGES, RUN_EDGES, UNDO_EDGES } from "../server/core/model/state-table.ts";
import { planTaskOf } from "../server/core/pass.ts";
import {
  AVOID_SESSION_MS,
  HEARTBEAT_MS_MIN,
  LOSSES_IN_A_ROW_MAX,
  type Plan,
  planOf,
  RUN_TIMEOUT_MS,
  UNDELIVERED_AT_ONCE_MAX,
  UNDELIVERED_IN_A_ROW_MAX,
  WAIT_FOR_PEOPLE_MS,
} from "../server/core/plan/plan.ts";
import { cliPage } from "./cli-page.ts";
import { words } from "./duration-words.ts";
import { withHowTos } from "./how-to-list.ts";
import { withLimits } from "./limits-table.ts";
import { metricsPage } from "./metrics-page.ts";
import { referenceFolder, referencePages } from "./reference-pages.ts";
import { scenariosPage, scenariosSchemaText } from "./scenarios-page.ts";
import { tracesPage } from "./traces-page.ts";
import { workflowSchemaText } from "./workflow-schema.ts";

interface Edge {
  readonly from: string;
  readonly on: string;
  readonly to: string;
  readonly why: string;
}

export function statesPage(): string {
  return [
    "# States",
    "<!-- Made by `node docs/generate.ts` from server/core: change the rules, not this page. -->",
    "After reading this page you can look up every state of a run and of a step, every change from one state to another, what each event and each outcome leads to, and all defaults.",
    "A step has a forward state and, beside it, an undo state. At most one of the two moves, which means that it is READY, LEASED, BACKOFF, WAITING or HELD (ready while its run is paused). A row from a state to itself changes a property of the state, such as its next due time; the pictures leave these rows out.",
    "## Run",
    "A run starts in RUNNING, or in PENDING if it has a later start time. The column *on* names the cause of a change. `start`: the start time, or the concurrency permit, for which the run waited has come. `counters`: the counters of the run ask for the change, at the end of any event. `stop`: a step has failed for good. `continue`: an answer, a report or a command resumes an escalated run. `leave`: a person ends the run without compensation.",
    ...pictureAndTable(RUN_EDGES, "PENDING", "RUNNING"),
    "## Step, forward",
    "The forward state starts as BLOCKED. The column *on* names the effect of a decision that changes the state. `claim` and `beat` happen to a task outside a decision: an agent takes the task, or learns from the answer to a heartbeat that it should stop.",
    ...pictureAndTable(FORWARD_EDGES, "BLOCKED"),
    "## Step, undo",
    "The undo state starts as NONE. Undoing starts when the forward state can no longer change.",
    ...pictureAndTable(UNDO_EDGES, "NONE"),
    "## Events",
    "The table lists what each event does to a run in each of its states. *Same*: the run stays in its state; the changes that may follow by `counters` are listed [above](#run).",
    eventTable(),
    "## Outcomes",
    "The table lists the state of a leased step after each outcome, as the rules answer: for a step with the defaults and a `compensate`, at its first attempt, by its `effects`, and for a verify and an undo. *Counted*: the try counts against a retry policy. *Unsettled*: an effect may exist, and is undone if the run is undone. *Made*: the effect exists.",
    outcomeTable(),
    "An outcome that the supervisor finds is recorded as an intervention as well. A step has failed for good when no retry policy matches its failure, or when the policy allows no further try: the step is FAILED, and the run gets its stop reason (`stop` above), unless `on_failure` is set.",
    "## Defaults",
    ...defaultTables(),
    "",
  ]
    .join("\n\n")
    .replace(/\n+$/, "\n");
}

function pictureAndTable(edges: readonly Edge[], ...first: readonly string[]): string[] {
  const ways = new Map<string, { from: string; to: string; on: Set<string> }>();
  for (const { from, on, to } of edges.filter((edge) => edge.from !== edge.to)) {
    const way = ways.get(`${from} ${to}`) ?? { from, to, on: new Set() };
    ways.set(`${from} ${to}`, way);
    way.on.add(on);
  }
  const left = new Set(edges.map(({ from }) => from));
  const ends = new Set(edges.map(({ to }) => to).filter((to) => !left.has(to)));
  const picture = [
    "```mermaid",
    "stateDiagram-v2",
    ...first.map((state) => `  [*] --> ${state}`),
    ...[...ways.values()].map(({ from, to, on }) => `  ${from} --> ${to}: ${[...on].join(", ")}`),
    ...[...ends].map((end) => `  ${end} --> [*]`),
    "```",
  ];
  const rows = edges.map(({ from, on, to, why }) => [from, `\`${on}\``, to, why]);
  return [picture.join("\n"), table(["from", "on", "to", "why"], rows)];
}

function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]) => `| ${cells.join(" | ")} |`;
  return [line(head), line(head.map(() => "---")), ...rows.map(line)].join("\n");
}

/** States for which an event does the same share a row. */
function eventTable(): string {
  const same = Map.groupBy(EVENT_TABLE, ({ event, answer, to, does }) =>
    [event, answer, to, does].join("\n"),
  );
  const rows = [...same.values()].flatMap((of) => {
    const [first] = of;
    if (!first) return [];
    const { event, answer, to, does } = first;
    return [[`\`${event}\``, of.map(({ state }) => state).join(", "), answer, to, does]];
  });
  return table(["event", "run", "answer", "to", "what it does"], rows);
}

const NOW = 1_000_000;

/** `a` may be undone; `b`, beside it, is what fails where the run is to compensate. */
function planWith(effects: Effects): Plan {
  return planOf({
    workflow: "w",
    steps: ["a", "b"].map((id) => ({
      id,
      needs: [],
      task: id,
      effects,
      ...(effects === "verifiable" ? { verify: { task: `find-${id}` } } : {}),
      compensate: { task: `undo-${id}` },
    })),
  });
}

type Report = Extract<RunEvent, { kind: "report" }>;
type Outcome = Report["outcome"];

const failure = (kind: "transient" | "permanent", noEffect = false): Outcome => ({
  kind: "failure",
  class: kind,
  code: "code",
  message: "",
  retryAfterMs: null,
  noEffect,
});

const OUTCOMES: readonly (readonly [
  name: string,
  by: string,
  event: (lease: Lease) => RunEvent,
])[] = [
  ["success", "agent", reported({ kind: "success", output: null })],
  ["failure, transient", "agent", reported(failure("transient"))],
  ["failure, permanent", "agent", reported(failure("permanent"))],
  ["failure, permanent, no effect", "agent", reported(failure("permanent", true))],
  ["unknown", "agent", reported({ kind: "unknown", code: "drover.unknown", message: "" })],
  ["again", "agent", reported({ kind: "again", afterMs: 1_000 })],
  ["deferred", "agent", reported({ kind: "deferred" })],
  ["cancelled", "agent", reported({ kind: "cancelled", noEffect: false })],
  ["cancelled, no effect", "agent", reported({ kind: "cancelled", noEffect: true })],
  ["released", "agent", reported({ kind: "released" })],
  [
    "never delivered",
    "agent, for a lost poll",
    ({ fence, secret }) => ({ kind: "undelivered", step: 0, fence, secret }),
  ],
  ["lost: silent for `heartbeat`", "supervisor", silence],
];

function reported(outcome: Outcome): (lease: Lease) => RunEvent {
  return ({ task, fence, secret, session, agentId }) => ({
    kind: "report",
    step: 0,
    task,
    fence,
    secret,
    outcome,
    digest: "new",
    agentId,
    session,
  });
}

function silence({ fence }: Lease): RunEvent {
  return { kind: "lease-timer", step: 0, fence, lastHeartbeatAt: null, watchingSince: 0 };
}

interface Situation {
  readonly name: string;
  readonly plan: Plan;
  /** With step 0 leased. */
  readonly view: View;
}

function situations(): readonly Situation[] {
  const idempotent = planWith("idempotent");
  const verifiable = planWith("verifiable");
  const once = planWith("once");
  return [
    { name: "idempotent", plan: idempotent, view: leased(idempotent, started(idempotent)) },
    { name: "verifiable", plan: verifiable, view: leased(verifiable, started(verifiable)) },
    { name: "once", plan: once, view: leased(once, started(once)) },
    {
      name: "asked to stop: past its timeout",
      plan: idempotent,
      view: leased(idempotent, started(idempotent), "timeout"),
    },
    { name: "in a run that stops", plan: idempotent, view: stopping(idempotent) },
    { name: "verify", plan: verifiable, view: leased(verifiable, verifying(verifiable)) },
    { name: "undo", plan: idempotent, view: leased(idempotent, compensating(idempotent)) },
  ];
}

function outcomeTable(): string {
  const all = situations();
  const rows = OUTCOMES.map(([name, by, eventOf]) => [
    name,
    by,
    ...all.map((situation) => whatFollows(situation, eventOf)),
  ]);
  return table(["outcome", "source", ...all.map(({ name }) => name)], rows);
}

const MARKS = {
  NONE: "",
  ATTEMPTED: "attempted",
  UNSETTLED: "unsettled",
  LINGERING: "unsettled",
  CLEARED: "",
  MADE: "made",
};

function whatFollows({ plan, view }: Situation, eventOf: (lease: Lease) => RunEvent): string {
  const lease = leaseOf(view);
  const after = passed(plan, view, eventOf(lease), lease.grantedAt + lease.heartbeatMs);
  const step = after.view.steps.get(0);
  if (!step) throw new Error("the step has gone");
  const counted = after.effects.some((effect) => effect.kind === "task-ended" && effect.counted);
  const isUndo = lease.task === "compensate";
  const mark = currentEffectStatus(step);
  const { forward } = step;
  const verifies = "task" in forward && forward.task === "verify" ? " to verify" : "";
  const parts = [
    isUndo ? step.undo.kind : `${forward.kind}${verifies}`,
    counted ? "counted" : "",
    isUndo || mark === "UNDONE" ? "" : MARKS[mark],
  ];
  return parts.filter((part) => part !== "").join(", ");
}

function started(plan: Plan): View {
  return start({ plan, evaluator: NO_EXPRESSIONS }, NOW, null).view;
}

function stopping(plan: Plan): View {
  const cancel = { kind: "cancel", undo: true, note: "" } as const;
  return passed(plan, leased(plan, started(plan)), cancel).view;
}

function verifying(plan: Plan): View {
  const unknown = reported({ kind: "unknown", code: "drover.unknown", message: "" });
  return passed(plan, leased(plan, started(plan)), unknown).view;
}

function compensating(plan: Plan): View {
  const success = reported({ kind: "success", output: null });
  const done = passed(plan, leased(plan, started(plan)), success).view;
  const last = leased(plan, done, null, 1);
  return passed(plan, last, (lease) => ({ ...reportOf(lease), step: 1 })).view;
}

function reportOf(lease: Lease): Report {
  const event = reported(failure("permanent"))(lease);
  if (event.kind !== "report") throw new Error("a report is a report");
  return event;
}

function passed(plan: Plan, view: View, event: RunEvent | ((lease: Lease) => RunEvent), now = NOW) {
  const asked = typeof event === "function" ? event(leaseOf(view)) : event;
  return decide({ plan, evaluator: NO_EXPRESSIONS }, view, now, [{ event: asked, draw: 0.5 }]);
}

function leaseOf(view: View): Lease {
  for (const step of view.steps.values()) {
    const state = movingSide(step)?.state;
    if (state?.kind === "LEASED") return state;
  }
  throw new Error("no step is leased");
}

/** The same with the ready task of a step in an agent's hands, as a claim leaves it. */
function leased(plan: Plan, view: View, cause: "timeout" | null = null, no = 0): View {
  const step = view.steps.get(no);
  const planned = plan.steps[no];
  const moving = step ? movingSide(step) : null;
  if (!step || !planned || moving?.state.kind !== "READY")
    throw new Error(`step ${no} is not ready`);
  const { task, fence, attempt } = moving.state;
  const { heartbeatMs, cancelMs, attemptMs } = planTaskOf(planned, step, task).timeouts;
  const lease: Lease = {
    kind: "LEASED",
    task,
    fence,
    attempt,
    secret: `secret ${no} ${task}`,
    session: "session",
    agentId: "agent",
    pollSeq: 1,
    grantedAt: NOW,
    attemptBy: NOW + attemptMs,
    heartbeatMs,
    cancelMs,
    stallMs: null,
    progressAt: NOW,
    cancel: cause ? { kind: "asked", cause, at: NOW } : { kind: "none" },
    suspectAt: null,
    wakeAt: NOW + heartbeatMs,
  };
  return { ...view, steps: new Map(view.steps).set(no, { ...step, [moving.side]: lease }) };
}

function defaultTables(): string[] {
  const [step] = planWith("verifiable").steps;
  if (!step?.compensate || !step.verify || step.work.kind !== "task")
    throw new Error("the plan has no verify, or no undo");
  const { timeouts } = step;
  const tasks = [step.work.strategies[0], step.verify, step.compensate];
  const policies = tasks.map((task) => task?.retry[0]);
  const retryRow = (name: string, of: (policy: RetryPolicy) => string) => [
    name,
    ...policies.map((policy) => (policy ? of(policy) : "")),
  ];
  return [
    table(
      ["retry", "step", "verify", "undo"],
      [
        retryRow("tries, the first included", ({ attempts }) => String(attempts)),
        retryRow("first wait", ({ initialMs }) => words(initialMs)),
        retryRow("factor", ({ factor }) => String(factor)),
        retryRow("longest wait", ({ maxMs }) => words(maxMs)),
        retryRow("jitter", ({ jitter }) => String(jitter)),
      ],
    ),
    table(
      ["time", "default", "what it bounds"],
      [
        [
          "`pickup`",
          words(timeouts.pickupMs),
          "a ready task that no agent takes; then the supervisor checks it",
        ],
        ["`attempt`", words(timeouts.attemptMs), "one attempt, from when an agent gets it"],
        [
          "`heartbeat`",
          words(timeouts.heartbeatMs),
          `the silence of an agent that ends its lease; at least ${words(HEARTBEAT_MS_MIN)}`,
        ],
        [
          "`cancel`",
          words(timeouts.cancelMs),
          "from the heartbeat that asked the agent to stop to the end of the lease",
        ],
        [
          "`settle`",
          words(timeouts.settleMs),
          "from the end of a lost lease to the next task that could meet its late effect; the default is `heartbeat`, and at least 5 s",
        ],
        [
          "`total`",
          words(timeouts.totalMs),
          "all tries of a step, from its first READY; the default is longer where the step's `pickup`, `attempt` or `callback` is",
        ],
        ["`stall`", "off", "progress that does not change while the agent sends heartbeats"],
        ["`callback`", words(timeouts.callbackMs), "from *deferred* to the callback"],
        [
          "`within`",
          words(WAIT_FOR_PEOPLE_MS),
          "the wait for a signal or an approval; then `on_expiry` applies, by default escalate",
        ],
        ["the run's `timeout`", words(RUN_TIMEOUT_MS), "the run, until it gets its stop reason"],
      ],
    ),
    `A task that was lost ${LOSSES_IN_A_ROW_MAX} times in a row is poison: the server asks a person. The session that lost or released a task does not get it again for ${words(AVOID_SESSION_MS)}; then any session can take it.`,
    `A task that was handed out and never arrived, because its poll was lost, is ready again at once, ${UNDELIVERED_AT_ONCE_MAX} times in a row. After that it waits before each hand-out, from 1 s to 1 min. After ${UNDELIVERED_IN_A_ROW_MAX} times in a row the server asks a person (\`drover.undelivered\`). A stored input, the details and an output have at most 2 MiB each, and a value that an expression makes at most 256 KiB, so a task fits into a receive limit of 8 MiB.`,
  ];
}

if (import.meta.main) {
  writeFileSync(join(import.meta.dirname, "STATES.md"), statesPage());
  writeFileSync(join(import.meta.dirname, "CLI.md"), await cliPage());
  writeFileSync(join(import.meta.dirname, "METRICS.md"), metricsPage());
  const namespaces = join(import.meta.dirname, "NAMESPACES.md");
  writeFileSync(namespaces, withLimits(readFileSync(namespaces, "utf8")));
  writeFileSync(join(import.meta.dirname, "TRACES.md"), tracesPage());
  writeFileSync(join(import.meta.dirname, "workflow.schema.json"), workflowSchemaText());
  writeFileSync(join(import.meta.dirname, "../deploy/grafana/drover.json"), dashboardText());
  writeFileSync(join(import.meta.dirname, "SCENARIOS.md"), scenariosPage());
  writeFileSync(join(import.meta.dirname, "scenarios.schema.json"), scenariosSchemaText());
  const index = join(import.meta.dirname, "README.md");
  writeFileSync(index, withHowTos(readFileSync(index, "utf8")));
  rmSync(referenceFolder, { recursive: true, force: true });
  for (const [name, text] of await referencePages()) {
    mkdirSync(dirname(join(referenceFolder, name)), { recursive: true });
    writeFileSync(join(referenceFolder, name), text);
  }
}
