import { postMessage } from '../../src/accounts/messages/outbox.ts';
import type { Database } from '../../src/kernel/db/database.ts';
import type { Secrets } from '../../src/kernel/secrets/secrets.ts';

/** A mail to an account that was made for it. */
export async function postTestMessage(db: Database, secrets: Secrets, to: string): Promise<void> {
  await db.transaction(async (tx) => {
    const { rows } = await tx.query<{ id: bigint }>(
      "INSERT INTO accounts (handle, email, name, password_hash) VALUES ('PA-' || upper(substr(md5(random()::text), 1, 8)), $1, 'Ada', '-') RETURNING id",
      [to],
    );
    await postMessage(tx, secrets, {
      accountId: rows[0]?.id ?? 0n,
      channel: 'email',
      to,
      subject: 'Code',
      text: '493021',
    });
  });
}
