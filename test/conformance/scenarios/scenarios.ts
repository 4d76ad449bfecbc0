/** All scenarios, in the order of the table. */
import type { Scenario } from "../scenario.ts";
import { heartbeats } from "./heartbeats.ts";
import { life } from "./life.ts";
import { network } from "./network.ts";
import { outcomes } from "./outcomes.ts";
import { payloads } from "./payloads.ts";
import { refusals } from "./refusals.ts";
import { severalAddresses } from "./several-addresses.ts";
import { verifyAndUndo } from "./verify-and-undo.ts";

export const scenarios: readonly Scenario[] = [
  ...outcomes,
  ...verifyAndUndo,
  ...heartbeats,
  ...network,
  ...severalAddresses,
  ...refusals,
  ...life,
  ...payloads,
];
