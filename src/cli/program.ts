import { Command, CommanderError, Option } from 'commander';
import { addCompletionCommand } from './completion.ts';
import type { Env } from './files.ts';
import { operatorCommands } from './generated/interface.ts';
import { addListenCommand } from './listen.ts';
import { addLoginCommands } from './login.ts';
import { addMcpCommand } from './mcp.ts';
import { addOperationCommands, groups } from './operation-commands.ts';
import { asCliError, CliError, exitCodes, fail } from './outcome.ts';
import { openSession } from './session.ts';
import { toJson } from './show.ts';
import type { Tools } from './tools.ts';
import { addTriggerCommand } from './trigger.ts';

/** Whether these arguments are for a command that loads the service. */
export function isOperators([first]: readonly string[]): boolean {
  return operatorCommands.some(({ name }) => name === first);
}

function createProgram(env: Env): Command {
  const program = new Command('paywright')
    .description('Stablecoin payments for AI agents and the people who own them')
    .configureHelp({ showGlobalOptions: true, subcommandTerm })
    .helpCommand(false)
    .showHelpAfterError('Run the command with --help to see how it is used.')
    .addHelpText('after', after)
    .exitOverride();
  const isJson = () => program.opts<{ json?: true }>().json === true;
  const tools: Tools = {
    env,
    isJson,
    print: (value, text) => void process.stdout.write(`${isJson() ? toJson(value, 2) : text}\n`),
    note: (line) => void process.stderr.write(`${line}\n`),
    warn: (line) => void process.stderr.write(`Warning: ${line}\n`),
    session: () => openSession({ env, warn: tools.warn }),
  };
  addOperationCommands(program, tools);
  program.commandsGroup(groups.develop);
  addLoginCommands(program, tools);
  addMcpCommand(program, tools);
  addListenCommand(program, tools);
  addTriggerCommand(program, tools);
  addCompletionCommand(program);
  program.commandsGroup(groups.operate);
  for (const { name, description } of operatorCommands) program.command(name).description(description);
  for (const command of everyCommand(program)) command.addOption(jsonOption(program, command));
  return program;
}

/** Without `[options]`, which every command has. */
function subcommandTerm(command: Command): string {
  return [
    command.name(),
    ...command.registeredArguments.map((one) => (one.required ? `<${one.name()}>` : `[${one.name()}]`)),
  ].join(' ');
}

const after = `
PAYWRIGHT_URL and PAYWRIGHT_API_KEY win over the stored login.
Exit codes: 0 done, 1 error, 2 wrong use, 3 not signed in, 4 refused or waiting for the owner.
`;

function everyCommand(command: Command): Command[] {
  return [command, ...command.commands.flatMap(everyCommand)];
}

/** Before or after the name of the command. */
function jsonOption(program: Command, command: Command): Option {
  const option = new Option('--json', 'print the result as JSON');
  if (command === program) return option;
  command.on('option:json', () => program.setOptionValue('json', true));
  return option.hideHelp();
}

/** Runs one command of a user to its end, and sets the exit code. */
export async function run(args: readonly string[], env: Env): Promise<void> {
  const program = createProgram(env);
  // An error of usage may come before --json is read.
  const json = args.includes('--json');
  // A reader that has seen enough, such as head, closes the pipe. That makes no failure a success.
  process.stdout.on('error', (error: NodeJS.ErrnoException) =>
    process.exit(process.exitCode ?? (error.code === 'EPIPE' ? exitCodes.ok : exitCodes.error)),
  );
  // What is said beside the result stops nothing.
  process.stderr.on('error', () => {});
  try {
    await program.parseAsync(args, { from: 'user' });
  } catch (error) {
    if (!(error instanceof CommanderError)) return fail(asCliError(error), { json });
    // Commander has said it.
    if (error.exitCode === 0) return;
    process.exitCode = 2;
    const detail = error.message.replace(/^error: /, '');
    if (json) process.stdout.write(`${toJson(new CliError('usage', { code: 'usage', detail }).problem)}\n`);
  }
}
