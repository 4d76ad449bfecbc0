// The commands of a shell text, as lists of words: enough of the shell's syntax for documentation.
// Redirections, comments and assignments before a command are left out; `$(...)` is a word, and its
// commands are listed too.

export function shellCommands(text: string): readonly (readonly string[])[] {
  const commands: (readonly string[])[] = [];
  let words: string[] = [];
  let word: string | null = null;
  let at = 0;
  const endWord = (): void => {
    if (word !== null) words.push(word);
    word = null;
  };
  const endCommand = (): void => {
    endWord();
    commands.push(words);
    words = [];
  };
  while (at < text.length) {
    const char = text[at] ?? "";
    if (char === "\\") {
      if (text[at + 1] !== "\n") word = (word ?? "") + (text[at + 1] ?? "");
      at += 2;
    } else if (char === "'" || char === '"') {
      const end = closing(text, at);
      const quoted = text.slice(at + 1, end);
      if (char === '"') for (const inner of nested(quoted)) commands.push(...shellCommands(inner));
      word = (word ?? "") + (char === '"' ? quoted.replace(/\\(["\\$`])/g, "$1") : quoted);
      at = end + 1;
    } else if (text.startsWith("$(", at)) {
      const [inner = ""] = nested(text.slice(at));
      commands.push(...shellCommands(inner));
      word = `${word ?? ""}$(${inner})`;
      at += inner.length + 3;
    } else if (char === "#" && word === null) {
      const end = text.indexOf("\n", at);
      at = end === -1 ? text.length : end;
    } else if (/[\n;|&()]/.test(char)) {
      endCommand();
      at++;
    } else if (/\s/.test(char)) {
      endWord();
      at++;
    } else {
      word = (word ?? "") + char;
      at++;
    }
  }
  endCommand();
  return commands.map(withoutTheRest).filter((command) => command.length > 0);
}

function closing(text: string, open: number): number {
  const quote = text[open];
  for (let at = open + 1; at < text.length; at++) {
    if (quote === '"' && text[at] === "\\") at++;
    else if (text[at] === quote) return at;
  }
  throw new Error(`a quote is not closed: ${text.slice(open, open + 40)}`);
}

/** What is within `$(` and `)`, without parentheses of its own. */
function nested(text: string): readonly string[] {
  return [...text.matchAll(/\$\(([^()]*)\)/g)].map(([, inner = ""]) => inner);
}

function withoutTheRest(words: readonly string[]): readonly string[] {
  const plain = words.filter(
    (word, at) =>
      !/^\d?>>?/.test(word) && word !== "<" && !/^(?:\d?>>?|<)$/.test(words[at - 1] ?? ""),
  );
  const first = plain.findIndex((word) => !/^[A-Za-z_]\w*=/.test(word));
  return first === -1 ? [] : plain.slice(first);
}
