import type { Reporter, TestModule } from 'vitest/node';
import { tags } from './tags.ts';

/** Ends a run with what was skipped, why, and how to get it. */
export class TellSkipped implements Reporter {
  onTestRunEnd(modules: readonly TestModule[]): void {
    const skipped = new Map<string, number>();
    for (const module of modules) {
      for (const test of module.children.allTests('skipped')) {
        const why = tags.find(({ name }) => test.tags.includes(name as string))?.description;
        if (why !== undefined) skipped.set(why, (skipped.get(why) ?? 0) + 1);
      }
    }
    if (skipped.size === 0) process.stdout.write('\nNothing was skipped.\n');
    for (const [why, count] of skipped) process.stdout.write(`\nSkipped ${count} (${why}).`);
    process.stdout.write('\n');
  }
}
