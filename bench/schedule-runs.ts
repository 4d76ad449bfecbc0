// Many runs of one kind, started as the load of `chain` starts them: calls of 50 runs, four
// at a time.
import type { Client, ScheduleSpec } from "../sdk/typescript/index.ts";

const RUNS_A_CALL = 50;
const CALLS = 4;

/** Throws if one is refused. */
export async function scheduleRuns(
  client: Client,
  spec: ScheduleSpec,
  count: number,
): Promise<void> {
  let left = count;
  const caller = async () => {
    while (left > 0) {
      const runs = Math.min(left, RUNS_A_CALL);
      left -= runs;
      const begun = await client.scheduleBatch(Array.from({ length: runs }, () => spec));
      const refused = begun.find((result) => "error" in result);
      if (refused) throw new Error(`a run was refused: ${JSON.stringify(refused)}`);
    }
  };
  await Promise.all(Array.from({ length: CALLS }, caller));
}
