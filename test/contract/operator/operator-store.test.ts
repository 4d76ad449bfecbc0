/**
 * The operator's half of the state store, in PostgreSQL only: what people list, count and
 * administer (OperatorStore). What is listed is made by the engine's half.
 */
import { afterAll, beforeAll, beforeEach, describe } from "vitest";
import type { Store } from "../../../server/store/store.ts";
import { openPostgres } from "../../support/opened-postgres.ts";
import { type OpenedStore, renewSession } from "../fixture.ts";
import { describeActivity } from "./activity.ts";
import { describeCatalogueLists } from "./catalogue.ts";
import { describeCircuitLists } from "./circuits.ts";
import { describeDeliveryLists } from "./deliveries.ts";
import { describeEscalationLists } from "./escalations.ts";
import { describeFailingSteps } from "./failing-steps.ts";
import { describeHandOvers } from "./hand-overs.ts";
import { describeHandlerLogs } from "./handler-logs.ts";
import { describeOperators } from "./operators.ts";
import { describePinLists } from "./pins.ts";
import { describeQueueLists } from "./queues.ts";
import { describeRunFilters } from "./run-filters.ts";
import { describeRunSearch } from "./run-search.ts";
import { describeRunSubstates } from "./run-substates.ts";
import { describeRunLists } from "./runs.ts";
import { describeScheduleLists } from "./schedules.ts";
import { describeTokens } from "./tokens.ts";
import { describeTriggerLists } from "./triggers.ts";

let store: OpenedStore<Store> | undefined;
beforeAll(async () => {
  // Its clock is its own.
  store = { ...(await openPostgres()), elapse: async () => undefined };
});
afterAll(async () => {
  await store?.close();
});
beforeEach(renewSession);

function opened(): OpenedStore<Store> {
  if (!store) throw new Error("the PostgreSQL store could not be opened");
  return store;
}

describe("operators", () => describeOperators(opened));
describe("activity", () => describeActivity(opened));
describe("tokens", () => describeTokens(opened));
describe("hand-overs", () => describeHandOvers(opened));
describe("runs", () => describeRunLists(opened));
describe("filters of runs", () => describeRunFilters(opened));
describe("search for runs", () => describeRunSearch(opened));
describe("failing steps", () => describeFailingSteps(opened));
describe("lines of handlers", () => describeHandlerLogs(opened));
describe("substates of runs", () => describeRunSubstates(opened));
describe("escalations", () => describeEscalationLists(opened));
describe("catalogue", () => describeCatalogueLists(opened));
describe("queues", () => describeQueueLists(opened));
describe("pins", () => describePinLists(opened));
describe("circuits", () => describeCircuitLists(opened));
describe("schedules", () => describeScheduleLists(opened));
describe("triggers", () => describeTriggerLists(opened));
describe("deliveries", () => describeDeliveryLists(opened));
