/** An assistant plans an errand, is checked, approved and limited by its role, and is audited. */
import { readFileSync } from "node:fs";
import { type Client, createClient } from "@drover/sdk";
import type { Fact } from "../stage/books.ts";
import { checkEnds, type Problem, type Stage, type Story } from "../stage/story.ts";
import { drover, mcpCommand } from "./command.ts";
import { deposit, draft, errand, input, wanted } from "./errand.ts";
import {
  type Assistant,
  answerTo,
  connect,
  corrected,
  listOf,
  problemsOf,
  recordOf,
} from "./model-stand-in.ts";
import { naive } from "./naive.ts";

export const story: Story = {
  intro: `An AI assistant shall plan an offsite: a hall, food, invitations. A program with fixed rules
stands in for the language model. It has the tools of drover mcp: with the role operator in the
namespace default, and with the role viewer in the namespace finance, which pays the deposit. The hall
breaks the line, the kitchen fails, and the bank never answers.`,
  right: "hall, food and invitations were ordered once, and the deposit was paid once.",
  requireTokens: true,
  meanings: {
    network: "the connection broke, effect unknown: tried again with the same key",
    "http-500": "the kitchen failed, effect unknown: escalated, and the assistant read why",
  },

  async play(stage) {
    const people = await openPeople(stage);
    stage.start("errand", undefined, people.errandToken);
    stage.start("bank", undefined, people.bankToken);
    const [here, finance] = await Promise.all([
      connect(mcpCommand(["--by", "planner"], people.planner)),
      connect(mcpCommand(["--by", "planner", "--namespace", "finance"], people.watcher)),
    ]);
    try {
      await planAndStart(stage, here);
      const follow = stage.follow([errand], people.olga);
      await approve(stage, here, people.olga);
      await answerWithinRole(stage, here);
      await follow.ended;
      await refusedInFinance(stage, finance, people.olgaInFinance);
      await showAudit(stage, people.admin);
    } finally {
      await Promise.all([here.close(), finance.close()]);
      people.close();
    }
  },

  naive,

  check: (facts, states) => [
    ...checkEnds([{ run: errand, end: "COMPLETED" }], states),
    ...wanted.flatMap((fact) => checkOnce(fact, facts)),
  ],
};

function checkOnce({ service, did, ref }: (typeof wanted)[number], facts: readonly Fact[]) {
  const count = facts.filter(
    (fact) => fact.service === service && fact.did === did && fact.ref === ref,
  ).length;
  const problem: Problem = {
    run: ref,
    message: `${service}: ${did} ${count} times; right is once`,
  };
  return count === 1 ? [] : [problem];
}

/** Everyone with a token of their own, made by the command as an administrator makes them. */
async function openPeople({ address, connectionString, act }: Stage) {
  const first = [
    "token",
    "create",
    "first",
    "--role",
    "admin",
    "--all-namespaces",
    "--in-database",
  ];
  const adminToken = await drover(first, { DATABASE_URL: connectionString, DROVER_USER: "admin" });
  const admin = { DROVER_ADDRESS: address, DROVER_TOKEN: adminToken, DROVER_USER: "admin" };
  await drover(["namespace", "create", "finance"], admin);
  const make = (name: string, ...more: readonly string[]) =>
    drover(["token", "create", name, ...more], admin);
  const inFinance = ["--namespace", "finance"];
  const [olgaToken, planner, watcher, errandToken, bankToken] = await Promise.all([
    make("olga", "--role", "operator", "--all-namespaces"),
    make("planner", "--role", "operator"),
    make("watcher", "--role", "viewer", ...inFinance),
    make("errands", "--role", "agent"),
    make("bank", "--role", "agent", ...inFinance),
  ]);
  act("the assistant has two tokens: operator in default, and viewer in finance");
  const olga = createClient({ address, token: olgaToken, by: "olga" });
  const olgaInFinance = createClient({
    address,
    token: olgaToken,
    by: "olga",
    namespace: "finance",
  });
  return {
    admin,
    errandToken,
    bankToken,
    planner: { DROVER_ADDRESS: address, DROVER_TOKEN: planner },
    watcher: { DROVER_ADDRESS: address, DROVER_TOKEN: watcher },
    olga,
    olgaInFinance,
    close(): void {
      olga.close();
      olgaInFinance.close();
    },
  };
}

async function planAndStart({ act }: Stage, assistant: Assistant): Promise<void> {
  const first = await assistant.call("check_workflow", { definition: draft });
  const problems = problemsOf(first.data);
  for (const { message, line, column } of problems)
    act(`the draft is checked: line ${line}, column ${column}: ${message}`, "planner");
  const definition = corrected(draft, problems);
  const second = await assistant.call("check_workflow", { definition });
  act(`corrected and checked again: ${second.drover}`, "planner");
  const spec = { definition, input, key: errand };
  const started = await assistant.call("start_inline_run", spec);
  const again = await assistant.call("start_inline_run", spec);
  act(`${started.drover} Called twice: ${again.drover}`, "planner");
}

/** The assistant tries it first, under its own name. */
async function approve({ act, signal }: Stage, assistant: Assistant, olga: Client): Promise<void> {
  const decision = { decision: "approve", reason: "it is a good plan" };
  const own = await assistant.call("decide_approval", {
    run: `key:${errand}`,
    step: "plan",
    ...decision,
  });
  act(`approves its own plan, and is refused (${own.reason}): ${own.drover}`, "planner");
  const { approvals } = await olga.approvals.list({ approver: "olga", signal });
  for (const { runId, stepId } of approvals)
    await olga.decide(runId, stepId, {
      decision: "approve",
      approver: "olga",
      comment: "read, and it is within the budget",
      signal,
    });
}

async function answerWithinRole({ act }: Stage, assistant: Assistant): Promise<void> {
  const waited = await assistant.call("wait_for_run", { run: `key:${errand}`, seconds: 30 });
  if (waited.data.needs_person !== true) throw new Error("the run has not asked a person");
  const why = await assistant.call("explain_run", { run: `key:${errand}` });
  act(`asks why: ${String(recordOf(why.data.wait).sentence)}`, "planner");
  for (const one of listOf((await assistant.call("list_needs_person", {})).data.escalations)) {
    const { run_id: run, escalation } = recordOf(one);
    const shown = await assistant.call("show_escalation", { run, escalation });
    const answer = answerTo(listOf(shown.data.attempts));
    const reason = "the kitchen itself says that nothing was ordered";
    await assistant.call("answer_escalation", { run, escalation, answer, reason });
  }
}

async function refusedInFinance(
  { act, facts, signal }: Stage,
  assistant: Assistant,
  olga: Client,
): Promise<void> {
  await olga.registerWorkflow(readFileSync(new URL("workflow.yaml", import.meta.url), "utf8"));
  const paid = { ref: deposit, cents: 50_000 };
  await olga.schedule({ workflow: "pay-deposit", key: deposit, input: paid }, { signal });
  await assistant.call("wait_for_run", { run: `key:${deposit}`, seconds: 30 });
  const { escalations } = (await assistant.call("list_needs_person", {})).data;
  const { run_id: run, escalation, message } = recordOf(listOf(escalations)[0]);
  act(`reads in finance: ${message}`, "planner");
  const reason = "no answer came, so it will not have been paid";
  const given = { run, escalation, answer: "retry", reason };
  const refused = await assistant.call("answer_escalation", given);
  if (!refused.refused) throw new Error("a viewer has answered an escalation");
  act(`would pay again, and is refused (${refused.reason}): ${refused.drover}`, "planner");
  // A person reads the statement of the bank.
  if (facts().filter(({ did }) => did === "paid").length !== 1)
    throw new Error("the statement does not show one transfer");
  const why = "it is on the statement of the bank";
  const answer = { answer: "succeed", by: "olga", why, payload: paid, signal } as const;
  await olga.escalations.resolve(String(run), String(escalation), answer);
  const { state } = await olga.waitRun({ key: deposit }, { signal });
  act(`answers in finance: ${why}; the run is ${state}`, "olga");
}

/** Who did what, as the server recorded it. */
async function showAudit({ act }: Stage, env: Readonly<Record<string, string>>): Promise<void> {
  const list = (namespace: string) =>
    drover(["audit", "list", "--namespace", namespace, "-o", "jsonl"], env);
  const lists = await Promise.all(["default", "finance"].map(list));
  for (const line of lists.flatMap((lines) => lines.split("\n").toReversed())) {
    const { action, by, tokenName, tokenRole, details } = recordOf(JSON.parse(line));
    const role = String(tokenRole).replace("ROLE_", "").toLowerCase();
    const { via } = recordOf(details);
    const through = via === undefined ? "" : `, via=${via}`;
    act(`${action} by ${by} (token ${tokenName}, ${role}${through})`, "audit");
  }
}
