// What the page of a run shows on request: the evaluated input of a step.
import { type Agent, createAgent } from "@drover/sdk";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { StepSpec } from "../../sdk/typescript/workflow.ts";
import { silentLog } from "../support/agent-script.ts";
import { until } from "../support/until.ts";
import { checkScreen, closeBrowser, sharedPage, visit } from "./browser.ts";
import { openShop, type Shop } from "./shop.ts";

const WAIT = { timeout: 15_000 };

let shop: Shop;
let agent: Agent;
beforeAll(async () => {
  shop = await openShop();
  agent = createAgent({
    address: shop.address,
    id: "details-1",
    queues: ["details"],
    slots: 20,
    log: silentLog,
    handlers: { work: async () => ({ nights: 2 }) },
  });
  agent.start();
});
afterAll(async () => {
  await closeBrowser();
  await agent?.stop();
  await shop?.close();
});

const queue = "details";

async function started(steps: readonly StepSpec[], input: object, state: string): Promise<string> {
  const { runId } = await shop.client.schedule({ workflow: { workflow: "details", steps }, input });
  await until(`${runId} is ${state}`, async () =>
    (await shop.client.getRun(runId)).run.state === state ? true : null,
  );
  return runId;
}

test("the drawer shows the input as the task got it, and the template on request", async (context) => {
  const steps: readonly StepSpec[] = [
    { id: "book", task: "work", queue, input: { hotel: `\${input.city} Palace` } },
    {
      id: "each",
      map: { over: '["sea", "pool"]', task: "work", queue },
      input: { view: `\${item}` },
    },
    { id: "wrong", task: "work", queue, input: { first: `\${input.hotels[3]}` } },
    { id: "later", needs: ["wrong"], task: "work", queue, input: { n: `\${input.city}` } },
  ];
  const runId = await started(steps, { city: "Rome", hotels: [] }, "ESCALATED");
  const page = await sharedPage(context, shop.address);
  const drawer = page.getByRole("dialog");
  await visit(page, `/runs/${runId}?step=book`);
  await drawer.getByText('"Rome Palace"').waitFor(WAIT);
  expect(await drawer.getByText("input.city").count()).toBe(0);
  await drawer.getByText("As in the definition").click();
  await drawer.getByText(`"\${input.city} Palace"`).waitFor(WAIT);
  await checkScreen(page, "run-step-input");
  await visit(page, `/runs/${runId}?step=each&item=1`);
  await drawer.getByText('"pool"').waitFor(WAIT);
  await visit(page, `/runs/${runId}?step=wrong`);
  await drawer.getByText("The input could not be evaluated: input.first").waitFor(WAIT);
  // The other parts of the drawer are there all the same.
  await drawer.getByText("Task", { exact: true }).waitFor(WAIT);
  await visit(page, `/runs/${runId}?step=later`);
  await drawer.getByText("The step has not started.").waitFor(WAIT);
  await drawer.getByText(`"\${input.city}"`).waitFor(WAIT);
});
