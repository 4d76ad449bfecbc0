/** The accounts, and the transfers between them. */
import { createSeededRandom } from "../stage/seeded-random.ts";

const accounts = ["ann", "ben", "cleo", "dan", "eve"];
/** Takes no money any more. */
export const closedAccount = "old";

export interface Transfer {
  readonly run: string;
  readonly from: string;
  readonly to: string;
  readonly cents: number;
  readonly requester: string;
  /** The approvers of a large transfer, in this order. */
  readonly votes: readonly { readonly by: string; readonly vote: "approve" | "reject" }[];
  readonly end: "COMPLETED" | "COMPENSATED" | "FAILED";
}

const small = { requester: "Rita", votes: [], end: "COMPLETED" } as const;
const voted = (by: string, vote: "approve" | "reject" = "approve") => ({ by, vote });

/** What the odd ones are; the seed decides where they go, and all the others. */
const odd: readonly (Partial<Transfer> & Pick<Transfer, "run">)[] = [
  { run: "transfer-04", to: closedAccount, end: "COMPENSATED" },
  {
    run: "transfer-09",
    cents: 250_000,
    requester: "Tess",
    // Her own vote does not count, so it takes two others.
    votes: [voted("Tess"), voted("Tom"), voted("Theo")],
  },
  {
    run: "transfer-13",
    cents: 400_000,
    votes: [voted("Tom"), voted("Tess", "reject")],
    end: "FAILED",
  },
];
const transferCount = 16;

export function transfersOf(seed: number): readonly Transfer[] {
  const chance = createSeededRandom(`transfers:${seed}`);
  const below = (count: number) => Math.floor(chance() * count);
  return Array.from({ length: transferCount }, (_, index) => {
    const run = `transfer-${String(index + 1).padStart(2, "0")}`;
    const from = below(accounts.length);
    const to = (from + 1 + below(accounts.length - 1)) % accounts.length;
    const [source = "", target = ""] = [accounts[from], accounts[to]];
    const plain = { ...small, run, from: source, to: target, cents: 100 + below(50_000) };
    return { ...plain, ...odd.find((one) => one.run === run) };
  });
}
