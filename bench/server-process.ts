import { runPaywright } from '../src/app/main.ts';
import { readConfig } from '../src/app/read-config.ts';
import { createLogger } from '../src/logger.ts';

const running = await runPaywright({
  config: readConfig(process.env),
  logger: createLogger('warn'),
  roles: { serve: true, work: true },
  say: () => {},
});
process.send?.({ port: Number(new URL(running.publicUrl ?? '').port) });
process.on('disconnect', () => void running.stop().then(() => process.exit()));
