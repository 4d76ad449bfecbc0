/** What the answer to a verify request says about the effect of a lost attempt. Pure. */
import type { Expression } from "@drover/server/expressions/expression.ts";
import type { Json } from "@drover/server/expressions/json.ts";
import { evaluated, type Facts } from "../facts.ts";
import { type Answer, outputOf } from "./answer.ts";
import { factsWith, isTrue } from "./rules.ts";

export interface VerifyRules {
  readonly did: Expression;
  readonly didNot: Expression;
  readonly output: Expression | null;
}

export type Verified =
  | { readonly kind: "did"; readonly output: Json }
  | { readonly kind: "did-not" }
  | { readonly kind: "unclear"; readonly message: string };

/**
 * Answers about the request itself, and not about the effect: an expression such as
 * `response.status != 200` must not take them for "it did not happen".
 */
function saysNothing(status: number): boolean {
  const isOfRequest = [400, 401, 403, 405, 407, 408, 421, 425, 429, 499].includes(status);
  return isOfRequest || status >= 500 || (status >= 300 && status < 400);
}

export function concludeVerify(
  answer: Answer,
  { did, didNot, output }: VerifyRules,
  facts: Facts,
  what: string,
): Verified {
  const { status, excerpt, lacks } = answer;
  const unclear = (why: string) => ({ kind: "unclear", message: `${what} ${why}` }) as const;
  if (saysNothing(status)) return unclear(`answered ${status}: ${excerpt}`);
  if (lacks !== null) return unclear(`answered ${status}, and its body could not be read`);
  const known = factsWith(answer, facts);
  const yes = isTrue(did, known);
  const no = isTrue(didNot, known);
  if (yes.kind === "failed" && no.kind !== "true")
    return unclear(`answered ${status}: ${yes.message}`);
  if (no.kind === "failed" && yes.kind !== "true")
    return unclear(`answered ${status}: ${no.message}`);
  if (yes.kind === "true" && no.kind === "true")
    return unclear(`answered ${status}, for which both \`did\` and \`did_not\` are true`);
  if (no.kind === "true") return { kind: "did-not" };
  if (yes.kind !== "true") return unclear(`answered ${status}: ${excerpt}`);
  if (output === null) return { kind: "did", output: outputOf(answer) };
  const found = evaluated(output, known);
  return found.ok
    ? { kind: "did", output: found.value }
    : unclear(`has no output: ${found.message}`);
}
