#!/usr/bin/env node
// Plain JavaScript for any Node, so that an old one gets a sentence instead of a syntax error.

const nodeMajorMin = 24;

if (Number(process.versions.node.split(".")[0]) < nodeMajorMin) {
  process.stderr.write(
    `drover: needs Node ${nodeMajorMin} or newer, and this is ${process.version}.\n` +
      "  next: npx drover or npm run drover, which use the Node that is installed with Drover\n",
  );
  process.exitCode = 2;
} else {
  // What was compiled is kept, so that the next start takes half as long: where NODE_COMPILE_CACHE
  // says, else in a folder of this user in the system's temporary directory. Where it cannot be
  // written, nothing is kept, and nothing else happens.
  const { enableCompileCache } = await import("node:module");
  enableCompileCache();
  const { main } = await import("../main.ts");
  await main(process.argv.slice(2));
}
