// Runs the built service and ends it, as a power cut would, at the checkpoint that END_AT names.

import { runPaywright } from '../../dist/src/app/main.js';
import { readSettings } from '../../dist/src/app/read-settings.js';
import { createLogger } from '../../dist/src/kernel/log/logger.js';

const config = readSettings(process.env);
// A process that is killed while it asks a seller leaves a lease as long as the timeout, which the next one waits out.
const purchases = { ...config.settings.get('purchases'), timeoutMs: 8_000 };

await runPaywright({
  config: { ...config, settings: new Map([...config.settings, ['purchases', purchases]]) },
  logger: createLogger('error'),
  roles: { serve: true, work: true },
  say: () => {},
  passwordCost: { memoryCost: 8, timeCost: 1 },
  checkpoint(name) {
    if (name === process.env.END_AT) process.kill(process.pid, 'SIGKILL');
  },
});
process.stdout.write('ready\n');
