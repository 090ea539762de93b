import type { Reporter, TestModule } from 'vitest/node';
import { machineTags, tags } from './tags.ts';

/** Ends a run with what was skipped, why, and how to get it. */
export class TellSkipped implements Reporter {
  onTestRunEnd(modules: readonly TestModule[]): void {
    const skipped = new Map<string, number>();
    for (const module of modules) {
      for (const test of module.children.allTests('skipped')) {
        const why = reasonOf(test.tags);
        skipped.set(why, (skipped.get(why) ?? 0) + 1);
      }
    }
    if (skipped.size === 0) process.stdout.write('\nNothing was skipped.\n');
    for (const [why, count] of skipped) process.stdout.write(`\nSkipped ${count} (${why}).`);
    process.stdout.write('\n');
  }
}

/** What the machine is without comes first: `npm run test:matrix` would not help there. */
function reasonOf(given: readonly string[]): string {
  const own = tags.filter(({ name }) => given.includes(name as string));
  const reason = own.find(({ skip }) => skip) ?? own.find(({ name }) => !machineTags.has(name));
  return reason?.description ?? 'no combinations: npm test runs them';
}
