// Loads the server with one mutant in it: a hook of Node's module loader replaces the piece as the
// file is read. Imported before anything of the server is.
import { registerHooks } from "node:module";
import { MUTANTS, type Mutant } from "./catalogue.ts";

const SERVER = new URL("../../../server/", import.meta.url);

/** From now on, the file of this mutant is read with its mistake in it. */
export function mutate(name: string): void {
  const mutant = mutantNamed(name);
  const url = serverFile(mutant.file).href;
  registerHooks({
    load(loaded, context, next) {
      const result = next(loaded, context);
      if (loaded !== url) return result;
      const read = result.source ?? "";
      const source = typeof read === "string" ? read : new TextDecoder().decode(read);
      return { ...result, source: mutated(mutant, source) };
    },
  });
}

export function mutantNamed(name: string): Mutant {
  const mutant = MUTANTS.find((one) => one.name === name);
  if (!mutant) throw new Error(`there is no mutant "${name}"`);
  return mutant;
}

/** The source of its file, with its mistake in it. */
export function mutated({ file, find, replace }: Mutant, source: string): string {
  if (!source.includes(find)) throw new Error(`${file} does not contain what it replaces`);
  return source.replace(find, () => replace);
}

export function serverFile(file: string): URL {
  return new URL(file, SERVER);
}
