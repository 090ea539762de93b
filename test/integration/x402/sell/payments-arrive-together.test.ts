import { randomBytes } from 'node:crypto';
import type { Hex, Log } from 'viem';
import { afterAll, describe, expect, test } from 'vitest';
import { authorizationProof } from '../../../../src/custody/steps/receipt-proofs.ts';
import type { LocatedTransfer } from '../../../../src/custody/watch/read-transfers.ts';
import { createLogger } from '../../../../src/kernel/log/logger.ts';
import { houseBalance } from '../../../../src/ledger/balances.ts';
import { createLedger } from '../../../../src/ledger/ledger.ts';
import { amountOf } from '../../../../src/money/amount.ts';
import { worthAtMost } from '../../../../src/payments/deposits/one-node-limit.ts';
import { receiveAtHouse } from '../../../../src/payments/deposits/receive-at-house.ts';
import { createClaimer } from '../../../../src/x402/sell/claim-payments.ts';
import { useDatabase } from '../../../support/database.ts';

const { db } = useDatabase();
const logger = createLogger('silent');
const ledger = createLedger({ db, logger });
const parts = { db, ledger, logger };
afterAll(() => ledger.stop());

const hex = (bytes: number): Hex => `0x${randomBytes(bytes).toString('hex')}`;
const token = hex(20);
const treasury = hex(20);
const price = 100n;

interface Claimed {
  readonly id: string;
  readonly payer: Hex;
  readonly nonce: Hex;
}

async function claimMany(count: number, payers: readonly Hex[]): Promise<Claimed[]> {
  const claim = createClaimer(db);
  return Promise.all(
    Array.from({ length: count }, async (_, index) => {
      const payer = payers[index % payers.length] as Hex;
      const nonce = hex(32);
      const claimed = await claim({
        protocol: 'x402',
        chain: 'MATIC',
        token,
        amount: amountOf('USDC', price),
        authorization: {
          from: payer,
          to: treasury,
          atomic: price,
          nonce,
          validAfter: 0n,
          validBefore: 9_999_999_999n,
          signature: hex(65),
        },
        resource: 'nanoQuote',
        fingerprint: randomBytes(32),
        identifier: undefined,
        submittedElsewhere: false,
        mostCredit: 1_000_000n,
        holding: { atomic: 1_000_000n, settledBefore: 0n },
        clearsDebt: false,
      });
      if (!('id' in claimed)) throw new Error(`${claimed.is} instead of claimed`);
      return { id: claimed.id, payer, nonce };
    }),
  );
}

/** As one transaction brings them: an authorization is used just before each transfer. */
function settle(claims: readonly Claimed[], changes: Partial<LocatedTransfer> = {}): LocatedTransfer[] {
  const [txHash, blockHash] = [hex(32), hex(32)];
  return claims.map(({ payer, nonce }, index) => ({
    asset: 'USDC',
    atomic: price,
    sender: payer,
    recipient: treasury,
    txHash,
    blockNumber: 10n,
    blockHash,
    logIndex: 2 * index + 1,
    log: {} as Log,
    position: 2 * index + 1,
    alikeAt: claims.map((_, other) => 2 * other + 1),
    proofs: [authorizationProof(token, payer, nonce)],
    ...changes,
  }));
}

async function books() {
  const balance = async (kind: 'receivables' | 'surplus' | 'fees') =>
    (await houseBalance(db, kind, 'USDC', 'MATIC')).atomic;
  return { receivables: await balance('receivables'), surplus: await balance('surplus'), fees: await balance('fees') };
}

/** What has come to each account since. */
async function since() {
  const before = await books();
  return async () => {
    const now = await books();
    return {
      receivables: now.receivables - before.receivables,
      surplus: now.surplus - before.surplus,
      fees: now.fees - before.fees,
    };
  };
}

async function arrivedOf(claims: readonly Claimed[]): Promise<number> {
  const { rows } = await db.query('SELECT FROM payment_claims WHERE id = ANY ($1) AND arrived_at IS NOT NULL', [
    claims.map(({ id }) => id),
  ]);
  return rows.length;
}

async function depositsIn(txHash: Hex | undefined): Promise<number> {
  const { rows } = await db.query('SELECT FROM deposits WHERE tx_hash = $1', [txHash]);
  return rows.length;
}

const undecided = async () => (await db.query('SELECT FROM undecided_arrivals')).rows.length;

describe('payments that arrive with one transaction', () => {
  test('are booked once each, however many read them at the same time and in whatever parts', async () => {
    const claims = await claimMany(230, [hex(20), hex(20), hex(20)]);
    const transfers = settle(claims);
    const came = await since();
    await Promise.all([
      receiveAtHouse(parts, 'MATIC', transfers),
      receiveAtHouse(parts, 'MATIC', transfers.slice(50)),
      receiveAtHouse(parts, 'MATIC', transfers.toReversed()),
      receiveAtHouse(parts, 'MATIC', transfers),
    ]);
    await receiveAtHouse(parts, 'MATIC', transfers);
    expect(await arrivedOf(claims)).toBe(230);
    expect(await depositsIn(transfers[0]?.txHash)).toBe(230);
    expect(await came()).toEqual({ receivables: 23_000n, surplus: 0n, fees: 0n });
    expect(await undecided()).toBe(0);
    const { rows } = await db.query<{ credit: bigint; openCalls: bigint; arrivals: bigint }>(
      'SELECT sum(credit) AS credit, sum(open_calls) AS open_calls, sum(arrivals) AS arrivals FROM payers',
    );
    expect(rows.map(({ credit, openCalls, arrivals }) => [credit, openCalls, arrivals].map(Number))).toEqual([
      [0, 0, 230],
    ]);
  });

  test('are judged each for itself', async () => {
    const debtor = hex(20);
    const claims = await claimMany(6, [hex(20)]);
    const [writtenOff] = await claimMany(1, [debtor]);
    if (writtenOff === undefined) throw new Error('nothing was claimed');
    await db.query(
      'UPDATE payment_claims SET served_at = now(), leased_until = NULL, written_off_at = now() WHERE id = $1',
      [writtenOff.id],
    );
    await db.query('UPDATE payers SET debt = 150 WHERE address = $1', [debtor]);
    const unknown = { ...claims[0], nonce: hex(32) } as Claimed;
    const [first, ...others] = settle([...claims, writtenOff, unknown]);
    if (first === undefined) throw new Error('nothing has moved');
    const came = await since();
    // The first brings another amount than was signed for, and so pays nothing.
    await receiveAtHouse(parts, 'MATIC', [{ ...first, atomic: 7n }, ...others]);
    expect(await arrivedOf([...claims, writtenOff])).toBe(6);
    expect(await came()).toEqual({ receivables: 500n, surplus: 107n, fees: 100n });
    const { rows } = await db.query<{ debt: bigint }>('SELECT debt FROM payers WHERE address = $1', [debtor]);
    expect(rows.map(({ debt }) => Number(debt))).toEqual([50]);
  });

  test('are booked all or none when the ledger cannot post them', async () => {
    const claims = await claimMany(5, [hex(20)]);
    const transfers = settle(claims);
    const came = await since();
    const failing = { ...ledger, postWithin: () => Promise.reject(new Error('no room')) };
    await expect(receiveAtHouse({ ...parts, ledger: failing }, 'MATIC', transfers)).rejects.toThrow('no room');
    expect([await arrivedOf(claims), await depositsIn(transfers[0]?.txHash), await undecided()]).toEqual([0, 0, 0]);
    await receiveAtHouse(parts, 'MATIC', transfers);
    expect(await arrivedOf(claims)).toBe(5);
    expect(await came()).toEqual({ receivables: 500n, surplus: 0n, fees: 0n });
  });

  test('beyond the hourly limit of one node are held, and the others are booked', async () => {
    const claims = await claimMany(5, [hex(20)]);
    const transfers = settle(claims);
    const worth = worthAtMost({ asset: 'USDC', atomic: price });
    const limited = { ...parts, oneNodeLimit: { atOnce: worth, perHour: 2n * worth } };
    await receiveAtHouse(limited, 'MATIC', transfers);
    expect([await arrivedOf(claims), await depositsIn(transfers[0]?.txHash)]).toEqual([2, 2]);
    const { rows } = await db.query('SELECT FROM held_deposits WHERE tx_hash = $1', [transfers[0]?.txHash]);
    expect(rows).toHaveLength(3);
  });
});
