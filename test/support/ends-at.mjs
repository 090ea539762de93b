// Runs the built service and ends it, as a power cut would, at the checkpoint that END_AT names.

import { runPaywright } from '../../dist/src/app/main.js';
import { readConfig } from '../../dist/src/app/read-config.js';
import { createLogger } from '../../dist/src/kernel/log/logger.js';

await runPaywright({
  config: readConfig(process.env),
  logger: createLogger('error'),
  roles: { serve: true, work: true },
  say: () => {},
  passwordCost: { memoryCost: 8, timeCost: 1 },
  checkpoint(name) {
    if (name === process.env.END_AT) process.kill(process.pid, 'SIGKILL');
  },
});
process.stdout.write('ready\n');
