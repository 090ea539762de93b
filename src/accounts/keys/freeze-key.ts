import { countToday } from '../../kernel/daily-caps/count-today.ts';
import type { Transaction } from '../../kernel/db/database.ts';
import type { Caller } from '../../kernel/http/define-route.ts';
import { lockOwner, requireLiveKey } from '../../ledger/require-live-key.ts';
import { recordAudit } from '../audit/record.ts';
import { accountErrors } from '../errors.ts';
import { mailOwner } from '../mail-owner.ts';
import type { AccountParts } from '../parts.ts';
import { requireScopes } from './make-key.ts';
import { isAbove, isRoot, type PlacedKey, readPlace, requireUnfrozen } from './place.ts';
import { raiseStamp } from './stamp.ts';

export interface KeyFreeze {
  readonly caller: Caller;
  readonly ip: string;
  readonly key: string;
}

/**
 * Freezes the place of a key, and with it all keys below. Any key of the account may do so that is not frozen itself.
 * Freezing again changes nothing. A revoked key can be frozen, because its open operations may still be stopped.
 */
export async function freezeKey(tx: Transaction, { caller, ip, key }: KeyFreeze): Promise<void> {
  const { accountId, keyId } = caller;
  await lockOwner(tx, accountId);
  await requireLiveKey(tx, caller);
  await requireUnfrozen(tx, caller);
  const { place } = await readPlace(tx, { accountId, keyId: key });
  const { rowCount } = await tx.query(
    'INSERT INTO frozen_places (place, account_id) VALUES ($1, $2) ON CONFLICT (place) DO NOTHING',
    [place, accountId],
  );
  if (rowCount === 0) return;
  await raiseStamp(tx, accountId);
  await recordAudit(tx, { accountId, action: 'key.frozen', by: { keyId, address: ip }, details: { key } });
}

/**
 * Returns whether the key is still frozen, because a key between it and the caller is. Counted per day, which also bounds
 * how often a key can be frozen: freezing itself is never refused.
 */
export async function unfreezeKey(
  tx: Transaction,
  { secrets }: AccountParts,
  { caller, ip, key }: KeyFreeze,
): Promise<boolean> {
  const { accountId, keyId } = caller;
  await lockOwner(tx, accountId);
  await requireLiveKey(tx, caller);
  const unfreezer = await requireUnfrozen(tx, caller);
  const frozen = await readPlace(tx, { accountId, keyId: key });
  requireMayUnfreeze(unfreezer, frozen);
  const { rowCount } = await tx.query('DELETE FROM frozen_places WHERE place = $1', [frozen.place]);
  if (rowCount === 0) return frozen.isFrozen;
  await raiseStamp(tx, accountId);
  await countToday(tx, caller, 'settings');
  await recordAudit(tx, { accountId, action: 'key.unfrozen', by: { keyId, address: ip }, details: { key } });
  await mailOwner(tx, secrets, accountId, unfrozenNotice(frozen, ip));
  const { isFrozen } = await readPlace(tx, { accountId, keyId: key });
  return isFrozen;
}

/** A root has no key above it, but another root comes from a sign-in with the password, so it speaks for the owner. */
function requireMayUnfreeze(unfreezer: PlacedKey, frozen: PlacedKey): void {
  if (isAbove(unfreezer, frozen)) return;
  if (!isRoot(frozen))
    throw accountErrors.not_an_ancestor(
      'Only a key above this one can unfreeze it. Use its parent or a key further up, or revoke it and create another.',
    );
  if (!isRoot(unfreezer) || unfreezer.place === frozen.place)
    throw accountErrors.not_an_ancestor(
      'This key is a root, so no key is above it. Only another root can unfreeze it: sign in to get one.',
    );
  requireScopes(unfreezer, frozen.scopes);
}

function unfrozenNotice({ name, last4 }: PlacedKey, ip: string) {
  return {
    subject: 'A frozen API key of your account was unfrozen',
    text: `A request from ${ip} unfroze the API key "${name}", which ends in ${last4}. The key and the keys below it can be used again.`,
  };
}
