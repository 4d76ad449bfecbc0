// The outputs of the items of maps, for a pass that ends the maps.
import type { ItemOutputs } from "../../core/model/items.ts";
import type { PayloadKey } from "../../core/page/apply-pass.ts";
import { decodePage } from "../../core/page/codec.ts";
import type { PageAttempt, PageStep } from "../../core/page/page.ts";
import { type ItemOutput, itemOutputs, OUTPUTS_BYTES_MAX } from "../item-outputs.ts";
import { payloadKeyOf, resultOf } from "../page-reads.ts";
import type { MapRef, RunId } from "../store.ts";
import { attemptsAt, payloadRows, rowName } from "./attempts-at.ts";
import type { Query } from "./transaction.ts";

export async function loadItemOutputs(
  query: Query,
  maps: readonly MapRef[],
): Promise<ReadonlyMap<RunId, ReadonlyMap<number, ItemOutputs>>> {
  const found = new Map<RunId, Map<number, ItemOutputs>>();
  for (const ref of maps) {
    const outputs = await outputsOf(query, ref);
    if (!outputs) continue;
    const ofRun = found.get(ref.runId) ?? new Map<number, ItemOutputs>();
    found.set(ref.runId, ofRun.set(ref.map, outputs));
  }
  return found;
}

interface Result {
  readonly stepKey: number;
  readonly ended: PageAttempt;
}

/** null: no item has an output. */
async function outputsOf(query: Query, ref: MapRef): Promise<ItemOutputs | null> {
  const { runId, map } = ref;
  const pages = await query<{ state: string }>("pages_of_map", { run_id: runId, map });
  const items = pages
    .flatMap(({ state }) => [...decodePage(state).page.steps.values()])
    .filter(({ step }) => step.forward.kind === "SUCCEEDED");
  const results = await resultsOf(query, runId, items);
  const inline = results.flatMap(({ stepKey, ended: { outcome } }): readonly ItemOutput[] =>
    outcome.kind === "success" && outcome.output?.kind === "json"
      ? [{ stepKey, json: outcome.output.json }]
      : [],
  );
  const keys = results.flatMap(({ stepKey, ended }): readonly PayloadKey[] =>
    ended.outcome.kind === "success" && ended.outcome.output?.kind === "row"
      ? [payloadKeyOf(stepKey, ended, "output")]
      : [],
  );
  const inlineBytes = inline.reduce((sum, { json }) => sum + Buffer.byteLength(json ?? ""), 0);
  const rows = keys.length === 0 ? [] : await sizesOf(query, ref, keys);
  const bytes = rows.reduce((sum, row) => sum + row.bytes, inlineBytes);
  if (inline.length + rows.length === 0) return null;
  if (bytes > OUTPUTS_BYTES_MAX) return itemOutputs([], bytes);
  const payloads = await payloadRows(
    query,
    rows.map(({ key }) => ({ runId, key })),
  );
  const apart = rows.flatMap(({ key }): readonly ItemOutput[] => {
    const payload = payloads.get(rowName(runId, key));
    return payload?.kind === "json" ? [{ stepKey: key.step, json: payload.json }] : [];
  });
  const all = [...inline, ...apart].sort((a, b) => a.stepKey - b.stepKey);
  return itemOutputs(all, bytes);
}

async function resultsOf(
  query: Query,
  runId: RunId,
  items: readonly PageStep[],
): Promise<readonly Result[]> {
  const attempts = await attemptsAt(
    query,
    items.map((of) => ({ runId, of })),
  );
  return items.flatMap((of) => {
    const ended = resultOf(of, attempts(runId, of));
    return ended ? [{ stepKey: of.step.no, ended }] : [];
  });
}

async function sizesOf(
  query: Query,
  { runId, map }: MapRef,
  keys: readonly PayloadKey[],
): Promise<readonly { readonly key: PayloadKey; readonly bytes: number }[]> {
  const rows = await query<{
    step_no: number;
    fence: number;
    kind: PayloadKey["kind"];
    n: number;
    bytes: number;
  }>("item_payload_sizes", { run_id: runId, map });
  const wanted = new Set(keys.map((key) => rowName(runId, key)));
  return rows.flatMap(({ step_no: step, fence, kind, n, bytes }) => {
    const key = { step, fence, kind, n, what: "output" } as const;
    return wanted.has(rowName(runId, key)) ? [{ key, bytes }] : [];
  });
}
