// A process of the parser whose tasks do what a hostile page might make them do.
import { existsSync, writeFileSync } from 'node:fs';
import { serveTasks } from '../../dist/src/kernel/parser/serve-tasks.js';

serveTasks({
  echo: (input) => input,
  processOf: () => process.pid,
  // The first one that does it never ends.
  wait(file) {
    if (existsSync(file)) return process.pid;
    writeFileSync(file, '');
    for (;;);
  },
  secrets: () => [{ ...process.env }, process.argv],
  forever() {
    for (;;);
  },
  backtrack: () => /^(?:a+)+$/.test(`${'a'.repeat(60)}!`),
  memory() {
    const kept = [];
    for (;;) kept.push(new Array(10_000).fill(kept.length));
  },
  deep() {
    const down = () => down() + 1;
    return down();
  },
  fail() {
    throw new Error('<script>what a stranger wrote</script>');
  },
  end: () => process.exit(1),
});
