import { parseUnits } from 'viem';
import { onlyRow, type Transaction } from '../../kernel/db/database.ts';
import type { Saga } from '../../kernel/sagas/define-saga.ts';
import type { Secrets } from '../../kernel/secrets/secrets.ts';
import { houseAccount, userAccount } from '../../ledger/account-id.ts';
import { balancesOf, type Claim, claimsOf } from '../../ledger/balances.ts';
import { type Ledger, postOrThrow } from '../../ledger/ledger.ts';
import { lockOwner, requireLiveKey } from '../../ledger/require-live-key.ts';
import { toDecimalText } from '../../money/amount.ts';
import { type Asset, assetIds, assets } from '../../money/catalogue.ts';
import { listed } from '../../money/in-words.ts';
import { type KeyHolder, recordAudit } from '../audit/record.ts';
import { accountErrors } from '../errors.ts';
import { revokeAllKeys, revokeMostKeys } from '../keys/revoke-keys.ts';
import { findOwner } from '../mail-owner.ts';
import { postMessage } from '../messages/outbox.ts';
import type { AccountParts } from '../parts.ts';
import { requirePassword, requireSamePassword } from '../passwords/require-password.ts';
import type { UnderWay } from './on-account-closing.ts';

/** The amounts that an owner may give up, summed over all chains, in words. */
export const forfeitable = listed(assetIds.map((asset) => `${assets[asset].forfeitable} ${asset}`));

const most = new Map(assetIds.map((asset) => [asset, parseUnits(assets[asset].forfeitable, assets[asset].decimals)]));

/** Whether the balances are small enough and nothing is on hold. */
async function mayForfeit(tx: Transaction, accountId: bigint, claims: readonly Claim[]): Promise<boolean> {
  const spendable = new Map((await balancesOf(tx, accountId)).map(({ account, balance }) => [account, balance.atomic]));
  const sums = new Map<Asset, bigint>();
  for (const { chain, total } of claims) {
    const { asset, atomic } = total;
    if (spendable.get(userAccount(accountId, asset, chain)) !== atomic) return false;
    sums.set(asset, (sums.get(asset) ?? 0n) + atomic);
  }
  return [...sums].every(([asset, sum]) => sum <= (most.get(asset) ?? 0n));
}

/** Moves the balances to the house. The tokens stay where they are; only the owner in the ledger changes. */
async function forfeit(tx: Transaction, ledger: Ledger, accountId: bigint, claims: readonly Claim[]): Promise<void> {
  const postings = claims.map(({ chain, total }) => ({
    type: 'forfeited',
    amount: total,
    senderId: accountId,
    description: 'Given up when the account was closed',
    reference: `forfeited:${accountId}:${chain}:${total.asset}`,
    entries: [
      { account: userAccount(accountId, total.asset, chain), atomic: -total.atomic },
      { account: houseAccount('surplus', total.asset, chain), atomic: total.atomic },
    ],
  }));
  await postOrThrow(tx, ledger, postings);
}

interface Closing {
  readonly accountId: bigint;
  readonly password: string;
  /** Gives up a balance that is too small to move. */
  readonly forfeit: boolean;
  readonly by: KeyHolder;
}

interface Closed {
  readonly handle: string;
  readonly closedAt: Date;
}

/** What others see in place of the owner's name. */
const closedName = 'Closed account';
const mostListed = 100;

/**
 * Erases the person and keeps the ledger, in one commit. Reading the balances locks the ledger accounts: a concurrent
 * payment is either there before, and the closing is refused, or it finds the account closed and is refused. The
 * account's row is locked before anything is erased: a request that writes personal data requires a live key, so it
 * has either written before or is refused.
 */
export async function closeAccount(parts: AccountParts, closing: Closing): Promise<Closed> {
  const { db, changes } = parts;
  const { accountId, by } = closing;
  const { hash } = await requirePassword(parts, closing);
  // Checked before many keys are revoked for nothing. Only the check in the commit below is binding.
  await db.transaction((tx) => refuseUnlessEmpty(tx, parts, closing));
  await revokeMostKeys(db, { accountId, by, except: by.keyId });
  return changes.everywhere(accountId, async (tx) => {
    // A payment locks its invoice before the ledger accounts, so the same order applies here.
    await parts.beforeAccountClosing(tx, accountId, parts);
    await lockOwner(tx, accountId);
    await requireLiveKey(tx, { accountId, keyId: by.keyId });
    await requireSamePassword(tx, accountId, hash);
    const claims = await refuseUnlessEmpty(tx, parts, closing);
    await parts.onAccountClosing(tx, accountId, parts);
    await tellOfClosing(tx, parts.secrets, accountId);
    await revokeAllKeys(tx, parts.onKeysEnded, { accountId, webhooks: 'end', by });
    const closed = await erase(tx, closing);
    await forfeit(tx, parts.ledger, accountId, claims);
    return closed;
  });
}

/** Returns the remaining balances, which are to be forfeited. */
async function refuseUnlessEmpty(
  tx: Transaction,
  parts: AccountParts,
  { accountId, forfeit: givesUp }: Closing,
): Promise<readonly Claim[]> {
  const claims = await claimsOf(tx, accountId);
  const isLittle = await mayForfeit(tx, accountId, claims);
  if (claims.length > 0 && !(givesUp && isLittle)) {
    const balances = claims.map(({ chain, total }) => ({ chain, currency: total.asset, amount: toDecimalText(total) }));
    const left = balances.map(({ chain, currency, amount }) => `${amount} ${currency} on ${chain}`).join(', ');
    throw accountErrors.balance_not_zero(
      `The account still holds ${left}. Withdraw it or transfer it to another account, then try again.${isLittle ? ' Or close with `forfeit`: true, which gives it up permanently.' : ''}`,
      { members: { balances } },
    );
  }
  const underWay = [...(await openSagasOf(tx, parts.sagas, accountId)), ...(await parts.underWayOf(tx, accountId))];
  const { frozen } = onlyRow(
    await tx.query<{ frozen: boolean }>('SELECT frozen_at IS NOT NULL AS frozen FROM accounts WHERE id = $1', [
      accountId,
    ]),
  );
  if (frozen) underWay.push({ kind: 'freeze', id: 'by the operator' });
  if (underWay.length === 0) return claims;
  const listed = underWay.slice(0, mostListed);
  throw accountErrors.account_busy(
    `These operations are still in progress; wait until they finish or cancel them, then try again: ${listed.map(({ kind, id }) => `${kind} ${id}`).join(', ')}.`,
    { members: { underWay: listed } },
  );
}

async function openSagasOf(tx: Transaction, sagas: readonly Saga[], accountId: bigint): Promise<UnderWay[]> {
  const underWay: UnderWay[] = [];
  for (const { name, table, fixed } of sagas) {
    if (!fixed.includes('account_id')) continue;
    const { rows } = await tx.query<{ id: string }>(
      `SELECT id FROM ${table} WHERE account_id = $1 AND finished_at IS NULL ORDER BY id LIMIT ${mostListed}`,
      [accountId],
    );
    underWay.push(...rows.map(({ id }) => ({ kind: name, id })));
  }
  return underWay;
}

/** The last mail. It has no account id, so that it is not erased with the others. */
async function tellOfClosing(tx: Transaction, secrets: Secrets, accountId: bigint): Promise<void> {
  const owner = await findOwner(tx, accountId);
  if (owner === undefined) return;
  await postMessage(tx, secrets, {
    accountId: null,
    channel: 'email',
    to: owner.email,
    subject: 'Your Paywright account was closed',
    text: `The Paywright account ${owner.handle} was closed with its password. It holds no money. Do not send anything to its deposit addresses.\n\nIf this was not you, contact the operator of the service.`,
  });
}

async function erase(tx: Transaction, { accountId, by }: Closing): Promise<Closed> {
  for (const table of ['verification_codes', 'password_resets', 'email_changes', 'oauth_grants'])
    await tx.query(`DELETE FROM ${table} WHERE account_id = $1`, [accountId]);
  await tx.query('UPDATE api_keys SET name = NULL, last_used_from = NULL WHERE account_id = $1', [accountId]);
  const closed = onlyRow(
    await tx.query<Closed>(
      `UPDATE accounts
          SET name = $2, email = NULL, email_verified_at = NULL, phone = NULL, withdrawal_address = NULL,
              shipping_address = NULL, password_hash = '', closed_at = clock_timestamp()
        WHERE id = $1
      RETURNING handle, closed_at`,
      [accountId, closedName],
    ),
  );
  await recordAudit(tx, { accountId, action: 'account.closed', by });
  return closed;
}
