/** The same transfers, by a plain program: take it here, put it there, and an error ends it. */
import type { NaiveStage } from "../stage/story.ts";
import { type Transfer, transfersOf } from "./transfers.ts";

export async function naive({ seed, remote, act }: NaiveStage): Promise<void> {
  async function transfer({ run: ref, from, to, cents, votes }: Transfer): Promise<void> {
    if (votes.some(({ vote }) => vote === "reject")) throw new Error("it is not approved");
    const call = { key: ref, body: { ref, from, to, cents } };
    await remote("bank/check", call);
    await remote("bank/debit", call);
    await remote("bank/credit", call);
  }

  for (const one of transfersOf(seed)) {
    try {
      await transfer(one);
      act(`${one.run} done`, "naive");
    } catch (error) {
      act(`${one.run} given up: ${error instanceof Error ? error.message : error}`, "naive");
    }
  }
}
