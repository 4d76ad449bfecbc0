/** `drover run`: its verbs, in the order of `--help`. */
import type { Command } from "commander";
import type { Ended } from "../failure.ts";
import { addRunGraph } from "./graph.ts";
import { addRunBulk } from "./run-bulk.ts";
import { addRunCancel } from "./run-cancel.ts";
import { addRunComplete } from "./run-complete.ts";
import { addDecide } from "./run-decide.ts";
import { addRunErase } from "./run-erase.ts";
import { addRunInput } from "./run-input.ts";
import { addRunItems } from "./run-items.ts";
import { addRunList } from "./run-list.ts";
import { addRunLogs } from "./run-logs.ts";
import { addRunPause } from "./run-pause.ts";
import { addRunRetry } from "./run-retry.ts";
import { addRunShow } from "./run-show.ts";
import { addRunSignal } from "./run-signal.ts";
import { addRunStart } from "./run-start.ts";
import { addRunStartMany } from "./run-start-many.ts";
import { addRunWatch } from "./run-watch.ts";
import { addRunWhy } from "./run-why.ts";

export function addRunVerbs(run: Command, ended: Ended): void {
  addRunStart(run, ended);
  addRunStartMany(run, ended);
  addRunList(run, ended);
  addRunShow(run, ended);
  addRunItems(run, ended);
  addRunInput(run, ended);
  addRunLogs(run, ended);
  addRunWhy(run, ended);
  addRunGraph(run, ended);
  addRunWatch(run, ended);
  addRunSignal(run, ended);
  addDecide(run, ended);
  addRunComplete(run, ended);
  addRunPause(run, ended);
  addRunCancel(run, ended);
  addRunRetry(run, ended);
  addRunErase(run, ended);
  addRunBulk(run, ended);
}
