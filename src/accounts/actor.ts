import type { Transaction } from '../kernel/db/database.ts';
import type { Caller } from '../kernel/http/define-route.ts';
import { requireLiveKey } from '../ledger/require-live-key.ts';
import { type PlacedKey, requireUnfrozen } from './keys/place.ts';
import { requireOpenSession } from './sessions/owner-session.ts';

interface Acting {
  readonly accountId: bigint;
  readonly tier: Caller['tier'];
  readonly address: string;
}

export interface KeyActor extends Acting {
  readonly keyId: string;
}

/** The owner, signed in on the pages. */
export interface OwnerActor extends Acting {
  /** The id of the session. */
  readonly session: string;
}

/** Who changes the keys of an account: one of them, or the owner, who is above all of them. It is also who the audit log names. */
export type Actor = KeyActor | OwnerActor;

export function keyActor({ accountId, tier, keyId }: Caller, address: string): KeyActor {
  return { accountId, tier, keyId, address };
}

/**
 * Locks the owner's row, and refuses a key that was revoked or frozen meanwhile, or a session that has ended. Returns the place of the
 * key, and undefined for the owner. A change that also stops payments calls `lockOwner` first.
 */
export async function admit(tx: Transaction, actor: Actor): Promise<PlacedKey | undefined> {
  if ('keyId' in actor) {
    await requireLiveKey(tx, actor);
    return requireUnfrozen(tx, actor);
  }
  await requireOpenSession(tx, actor);
  return undefined;
}
