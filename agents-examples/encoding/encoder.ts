/**
 * The encoder: a program that works through a chunk and prints a line for each percent, then
 * `checksum HEX`. With `--stuck-at N` it comes to that percent, goes no further, and does not end.
 */
import { createHash } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { parseArgs } from "node:util";

const { values } = parseArgs({
  options: {
    chunk: { type: "string", default: "" },
    preset: { type: "string", default: "" },
    "stuck-at": { type: "string" },
  },
});
const percentMs = 5;
const hash = createHash("sha256").update(`${values.chunk} ${values.preset}`);

for (let percent = 1; percent <= 100; percent++) {
  await sleep(percentMs);
  hash.update(String(percent));
  process.stdout.write(`${percent}\n`);
  while (String(percent) === values["stuck-at"]) await sleep(percentMs);
}
process.stdout.write(`checksum ${hash.digest("hex")}\n`);
