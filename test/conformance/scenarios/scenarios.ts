/** All scenarios, in the order of the table. */
import type { Scenario } from "../scenario.ts";
import { beating } from "./beating.ts";
import { life } from "./life.ts";
import { lookingUp } from "./looking-up.ts";
import { network } from "./network.ts";
import { outcomes } from "./outcomes.ts";
import { payloads } from "./payloads.ts";
import { refusals } from "./refusals.ts";

export const scenarios: readonly Scenario[] = [
  ...outcomes,
  ...lookingUp,
  ...beating,
  ...network,
  ...refusals,
  ...life,
  ...payloads,
];
