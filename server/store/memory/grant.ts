// A claim grants a ready task: from then on its page says that it is LEASED.

import { movingSide } from "../../core/model/model.ts";
import { handOut } from "../../core/page/hand-out.ts";
import { pageNoOf } from "../../core/page/page.ts";
import type { Grant, Granted } from "../store.ts";
import { putPage, type Writing } from "./pages.ts";
import { pageOf, type Tables } from "./tables.ts";

export function grant(writing: Writing, wanted: Grant): Granted {
  const { tables, now } = writing;
  const { secret, session, agentId, pollSeq } = wanted;
  const { runId, partition, step: place, fence, lane } = wanted.ready;
  const page = expectPage(tables, runId, pageNoOf(place));
  const was = page.steps.get(place);
  const ready = was && movingSide(was.step)?.state;
  if (!was || ready?.kind !== "READY" || ready.fence !== fence)
    throw new Error(`step ${place} of ${runId} is not ready with fence ${fence}`);
  const next = handOut(was, { secret, session, agentId, pollSeq, lane }, now);
  const lease = movingSide(next.step)?.state;
  if (lease?.kind !== "LEASED") throw new Error(`step ${place} was handed out and has no lease`);
  putPage(writing, { runId, partition }, { ...page, steps: new Map(page.steps).set(place, next) });
  return { ...wanted, grantedAt: now, attemptBy: lease.attemptBy };
}

function expectPage(tables: Tables, runId: string, no: number) {
  const page = pageOf(tables, runId, no);
  if (!page) throw new Error(`run ${runId} has no page ${no}`);
  return page;
}
