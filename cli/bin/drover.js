#!/usr/bin/env node
// Plain JavaScript for any Node, so that an old one gets a sentence instead of a syntax error.

// The first that runs TypeScript as it is, which the repository is; packages are JavaScript.
const oldest = [22, 18];

const [major, minor] = process.versions.node.split(".").map(Number);

if (major < oldest[0] || (major === oldest[0] && minor < oldest[1])) {
  process.stderr.write(
    `drover: needs Node ${oldest.join(".")} or newer, and this is ${process.version}.\n` +
      "  next: install a newer Node; in a clone of Drover, npx drover uses the one that it brings\n",
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
