/** Sixteen transfers while the agents that make them are killed: no cent appears or is lost. */
import { DroverCallError } from "@drover/sdk";
import type { Fact } from "../stage/books.ts";
import { checkEnds, type Problem, type Stage, type Story } from "../stage/story.ts";
import { killAgents } from "./killer.ts";
import { naive } from "./naive.ts";
import { type Transfer, transfersOf } from "./transfers.ts";

export const story: Story = {
  intro: `Sixteen transfers between five accounts: taken here and put there, or neither. The bank is
slow, busy, and loses its line every other time. The agents are killed one after the other, each
right after the bank has done something. Two transfers are large, and need two approvals.`,
  right: "no cent appeared or was lost, and each transfer was made once or not at all.",
  meanings: {
    network: "the connection broke, effect unknown: tried again with the same key",
    "rate-limited": "the service was busy: tried again after its Retry-After",
    "drover.lost": "the agent was killed: its tasks went to another, with the same key",
    "drover.rejected": "rejected by a person",
    closed: "permanent: the money goes back",
  },

  async play(stage) {
    const transfers = transfersOf(stage.seed);
    const runs = transfers.map(({ run, from, to, cents, requester }) => ({
      run,
      input: { ref: run, from, to, cents },
      labels: { requester },
    }));
    const follow = await stage.schedule(runs);
    let isOver = false;
    const ended = follow.ended.then(() => {
      isOver = true;
    });
    const decisions = transfers.map((transfer) => decide(stage, transfer));
    await Promise.all([killAgents(stage, () => isOver), ...decisions, ended]);
  },

  naive,

  check: (facts, states, { seed }) => [
    ...checkEnds(transfersOf(seed), states),
    ...transfersOf(seed).flatMap((transfer) => checkTransfer(transfer, facts)),
    ...checkSum(facts),
  ],
};

/** The treasury decides on large transfers; the requester is refused as an approver. */
async function decide({ client, signal, act }: Stage, { run, votes }: Transfer): Promise<void> {
  if (votes.length === 0) return;
  for await (const { steps } of client.watchRun({ key: run }, { signal }))
    if (steps.find(({ id }) => id === "approve")?.state === "WAITING") break;
  for (const { by: approver, vote } of votes) {
    const decision = { decision: vote, approver, roles: ["treasury"], signal };
    try {
      await client.decide({ key: run }, "approve", decision);
    } catch (error) {
      if (!(error instanceof DroverCallError)) throw error;
      act(`${run} is not ${approver}'s to approve: ${error.message}`, approver);
    }
  }
}

function checkTransfer({ run, end, to }: Transfer, facts: readonly Fact[]): Problem[] {
  const count = (did: string) =>
    facts.filter((fact) => fact.ref === run && fact.did === did).length;
  const taken = count("debited") - count("reversed");
  const put = count("credited");
  const right = end === "COMPLETED" ? 1 : 0;
  if (taken === right && put === right) return [];
  return [{ run, message: `taken ${taken} times, put to ${to} ${put} times; right is ${right}` }];
}

/** What left the accounts and did not come back to any. */
function checkSum(facts: readonly Fact[]): Problem[] {
  const missing = facts.reduce((sum, { did, what }) => {
    const cents = Number(what.cents);
    return did === "debited" ? sum + cents : sum - cents;
  }, 0);
  if (missing === 0) return [];
  return [{ run: "the bank", message: `${missing / 100} euros are missing from the accounts` }];
}
