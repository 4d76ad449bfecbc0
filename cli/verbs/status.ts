/** `drover status`: what needs attention, on one screen, and the activity of the cluster. */
import { toJson } from "@bufbuild/protobuf";
import { durationMs, type Timestamp } from "@bufbuild/protobuf/wkt";
import type { Circuit, Cordon } from "@drover/proto/drover/v1/circuit_pb.ts";
import type { Approval } from "@drover/proto/drover/v1/operator_service_pb.ts";
import {
  type Activity,
  type GetClusterInfoResponse,
  GetClusterInfoResponseSchema,
  type GetOverviewResponse,
  GetOverviewResponseSchema,
  type LateRegion,
} from "@drover/proto/drover/v1/overview_pb.ts";
import type { Pause } from "@drover/proto/drover/v1/queue_pb.ts";
import type { Escalation } from "@drover/proto/drover/v1/run_pb.ts";
import { type Command, Option } from "commander";
import {
  failingHeaders,
  failingRows,
  latelyWords,
  openRunsWords,
  unsuccessfulWords,
  waitingForApproval,
} from "../activity-words.ts";
import { cordonInstanceCommand, failingWords } from "../agent-instances.ts";
import { approverWords } from "../approval-words.ts";
import type { Connection } from "../client.ts";
import { contextOf } from "../context.ts";
import { cordonWords, uncordonCommand } from "../cordon-words.ts";
import { escalationName, subjectWords } from "../escalation-words.ts";
import { type Ended, exitCodes } from "../failure.ts";
import type { Output } from "../output.ts";
import { supervisorCommand, unwatchedWords } from "../region-words.ts";
import { substateRunsWords } from "../substate-words.ts";
import { printPairs, printTable } from "../table.ts";
import { clean, clip, counted, durationWords, timeWords } from "../words.ts";
import { stateWords } from "./circuit.ts";
import { showAllStatus } from "./status-all.ts";
import { watchStatus } from "./status-watch.ts";

interface StatusOptions {
  readonly watch?: boolean;
  readonly allNamespaces?: boolean;
}

export function addStatus(program: Command, ended: Ended): void {
  program
    .command("status")
    .description("show what needs attention, and the health of the server")
    .option("-w, --watch", "show each change as it happens, until Ctrl-C")
    .addOption(new Option("-A, --all-namespaces", "of all namespaces").conflicts("watch"))
    .action(async ({ watch, allNamespaces }: StatusOptions, command: Command) => {
      const context = contextOf(command);
      const { output, address } = context;
      const connection = context.connect();
      if (allNamespaces) {
        await showAllStatus(connection, context);
        return ended(exitCodes.done);
      }
      if (watch) return await watchStatus(connection, address, output);
      const { operator, namespace } = connection;
      const overview = await operator.getOverview({ namespace });
      const cluster = await operator.getClusterInfo({});
      if (output.format === "table") {
        const rows = concerns(overview, output.again, output.when, {
          escalations: overview.openEscalations > 0 ? await firstAsked(connection) : [],
          approvals:
            waitingForApproval(overview.activity) > 0 ? await firstApprovals(connection) : [],
        });
        printTable(output, concernHeaders, rows);
        if (rows.length > 0) output.line("");
        const failing = overview.activity ? failingRows(overview.activity, output.when) : [];
        printTable(output, failingHeaders, failing);
        if (failing.length > 0) output.line("");
        printPairs(output, [
          ...clusterPairs(cluster, address),
          ...runPairs(cluster, overview.activity),
        ]);
        if (rows.length === 0) output.note(`nothing needs attention in ${clean(namespace)}`);
      } else writeAll(overview, cluster, output);
      ended(exitCodes.done);
    });
}

function writeAll(
  overview: GetOverviewResponse,
  cluster: GetClusterInfoResponse,
  output: Output,
): void {
  output.value({
    overview: toJson(GetOverviewResponseSchema, overview),
    cluster: toJson(GetClusterInfoResponseSchema, cluster),
  });
}

export const concernHeaders = ["NEEDS ATTENTION", "SINCE", "NEXT"] as const;

/** Escalations that are shown one by one; further ones are only counted. */
const escalationsNamed = 5;
/** Approvals that are shown one by one. */
const approvalsNamed = 3;
const messageShownMax = 100;

export type Row = readonly [what: string, since: string, next: string];

/** The newest open escalations, which are shown one by one. */
async function firstAsked({ operator, namespace }: Connection): Promise<readonly Escalation[]> {
  const answer = await operator.listEscalations({ namespace, pageSize: escalationsNamed });
  return answer.escalations;
}

/** The open approvals of the oldest runs, which are shown one by one. */
async function firstApprovals({ operator, namespace }: Connection): Promise<readonly Approval[]> {
  const answer = await operator.listApprovals({ namespace, pageSize: approvalsNamed });
  return answer.approvals.slice(0, approvalsNamed);
}

/** What is shown one by one: the newest escalations, and the approvals of the oldest runs. */
interface Named {
  readonly escalations: readonly Escalation[];
  readonly approvals: readonly Approval[];
}

const NONE_NAMED: Named = { escalations: [], approvals: [] };

/** `when` writes times. */
export function concerns(
  overview: GetOverviewResponse,
  again: string,
  when: Output["when"],
  named: Named = NONE_NAMED,
): readonly Row[] {
  return concernsOf(overview, named).map(([what, since, next]) => [
    what,
    when(since),
    `${next}${again}`,
  ]);
}

type Concern = readonly [what: string, since: Timestamp | undefined, next: string];

function concernsOf(
  overview: GetOverviewResponse,
  { escalations: asked, approvals }: Named,
): readonly Concern[] {
  const { openEscalations: open, lateRegions, namespacePause } = overview;
  const further = open - asked.length;
  const furtherWords = counted(further, asked.length > 0 ? "more escalation" : "escalation");
  return [
    ...asked.map(escalationRow),
    ...(further > 0 ? [row(`${furtherWords} open`, undefined, "drover escalation list")] : []),
    ...approvalRows(overview, approvals),
    ...lateRegions.flatMap(regionRows),
    ...overview.unservedTasks.map(({ queue, task, agentVersion, oldestTime }) =>
      row(
        `no agent${agentVersion === "" ? "" : ` of version "${clean(agentVersion)}"`} polls queue "${clean(queue)}" for "${clean(task)}"`,
        oldestTime,
        `drover queue show ${clean(queue)}`,
      ),
    ),
    ...overview.failingAgents.map((agent) =>
      row(failingWords(agent), undefined, cordonInstanceCommand(agent)),
    ),
    ...(namespacePause
      ? [pauseRow("the namespace", namespacePause, "drover namespace resume")]
      : []),
    ...overview.pausedQueues.map(({ name, pause }) =>
      pauseRow(`queue "${clean(name)}"`, pause, `drover queue resume ${clean(name)}`),
    ),
    ...overview.pausedWorkflows.map(({ name, pause, schedules }) => {
      const holds = schedules === 0 ? "" : ` and holds ${counted(schedules, "schedule")}`;
      const next = `drover workflow resume ${clean(name)}`;
      return pauseRow(`workflow "${clean(name)}"`, pause, next, holds);
    }),
    ...overview.cordons.map(cordonRow),
    ...overview.openCircuits.map(circuitRow),
  ];
}

function row(what: string, since: Timestamp | undefined, next: string): Concern {
  return [what, since, next];
}

function escalationRow(escalation: Escalation): Concern {
  const { workflow, message, openedTime } = escalation;
  return row(
    `${subjectWords(escalation)} of ${clean(workflow)}: ${clip(clean(message), messageShownMax)}`,
    openedTime,
    `drover escalation show ${escalationName(escalation)}`,
  );
}

/** Runs are counted, and a run may wait for several approvals: of the others, only the runs. */
function approvalRows(
  { activity }: Pick<GetOverviewResponse, "activity">,
  named: readonly Approval[],
): readonly Concern[] {
  const runs = waitingForApproval(activity);
  const further = runs - new Set(named.map(({ runId }) => runId)).size;
  const words = counted(further, named.length > 0 ? "more run" : "run");
  const waits = further === 1 ? "waits" : "wait";
  return [
    ...named.map((one) =>
      row(
        `${clean(one.stepId)} of ${clean(one.workflow)} waits for approval by ${approverWords(one)}`,
        one.sinceTime,
        `drover approval show ${clean(one.runId)} ${clean(one.stepId)}`,
      ),
    ),
    ...(further > 0
      ? [row(`${words} ${waits} for approval`, undefined, "drover approval list")]
      : []),
  ];
}

function cordonRow(cordon: Cordon): Concern {
  return row(cordonWords(cordon), cordon.cordonedTime, uncordonCommand(cordon));
}

function pauseRow(what: string, pause: Pause | undefined, next: string, holds = ""): Concern {
  const why = pause?.reason ? `: ${clean(pause.reason)}` : "";
  return row(`${what} is paused${holds}${why}`, pause?.sinceTime, next);
}

/**
 * A setting by a person lasts until it is released; a circuit that the rules have opened is
 * overruled by closing it.
 */
function circuitRow(circuit: Circuit): Concern {
  const { queue, task, agentId, setTime, sinceTime, saw } = circuit;
  const isSet = setTime !== undefined;
  const seen = isSet || saw === "" ? "" : `: ${clean(saw)}`;
  const forAgent = agentId === "" ? "" : ` for agent ${clean(agentId)}`;
  const agent = agentId === "" ? "" : ` --agent ${clean(agentId)}`;
  const verb = isSet ? "release" : "close";
  return row(
    `circuit of "${clean(task)}" of queue "${clean(queue)}"${forAgent} ${stateWords(circuit)}${seen}`,
    setTime ?? sinceTime,
    `drover queue circuit ${verb} ${clean(queue)} ${clean(task)}${agent}`,
  );
}

function regionRows(late: LateRegion): readonly Concern[] {
  const { overdue, lag } = late;
  const by = lag ? ` by up to ${durationWords(durationMs(lag))}` : "";
  const where = `${counted(overdue, "partition")} of region "${clean(late.region)}"`;
  return [
    ...(late.unwatched > 0 ? [row(unwatchedWords(late), undefined, supervisorCommand(late))] : []),
    ...(overdue > 0
      ? [row(`work is overdue${by} in ${where}`, undefined, "drover partition list --late")]
      : []),
  ];
}

type Pair = readonly [name: string, text: string];

function runPairs(
  { openRuns: states, moreOpenRuns: moreRuns }: GetClusterInfoResponse,
  of: Activity | undefined,
): readonly Pair[] {
  const all = openRunsWords({ states, moreRuns });
  // A server of an earlier version does not report activity.
  if (of === undefined) return [["open runs", all]];
  const pairs = activityPairs(of);
  // Behind the open runs of the namespace and their substates.
  return all === openRunsWords(of) ? pairs : pairs.toSpliced(2, 0, ["of all namespaces", all]);
}

/** The activity of the namespace. */
export function activityPairs(of: Activity): readonly Pair[] {
  return [
    ["open runs", openRunsWords(of)],
    ["of these", substateRunsWords(of.substates)],
    ["last 30 minutes", latelyWords(of)],
    ["not completed", unsuccessfulWords(of)],
  ];
}

function clusterPairs(cluster: GetClusterInfoResponse, address: string): readonly Pair[] {
  const { migrations, clockDifference } = cluster;
  const last = migrations.at(-1);
  return [
    ["server", `${clean(cluster.serverVersion)} at ${clean(address)}`],
    ["database", `PostgreSQL ${clean(cluster.databaseVersion)}`],
    ["schema", last ? `${last.number} (${clean(last.name)}), ${timeWords(last.appliedTime)}` : ""],
    ["clocks differ by", clockDifference ? durationWords(durationMs(clockDifference)) : ""],
  ];
}
