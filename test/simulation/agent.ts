// An agent process: it polls, sends heartbeats and reports as the contract requires, at any server.
// It misbehaves in how it works (agent-work.ts), in what it reports (reports.ts), and by crashing.
//
//   task: held → (working → its outcome) → reporting until answered → dropped
//
// A task is listed in each heartbeat until its report is answered. Its lease is measured by the
// agent's own clock from when the call was sent that granted it.
import { durationMs } from "@bufbuild/protobuf/wkt";
import type { Task } from "@drover/proto/drover/v1/task_pb.ts";
import { createVirtualProcess } from "../../simulator/virtual-process.ts";
import {
  type AgentCaller,
  type Handed,
  type HeartbeatContent,
  pollTask,
  sendHeartbeat,
} from "./agent-calls.ts";
import { work } from "./agent-work.ts";
import type { PollWish } from "./history.ts";
import { tokenSeen } from "./seen.ts";
import type { World } from "./world.ts";

/** What a heartbeat lists. */
interface HeartbeatToSend extends HeartbeatContent {
  readonly listed: readonly Held[];
}

export interface AgentShape {
  readonly id: string;
  readonly namespace: string;
  readonly queues: readonly string[];
  /** Empty: any task of its queues. */
  readonly tasks: readonly string[];
  readonly tasksMax: number;
}

export interface Held extends Handed {
  /** By the agent's monotonic clock. */
  leaseUntilMs: number;
  /** What its heartbeats were answered last. */
  instruction: "carry-on" | "cancel" | "lost";
  stuckAt?: number;
  over: boolean;
}

/** One session of an agent, from its start to its crash. */
export interface Session extends AgentCaller {
  readonly shape: AgentShape;
  readonly held: Set<Held>;
  /** It sends no heartbeat until then. */
  silentUntilMs: number;
  /** What a poll asks for, under its next number. */
  wish(tasksMax: number): PollWish;
  /** A poll that ended without an answer. */
  lost(pollSeq: number): void;
  /** A poll was answered, and its tasks are held. */
  ended(pollSeq: number): void;
  take(tasks: readonly Task[], sentAtMs: number, waitedMs: number): void;
}

const LOST_POLL_MS = 30_000;
const HEARTBEAT_EVERY_MS = 650;
/** The others state nothing of what they do not list. */
const LISTS_ALL_SHARE = 0.4;

export function startAgent(world: World, shape: AgentShape): Session {
  const process = createVirtualProcess(shape.id, world.time, world.chance.fork());
  const bytes = process.chance.bytes(16);
  const lostPolls = new Map<number, number>();
  const openPolls = new Set<number>();
  const listsAll = process.chance.happens(LISTS_ALL_SHARE);
  let pollSeq = 0;

  const session: Session = {
    world,
    shape,
    process,
    id: Buffer.from(bytes).toString("hex"),
    bytes,
    held: new Set(),
    silentUntilMs: 0,
    wish(tasksMax) {
      pollSeq += 1;
      openPolls.add(pollSeq);
      return { pollSeq, queues: shape.queues, tasks: shape.tasks, tasksMax };
    },
    ended: (poll) => void openPolls.delete(poll),
    lost(poll) {
      openPolls.delete(poll);
      lostPolls.set(poll, process.clock.monotonicMs() + LOST_POLL_MS);
    },
    take(tasks, sentAtMs, waitedMs) {
      for (const task of tasks) {
        const leaseMs = task.leaseFor ? durationMs(task.leaseFor) : 0;
        const held: Held = {
          task,
          token: tokenSeen(task.taskToken),
          leaseUntilMs: sentAtMs + waitedMs + leaseMs,
          instruction: "carry-on",
          over: false,
        };
        session.held.add(held);
        void work(session, held);
      }
    },
  };

  function lostNow(): readonly number[] {
    const now = process.clock.monotonicMs();
    for (const [poll, until] of lostPolls) if (until < now) lostPolls.delete(poll);
    if (lostPolls.size > 0) world.faults.count("agent named lost polls");
    return [...lostPolls.keys()];
  }

  function heartbeatContent(): HeartbeatToSend {
    const before = Math.min(pollSeq, ...[...openPolls].map((open) => open - 1));
    const listed = [...session.held];
    return { listed, lostPolls: lostNow(), ...(listsAll ? { listsAllTo: before } : {}) };
  }

  void pollFor(session, lostNow);
  void heartbeatLoop(session, heartbeatContent);
  return session;
}

async function pollFor(session: Session, lostNow: () => readonly number[]): Promise<void> {
  const { world, shape, process, held } = session;
  const { clock, chance } = process;
  for (;;) {
    const free = shape.tasksMax - held.size;
    if (free <= 0) {
      await clock.sleep(50);
      continue;
    }
    const wish = session.wish(chance.between(1, free));
    const lostPolls = lostNow();
    const waitMs = chance.between(500, 4_000);
    const server = chance.pick(world.servers);
    const sentAtMs = clock.monotonicMs();
    const { reply } = await pollTask(session, { wish, waitMs, lostPolls }, { server });
    if (reply.kind === "ok") {
      const { waited } = reply.message;
      session.take(reply.message.tasks, sentAtMs, waited ? durationMs(waited) : 0);
      session.ended(wish.pollSeq);
    } else {
      session.lost(wish.pollSeq);
      await clock.sleep(chance.between(20, 300));
    }
  }
}

async function heartbeatLoop(
  session: Session,
  heartbeatContent: () => HeartbeatToSend,
): Promise<void> {
  const { world, process, held } = session;
  let wasEmpty = true;
  for (;;) {
    await process.clock.sleep(HEARTBEAT_EVERY_MS);
    if (process.clock.monotonicMs() < session.silentUntilMs) continue;
    // A task that it has dropped is reported once more when it holds no other.
    if (held.size === 0 && wasEmpty) continue;
    const content = heartbeatContent();
    wasEmpty = held.size === 0 || content.listsAllTo === undefined;
    if (world.faults.strikes("agent stopped heartbeats"))
      session.silentUntilMs = process.clock.monotonicMs() + process.chance.between(1_000, 6_000);
    else void heartbeatOnce(session, content);
  }
}

async function heartbeatOnce(session: Session, content: HeartbeatToSend): Promise<void> {
  const { world, process } = session;
  const server = process.chance.pick(world.servers);
  const sentAtMs = process.clock.monotonicMs();
  if (content.listsAllTo) world.faults.count("agent listed all");
  const answer = await sendHeartbeat(session, content, { server });
  if (answer.kind !== "heartbeat-answered") return;
  for (const [index, one] of answer.answers.entries()) {
    const held = content.listed[index];
    if (!held) continue;
    if (one.kind === "carry-on")
      held.leaseUntilMs = Math.max(held.leaseUntilMs, sentAtMs + one.leaseMs);
    if (one.kind === "cancel") {
      held.instruction = "cancel";
      held.leaseUntilMs = Math.min(held.leaseUntilMs, sentAtMs + one.withinMs);
    }
    if (one.kind === "lease-lost") held.instruction = "lost";
  }
}
