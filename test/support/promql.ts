/** What an expression of PromQL asks for, by the parser that Prometheus keeps for editors. */
import type { SyntaxNode } from "@lezer/common";
import { parser } from "@prometheus-io/lezer-promql";

export interface Matcher {
  readonly label: string;
  readonly operator: string;
  readonly value: string;
}

export interface Selector {
  readonly metric: string;
  readonly matchers: readonly Matcher[];
}

export interface Asked {
  readonly selectors: readonly Selector[];
  /** Labels by which it groups or joins. */
  readonly groups: readonly string[];
}

/** Throws where it cannot be parsed. */
export function readPromql(expression: string): Asked {
  const selectors: Selector[] = [];
  const groups: string[] = [];
  const text = ({ from, to }: { from: number; to: number }) => expression.slice(from, to);
  parser.parse(expression).iterate({
    enter(ref) {
      const { node } = ref;
      if (node.type.isError)
        throw new Error(`no PromQL from "${expression.slice(node.from)}" on: ${expression}`);
      if (node.name === "VectorSelector") selectors.push(selectorOf(node, text));
      if (node.name === "GroupingLabels")
        groups.push(...node.getChildren("LabelName").map((label) => text(label)));
    },
  });
  return { selectors, groups };
}

function selectorOf(node: SyntaxNode, text: (of: SyntaxNode) => string): Selector {
  const name = node.getChild("Identifier");
  if (!name) throw new Error(`${text(node)} names no metric`);
  const matchers = node.getChild("LabelMatchers")?.getChildren("UnquotedLabelMatcher") ?? [];
  return {
    metric: text(name),
    matchers: matchers.map((matcher) => {
      const [label, operator, value] = ["LabelName", "MatchOp", "StringLiteral"].map((part) => {
        const child = matcher.getChild(part);
        return child ? text(child) : "";
      });
      return { label: label ?? "", operator: operator ?? "", value: (value ?? "").slice(1, -1) };
    }),
  };
}
