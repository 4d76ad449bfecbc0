/**
 * Makes docs/STATES.md from the rules: the table of states, what each outcome leads to (asked of
 * the rules, one by one), and the defaults. `node docs/generate.ts` writes the page; a test
 * compares it.
 */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { decide, start } from "../server/core/decide.ts";
import {
  AVOID_SESSION_MS,
  HEARTBEAT_MS_MIN,
  LOSSES_IN_A_ROW_MAX,
  type Plan,
  planOf,
  type RetryPolicy,
  RUN_TIMEOUT_MS,
} from "../server/core/definition.ts";
import type { RunEvent } from "../server/core/event.ts";
import { type Lease, movingSide, type View } from "../server/core/model.ts";
import { FORWARD_EDGES, RUN_EDGES, UNDO_EDGES } from "../server/core/state-table.ts";

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
    "Every state, every way from one to another, what each outcome leads to, and the defaults. A step has a forward state and, beside it, an undo state; at most one of the two moves, that is READY, LEASED or BACKOFF. A row from a state to itself, left out of the pictures, changes what belongs to the state, such as its next moment.",
    "## Run",
    "Begins RUNNING. On an event, or (`counters`) at the end of any event, when its counters ask for it.",
    ...pictureAndTable(RUN_EDGES, "RUNNING"),
    "## Step, forward",
    "Begins BLOCKED. On an effect of a decision; `claim` and `beat` happen to rows alone, outside of one.",
    ...pictureAndTable(FORWARD_EDGES, "BLOCKED"),
    "## Step, undo",
    "Begins NONE. Undoing begins when the forward side can move no more.",
    ...pictureAndTable(UNDO_EDGES, "NONE"),
    "## Outcomes",
    "What becomes of a leased step, as the rules answer for a step with defaults and a `compensate`, at its first attempt. *Counted* tries are charged to a retry policy; *unsettled* means that an effect may exist and is undone if the run is; *made* means that it exists.",
    outcomeTable(),
    "An outcome that the supervisor finds is an intervention as well. A failure that no policy answers, or for the last time, is for good: the step is FAILED and the run gets its verdict.",
    "## Defaults",
    ...defaultTables(),
    "",
  ]
    .join("\n\n")
    .replace(/\n+$/, "\n");
}

function pictureAndTable(edges: readonly Edge[], first: string): string[] {
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
    `  [*] --> ${first}`,
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

const NOW = 1_000_000;

/** `a` may be undone; `b`, beside it, is what fails where the run is to compensate. */
const PLAN = planOf({
  workflow: "w",
  steps: ["a", "b"].map((id) => ({ id, needs: [], task: id, compensate: { task: `undo-${id}` } })),
});

type Report = Extract<RunEvent, { kind: "report" }>;
type Said = Report["outcome"];

const failure = (kind: "transient" | "permanent", noEffect = false): Said => ({
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
  ["success", "agent", said({ kind: "success", output: null })],
  ["failure, transient", "agent", said(failure("transient"))],
  ["failure, permanent", "agent", said(failure("permanent"))],
  ["failure, permanent, no effect", "agent", said(failure("permanent", true))],
  ["unknown", "agent", said({ kind: "unknown", code: "drover.unknown", message: "" })],
  ["cancelled", "agent", said({ kind: "cancelled", noEffect: false })],
  ["cancelled, no effect", "agent", said({ kind: "cancelled", noEffect: true })],
  ["released", "agent", said({ kind: "released" })],
  [
    "never delivered",
    "agent, of its poll",
    ({ fence, secret }) => ({ kind: "undelivered", step: 0, fence, secret }),
  ],
  ["lost: silent for `heartbeat`", "supervisor", silence],
];

function said(outcome: Said): (lease: Lease) => RunEvent {
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
  return { kind: "lease-moment", step: 0, fence, lastBeatAt: null, watchingSince: 0 };
}

/** Situations in which a task may end, each with step 0 leased. */
const SITUATIONS: readonly (readonly [name: string, view: View])[] = [
  ["RUNNING", leased(started())],
  ["RUNNING, told to stop: past its time", leased(started(), "timeout")],
  ["STOPPING", stopping()],
  ["undo, COMPENSATING", leased(compensating())],
];

function outcomeTable(): string {
  const rows = OUTCOMES.map(([name, by, eventOf]) => [
    name,
    by,
    ...SITUATIONS.map(([, view]) => whatFollows(view, eventOf)),
  ]);
  return table(["outcome", "said by", ...SITUATIONS.map(([name]) => name)], rows);
}

function whatFollows(view: View, eventOf: (lease: Lease) => RunEvent): string {
  const lease = leaseOf(view);
  const after = passed(view, eventOf(lease), lease.grantedAt + lease.heartbeatMs);
  const step = after.view.steps.get(0);
  if (!step) throw new Error("the step has gone");
  const counted = after.effects.some((effect) => effect.kind === "task-ended" && effect.counted);
  const marks = { NONE: "", UNSETTLED: "unsettled", MADE: "made" };
  const isUndo = lease.task === "compensate";
  const parts = [
    isUndo ? step.undo.kind : step.forward.kind,
    counted ? "counted" : "",
    isUndo ? "" : marks[step.effect],
  ];
  return parts.filter((part) => part !== "").join(", ");
}

function started(): View {
  return start(PLAN, NOW).view;
}

function stopping(): View {
  return passed(leased(started()), { kind: "cancel", undo: true, note: "" }).view;
}

function compensating(): View {
  const done = passed(leased(started()), said({ kind: "success", output: null })).view;
  return passed(leased(done, null, 1), (lease) => ({ ...reportOf(lease), step: 1 })).view;
}

function reportOf(lease: Lease): Report {
  const event = said(failure("permanent"))(lease);
  if (event.kind !== "report") throw new Error("a report is a report");
  return event;
}

function passed(view: View, event: RunEvent | ((lease: Lease) => RunEvent), now = NOW) {
  const asked = typeof event === "function" ? event(leaseOf(view)) : event;
  return decide(PLAN, view, now, [{ event: asked, draw: 0.5 }]);
}

function leaseOf(view: View): Lease {
  for (const step of view.steps.values()) {
    const state = movingSide(step)?.state;
    if (state?.kind === "LEASED") return state;
  }
  throw new Error("no step is leased");
}

/** The same with the ready task of a step in an agent's hands, as a claim leaves it. */
function leased(view: View, cause: "timeout" | null = null, no = 0): View {
  const step = view.steps.get(no);
  const moving = step ? movingSide(step) : null;
  if (!step || moving?.state.kind !== "READY") throw new Error(`step ${no} is not ready`);
  const { task, fence, attempt } = moving.state;
  const { heartbeatMs, cancelMs, attemptMs } = timeoutsOf(PLAN, task);
  const lease: Lease = {
    kind: "LEASED",
    task,
    fence,
    attempt,
    secret: "secret",
    session: "session",
    agentId: "agent",
    pollSeq: 1,
    grantedAt: NOW,
    attemptBy: NOW + attemptMs,
    heartbeatMs,
    cancelMs,
    cancel: cause ? { kind: "asked", cause, at: NOW } : { kind: "none" },
    wakeAt: NOW + heartbeatMs,
  };
  return { ...view, steps: new Map(view.steps).set(no, { ...step, [moving.side]: lease }) };
}

function timeoutsOf(plan: Plan, task: Lease["task"]) {
  const [step] = plan.steps;
  const planned = task === "perform" ? step : step?.compensate;
  if (!planned) throw new Error(`the plan has no ${task}`);
  return planned.timeouts;
}

function defaultTables(): string[] {
  const [step] = PLAN.steps;
  if (!step?.compensate) throw new Error("the plan has no undo");
  const { timeouts } = step;
  const policies = [step.retry, step.compensate.retry].map(([policy]) => policy);
  const retryRow = (name: string, of: (policy: RetryPolicy) => string) => [
    name,
    ...policies.map((policy) => (policy ? of(policy) : "")),
  ];
  return [
    table(
      ["retry", "step", "undo"],
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
        ["`pickup`", words(timeouts.pickupMs), "READY without a taker: then it is looked at"],
        ["`attempt`", words(timeouts.attemptMs), "one attempt from its grant"],
        [
          "`heartbeat`",
          words(timeouts.heartbeatMs),
          `silence that ends a lease; at least ${words(HEARTBEAT_MS_MIN)}`,
        ],
        [
          "`cancel`",
          words(timeouts.cancelMs),
          "from the beat that said stop to the end of the lease",
        ],
        [
          "`settle`",
          words(timeouts.settleMs),
          "from the end of a lost lease to the first undo: `heartbeat`, and at least 5 s",
        ],
        ["`total`", words(timeouts.totalMs), "all tries of a step from its first READY"],
        ["the run's `timeout`", words(RUN_TIMEOUT_MS), "the run, until it gets a verdict"],
      ],
    ),
    `A task that was lost ${LOSSES_IN_A_ROW_MAX} times in a row is poison, and a person is asked. A lost or released task is kept from the session that had it for ${words(AVOID_SESSION_MS)}, then anyone may take it.`,
  ];
}

const UNITS = [
  ["d", 86_400_000],
  ["h", 3_600_000],
  ["min", 60_000],
  ["s", 1_000],
] as const;

function words(ms: number): string {
  const unit = UNITS.find(([, length]) => ms >= length && ms % length === 0);
  return unit ? `${ms / unit[1]} ${unit[0]}` : `${ms} ms`;
}

if (import.meta.main) writeFileSync(join(import.meta.dirname, "STATES.md"), statesPage());
