/**
 * The verbs that list what a namespace or the cluster has: read up to a limit, and written as a
 * table, as names, as one document or item by item.
 */
import {
  create,
  type DescMessage,
  type JsonValue,
  type MessageInitShape,
  type MessageShape,
  toJson,
} from "@bufbuild/protobuf";
import type { Command } from "commander";
import { inAllNamespaces } from "./all-namespaces.ts";
import type { Connection } from "./client.ts";
import { contextOf } from "./context.ts";
import { type Ended, exitCodes, usageFailure } from "./failure.ts";
import { watchRows } from "./list-watch.ts";
import { noteMore, type Page } from "./lists.ts";
import type { Output } from "./output.ts";
import { printTable } from "./table.ts";
import { clean } from "./words.ts";

export interface List<Options, Item extends DescMessage, Found> {
  readonly headers: readonly string[];
  /** `words`: the arguments of the verb. */
  read(
    connection: Connection,
    options: Options,
    words: readonly string[],
  ): Promise<Found & Page<MessageShape<Item>>>;
  readonly item: Item;
  /** All that was found as one document, the answer of the call. */
  document(found: Found & Page<MessageShape<Item>>): JsonValue;
  row(item: MessageShape<Item>, output: Output): readonly string[];
  /** What other commands take for it; left out: it has no name. */
  nameOf?(item: MessageShape<Item>): string;
  /** The note if there is none. */
  readonly none: string;
  /** It belongs to no namespace. */
  readonly ofCluster?: true;
  /** Notes about what was found. */
  notes?(found: Found & Page<MessageShape<Item>>, output: Output): void;
}

interface ListOptions {
  readonly limit?: number;
  readonly watch?: boolean;
  readonly allNamespaces?: boolean;
}

/** What one namespace has; of a list of the cluster there is one part. */
interface Part<Found> {
  readonly namespace: string;
  readonly found: Found;
}

export function addList<Options extends ListOptions, Item extends DescMessage, Found>(
  verb: Command,
  ended: Ended,
  list: List<Options, Item, Found>,
): void {
  verb.option("-w, --watch", "show each change until Ctrl-C: redrawn on a terminal, else a line");
  if (!list.ofCluster) verb.option("-A, --all-namespaces", "of all namespaces");
  verb.action(async () => {
    const options = verb.opts<Options>();
    const { output, connect, againIn } = contextOf(verb, { names: list.nameOf !== undefined });
    const isOfAll = !list.ofCluster && options.allNamespaces === true;
    if (isOfAll && output.format === "name")
      throw usageFailure("a name alone does not tell its namespace", "-o jsonl, or no -A");
    const connection = connect();
    const read = () =>
      isOfAll
        ? inAllNamespaces(connection, (of) => list.read(of, options, verb.args))
        : partOf(connection, (of) => list.read(of, options, verb.args));
    if (options.watch) return await watchRows(async () => rowsOf(await read(), isOfAll), output);
    const parts = await read();
    write(parts, isOfAll, output);
    for (const { namespace, found } of parts) {
      const next = (command: string) => output.note(`  next: ${command}${againIn(namespace)}`);
      list.notes?.(found, isOfAll ? { ...output, next } : output);
      if (options.limit !== undefined) noteMore(found, options.limit, output);
    }
    ended(exitCodes.done);

    function rowsOf(of: readonly Part<Found & Page<MessageShape<Item>>>[], isOfAll: boolean) {
      const rows = of.flatMap(({ namespace, found: { items } }) =>
        items.map((item) => ({
          name: list.nameOf?.(item),
          cells: [...(isOfAll ? [clean(namespace)] : []), ...list.row(item, output)],
          json: () => {
            const json = toJson(list.item, item);
            const isObject = typeof json === "object" && json !== null && !Array.isArray(json);
            return isOfAll && isObject ? { namespace, ...json } : json;
          },
        })),
      );
      return { headers: [...(isOfAll ? ["NAMESPACE"] : []), ...list.headers], rows };
    }

    function write(
      of: readonly Part<Found & Page<MessageShape<Item>>>[],
      isOfAll: boolean,
      to: Output,
    ) {
      const { headers, rows } = rowsOf(of, isOfAll);
      if (to.format === "jsonl") for (const row of rows) to.value(row.json());
      else if (isOfAll)
        to.value({
          namespaces: of.map(({ namespace, found }) => ({
            namespace,
            list: list.document(found),
          })),
        });
      else for (const { found } of of) to.value(list.document(found));
      to.names([...new Set(rows.flatMap(({ name }) => name ?? []))]);
      if (to.format === "table")
        printTable(
          to,
          headers,
          rows.map(({ cells }) => cells),
          isOfAll ? [list.headers[0] ?? ""] : [],
        );
      if (rows.length === 0) to.note(list.none);
    }
  });
}

async function partOf<Found>(
  connection: Connection,
  read: (of: Connection) => Promise<Found>,
): Promise<readonly Part<Found>[]> {
  return [{ namespace: connection.namespace, found: await read(connection) }];
}

/** A document of the contract. */
export function documentOf<Desc extends DescMessage>(
  desc: Desc,
  message: MessageInitShape<Desc>,
): JsonValue {
  return toJson(desc, create(desc, message));
}
