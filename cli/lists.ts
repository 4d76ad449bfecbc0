/** Lists: read page by page up to a limit, and written as a whole or item by item. */
import type { DescMessage, MessageShape } from "@bufbuild/protobuf";
import { RunSubstate } from "@drover/proto/drover/v1/run_pb.ts";
import { InvalidArgumentError, Option } from "commander";
import type { Output } from "./output.ts";

export const limitMax = 1_000_000;
/** The largest page of a call. */
const pageMax = 1_000;

export interface Page<Item> {
  readonly items: Item[];
  /** Empty: this was the last page. */
  readonly nextPageToken: string;
}

/**
 * The option `--state`, which may be repeated; help and completion know its values, the words of
 * the states as `with-an-agent`. The names of the contract are accepted, too.
 */
export function stateOption<State extends number>(
  about: string,
  named: Readonly<Record<string, State>>,
  wordOf: (state: State) => string,
): Option {
  const { UNSPECIFIED: _, ...states } = named;
  const all = Object.entries(states);
  const words = all.map(([, state]) => [nameOf(wordOf(state)), state] as const);
  const known = new Map([...all.map(([name, state]) => [nameOf(name), state] as const), ...words]);
  const names = words.map(([name]) => name);
  const add = (text: string, earlier: readonly State[] = []): readonly State[] => {
    const state = known.get(nameOf(text));
    if (state !== undefined) return [...earlier, state];
    throw new InvalidArgumentError(`States are ${names.join(", ")}.`);
  };
  return new Option("--state <state>", `${about}; may be given again`)
    .choices(names)
    .argParser(add);
}

/** `--substate waiting-for-approval`, of open runs. */
export function substateOption(): Option {
  const { UNSPECIFIED: _, ...substates } = RunSubstate;
  const named = Object.entries(substates).flatMap(([name, substate]) =>
    typeof substate === "number" ? [[nameOf(name), substate] as const] : [],
  );
  const known = new Map(named);
  const names = [...known.keys()];
  const add = (text: string, earlier: readonly RunSubstate[] = []): readonly RunSubstate[] => {
    const substate = known.get(nameOf(text));
    if (substate !== undefined) return [...earlier, substate];
    throw new InvalidArgumentError(`Substates are ${names.join(", ")}.`);
  };
  return new Option(
    "--substate <substate>",
    "only open runs with a step that does or waits for this; may be given again",
  )
    .choices(names)
    .argParser(add);
}

/** WAITING_FOR_AGENT as `waiting-for-agent`, and `With an agent` as `with-an-agent`. */
function nameOf(name: string): string {
  return name
    .trim()
    .toLowerCase()
    .replaceAll(/[_\s]+/g, "-");
}

/** All pages in one, with the token of the next page if the limit was reached. */
export async function readPages<Item>(
  limit: number,
  read: (page: { readonly pageSize: number; readonly pageToken: string }) => Promise<Page<Item>>,
): Promise<Page<Item>> {
  const items: Item[] = [];
  let pageToken = "";
  do {
    const page = await read({ pageSize: Math.min(limit - items.length, pageMax), pageToken });
    items.push(...page.items);
    pageToken = page.nextPageToken;
  } while (pageToken !== "" && items.length < limit);
  return { items, nextPageToken: pageToken };
}

/** With `-o json` and `yaml` the list is one document, with `-o jsonl` each item is a line. */
export function writeList<Whole extends DescMessage, Item extends DescMessage>(
  output: Output,
  [whole, message]: readonly [Whole, MessageShape<Whole>],
  [item, items]: readonly [Item, readonly MessageShape<Item>[]],
): void {
  if (output.format === "jsonl") for (const one of items) output.data(item, one);
  else output.data(whole, message);
}

/** A note if the limit was reached. */
export function noteMore(
  { nextPageToken }: Pick<Page<unknown>, "nextPageToken">,
  limit: number,
  output: Output,
): void {
  if (nextPageToken !== "")
    output.note(`more exist\n  next: --limit ${Math.min(limit * 10, limitMax)}`);
}
