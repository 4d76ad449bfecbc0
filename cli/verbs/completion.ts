/** `drover completion`: the script for a shell, and `complete`, which that script calls. */
import { Argument, type Command } from "commander";
import { createConnection } from "../client.ts";
import { type Candidate, completionOf, contextNames, hiddenVerb, namesOf } from "../completion.ts";
import { connectionOf, contextOf } from "../context.ts";
import { type Ended, exitCodes } from "../failure.ts";
import type { GlobalOptions } from "../global-options.ts";
import { applyContext } from "../saved-contexts.ts";

const scripts = {
  bash: `# drover, completed by bash: source <(drover completion bash), or put that into ~/.bashrc.
_drover() {
  local IFS=$'\\n'
  COMPREPLY=($("\${COMP_WORDS[0]}" complete -- "\${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null | cut -f1))
}
complete -o default -F _drover drover`,
  zsh: `#compdef drover
# drover, completed by zsh: as _drover in a folder of fpath, or source <(drover completion zsh).
_drover() {
  local -a found
  local line
  for line in "\${(@f)$("\${words[1]}" complete -- "\${(@)words[2,CURRENT]}" 2>/dev/null)}"; do
    [[ -n "$line" ]] && found+=("\${\${line%%$'\\t'*}//:/\\\\:}:\${line#*$'\\t'}")
  done
  if (( \${#found} )); then _describe drover found; else _files; fi
}
if [[ "\${funcstack[1]}" == _drover ]]; then _drover "$@"; else compdef _drover drover; fi`,
  fish: `# drover, completed by fish: in ~/.config/fish/completions/drover.fish.
function __drover_complete
  set -l words (commandline -opc) (commandline -ct)
  set -l found ($words[1] complete -- $words[2..-1] 2>/dev/null)
  if test (count $found) -gt 0
    printf '%s\\n' $found
  else
    __fish_complete_path (commandline -ct)
  end
end
complete -c drover -f -a '(__drover_complete)'`,
} as const;

type Shell = keyof typeof scripts;

export function addCompletion(program: Command, ended: Ended): void {
  program
    .command("completion")
    .description("print the completion script of a shell")
    .addArgument(new Argument("<shell>", "which shell").choices(Object.keys(scripts)))
    .action((shell: Shell, _options: unknown, command: Command) => {
      contextOf(command).output.line(scripts[shell]);
      ended(exitCodes.done);
    });
  program
    .command(hiddenVerb, { hidden: true })
    .description("list what may be typed next, for the completion scripts")
    .argument("[words...]", "what was typed, the last word as far as it goes")
    .action(async (words: readonly string[], _options: unknown, command: Command) => {
      const { output } = contextOf(command);
      for (const { text, about } of await candidates(program, words))
        output.line(`${text}\t${about}`);
      ended(exitCodes.done);
    });
}

/** A text that a shell reads as one word without quotes. */
const plainWord = /^[\w.,:@/+=-]+$/;

async function candidates(
  program: Command,
  words: readonly string[],
): Promise<readonly Candidate[]> {
  const { candidates: found, named, run, given } = completionOf(program, words);
  if (named === undefined) return found;
  const partial = words.at(-1) ?? "";
  // Without a server there are no names, and an error between two words would be useless.
  const names = await Promise.try(() => {
    if (named === "context") return contextNames();
    if (given.context !== undefined) {
      program.setOptionValueWithSource("context", given.context, "cli");
      applyContext(program);
    }
    const connection = createConnection(
      connectionOf({ ...program.opts<GlobalOptions>(), ...given }),
    );
    return namesOf(named, connection, { run, key: given.key });
  }).catch(() => []);
  return [
    ...found,
    ...names.filter(({ text }) => text.startsWith(partial) && plainWord.test(text)),
  ];
}
