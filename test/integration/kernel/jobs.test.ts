import { afterEach, describe, expect, test } from 'vitest';
import type { Message } from '../../../src/accounts/messages/notifier.ts';
import { sendMessageHandler } from '../../../src/accounts/messages/outbox.ts';
import { startWorker, type Worker } from '../../../src/kernel/jobs/worker.ts';
import { createLogger } from '../../../src/kernel/log/logger.ts';
import { createSecrets } from '../../../src/kernel/secrets/secrets.ts';
import { useDatabase } from '../../support/database.ts';
import { postTestMessage } from '../../support/messages.ts';

const { db, url } = useDatabase();
const secrets = createSecrets('s'.repeat(32));
const lines: string[] = [];
const logger = createLogger('info', { write: (line: string) => void lines.push(line) });
let worker: Worker | undefined;
afterEach(() => worker?.stop());

function start(send: (message: Message) => Promise<void>): Promise<Worker> {
  const handler = sendMessageHandler({ db, secrets, notifier: { send }, keepText: false });
  return startWorker({ db, url, logger, handlers: [handler], schedules: [] });
}

const post = (to: string) => postTestMessage(db, secrets, to);

describe('a message', () => {
  test('that is refused once is sent with the next attempt, and the log names nobody', async () => {
    const sent: string[] = [];
    let attempts = 0;
    worker = await start(async ({ to, text }) => {
      if (++attempts === 1) throw new Error(`550 <${to}> try later`);
      sent.push(`${to} ${text}`);
    });
    await post('refused-once@example.com');
    await expect.poll(() => sent).toEqual(['refused-once@example.com 493021']);
    expect(worker.running).toBe(true);
    expect(lines.join('')).toContain('550');
    expect(lines.join('')).not.toContain('refused-once');
    // That it was sent is written down only afterwards.
    await expect
      .poll(async () => (await db.query('SELECT sealed, sent_at FROM messages')).rows)
      .toEqual([{ sealed: null, sentAt: expect.any(Date) }]);
    expect(sent).toHaveLength(1);
  });

  test('whose sender was killed in the middle is sent by another', async () => {
    await post('orphan@example.com');
    await db.query(
      "UPDATE graphile_worker._private_jobs SET locked_by = 'a dead worker', locked_at = now() - interval '2 minutes', attempts = 1",
    );
    const sent: string[] = [];
    worker = await start(async ({ to }) => void sent.push(to));
    await expect.poll(() => sent).toEqual(['orphan@example.com']);
  });
});
