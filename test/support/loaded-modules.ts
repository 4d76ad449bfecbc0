/** For `node --import`: at its end a program writes down every module that it has loaded. */
import { writeFileSync } from "node:fs";
import { registerHooks } from "node:module";

const loaded = new Set<string>();
registerHooks({
  load(url, context, next) {
    loaded.add(url);
    return next(url, context);
  },
});
process.on("exit", () => {
  writeFileSync(process.env.LOADED_MODULES ?? "", JSON.stringify([...loaded]));
});
