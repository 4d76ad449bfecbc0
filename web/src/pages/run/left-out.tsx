// How much of the history of a run is not loaded: the server returns the newest of each kind.
import type { GetRunResponse } from "@drover/proto/drover/v1/scheduler_service_pb.ts";
import { numberWords } from "../../words/counts.ts";

/** The server returns at most this many of each kind. */
const HISTORY_MAX = 1_000;

export function LeftOut({ of }: { readonly of: GetRunResponse }) {
  const cut = cutWords(of);
  if (cut.length === 0) return null;
  return (
    <p className="note">
      Showing the last {cut.join(", and the last ")}. Select a step or an item to see its own.
    </p>
  );
}

/** As `1,003 of 2,003 attempts`; a kind of which all are loaded is left out. */
export function cutWords(of: GetRunResponse): readonly string[] {
  const { attempts, interventions, escalations } = of;
  // Escalations of a run are numbered from 1.
  const escalationsTotal = Number(escalations.at(-1)?.id ?? 0);
  return [
    ...cut(attempts.length, of.attemptsTotal, "attempts"),
    ...cut(interventions.length, of.interventionsTotal, "interventions"),
    ...cut(escalations.length, escalationsTotal, "escalations"),
    ...cut(of.decisions.length, undefined, "decisions"),
  ];
}

/** `total` undefined: the server does not know it. */
function cut(shown: number, total: number | undefined, what: string): readonly string[] {
  if (total !== undefined)
    return shown < total ? [`${numberWords(shown)} of ${numberWords(total)} ${what}`] : [];
  return shown >= HISTORY_MAX ? [`${numberWords(shown)} ${what}, of an unknown total`] : [];
}
