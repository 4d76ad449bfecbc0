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
import type { Connection } from "./client.ts";
import { contextOf } from "./context.ts";
import { type Ended, exitCodes } from "./failure.ts";
import { noteMore, type Page } from "./lists.ts";
import type { Output } from "./output.ts";
import { printTable } from "./table.ts";

export interface List<Options, Item extends DescMessage, Found> {
  readonly headers: readonly string[];
  read(connection: Connection, options: Options): Promise<Found & Page<MessageShape<Item>>>;
  readonly item: Item;
  /** All that was found as one document, the answer of the call. */
  document(found: Found & Page<MessageShape<Item>>): JsonValue;
  row(item: MessageShape<Item>, output: Output): readonly string[];
  /** What other commands take for it; left out: it has no name. */
  nameOf?(item: MessageShape<Item>): string;
  /** The note if there is none. */
  readonly none: string | ((options: Options) => string);
  /** Notes about what was found. */
  notes?(found: Found & Page<MessageShape<Item>>, output: Output): void;
}

interface Limited {
  readonly limit?: number;
}

export function addList<Options extends Limited, Item extends DescMessage, Found>(
  verb: Command,
  ended: Ended,
  list: List<Options, Item, Found>,
): void {
  verb.action(async (options: Options, command: Command) => {
    const { output, connect } = contextOf(command, { names: list.nameOf !== undefined });
    const found = await list.read(connect(), options);
    const { items } = found;
    if (output.format === "jsonl") for (const one of items) output.data(list.item, one);
    else output.value(list.document(found));
    output.names(items.flatMap((one) => list.nameOf?.(one) ?? []));
    if (output.format === "table")
      printTable(
        output,
        list.headers,
        items.map((one) => list.row(one, output)),
      );
    const { none } = list;
    if (items.length === 0) output.note(typeof none === "string" ? none : none(options));
    list.notes?.(found, output);
    if (options.limit !== undefined) noteMore(found, options.limit, output);
    ended(exitCodes.done);
  });
}

/** A document of the contract. */
export function documentOf<Desc extends DescMessage>(
  desc: Desc,
  message: MessageInitShape<Desc>,
): JsonValue {
  return toJson(desc, create(desc, message));
}
