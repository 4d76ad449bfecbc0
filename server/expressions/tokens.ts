// The tokens of an expression: enough to find its end within a text, and to name the first token in
// a wrong position. The library parses the grammar.

export interface Token {
  readonly kind: "name" | "number" | "string" | "sign";
  readonly text: string;
  /** Offset of its first character, in UTF-16 units like every offset here. */
  readonly at: number;
}

interface Misplaced {
  readonly message: string;
  readonly at: number;
}

export type Tokens =
  | { readonly ok: true; readonly tokens: readonly Token[]; readonly end: number }
  | ({ readonly ok: false } & Misplaced);

const BLANK = /(?:\s|\/\/[^\n]*)+/y;
const QUOTE = /(?:[rR][bB]?|[bB][rR]?)?("""|'''|"|')/y;
const NAME = /[A-Za-z_][A-Za-z0-9_]*/y;
const NUMBER = /0[xX][0-9a-fA-F]+[uU]?|(?:\d+(?:\.\d+)?|\.\d+)(?:[eE][-+]?\d+)?[uU]?/y;
const SIGN = /&&|\|\||==|!=|<=|>=|[-+*/%<>!?:.,()[\]{}]/y;

const instead: Readonly<Record<string, string>> = {
  "=": 'a single "=" is no operator: write == to compare',
  "&": 'a single "&" is no operator: write && for and',
  "|": 'a single "|" is no operator: write || for or',
  ";": '";" has no meaning here: an expression is one value',
  $: `"$" has no meaning within an expression: write it without \${...} around it`,
  "`": 'a name cannot be put in backticks: write steps["book-flight"] or input["some key"]',
};

/**
 * The tokens from an offset on. With `inBraces` they end before the "}" that closes what was opened
 * before the offset, and `end` is the offset of that "}"; otherwise `end` is the end of the text.
 */
export function tokensOf(text: string, from: number, inBraces: boolean): Tokens {
  const tokens: Token[] = [];
  let depth = 0;
  for (let at = from; ; ) {
    at += matchAt(BLANK, text, at)?.[0].length ?? 0;
    if (at >= text.length) break;
    if (inBraces && depth === 0 && text[at] === "}") return { ok: true, tokens, end: at };
    const token = tokenAt(text, at);
    if ("message" in token) return { ok: false, ...token };
    if ("({[".includes(token.text)) depth++;
    else if (")}]".includes(token.text)) depth--;
    tokens.push(token);
    at += token.text.length;
  }
  if (!inBraces) return { ok: true, tokens, end: text.length };
  return {
    ok: false,
    message: `"\${" is never closed: write a "}" behind the expression`,
    at: from,
  };
}

function matchAt(pattern: RegExp, text: string, at: number): RegExpExecArray | null {
  pattern.lastIndex = at;
  return pattern.exec(text);
}

function tokenAt(text: string, at: number): Token | Misplaced {
  const quote = matchAt(QUOTE, text, at);
  if (quote) {
    const end = endOfString(
      text,
      at + quote[0].length,
      quote[1] ?? "",
      /^[bB]?[rR]/.test(quote[0]),
    );
    if (end === null)
      return { message: `the text that ${quote[0]} begins here is never closed`, at };
    return { kind: "string", text: text.slice(at, end), at };
  }
  const number = matchAt(NUMBER, text, at);
  if (number) return { kind: "number", text: number[0], at };
  const name = matchAt(NAME, text, at);
  if (name) return { kind: "name", text: name[0], at };
  const sign = matchAt(SIGN, text, at);
  if (sign) return { kind: "sign", text: sign[0], at };
  const char = String.fromCodePoint(text.codePointAt(at) ?? 0);
  return { message: instead[char] ?? `"${char}" has no meaning within an expression`, at };
}

function endOfString(text: string, from: number, quote: string, raw: boolean): number | null {
  for (let at = from; at < text.length; at++) {
    if (text.startsWith(quote, at)) return at + quote.length;
    if (text[at] === "\\" && !raw) at++;
    else if (text[at] === "\n" && quote.length === 1) return null;
  }
  return null;
}

const BINARY = new Set("&& || == != <= >= < > + - * / % in ? : ,".split(" "));
const closes: Readonly<Record<string, string>> = { "(": ")", "[": "]", "{": "}" };
const words: Readonly<Record<string, string>> = { and: "&&", or: "||", not: "!" };

/**
 * The first token in a wrong position: two values without an operator, an operator without a value,
 * brackets that do not match. null does not mean that the library accepts the text.
 */
export function misplaced(tokens: readonly Token[], end: number): Misplaced | null {
  const open: Token[] = [];
  let hasValue = false;
  let before: Token | undefined;
  for (const token of tokens) {
    const { text, at, kind } = token;
    const opened = open.at(-1);
    if (kind === "sign" && ")]}".includes(text)) {
      if (opened?.text === "?")
        return { message: '"?" needs a ":" and a second value', at: opened.at };
      if (!opened || closes[opened.text] !== text)
        return { message: opened ? unmatched(opened, text) : `"${text}" closes nothing`, at };
      const isEmpty = before === opened || (before?.text === "," && text !== ")");
      if (!hasValue && !isEmpty)
        return { message: `a value is missing between "${before?.text}" and "${text}"`, at };
      open.pop();
      hasValue = true;
    } else if (hasValue && kind === "sign" && "([{.".includes(text)) {
      if (text !== ".") open.push(token);
      hasValue = false;
    } else if (hasValue && BINARY.has(text)) {
      if (text === "?") open.push(token);
      else if (text === ":" && opened?.text === "?") open.pop();
      hasValue = false;
    } else if (hasValue) return { message: noOperator(before, token), at };
    else if (BINARY.has(text) && text !== "-") return { message: noValue(before, token), at };
    else if (kind === "sign") {
      if ("([{".includes(text)) open.push(token);
    } else hasValue = true;
    before = token;
  }
  const opened = open.at(-1);
  if (before && !hasValue && before !== opened)
    return { message: `it ends after "${before.text}", where a value is missing`, at: before.at };
  if (opened?.text === "?") return { message: '"?" needs a ":" and a second value', at: opened.at };
  if (opened) return { message: `"${opened.text}" is never closed`, at: opened.at };
  return before ? null : { message: "it is empty: write what the value shall be", at: end };
}

function unmatched(opened: Token, text: string): string {
  return `"${text}" does not close the "${opened.text}" that is open: "${closes[opened.text]}" would`;
}

function noOperator(before: Token | undefined, { text }: Token): string {
  const sign = words[text] ?? words[before?.text ?? ""];
  const hint = sign ? `: write ${sign} for ${words[text] ? text : before?.text}` : "";
  return `an operator is missing between ${before?.text} and ${text}${hint}`;
}

function noValue(before: Token | undefined, { text }: Token): string {
  return before
    ? `a value is missing between "${before.text}" and "${text}"`
    : `a value is missing before "${text}"`;
}
