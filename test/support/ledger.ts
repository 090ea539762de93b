import { createHash, randomBytes } from 'node:crypto';
import type { Database } from '../../src/kernel/db/database.ts';
import { houseAccount, userAccount } from '../../src/ledger/account-id.ts';
import type { Ledger } from '../../src/ledger/ledger.ts';
import type { IdempotencyScope, Posting } from '../../src/ledger/posting.ts';
import { amountOf } from '../../src/money/amount.ts';
import type { Asset } from '../../src/money/catalogue.ts';

/** People with nothing but a name and an API key, straight into the tables: registering is not what is tested here. */
export async function createOwners(db: Database, count: number): Promise<{ id: bigint; keyId: string }[]> {
  const suffix = randomBytes(4).toString('hex').toUpperCase();
  const { rows } = await db.query<{ id: bigint; keyId: string }>(
    `WITH owners AS (
       INSERT INTO accounts (handle, email, name, password_hash)
         SELECT 'PA-' || upper(substr(md5($1 || i), 1, 8)), lower($1) || i || '@example.com', 'Owner ' || i, '-'
           FROM generate_series(1, $2::int) i RETURNING id)
     INSERT INTO api_keys (id, account_id, key_hash, name, last4)
       SELECT 'key_' || $1 || id, id, decode(md5($1 || id), 'hex'), 'default', 'last' FROM owners RETURNING account_id AS id, id AS key_id`,
    [suffix, count],
  );
  return rows.map(({ id, keyId }) => ({ id, keyId: keyId }));
}

/** A transfer as the transfers feature posts it: sender → recipient and fees. */
export function transfer(from: bigint, to: bigint, atomic: bigint, options: Partial<Posting> = {}): Posting {
  const asset = options.amount?.asset ?? 'USDC';
  const fee = options.fee?.atomic ?? atomic / 100n;
  return {
    type: 'transfer',
    amount: amountOf(asset, atomic),
    fee: amountOf(asset, fee),
    senderId: from,
    recipientId: to,
    entries: [
      { account: userAccount(from, asset), atomic: -atomic },
      { account: userAccount(to, asset), atomic: atomic - fee },
      { account: houseAccount('fees', asset), atomic: fee },
    ],
    ...options,
  };
}

export function deposit(to: bigint, atomic: bigint, reference: string, asset: Asset = 'USDC'): Posting {
  return {
    type: 'deposit',
    amount: amountOf(asset, atomic),
    recipientId: to,
    reference,
    entries: [
      { account: houseAccount('custody', asset), atomic: -atomic },
      { account: userAccount(to, asset), atomic },
    ],
  };
}

export function scope(accountId: bigint, key: string, request = 'the same request'): IdempotencyScope {
  return { accountId, key, requestHash: createHash('sha256').update(request).digest('hex') };
}

export async function fund(ledger: Ledger, owners: readonly { id: bigint }[], atomic: bigint): Promise<void> {
  const nonce = randomBytes(8).toString('hex');
  await Promise.all(owners.map(({ id }) => ledger.post(deposit(id, atomic, `deposit:MATIC:${nonce}:${id}`))));
}
