// The step and the item that the page of a run shows in its drawer, as part of the address:
// `?step=load&item=7`. Reloading the page and a link keep them, and the back button closes them.

export interface Picked {
  /** Id of the step; null: the drawer is closed. */
  readonly step: string | null;
  /** Index of an item of that step, which is a map; null: none. */
  readonly item: number | null;
}

export const NOTHING: Picked = { step: null, item: null };

export function pickedIn(search: string): Picked {
  const given = new URLSearchParams(search);
  const step = given.get("step");
  const item = given.get("item") ?? "";
  return { step, item: step !== null && /^\d{1,4}$/.test(item) ? Number(item) : null };
}

/** Within the namespace. */
export function addressOf(runId: string, { step, item }: Picked): string {
  if (step === null) return `/runs/${runId}`;
  const search = new URLSearchParams({ step, ...(item === null ? {} : { item: String(item) }) });
  return `/runs/${runId}?${search}`;
}
