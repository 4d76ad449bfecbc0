/**
 * The same environments, by a plain program: one resource after the other, each call tried twice,
 * and an error of the second try ends it.
 */
import { PermanentError } from "@drover/sdk";
import type { Body } from "../stage/remote.ts";
import type { NaiveStage } from "../stage/story.ts";
import { environmentsOf, kinds, regions } from "./environments.ts";

export async function naive({ remote, act, ...parameters }: NaiveStage): Promise<void> {
  async function ask(run: string, kind: string): Promise<Body> {
    const ref = `${run}/${kind}`;
    const call = { key: ref, body: { ref, kind, region: regions.region } };
    return remote("cloud/create", call).catch((error: unknown) => {
      if (error instanceof PermanentError) throw error;
      return remote("cloud/create", call);
    });
  }

  for (const { run } of environmentsOf(parameters)) {
    let made = 0;
    try {
      for (const kind of kinds) {
        while ((await ask(run, kind)).status !== "ready");
        made += 1;
      }
      act(`${run} is there`, "naive");
    } catch (error) {
      const why = error instanceof Error ? error.message : String(error);
      act(`${run} given up after ${made} of ${kinds.length} resources: ${why}`, "naive");
    }
  }
}
