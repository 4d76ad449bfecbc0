/** The same film, by a plain program: one chunk after the other; what takes too long ends it. */
import type { NaiveStage } from "../stage/story.ts";
import { startEncoder } from "./encode.ts";
import { chunkCount, filmOf } from "./film.ts";

const patienceMs = 3_000;
const preset = "fast";

export async function naive({ seed, remote, act }: NaiveStage): Promise<void> {
  async function encode(film: string, chunk: number): Promise<string> {
    const ref = `${film}/${chunk}`;
    await remote("licence/take", { key: ref, body: { ref, preset } });
    const patience = AbortSignal.timeout(patienceMs);
    const encoder = startEncoder({ film, chunk, preset, seed }, patience, () => {});
    const checksum = await encoder.checksum;
    await remote("licence/return", { key: ref, body: { ref, how: await encoder.ended } });
    await remote("store/put", { key: ref, body: { ref, preset, checksum } });
    return checksum;
  }

  const { run } = filmOf(seed);
  const checksums: string[] = [];
  try {
    while (checksums.length < chunkCount) checksums.push(await encode(run, checksums.length + 1));
    await remote("store/join", { key: run, body: { ref: run, checksums } });
    act(`${run} published`, "naive");
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    act(`${run} given up after ${checksums.length} chunks: ${why}`, "naive");
  }
}
