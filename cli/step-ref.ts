/** A step on the command line: its id, or an item of a map as deploy[3]. */

export interface StepRef {
  readonly stepId: string;
  readonly item?: number;
}

export function stepRefOf(text: string): StepRef {
  const [, stepId, item] = /^(.+)\[(\d{1,5})\]$/.exec(text) ?? [];
  return stepId === undefined ? { stepId: text } : { stepId, item: Number(item) };
}
