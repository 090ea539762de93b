import { Argument, type Command } from 'commander';
import { operatorCommands } from './generated/interface.ts';

const shells = ['bash', 'zsh', 'fish'] as const;
type Shell = (typeof shells)[number];

/** The words that may follow these words. */
type Words = ReadonlyMap<string, readonly string[]>;

export function addCompletionCommand(program: Command): void {
  program
    .command('completion')
    .description('print the completion script of a shell')
    .addArgument(new Argument('<shell>').choices(shells))
    .addHelpText('after', howTo)
    .action((shell: Shell) => {
      process.stdout.write(scripts[shell](wordsOf(program)));
    });
}

const howTo = `
  bash  echo 'source <(paywright completion bash)' >> ~/.bashrc
  zsh   echo 'source <(paywright completion zsh)' >> ~/.zshrc
  fish  paywright completion fish > ~/.config/fish/completions/paywright.fish
`;

function wordsOf(program: Command): Words {
  const words = new Map<string, readonly string[]>();
  const visit = (command: Command, path: readonly string[]) => {
    const names = command.commands.map((one) => one.name());
    const choices = command.registeredArguments.flatMap(({ argChoices = [] }) => argChoices);
    const options = command.options.map(({ long }) => long ?? '');
    words.set(path.join(' '), [...names, ...choices, ...options, '--help']);
    for (const one of command.commands) visit(one, [...path, one.name()]);
  };
  visit(program, []);
  for (const { name, commands, options } of operatorCommands) words.set(name, [...commands, ...options, '--help']);
  return words;
}

const scripts: Readonly<Record<Shell, (words: Words) => string>> = { bash, zsh, fish };

function cases(words: Words): string {
  return [...words]
    .map(([path, next]) => `    ${JSON.stringify(path)}) words=${JSON.stringify(next.join(' '))} ;;`)
    .join('\n');
}

/** The longest known beginning of the line decides. It runs in old versions of bash, too. */
function bash(words: Words): string {
  return `# bash completion of paywright
_paywright_words() {
  local words=""
  case "$1" in
${cases(words)}
  esac
  echo "$words"
}
_paywright() {
  local path="" word found
  local index
  for ((index = 1; index < COMP_CWORD; index++)); do
    word="\${COMP_WORDS[index]}"
    case "$word" in -*) continue ;; esac
    found="$(_paywright_words "\${path:+$path }$word")"
    [ -n "$found" ] && path="\${path:+$path }$word"
  done
  COMPREPLY=($(compgen -W "$(_paywright_words "$path")" -- "\${COMP_WORDS[COMP_CWORD]}"))
}
complete -o default -F _paywright paywright
`;
}

function zsh(words: Words): string {
  return `#compdef paywright
autoload -U +X bashcompinit && bashcompinit
${bash(words)}`;
}

function fish(words: Words): string {
  const lines = [...words].map(([path, next]) => {
    const parts = path.split(' ').filter((word) => word !== '');
    const seen = parts.map((word) => `__fish_seen_subcommand_from ${word}`);
    const condition = parts.length === 0 ? '__fish_use_subcommand' : seen.join('; and ');
    return `complete -c paywright -f -n '${condition}' -a '${next.join(' ')}'`;
  });
  return `# fish completion of paywright\n${lines.join('\n')}\n`;
}
