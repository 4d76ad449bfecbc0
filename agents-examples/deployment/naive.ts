/** The same releases, by a plain program: it stops a release after too many failures. */
import type { NaiveStage } from "../stage/story.ts";
import { named, releases, servers, tolerated, waveSize } from "./fleet.ts";

export async function naive({ remote, act }: NaiveStage): Promise<void> {
  async function rollOut(run: string, version: number): Promise<void> {
    let failed = 0;
    for (const [index, server] of servers.entries()) {
      const ref = `${run}/${server}`;
      try {
        await remote("fleet/install", { key: ref, body: { ref, server, version } });
      } catch (error) {
        failed += 1;
        if (failed > tolerated) throw error;
      }
      if ((index + 1) % waveSize > 0) continue;
      const { sick } = await remote("fleet/health", { key: run, body: { ref: run, version } });
      if (Array.isArray(sick) && sick.length > 0)
        throw new Error(`${named(sick)} answer with errors`);
    }
  }

  for (const { run, version } of releases) {
    try {
      await rollOut(run, version);
      act(`${run} rolled out`, "naive");
    } catch (error) {
      act(`${run} given up: ${error instanceof Error ? error.message : error}`, "naive");
    }
  }
}
