import { getAddress, type Hex } from 'viem';
import { type AuditActor, recordAudit } from '../../accounts/audit/record.ts';
import { requireUnfrozen } from '../../accounts/keys/place.ts';
import { mailOwner } from '../../accounts/mail-owner.ts';
import type { RequireFactor } from '../../accounts/second-factor/require-second-factor.ts';
import {
  type AddressRow,
  type AllowedAddress,
  type AllowList,
  lockOutgoing,
  readAllowList,
  toAddress,
} from '../../custody/limits/allow-list.ts';
import { countToday } from '../../kernel/daily-caps/count-today.ts';
import { type Database, onlyRow, type Transaction } from '../../kernel/db/database.ts';
import type { Caller } from '../../kernel/http/define-route.ts';
import type { Secrets } from '../../kernel/secrets/secrets.ts';
import { requireLiveKey } from '../../ledger/require-live-key.ts';
import { withdrawalErrors } from './errors.ts';

export interface AllowListParts {
  readonly db: Database;
  readonly secrets: Secrets;
  readonly delayHours: number;
}

export interface Owner {
  readonly accountId: bigint;
  readonly tier: Caller['tier'];
  readonly by: AuditActor & { readonly keyId: string };
}

/** Bounds the size of the table. */
const mostAddresses = 100;

/** A new address is usable only after the delay. A known one keeps its time. */
export async function addAddress(
  { db, secrets, delayHours }: AllowListParts,
  owner: Owner,
  address: Hex,
): Promise<AllowedAddress> {
  const { accountId, by } = owner;
  return change(db, owner, async (tx) => {
    await requireUnfrozen(tx, { accountId, keyId: by.keyId });
    const known = await findAddress(tx, accountId, address);
    if (known !== undefined) return known;
    const { count } = onlyRow(
      await tx.query<{ count: number }>(
        'SELECT count(*)::int AS count FROM withdrawal_addresses WHERE account_id = $1',
        [accountId],
      ),
    );
    if (count >= mostAddresses) throw withdrawalErrors.too_many_withdrawal_addresses();
    await countToday(tx, owner, 'settings');
    const added = toAddress(
      onlyRow(
        await tx.query<AddressRow>(
          `INSERT INTO withdrawal_addresses (account_id, address, added_at, usable_from)
           SELECT $1, $2, moment, moment + make_interval(hours => $3) FROM clock_timestamp() moment
           RETURNING address, added_at, usable_from`,
          [accountId, address.toLowerCase(), delayHours],
        ),
      ),
    );
    const usableFrom = added.usableFrom.toISOString();
    await recordAudit(tx, { accountId, action: 'withdrawal_address.added', by, details: { address, usableFrom } });
    await mailOwner(tx, secrets, accountId, {
      subject: 'An address was added to your allow-list',
      text: `Withdrawals can go to ${address} from ${usableFrom}. To remove it before then: DELETE /account/withdrawal-addresses/${address}.`,
    });
    return added;
  });
}

/** Immediate. Withdrawals that were already requested continue. */
export async function removeAddress(
  { db, secrets }: AllowListParts,
  { accountId, by }: Owner,
  address: Hex,
): Promise<void> {
  await change(db, { accountId, by }, async (tx) => {
    const { rowCount } = await tx.query('DELETE FROM withdrawal_addresses WHERE account_id = $1 AND address = $2', [
      accountId,
      address.toLowerCase(),
    ]);
    if (rowCount === 0) throw withdrawalErrors.withdrawal_address_not_found();
    await recordAudit(tx, { accountId, action: 'withdrawal_address.removed', by, details: { address } });
    await mailOwner(tx, secrets, accountId, {
      subject: 'An address was removed from your allow-list',
      text: `${getAddress(address)} is no longer on your allow-list.`,
    });
  });
}

/** Immediate; also cancels a pending switch-off. Idempotent. */
export async function switchOn({ db, secrets }: AllowListParts, { accountId, by }: Owner): Promise<AllowList> {
  return change(db, { accountId, by }, async (tx) => {
    const { rowCount } = await tx.query(
      `INSERT INTO withdrawal_allow_lists AS l (account_id) VALUES ($1)
       ON CONFLICT (account_id) DO UPDATE SET off_from = NULL,
         on_since = CASE WHEN l.off_from > clock_timestamp() THEN l.on_since ELSE clock_timestamp() END
        WHERE l.off_from IS NOT NULL`,
      [accountId],
    );
    if (rowCount === 1) {
      await recordAudit(tx, { accountId, action: 'allow_list.on', by });
      await mailOwner(tx, secrets, accountId, {
        subject: 'Your allow-list is on',
        text: 'Money can leave your account only for the addresses on your allow-list.',
      });
    }
    return readAllowList(tx, accountId);
  });
}

/** Takes effect after the delay. Repeating the request does not extend it. An account with a second factor needs it. */
export async function switchOff(
  { db, secrets, delayHours }: AllowListParts,
  owner: Owner,
  requireFactor: RequireFactor,
): Promise<AllowList> {
  const { accountId, by } = owner;
  return change(db, owner, async (tx) => {
    await requireUnfrozen(tx, { accountId, keyId: by.keyId });
    await requireFactor(tx);
    const { rows } = await tx.query<{ offFrom: Date }>(
      `UPDATE withdrawal_allow_lists SET off_from = clock_timestamp() + make_interval(hours => $2)
        WHERE account_id = $1 AND off_from IS NULL RETURNING off_from`,
      [accountId, delayHours],
    );
    const offFrom = rows[0]?.offFrom.toISOString();
    if (offFrom !== undefined) {
      await countToday(tx, owner, 'settings');
      await recordAudit(tx, { accountId, action: 'allow_list.ending', by, details: { offFrom } });
      await mailOwner(tx, secrets, accountId, {
        subject: 'Your allow-list will be switched off',
        text: `From ${offFrom}, money can leave your account for any address. To cancel this before then: PUT /account/withdrawal-addresses/allow-list with {"enabled": true}.`,
      });
    }
    return readAllowList(tx, accountId);
  });
}

/** Takes the lock that every outgoing payment of the account takes, and refuses a key that was revoked meanwhile. */
function change<Result>(
  db: Database,
  { accountId, by }: Pick<Owner, 'accountId' | 'by'>,
  work: (tx: Transaction) => Promise<Result>,
): Promise<Result> {
  return db.transaction(async (tx) => {
    await lockOutgoing(tx, accountId);
    await requireLiveKey(tx, { accountId, keyId: by.keyId });
    return work(tx);
  });
}

async function findAddress(tx: Transaction, accountId: bigint, address: Hex): Promise<AllowedAddress | undefined> {
  const { rows } = await tx.query<AddressRow>(
    'SELECT address, added_at, usable_from FROM withdrawal_addresses WHERE account_id = $1 AND address = $2',
    [accountId, address.toLowerCase()],
  );
  return rows[0] && toAddress(rows[0]);
}
