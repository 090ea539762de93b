import { monitorEventLoopDelay } from 'node:perf_hooks';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { settingsOf } from '../src/app/listed-feature.ts';
import { runPaywright } from '../src/app/main.ts';
import { readSettings } from '../src/app/read-settings.ts';
import { createLogger } from '../src/kernel/log/logger.ts';
import { decisions } from '../src/policies/decisions/feature.ts';

const config = readSettings(process.env);
// The sandbox signs roots over decisions every minute, and live mode every hour.
if (process.env['BENCH_ROOTS'] === 'hourly') {
  const live = { ...settingsOf(config, decisions), sealAt: '17 * * * *' };
  (config.settings as Map<string, unknown>).set(decisions.name, live);
}
const running = await runPaywright({
  config,
  logger: createLogger('warn'),
  roles: { serve: true, work: true },
  say: () => {},
});
const delays = monitorEventLoopDelay({ resolution: 1 });
// Watching costs about 1 % of a core, which only counts where nothing else happens.
if (process.env['BENCH_DELAYS'] !== 'off') delays.enable();
process.send?.({ port: Number(new URL(running.publicUrl ?? '').port) });
process.on('message', () => process.send?.(resources()));
process.on('disconnect', () => void running.stop().then(() => process.exit()));

/** What the process holds, after whatever can be given up has been. */
function resources() {
  const longestBlockMs = delays.max / 1e6;
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as () => void;
  collect();
  collect();
  // The collection itself is not to be counted.
  setTimeout(() => delays.reset(), 100);
  const active = process.getActiveResourcesInfo();
  const count = (kind: RegExp) => active.filter((name) => kind.test(name)).length;
  return {
    sockets: count(/^(?:TCP|TLS)/),
    timers: count(/^(?:Timeout|Immediate)$/),
    heapMb: process.memoryUsage().heapUsed / 1024 / 1024,
    longestBlockMs,
  };
}
