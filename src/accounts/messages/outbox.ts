import { z } from 'zod';
import type { Database, Queryable, Transaction } from '../../kernel/db/database.ts';
import { deleteInChunks } from '../../kernel/db/delete-in-chunks.ts';
import { newId } from '../../kernel/ids/ids.ts';
import { defineJob, enqueue, handleJob, type JobHandler } from '../../kernel/jobs/define-job.ts';
import type { Schedule } from '../../kernel/jobs/worker.ts';
import type { Secrets } from '../../kernel/secrets/secrets.ts';
import type { Message, Notifier } from './notifier.ts';

const job = defineJob({ name: 'forget-messages', payload: z.unknown(), maxAttempts: 1 });

/** Once a day, because it scans the whole table. */
export function forgetMessagesSchedule(db: Queryable): Schedule {
  return { at: '43 3 * * *', handler: handleJob(job, () => forgetMessages(db)) };
}

/** An unsent message is deleted too: its job gave up long before. */
export async function forgetMessages(db: Queryable): Promise<void> {
  await deleteInChunks(db, { table: 'messages', where: "created_at < now() - interval '30 days'" });
}

/** The payload names only the message; the text may contain a code and stays sealed in its row. */
const sendMessage = defineJob({
  name: 'send-message',
  payload: z.object({ messageId: z.string() }),
  maxAttempts: 8,
});

/** Writes a message in the caller's transaction; a job sends it afterwards. `accountId` is null when it belongs to no account. */
export async function postMessage(
  tx: Transaction,
  secrets: Secrets,
  { accountId, ...message }: Message & { readonly accountId: bigint | null },
): Promise<void> {
  const id = newId('msg');
  await tx.query(
    'INSERT INTO messages (id, account_id, channel, recipient, subject, sealed) VALUES ($1, $2, $3, $4, $5, $6)',
    [id, accountId, message.channel, message.to, message.subject, secrets.seal('messages', message.text)],
  );
  await enqueue(tx, sendMessage, { messageId: id });
}

/** A crash between sending and marking sends the message twice, which is harmless for a code and better than never. */
export interface OutboxParts {
  readonly db: Database;
  readonly secrets: Secrets;
  readonly notifier: Notifier;
  readonly keepText: boolean;
}

export function sendMessageHandler({ db, secrets, notifier, keepText }: OutboxParts): JobHandler {
  return handleJob(sendMessage, async ({ messageId }) => {
    const { rows } = await db.query<Omit<Message, 'text'> & { sealed: Buffer }>(
      'SELECT channel, recipient AS to, subject, sealed FROM messages WHERE id = $1 AND sent_at IS NULL AND sealed IS NOT NULL',
      [messageId],
    );
    const [row] = rows;
    if (row === undefined) return;
    const { sealed, ...message } = row;
    await notifier.send({ ...message, text: secrets.open('messages', sealed) });
    await db.query('UPDATE messages SET sent_at = now(), sealed = CASE WHEN $2 THEN sealed END WHERE id = $1', [
      messageId,
      keepText,
    ]);
  });
}
