// A process of the parser whose tasks do what a hostile page might make them do.
import { serveTasks } from '../../dist/parser/serve-tasks.js';

serveTasks({
  echo: (input) => input,
  processOf: () => process.pid,
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
