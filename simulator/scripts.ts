// Chooses the act for a task: of the most specific key that matches, the next act.
import { type Task, TaskKind } from "@drover/proto/drover/v1/task_pb.ts";
import { type Act, CHECK, type Script, SUCCEED, stepName } from "./scenario.ts";

export interface Scripts {
  next(task: Task): Act;
  /** Keys that no task has used. */
  unused(): readonly string[];
}

export function createScripts(scripts: readonly Script[]): Scripts {
  const sorted = [...scripts].sort((a, b) => exactness(b) - exactness(a));
  const played = new Map<string, number>();
  const used = new Set<string>();
  return Object.freeze({
    next(task: Task) {
      const script = sorted.find((one) => fits(one, task));
      if (!script) return task.kind === TaskKind.VERIFY ? CHECK : SUCCEED;
      used.add(script.key);
      const of = `${script.key} ${task.task} ${stepName(task.stepId, task.item)}`;
      const place = played.get(of) ?? 0;
      played.set(of, place + 1);
      return script.acts[Math.min(place, script.acts.length - 1)] ?? SUCCEED;
    },
    unused: () =>
      scripts
        .filter(({ key, isOwn }) => isOwn && key !== "*" && !used.has(key))
        .map(({ key }) => key),
  } satisfies Scripts);
}

function exactness({ task, step, item }: Script): number {
  return (task === "*" ? 0 : 4) + (step === null ? 0 : 1) + (item === null ? 0 : 1);
}

/** "*" matches tasks that perform; verify and compensate tasks must be named. */
function fits({ task, step, item }: Script, asked: Task): boolean {
  if (task === "*" ? asked.kind !== TaskKind.PERFORM : task !== asked.task) return false;
  if (step !== null && step !== asked.stepId) return false;
  return item === null || item === asked.item;
}
