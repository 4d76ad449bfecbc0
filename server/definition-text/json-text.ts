/** Reads a value of any form, such as the input of a step, as the JSON text that carries it. */
import { isMap, isScalar, isSeq, type Node } from "yaml";
import { depthMax } from "./document.ts";
import { asNode, entriesOf, isAllowed, joined, type Reading, refuse } from "./nodes.ts";
import { jsonScalar } from "./values.ts";

/** undefined: a problem was reported. */
export function jsonText(node: Node, path: string, reading: Reading): string | undefined {
  const { document, problems, places } = reading;
  const before = problems.count;
  const fail = (at: Node, where: string, message: string): string => {
    refuse(at, where, message, reading);
    return "";
  };
  const write = (at: Node | null, where: string, depth: number): string => {
    if (at === null) return "null";
    places.set(where, document.placeOf(at));
    if (!isAllowed(at, where, reading)) return "";
    if (depth > depthMax)
      return fail(at, path, `this is nested too deeply: at most ${depthMax} levels are read`);
    if (isScalar(at)) {
      const text = jsonScalar(at);
      return text.kind === "value" ? text.value : fail(at, where, text.message);
    }
    if (isSeq(at)) {
      const items = at.items.map((item, i) => write(asNode(item), `${where}[${i}]`, depth + 1));
      return `[${items.join(",")}]`;
    }
    if (!isMap(at)) return fail(at, where, "this is neither text, number, list nor map");
    const members = entriesOf(at, where, reading).map(
      ({ key, value: member }) =>
        `${JSON.stringify(key)}:${write(member, joined(where, key), depth + 1)}`,
    );
    return `{${members.join(",")}}`;
  };
  const text = write(node, path, 1);
  return problems.count > before ? undefined : text;
}
