import type { OnKeyRotated, OnKeysEnded } from '../accounts/keys/on-keys-ended.ts';
import { endWebhooks } from './webhook.ts';

/** Names the webhooks that were made with keys that end, and ends them too if that is wished. Where all keys end, it is all of them. */
export const webhooksOfEndedKeys: OnKeysEnded = async (tx, { accountId, keys, webhooks }) => {
  const { rows } = await tx.query<{ id: string; url: string }>(
    `SELECT id, url FROM webhooks
      WHERE account_id = $1 AND status <> 'deleted' AND ($2::text[] IS NULL OR key_id = ANY ($2)) ORDER BY id DESC`,
    [accountId, keys === 'all' ? null : keys],
  );
  if (webhooks === 'end' && rows.length > 0) {
    await endWebhooks(
      tx,
      accountId,
      rows.map(({ id }) => id),
    );
  }
  return rows;
};

/** The webhooks of a rotated key belong to the new one: revoking the new key names them. */
export const moveWebhooksOfKey: OnKeyRotated = async (tx, { accountId, from, to }) => {
  await tx.query('UPDATE webhooks SET key_id = $3 WHERE account_id = $1 AND key_id = ANY ($2)', [accountId, from, to]);
};
