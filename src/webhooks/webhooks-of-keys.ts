import type { OnKeyRotated, OnKeysEnded } from '../accounts/keys/on-keys-ended.ts';
import { endWebhooks } from './webhook.ts';

/** Lists the webhooks created with revoked keys, and ends them if requested. If all keys are revoked, it lists all webhooks. */
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

/** The webhooks of a rotated key belong to the new key, so that revoking the new key lists them. */
export const moveWebhooksOfKey: OnKeyRotated = async (tx, { accountId, from, to }) => {
  await tx.query('UPDATE webhooks SET key_id = $3 WHERE account_id = $1 AND key_id = ANY ($2)', [accountId, from, to]);
};
