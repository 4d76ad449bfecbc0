// Sends a finding again: to a new server, in a world that is planted alike. Ids of that world take
// the place of the ids of the first one.
import { createChance } from "../../simulator/chance.ts";
import { createCaller } from "./calls.ts";
import { readDirectly, TEXT_KINDS } from "./direct.ts";
import { badAnswer, type Finding, type Sent } from "./findings.ts";
import { plant } from "./plant.ts";
import { send } from "./rounds.ts";
import { isWait } from "./rpc.ts";
import { startTarget } from "./target.ts";

/** 1: it is found again. */
export async function replay(
  { why, sent, ids = {} }: Finding,
  print: (text: string) => void,
): Promise<number> {
  print(`was: ${why.slice(0, 500)}`);
  const [first] = sent;
  if (!first) throw new Error("the finding names no message: run its seed again");
  if (first.how === "direct") return replayText(first, print);
  const target = await startTarget();
  const caller = createCaller(target.address);
  let found = 0;
  try {
    const planted = await plant(target.address, first.round, createChance(first.seed));
    const now = new Map([...planted.names].map(([value, name]) => [name, value]));
    for (const one of sent) {
      const answer = await send(caller, withIds(one, ids, now));
      const bad = badAnswer(answer, isWait(one.what));
      const blockedMs = Math.round(target.blockedMs());
      const faults = target.faults();
      print(
        `${one.what}: ${answer.code} ${answer.message.slice(0, 300)} (blocked ${blockedMs} ms)`,
      );
      for (const fault of faults) print(`  ${fault.slice(0, 1_000)}`);
      if (bad !== null || faults.length > 0) found = 1;
    }
  } finally {
    caller.close();
    await target.stop();
  }
  print(found === 1 ? "found again" : "not found again");
  return found;
}

async function replayText({ what, base64, seed }: Sent, print: (text: string) => void) {
  const kind = TEXT_KINDS.find((one) => one === what);
  if (!kind) throw new Error(`there is no kind of text "${what}"`);
  const text = Buffer.from(base64, "base64").toString("utf8");
  const { failed, slowestMs } = await readDirectly({ kind, seed, count: 1, text });
  print(failed ? failed.why : `read in ${Math.round(slowestMs)} ms`);
  return failed ? 1 : 0;
}

/** `ids`: values of the first world by their names. */
function withIds(
  sent: Sent,
  ids: Readonly<Record<string, string>>,
  now: ReadonlyMap<string, string>,
): Sent {
  let bytes = Buffer.from(sent.base64, "base64").toString("latin1");
  for (const [value, name] of Object.entries(ids)) {
    const put = now.get(name);
    // In bytes a value of another length would need another length before it.
    if (put !== undefined && (put.length === value.length || sent.how === "http"))
      bytes = bytes.replaceAll(value, put);
  }
  return { ...sent, base64: Buffer.from(bytes, "latin1").toString("base64") };
}
