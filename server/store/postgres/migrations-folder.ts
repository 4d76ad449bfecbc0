// Where the migrations of this version are: beside the folder of the server, in this repository and
// in its npm package (release/npm-packages.ts).
import { fileURLToPath } from "node:url";

export const MIGRATIONS = fileURLToPath(new URL("../../../migrations", import.meta.url));
