/** Prints at the end of a run which tests were skipped because this machine lacks something. */
import type { Reporter } from "vitest/node";

export const skippedForLack: Reporter = {
  onTestRunEnd(modules) {
    const byReason = new Map<string, string[]>();
    for (const { children, relativeModuleId } of modules)
      for (const test of children.allTests("skipped")) {
        const result = test.result();
        if (result.state !== "skipped" || result.note === undefined) continue;
        const names = byReason.get(result.note) ?? [];
        byReason.set(result.note, [...names, `${relativeModuleId}: ${test.fullName}`]);
      }
    for (const [reason, names] of byReason)
      process.stdout.write(`skipped: ${reason}\n${names.map((name) => `  ${name}\n`).join("")}`);
  },
};
