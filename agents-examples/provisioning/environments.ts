/** The environments of the story: what each consists of, what is odd, and how each has to end. */
import { createSeededRandom } from "../stage/seeded-random.ts";
import type { StoryParameters } from "../stage/story.ts";

/** In an order in which one after the other can be made. */
export const kinds: readonly string[] = [
  "group",
  "network",
  "subnet-a",
  "subnet-b",
  "firewall",
  "dns",
  "vault",
  "storage",
  "database",
  "cache",
  "broker",
  "registry",
  "cluster",
  "nodes",
  "ingress",
  "certificate",
  "monitoring",
  "site",
];

/** Of all calls. */
export const faultShare = 0.12;
const runsDefault = 8;
const quotaShare = 0.15;
const fullShare = 0.2;

export interface Environment {
  readonly run: string;
  /** `quota`: it ends with the nodes. `full`: the first region has no room for the database. */
  readonly odd: "quota" | "full" | null;
  readonly end: "COMPLETED" | "COMPENSATED";
}

export const regions = { region: "north", second_region: "south" };

export function environmentsOf({ seed, runs }: StoryParameters): readonly Environment[] {
  return Array.from({ length: runs ?? runsDefault }, (_, index) => {
    const run = `env-${String(index + 1).padStart(2, "0")}`;
    const odd = oddOf(seed, run);
    return { run, odd, end: odd === "quota" ? "COMPENSATED" : "COMPLETED" };
  });
}

export function oddOf(seed: number, run: string): Environment["odd"] {
  const chance = createSeededRandom(`odd:${seed}:${run}`)();
  if (chance < quotaShare) return "quota";
  return chance < quotaShare + fullShare ? "full" : null;
}
