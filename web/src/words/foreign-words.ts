// Text of agents, callers and servers. A control character in it would be invisible, and one that
// changes the writing direction would affect the text around it: both are shown by their number, as
// on the command line.

const HIDDEN = /\p{Cc}|\p{Zl}|\p{Zp}|[\u202a-\u202e\u2066-\u2069]/gu;

/** As `\u001b[31m`, `\u202e`; line ends and tabs stay. */
export function visibleText(text: string): string {
  return text.replaceAll(HIDDEN, (character) =>
    character === "\n" || character === "\t"
      ? character
      : `\\u${(character.codePointAt(0) ?? 0).toString(16).padStart(4, "0")}`,
  );
}
