import type { Command } from 'commander';

/**
 * Finds or creates the group of commands with this first word, because features of several rooms may add to one group.
 */
export function commandGroup(program: Command, name: string): Command {
  return program.commands.find((command) => command.name() === name) ?? program.command(name);
}
