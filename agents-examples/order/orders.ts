/** The orders of the story, the trouble that each one meets, and how each has to end. */
import { type Fault, shuffled } from "../stage/faults.ts";

export interface Order {
  readonly run: string;
  readonly euros: number;
  readonly trouble: string;
  /** The decision of the approver; null: none. Below the limit no approval is needed. */
  readonly approval: "approve" | "reject" | null;
  readonly end: "COMPLETED" | "COMPENSATED" | "FAILED";
}

interface Kind extends Omit<Order, "run"> {
  /** By path, in the order of the calls. */
  readonly faults: Readonly<Record<string, readonly Fault[]>>;
}

const plain = { euros: 80, approval: null, faults: {}, end: "COMPLETED" } as const;
const unknownAddress = ["no-address"];

const kinds: readonly Kind[] = [
  { ...plain, trouble: "none" },
  { ...plain, trouble: "large, approved", euros: 900, approval: "approve" },
  { ...plain, trouble: "large, rejected", euros: 2_000, approval: "reject", end: "COMPENSATED" },
  { ...plain, trouble: "large, no decision", euros: 1_200, end: "COMPENSATED" },
  {
    ...plain,
    trouble: "no such address",
    faults: { "carrier/ship": unknownAddress },
    end: "COMPENSATED",
  },
  {
    ...plain,
    trouble: "no such address, and the line breaks while it is undone",
    faults: {
      "carrier/ship": unknownAddress,
      "bank/refund": ["drop-after", "drop-before"],
      "warehouse/put-back": ["drop-after"],
      "mail/tell": ["drop-before"],
    },
    end: "COMPENSATED",
  },
  {
    ...plain,
    trouble: "the line breaks after the charge",
    faults: { "bank/charge": ["drop-after"], "carrier/ship": ["busy"] },
  },
  { ...plain, trouble: "sold out", faults: { "warehouse/reserve": ["sold-out"] }, end: "FAILED" },
];

function assigned(seed: number): readonly (Kind & { readonly run: string })[] {
  return shuffled(seed, kinds).map((kind, index) => ({ ...kind, run: `order-${index + 1}` }));
}

/** One of each trouble; the seed decides which order meets which. */
export function ordersOf(seed: number): readonly Order[] {
  return assigned(seed);
}

/** By path and order. */
export function faultsOf(seed: number): Readonly<Record<string, readonly Fault[]>> {
  return Object.fromEntries(
    assigned(seed).flatMap(({ run, faults }) =>
      Object.entries(faults).map(([path, row]) => [`${path} ${run}`, row]),
    ),
  );
}
