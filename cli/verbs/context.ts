/** `drover context add`, `use`, `list`, `remove`: servers that a person works with, by name. */
import { resolve } from "node:path";
import { type Command, Option } from "commander";
import { baseUrlsOf } from "../client.ts";
import { contextOf } from "../context.ts";
import { type Ended, exitCodes, usageFailure } from "../failure.ts";
import type { GlobalOptions } from "../global-options.ts";
import {
  contextNamed,
  readContexts,
  type SavedContext,
  type SavedContexts,
  writeContexts,
} from "../saved-contexts.ts";
import { printTable } from "../table.ts";
import { clean } from "../words.ts";

interface AddOptions {
  readonly tokenFile?: string;
  readonly tokenVariable?: string;
}

export function addContextVerbs(context: Command, ended: Ended): void {
  addAdd(context, ended);
  addUse(context, ended);
  addContextList(context, ended);
  addRemove(context, ended);
}

function addAdd(context: Command, ended: Ended): void {
  context
    .command("add")
    .description(
      "store --address, --namespace and files for TLS under a name, or change what is stored; the first is used",
    )
    .argument("<name>", "its name", nameOf)
    .addOption(
      new Option("--token-file <file>", "the file that contains the API token").conflicts(
        "tokenVariable",
      ),
    )
    .option("--token-variable <name>", "the environment variable that has the API token")
    .action((name: string, { tokenFile, tokenVariable }: AddOptions, command: Command) => {
      const { output, address } = contextOf(command);
      const { namespace, token, ca, clientCert, clientKey } =
        command.optsWithGlobals<GlobalOptions>();
      if (command.getOptionValueSourceWithGlobals("token") === "cli" && token)
        throw usageFailure(
          "a context stores no token",
          "--token-file FILE or --token-variable NAME",
        );
      baseUrlsOf(address);
      const added: SavedContext = {
        address,
        namespace,
        ...(tokenFile !== undefined && { tokenFile: resolve(tokenFile) }),
        ...(tokenVariable !== undefined && { tokenVariable }),
        ...(ca !== undefined && { ca: resolve(ca) }),
        ...(clientCert !== undefined && { clientCert: resolve(clientCert) }),
        ...(clientKey !== undefined && { clientKey: resolve(clientKey) }),
      };
      const { contexts, current = name } = readContexts();
      writeContexts({ current, contexts: { ...contexts, [name]: added } });
      output.line(`context ${name} stored${current === name ? ", and in use" : ""}`);
      if (current !== name) output.next(`drover context use ${name}`);
      ended(exitCodes.done);
    });
}

function nameOf(text: string): string {
  if (/^[A-Za-z0-9][\w.-]{0,127}$/.test(text)) return text;
  throw usageFailure(
    `"${clean(text)}" cannot be the name of a context`,
    "use letters, digits, dots, dashes and underscores",
  );
}

function addUse(context: Command, ended: Ended): void {
  context
    .command("use")
    .description("use a context in all commands without --context")
    .argument("<name>", "name of the context")
    .action((name: string, _options: unknown, command: Command) => {
      const { output } = contextOf(command);
      const saved = readContexts();
      const { address, namespace } = contextNamed(name, saved);
      writeContexts({ ...saved, current: name });
      output.line(`in use: ${name}, ${clean(namespace)} at ${clean(address)}`);
      ended(exitCodes.done);
    });
}

function addContextList(context: Command, ended: Ended): void {
  context
    .command("list")
    .description("list the contexts, and which of them is in use; no token is printed")
    .action((_options: unknown, command: Command) => {
      const { output } = contextOf(command, { names: true });
      const saved = readContexts();
      const found = Object.entries(saved.contexts).map(([name, of]) => ({
        name,
        inUse: name === saved.current,
        ...of,
      }));
      if (output.format === "jsonl") for (const one of found) output.value(one);
      else output.value({ contexts: found });
      output.names(found.map(({ name }) => name));
      const rows = found.map((one) => [
        one.name,
        one.inUse ? "yes" : "",
        clean(one.address),
        clean(one.namespace),
        tokenWords(one),
      ]);
      if (output.format === "table")
        printTable(output, ["CONTEXT", "IN USE", "ADDRESS", "NAMESPACE", "TOKEN"], rows);
      if (rows.length === 0)
        output.note("no context: drover context add NAME --address HOST:PORT --namespace NAME");
      ended(exitCodes.done);
    });
}

function tokenWords({ tokenFile, tokenVariable }: SavedContext): string {
  if (tokenVariable !== undefined) return `of the variable ${clean(tokenVariable)}`;
  return tokenFile === undefined ? "none" : `of the file ${clean(tokenFile)}`;
}

function addRemove(context: Command, ended: Ended): void {
  context
    .command("remove")
    .description("remove a context; without one in use, the defaults are used")
    .argument("<name>", "name of the context")
    .action((name: string, _options: unknown, command: Command) => {
      const { output } = contextOf(command);
      const saved = readContexts();
      contextNamed(name, saved);
      const { [name]: _, ...contexts } = saved.contexts;
      const { current } = saved;
      const left: SavedContexts =
        current === undefined || current === name ? { contexts } : { current, contexts };
      writeContexts(left);
      output.line(`context ${name} removed`);
      ended(exitCodes.done);
    });
}
