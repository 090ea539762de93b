import { BaseError, type Hex } from 'viem';
import type { Network } from '../../chains/network.ts';
import type { Clock } from '../../kernel/clock.ts';
import type { Queryable } from '../../kernel/db/database.ts';
import { httpErrors } from '../../kernel/http/errors.ts';
import type { ChainId } from '../../money/catalogue.ts';
import { createExpiringCache } from '../../shopping/search/expiring-cache.ts';
import { askToken, balanceOf, stateOf } from './ask-token.ts';
import { createGatherer } from './gather.ts';

interface PayerKey {
  readonly chain: ChainId;
  readonly token: Hex;
  readonly payer: Hex;
}

/** The totals that have arrived from wallets, in order. */
async function readSettled(db: Queryable, chain: ChainId, token: Hex, payers: readonly Hex[]): Promise<bigint[]> {
  const addresses = payers.map((payer) => payer.toLowerCase());
  const { rows } = await db.query<{ address: string; settled: bigint }>(
    'SELECT address, settled FROM payers WHERE chain = $1 AND token = lower($2) AND address = ANY ($3)',
    [chain, token, [...new Set(addresses)]],
  );
  const settled = new Map(rows.map((row) => [row.address, row.settled]));
  return addresses.map((address) => settled.get(address) ?? 0n);
}

/** `debt` was written off through the payer's fault; `uncollected` can still be collected. */
export async function readOwed(db: Queryable, { chain, token, payer }: PayerKey) {
  const { rows } = await db.query<{ debt: bigint; uncollected: bigint }>(
    `SELECT debt, CASE WHEN failed_since IS NULL THEN 0 ELSE credit END AS uncollected
       FROM payers WHERE chain = $1 AND token = lower($2) AND address = lower($3)`,
    [chain, token, payer],
  );
  return rows[0] ?? { debt: 0n, uncollected: 0n };
}

/** Payments beyond this number count as not moved. */
const mostUnderWay = 500;

/**
 * Payments that may have moved but are not booked yet. Anyone may submit a payment, so `everything` includes payments
 * that are in no settlement of ours.
 */
export async function readUnderWay(
  db: Queryable,
  { chain, token, payer }: PayerKey,
  which: 'everything' | 'in settlements',
) {
  const { rows } = await db.query<{ settled: bigint; nonce: Hex | null; atomic: bigint; prepaid: boolean }>(
    `SELECT p.settled, c.nonce, c.atomic, c.prepaid
       FROM payers p LEFT JOIN payment_claims c ON (c.chain, c.token, c.payer) = (p.chain, p.token, p.address)
        AND (c.settlement_id IS NOT NULL OR $5) AND c.arrived_at IS NULL AND c.written_off_at IS NULL AND c.lapsed_at IS NULL
      WHERE p.chain = $1 AND p.token = lower($2) AND p.address = lower($3) ORDER BY c.claimed_at LIMIT $4`,
    [chain, token, payer, mostUnderWay, which === 'everything'],
  );
  return {
    settled: rows[0]?.settled ?? 0n,
    underWay: rows.flatMap(({ nonce, atomic, prepaid }) => (nonce === null ? [] : [{ nonce, atomic, prepaid }])),
  };
}

export interface Holding {
  readonly atomic: bigint;
  /** The total that had arrived before the balance was read; what arrives later was part of that balance. */
  readonly settledBefore: bigint;
}

/** How long a balance is cached. A payer who empties the wallet meanwhile gains at most the credit limit. */
const keepMs = 2_000;
const mostRemembered = 20_000;

/** Questions that arrive while one is under way share the next statement and the next multicall. */
export function createFunds(db: Queryable, network: Network, token: Hex, clock: Clock) {
  const ask = createGatherer<string, bigint>({
    atOnce: 200,
    mostInFlight: 2,
    run: (questions) => askToken(network, token, questions),
  });
  const settledOf = createGatherer<Hex, bigint>({
    atOnce: 200,
    mostInFlight: 2,
    run: (payers) => readSettled(db, network.id, token, payers),
  });
  const remembered = createExpiringCache<Holding>({ clock, keepMs, room: mostRemembered });

  async function read(payer: Hex): Promise<Holding> {
    const settledBefore = await settledOf(payer);
    const holding = { atomic: await ask(balanceOf(payer)), settledBefore };
    remembered.set(payer, holding);
    return holding;
  }

  return {
    /** A cached balance may accept a payment but never refuse it: the wallet may have been funded since. */
    async holds(payer: Hex, wanted: bigint): Promise<Holding> {
      const known = remembered.get(payer);
      return known !== undefined && known.atomic >= wanted ? known : read(payer);
    },
    /** Read now. Includes payments that have moved on the chain but are not booked yet. */
    async holdsNow(payer: Hex): Promise<Holding> {
      const { settled, underWay } = await readUnderWay(db, { chain: network.id, token, payer }, 'everything');
      const { balances, used } = await readWallets(
        network,
        token,
        [payer],
        underWay.map(({ nonce }) => ({ payer, nonce })),
      );
      const moved = underWay.filter((_, index) => used[index] === true);
      return {
        atomic: (balances.get(payer) ?? 0n) + moved.reduce((sum, { atomic }) => sum + atomic, 0n),
        settledBefore: settled,
      };
    },
    /** Never cached. */
    async isUsed(payer: Hex, nonce: Hex): Promise<boolean> {
      return (await ask(stateOf(payer, nonce))) !== 0n;
    },
  };
}

/** Balances and used nonces, all at one block. */
export async function readWallets(
  network: Network,
  token: Hex,
  payers: readonly Hex[],
  payments: readonly { readonly payer: Hex; readonly nonce: Hex }[],
): Promise<{ readonly balances: ReadonlyMap<Hex, bigint>; readonly used: readonly boolean[] }> {
  const answers = await askToken(network, token, [
    ...payers.map((payer) => balanceOf(payer)),
    ...payments.map(({ payer, nonce }) => stateOf(payer, nonce)),
  ]);
  return {
    balances: new Map(payers.map((payer, index) => [payer, answers[index] ?? 0n])),
    used: payments.map((_, index) => (answers[payers.length + index] ?? 0n) !== 0n),
  };
}

/** Answers 503 when the chain does not respond; nothing was charged then. */
export async function askChain<Result>(asking: Promise<Result>): Promise<Result> {
  try {
    return await asking;
  } catch (error) {
    if (!(error instanceof BaseError)) throw error;
    throw httpErrors.unavailable('Payments cannot be verified right now. Nothing was charged. Try again.', {
      headers: { 'Retry-After': '5' },
    });
  }
}
