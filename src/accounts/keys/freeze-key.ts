import { countToday } from '../../kernel/daily-caps/count-today.ts';
import type { Transaction } from '../../kernel/db/database.ts';
import type { Secrets } from '../../kernel/secrets/secrets.ts';
import { lockOwner } from '../../ledger/require-live-key.ts';
import { type Actor, admit } from '../actor.ts';
import { recordAudit } from '../audit/record.ts';
import { accountErrors } from '../errors.ts';
import { mailOwner } from '../mail-owner.ts';
import type { AccountParts } from '../parts.ts';
import { requireScopes } from './make-key.ts';
import { isAbove, isRoot, type PlacedKey, readPlace, speaksForOwner } from './place.ts';
import { raiseStamp } from './stamp.ts';
import { wakeSagasOfFrozen } from './wake-frozen.ts';

export interface KeyFreeze {
  readonly actor: Actor;
  readonly key: string;
}

type FreezeParts = Pick<AccountParts, 'changes' | 'db' | 'sagas' | 'logger' | 'secrets'>;

/**
 * Freezes the place of a key, and with it all keys below. The owner may do so, and any key of the account that is not frozen
 * itself. Freezing again changes nothing. A revoked key can be frozen, because its open operations may still be stopped.
 */
export async function freezeKey({ changes, db, sagas, logger }: FreezeParts, freeze: KeyFreeze): Promise<void> {
  const { accountId } = freeze.actor;
  await changes.everywhere(accountId, (tx) => storeFreeze(tx, freeze));
  // The key is frozen whether this succeeds or not. A saga that is not woken stops when it looks next.
  await wakeSagasOfFrozen(db, sagas, { accountId, key: freeze.key }).catch((err: unknown) =>
    logger.warn({ err, key: freeze.key }, 'could not wake the open operations of a frozen key'),
  );
}

async function storeFreeze(tx: Transaction, { actor, key }: KeyFreeze): Promise<void> {
  const { accountId } = actor;
  await lockOwner(tx, accountId);
  await admit(tx, actor);
  const { place } = await readPlace(tx, { accountId, keyId: key });
  const { rowCount } = await tx.query(
    'INSERT INTO frozen_places (place, account_id) VALUES ($1, $2) ON CONFLICT (place) DO NOTHING',
    [place, accountId],
  );
  if (rowCount === 0) return;
  await raiseStamp(tx, accountId);
  await recordAudit(tx, { accountId, action: 'key.frozen', by: actor, details: { key } });
}

/**
 * Returns whether the key is still frozen, because a key between it and the caller is. Counted per day, which also bounds
 * how often a key can be frozen: freezing itself is never refused.
 */
export function unfreezeKey({ changes, secrets }: FreezeParts, unfreeze: KeyFreeze): Promise<boolean> {
  return changes.everywhere(unfreeze.actor.accountId, (tx) => endFreeze(tx, secrets, unfreeze));
}

async function endFreeze(tx: Transaction, secrets: Secrets, { actor, key }: KeyFreeze): Promise<boolean> {
  const { accountId, address } = actor;
  await lockOwner(tx, accountId);
  const unfreezer = await admit(tx, actor);
  const frozen = await readPlace(tx, { accountId, keyId: key });
  if (unfreezer !== undefined) requireMayUnfreeze(unfreezer, frozen);
  const { rowCount } = await tx.query('DELETE FROM frozen_places WHERE place = $1', [frozen.place]);
  if (rowCount === 0) return frozen.isFrozen;
  await raiseStamp(tx, accountId);
  await countToday(tx, actor, 'settings');
  await recordAudit(tx, { accountId, action: 'key.unfrozen', by: actor, details: { key } });
  await mailOwner(tx, secrets, accountId, unfrozenNotice(frozen, address));
  const { isFrozen } = await readPlace(tx, { accountId, keyId: key });
  return isFrozen;
}

/** A root has no key above it, but another root speaks for the owner. */
function requireMayUnfreeze(unfreezer: PlacedKey, frozen: PlacedKey): void {
  if (isAbove(unfreezer, frozen)) return;
  if (!isRoot(frozen))
    throw accountErrors.not_an_ancestor(
      'Only a key above this one can unfreeze it. Use its parent or a key further up, or revoke it and create another.',
    );
  if (!speaksForOwner(unfreezer) || unfreezer.place === frozen.place)
    throw accountErrors.not_an_ancestor(
      'This key is a root, so no key is above it. Only another root without a policy can unfreeze it: sign in to get one. Or unfreeze it on the page /app/keys.',
    );
  requireScopes(unfreezer, frozen.scopes);
}

function unfrozenNotice({ name, last4 }: PlacedKey, ip: string) {
  return {
    subject: 'A frozen API key of your account was unfrozen',
    text: `A request from ${ip} unfroze the API key "${name}", which ends in ${last4}. The key and the keys below it can be used again.`,
  };
}
