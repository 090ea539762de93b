import type { Command } from 'commander';

/** The commands that begin with the same word. Features of several rooms may add to one group. */
export function commandGroup(program: Command, name: string): Command {
  return program.commands.find((command) => command.name() === name) ?? program.command(name);
}
