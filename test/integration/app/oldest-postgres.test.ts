import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { startEmbeddedPostgres } from '../../../sandbox/postgres.ts';
import { onlyRow, openDatabase } from '../../../src/kernel/db/database.ts';
import { createLogger } from '../../../src/kernel/log/logger.ts';
import { exercise } from '../../support/exercise.ts';
import { oldestPostgres } from '../../support/machine-postgres.ts';
import { startReceiver } from '../../support/receiver.ts';
import { startService } from '../../support/service.ts';

const receiver = await startReceiver();

test('the service runs on the oldest PostgreSQL that it accepts', { tags: ['postgres-15'] }, async () => {
  const dataDir = mkdtempSync(join(tmpdir(), 'oldest-'));
  const settings = { shared_buffers: '32MB', fsync: 'off' };
  const postgres = await startEmbeddedPostgres({ dataDir, binDir: oldestPostgres ?? '', settings });
  onTestFinished(async () => {
    await postgres.stop();
    rmSync(dataDir, { recursive: true, force: true });
  });
  const db = openDatabase({ url: postgres.url, poolSize: 2, logger: createLogger('silent') });
  onTestFinished(() => db.close());
  const { number } = onlyRow(
    await db.query<{ number: number }>("SELECT current_setting('server_version_num')::integer AS number"),
  );
  expect(Math.floor(number / 10_000)).toBe(15);

  const env = { ALLOW_PRIVATE_HOSTS: receiver.host };
  const one = await startService(postgres, { env });
  onTestFinished(() => one.stop());
  const two = await startService(postgres, { env });
  onTestFinished(() => two.stop());
  await exercise({ db, one, two, receiver });
});
