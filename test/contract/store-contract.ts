/**
 * The contract of the engine's half of the state store, one suite for every store: the promises of
 * EngineStore, as sentences. Each part is named after its subject; a store is opened once for all.
 * The other half has a suite of its own in operator/.
 */
import { afterAll, beforeAll, beforeEach, describe } from "vitest";
import type { EngineStore } from "../../server/store/store.ts";
import { describeCatalogue } from "./catalogue.ts";
import { describeChildren } from "./children.ts";
import { describeCircuits } from "./circuits.ts";
import { describeClaims } from "./claims.ts";
import { describeDue } from "./due.ts";
import { describeDurations } from "./durations.ts";
import { describeEndedAttempts } from "./ended-attempts.ts";
import { describeFacts } from "./facts.ts";
import { type OpenedStore, renewSession } from "./fixture.ts";
import { describeGuards } from "./guards.ts";
import { describeHandedAtOnce } from "./handed-at-once.ts";
import { describeHeartbeats } from "./heartbeats.ts";
import { describeHistory } from "./history.ts";
import { describeKeys } from "./keys.ts";
import { describeLaneQuestions } from "./lane-questions.ts";
import { describeMessages } from "./messages.ts";
import { describeNamespaces } from "./namespaces.ts";
import { describeOutbox } from "./outbox.ts";
import { describeOverdue } from "./overdue.ts";
import { describePartitions } from "./partitions.ts";
import { describePausedWorkflows } from "./paused-workflows.ts";
import { describePeople } from "./people.ts";
import { describePermits } from "./permits.ts";
import { describePins } from "./pins.ts";
import { describeQueues } from "./queues.ts";
import { type AfterLife, describeRandomRuns } from "./random-runs.ts";
import { describeReads } from "./reads.ts";
import { describeReruns } from "./reruns.ts";
import { describeRuns } from "./runs.ts";
import { describeSchedules } from "./schedules.ts";
import { describeSilentAgents, ENGINE_READERS } from "./silent-agents.ts";
import { describeStates } from "./states.ts";
import { describeTraces } from "./traces.ts";
import { describeTriggers } from "./triggers.ts";

interface StoreOptions<S> {
  readonly randomRuns?: number;
  readonly afterRandomRun?: AfterLife<S>;
}

export function describeStore<S extends EngineStore>(
  name: string,
  open: () => Promise<OpenedStore<S>>,
  { randomRuns = 40, afterRandomRun }: StoreOptions<S> = {},
): void {
  describe(name, () => {
    let store: OpenedStore<S> | undefined;
    beforeAll(async () => {
      store = await open();
    });
    afterAll(async () => {
      await store?.close();
    });
    beforeEach(renewSession);
    const opened = (): OpenedStore<S> => {
      if (!store) throw new Error(`${name} could not be opened`);
      return store;
    };
    describe("keys", () => describeKeys(opened));
    describe("runs", () => describeRuns(opened));
    describe("row guards", () => describeGuards(opened));
    describe("claims", () => describeClaims(opened));
    describe("a poll of what the transaction has made", () => describeHandedAtOnce(opened));
    describe("queues", () => describeQueues(opened));
    describe("circuits", () => describeCircuits(opened));
    describe("paused workflows", () => describePausedWorkflows(opened));
    describe("pins", () => describePins(opened));
    describe("lane questions", () => describeLaneQuestions(opened));
    describe("heartbeats", () => describeHeartbeats(opened));
    describe("silent agents", () => describeSilentAgents(opened, ENGINE_READERS));
    describe("durations", () => describeDurations(opened));
    describe("due rows", () => describeDue(opened));
    describe("overdue work", () => describeOverdue(opened));
    describe("history", () => describeHistory(opened));
    describe("ended attempts", () => describeEndedAttempts(opened));
    describe("outbox", () => describeOutbox(opened));
    describe("triggers", () => describeTriggers(opened));
    describe("traces", () => describeTraces(opened));
    describe("people", () => describePeople(opened));
    describe("messages", () => describeMessages(opened));
    describe("children", () => describeChildren(opened));
    describe("schedules", () => describeSchedules(opened));
    describe("permits", () => describePermits(opened));
    describe("facts", () => describeFacts(opened));
    describe("reads", () => describeReads(opened));
    describe("reruns", () => describeReruns(opened));
    describe("catalogue", () => describeCatalogue(opened));
    describe("namespaces", () => describeNamespaces(opened));
    describe("partitions", () => describePartitions(opened));
    describe("any state", () => describeStates(opened, randomRuns));
    describe("random runs", () => describeRandomRuns(opened, randomRuns, afterRandomRun));
  });
}
