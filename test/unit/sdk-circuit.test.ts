/** What a client makes of a circuit. */
import { create } from "@bufbuild/protobuf";
import { CircuitSchema } from "@drover/proto/drover/v1/circuit_pb.ts";
import { expect, it } from "vitest";
import { readCircuit } from "../../sdk/typescript/circuits.ts";

it("one of tasks that a pin keeps for a version of agents names the version", () => {
  const circuit = create(CircuitSchema, { queue: "bank", task: "pay", agentVersion: "2.1" });
  expect(readCircuit(circuit)).toMatchObject({ task: "pay", agentVersion: "2.1", override: null });
});
