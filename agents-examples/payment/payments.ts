/** The payments of the story, the trouble that each one meets, and how each has to end. */
import { type Fault, shuffled } from "../stage/faults.ts";

export interface Payment {
  readonly run: string;
  readonly cents: number;
  readonly trouble: keyof typeof troubles;
  /** How its run has to end. */
  readonly end: "COMPLETED" | "COMPENSATED" | "FAILED";
}

/** Faults by path, in the order of the calls. */
const troubles = {
  none: {},
  network: {
    "card/authorize": ["drop-before", "drop-after"],
    "books/post": ["drop-after"],
    "mail/receipt": ["drop-after"],
  },
  "rate limit": { "card/authorize": ["busy", "busy"], "books/post": ["busy"] },
  "never called back, captured": { "card/capture": ["silent"] },
  "never called back, not captured": { "card/capture": ["forgotten"] },
  "outcome stays unknown, captured": {
    "card/capture": ["silent"],
    "card/find-capture": ["unclear", "unclear", "unclear"],
  },
  "outcome stays unknown, not captured": {
    "card/capture": ["forgotten"],
    "card/find-capture": ["unclear", "unclear", "unclear"],
  },
  declined: { "card/authorize": ["declined"] },
  expired: { "card/capture": ["expired"] },
} as const satisfies Readonly<Record<string, Readonly<Record<string, readonly Fault[]>>>>;

const ends: Partial<Record<Payment["trouble"], Payment["end"]>> = {
  declined: "FAILED",
  expired: "COMPENSATED",
};

const names: readonly Payment["trouble"][] = [
  "none",
  "network",
  "rate limit",
  "never called back, captured",
  "never called back, not captured",
  "outcome stays unknown, captured",
  "outcome stays unknown, not captured",
  "declined",
  "expired",
];

/** One of each trouble; the seed decides which payment meets which. */
export function paymentsOf(seed: number): readonly Payment[] {
  return shuffled(seed, names).map((trouble, index) => ({
    run: `payment-${index + 1}`,
    cents: 1_000 + 250 * index,
    trouble,
    end: ends[trouble] ?? "COMPLETED",
  }));
}

/** By path and payment. */
export function faultsOf(seed: number): Readonly<Record<string, readonly Fault[]>> {
  return Object.fromEntries(
    paymentsOf(seed).flatMap(({ run, trouble }) =>
      Object.entries(troubles[trouble]).map(([path, faults]) => [`${path} ${run}`, faults]),
    ),
  );
}
