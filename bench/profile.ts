// What a profile is given, and what it gives.

export interface Wish {
  /** The short form, for a first impression; published figures come from the long one. */
  readonly short: boolean;
  /** One task in a call, where a profile knows the difference. */
  readonly single: boolean;
  readonly log: (line: string) => void;
}

export interface Measured {
  /** Everything that the figures depend on beside the machine, with its unit in its name. */
  readonly settings: Readonly<Record<string, number | string>>;
  /** In the order in which they are printed. */
  readonly columns: readonly string[];
  /** null: not measured. */
  readonly rows: readonly Readonly<Record<string, number | string | null>>[];
  /** The same for programs, in the JSON beside the rows. */
  readonly figures?: Readonly<Record<string, unknown>>;
}

export type Profile = (wish: Wish) => Promise<Measured>;

export interface Spread {
  readonly p50: number;
  readonly p99: number;
  readonly max: number;
}

/** Of at least one value: the smallest at or above the share. */
export function spreadOf(values: readonly number[]): Spread {
  const sorted = values.toSorted((a, b) => a - b);
  const at = (share: number): number =>
    sorted[Math.max(0, Math.ceil(sorted.length * share) - 1)] ?? Number.NaN;
  return { p50: at(0.5), p99: at(0.99), max: at(1) };
}
