import type { Queryable } from '../../kernel/db/database.ts';
import type { Saga } from '../../kernel/sagas/define-saga.ts';
import { amountOf, toDecimalText } from '../../money/amount.ts';
import { type Asset, assetIds, chains } from '../../money/catalogue.ts';

/** "12.5 USDC", from atomic units. The decimals of an asset that only a newer release knows are unknown here. */
export function amountText(asset: Asset, atomic: bigint): string {
  if (!assetIds.includes(asset)) return `${atomic} units of ${asset}`;
  return `${toDecimalText(amountOf(asset, atomic))} ${asset}`;
}

/** Compares the ledger with the rows of deposits, withdrawals and sagas: one sentence per discrepancy. */
export async function reconcileBooks(db: Queryable, sagas: readonly Saga[]): Promise<string[]> {
  return [
    ...(await custodyAgainstClaims(db)),
    ...(await transitAgainstSagas(db, sagas)),
    ...(await callsAgainstClaims(db)),
    ...(await creditAgainstClaims(db)),
    ...(await withdrawalsAgainstSteps(db)),
    ...(await lentAgainstWallets(db)),
    ...(await debtsAgainstReversals(db)),
    ...(await withdrawalsWithoutPostings(db)),
    ...(await depositPostingsWithoutRows(db)),
    ...(await paymentsCountedTwice(db)),
    ...(await treesThatAreShort(db)),
  ];
}

interface SumRow {
  readonly chain: string;
  readonly asset: Asset;
  readonly expected: bigint;
  readonly found: bigint;
}

/** On every chain, custody must equal all claims and what is in transit. */
async function custodyAgainstClaims(db: Queryable): Promise<string[]> {
  const { rows } = await db.query<SumRow>(
    `SELECT c.id AS chain, a.symbol AS asset,
            -coalesce(sum(balance) FILTER (WHERE ledger.kind_of(l.id) = 32), 0) AS found,
            coalesce(sum(balance) FILTER (WHERE ledger.kind_of(l.id) <> 32), 0) AS expected
       FROM ledger.accounts l JOIN ledger.chains c ON c.code = ledger.chain_of(l.id)
       JOIN ledger.assets a ON a.code = ledger.asset_of(l.id)
      GROUP BY 1, 2 HAVING sum(balance) <> 0 ORDER BY 1, 2`,
  );
  return rows.map(
    ({ chain, asset, expected, found }) =>
      `${chain}: the ledger holds ${amountText(asset, found)} in custody for claims of ${amountText(asset, expected)}.`,
  );
}

/** Where the ledger's balance of a kind differs from `expected`, SQL for the sum of `atomic` by chain and asset. */
async function differences(db: Queryable, kind: string, expected: string): Promise<SumRow[]> {
  const { rows } = await db.query<SumRow>(
    `WITH booked AS (
       SELECT c.id AS chain, a.symbol AS asset, l.balance FROM ledger.accounts l
         JOIN ledger.chains c ON c.code = ledger.chain_of(l.id) JOIN ledger.assets a ON a.code = ledger.asset_of(l.id)
        WHERE ledger.kind_of(l.id) = (SELECT code FROM ledger.kinds WHERE name = $1)
     ), expected AS (${expected})
     SELECT chain, asset, coalesce(expected.atomic, 0) AS expected, coalesce(booked.balance, 0) AS found
       FROM booked FULL JOIN expected USING (chain, asset)
      WHERE coalesce(expected.atomic, 0) <> coalesce(booked.balance, 0) ORDER BY 1, 2`,
    [kind],
  );
  return rows;
}

/** The in-transit balance of a saga must equal what its open rows have taken. */
async function transitAgainstSagas(db: Queryable, sagas: readonly Saga[]): Promise<string[]> {
  const findings: string[] = [];
  for (const { table, inTransit } of sagas) {
    if (inTransit === undefined) continue;
    const taken = `SELECT ${inTransit.chain} AS chain, asset, sum(${inTransit.atomic}) AS atomic FROM ${table}
                    WHERE finished_at IS NULL GROUP BY 1, 2`;
    for (const { chain, asset, expected, found } of await differences(db, inTransit.kind, taken)) {
      findings.push(
        `${chain}: ${amountText(asset, found)} is in transit, but open ${table} come to ${amountText(asset, expected)}.`,
      );
    }
  }
  return findings;
}

/** Served calls that are not yet earned must equal their payments. */
async function callsAgainstClaims(db: Queryable): Promise<string[]> {
  const served = `SELECT chain, asset, sum(atomic) AS atomic FROM payment_claims
                   WHERE served_at IS NOT NULL AND earned_at IS NULL AND written_off_at IS NULL AND (
                     arrived_at IS NOT NULL OR (arrived_at IS NULL AND lapsed_at IS NULL)) GROUP BY 1, 2`;
  return (await differences(db, 'calls_in_transit', served)).map(
    ({ chain, asset, expected, found }) =>
      `${chain}: ${amountText(asset, found)} is to be earned by calls, but their payments come to ${amountText(asset, expected)}.`,
  );
}

/** A payer's credit must equal the signed payments that have not arrived, by amount and by number. */
async function creditAgainstClaims(db: Queryable): Promise<string[]> {
  const { rows } = await db.query<{
    address: string;
    expected: bigint;
    found: bigint;
    open: string;
    openCalls: string;
  }>(
    `SELECT p.address, p.credit + p.prepaying AS found, coalesce(sum(c.atomic), 0) AS expected,
            p.open_calls::text, count(c.id) FILTER (WHERE NOT c.prepaid)::text AS open
       FROM payers p LEFT JOIN payment_claims c ON (c.chain, c.token, c.payer) = (p.chain, p.token, p.address)
        AND c.arrived_at IS NULL AND c.written_off_at IS NULL AND c.lapsed_at IS NULL
      GROUP BY p.chain, p.token, p.address
     HAVING p.credit + p.prepaying <> coalesce(sum(c.atomic), 0)
         OR p.open_calls <> count(c.id) FILTER (WHERE NOT c.prepaid) ORDER BY 1`,
  );
  return rows.map(({ address, expected, found, open, openCalls }) =>
    expected === found
      ? `Payer ${address} is held to have ${openCalls} calls open, but ${open} are open.`
      : `Payer ${address} is held to owe ${amountText('USDC', found)}, but open payments come to ${amountText('USDC', expected)}.`,
  );
}

/**
 * A withdrawal must match what the provider was asked for. Native coin leaves the treasury's tokens when it is
 * unwrapped; its payment is no token.
 */
async function withdrawalsAgainstSteps(db: Queryable): Promise<string[]> {
  const native = Object.entries(chains).map(([chain, facts]) => `${chain}/${facts.native}`);
  const { rows } = await db.query<{ id: string; asset: Asset; gross: bigint }>(
    `SELECT w.id, w.asset, w.gross
       FROM (SELECT *, chain || '/' || asset = ANY ($1) AS is_native FROM withdrawals) w
       LEFT JOIN chain_steps f ON f.saga_id = w.id AND f.step = CASE WHEN w.is_native THEN 'unwrap' ELSE 'pay' END
       LEFT JOIN chain_step_leaves l ON l.step_id = f.id
       LEFT JOIN chain_steps s ON s.saga_id = w.id AND s.step = 'pay'
      WHERE (w.status IN ('sending', 'complete') AND s.id IS NULL)
         OR (f.id IS NOT NULL AND (f.chain, l.asset, l.atomic, l.recipient) IS DISTINCT FROM
               (w.chain, w.asset, w.net, CASE WHEN NOT w.is_native THEN lower(w.address) END))
         OR (s.settled_at IS NOT NULL AND (s.state = 'confirmed') IS DISTINCT FROM (w.status = 'complete'))
         OR (w.is_native AND s.id IS NOT NULL AND f.state IS DISTINCT FROM 'confirmed')
      ORDER BY w.id`,
    [native],
  );
  return rows.map(
    ({ id, asset, gross }) =>
      `Withdrawal ${id} of ${amountText(asset, gross)} is not what the wallet provider was asked for.`,
  );
}

/** Gas lent according to the ledger must equal the loans of users' wallets. */
async function lentAgainstWallets(db: Queryable): Promise<string[]> {
  const { rows } = await db.query<SumRow>(
    `WITH booked AS (
       SELECT c.id AS chain, a.symbol AS asset, -l.balance AS atomic FROM ledger.accounts l
         JOIN ledger.chains c ON c.code = ledger.chain_of(l.id) JOIN ledger.assets a ON a.code = ledger.asset_of(l.id)
        WHERE ledger.kind_of(l.id) = (SELECT code FROM ledger.kinds WHERE name = 'gas_lent')
     ), lent AS (
       SELECT w.chain, sum(g.atomic) AS atomic FROM lent_gas g JOIN wallets w ON w.id = g.wallet_id GROUP BY 1
     )
     SELECT chain, booked.asset, coalesce(lent.atomic, 0) AS expected, booked.atomic AS found
       FROM booked LEFT JOIN lent USING (chain) WHERE coalesce(lent.atomic, 0) <> booked.atomic ORDER BY 1`,
  );
  return rows.map(
    ({ chain, asset, expected, found }) =>
      `${chain}: the ledger has lent ${amountText(asset, found)} for gas, but the wallets' loans come to ${amountText(asset, expected)}.`,
  );
}

/** What owners owe for reversed deposits must equal what each reversal has left. Over all chains. */
async function debtsAgainstReversals(db: Queryable): Promise<string[]> {
  const { rows } = await db.query<{ asset: Asset; expected: bigint; found: bigint }>(
    `WITH booked AS (
       SELECT a.symbol AS asset, -sum(l.balance) AS atomic FROM ledger.accounts l
         JOIN ledger.assets a ON a.code = ledger.asset_of(l.id)
        WHERE ledger.kind_of(l.id) = (SELECT code FROM ledger.kinds WHERE name = 'reversals_in_transit') GROUP BY 1
     ), owed AS (SELECT asset, sum(owed - settled) AS atomic FROM deposit_reversals GROUP BY 1)
     SELECT asset, coalesce(owed.atomic, 0) AS expected, coalesce(booked.atomic, 0) AS found
       FROM booked FULL JOIN owed USING (asset) WHERE coalesce(owed.atomic, 0) <> coalesce(booked.atomic, 0) ORDER BY 1`,
  );
  return rows.map(
    ({ asset, expected, found }) =>
      `${amountText(asset, found)} is owed for deposits that were taken back, but these come to ${amountText(asset, expected)}.`,
  );
}

/**
 * A withdrawal is opened by one posting and, once finished, ended by one that matches its status. Of a posting whose
 * month is archived, the reference is left.
 */
async function withdrawalsWithoutPostings(db: Queryable): Promise<string[]> {
  const { rows } = await db.query<{ id: string; asset: Asset; gross: bigint; status: string; wrong: string }>(
    `SELECT * FROM (
       SELECT w.id, w.asset, w.gross, w.status,
              CASE
                WHEN (opening.posted_at < u.archived_until) IS NOT TRUE AND (opened.id IS NULL OR opened.amount <> w.gross)
                  THEN 'was not taken from anybody'
                WHEN w.finished_at IS NULL AND (ended.id IS NOT NULL OR ending.posted_at < u.archived_until) THEN 'is open, but the ledger has ended it'
                WHEN ending.posted_at < u.archived_until THEN NULL
                WHEN w.status = 'complete' AND ended.type IS DISTINCT FROM 'withdrawal_completed'
                  THEN 'is complete, but the ledger does not say so'
                WHEN w.status = 'failed' AND ended.type IS DISTINCT FROM 'withdrawal_returned'
                  THEN 'failed, but was not given back'
                WHEN w.status = 'cancelled' AND ended.type IS DISTINCT FROM 'withdrawal_returned'
                  THEN 'was cancelled, but not given back'
              END AS wrong
         FROM withdrawals w
         CROSS JOIN ledger.archived_until() u (archived_until)
         LEFT JOIN ledger.posting_references opening ON opening.reference = 'withdrawal:' || w.id
         LEFT JOIN ledger.postings opened ON opened.id = opening.posting_id AND opened.posted_at = opening.posted_at
         LEFT JOIN ledger.posting_references ending ON ending.reference = 'withdrawal:' || w.id || ':end'
         LEFT JOIN ledger.postings ended ON ended.id = ending.posting_id AND ended.posted_at = ending.posted_at) checked
      WHERE wrong IS NOT NULL ORDER BY id`,
  );
  return rows.map(({ id, asset, gross, wrong }) => `Withdrawal ${id} of ${amountText(asset, gross)} ${wrong}.`);
}

async function depositPostingsWithoutRows(db: Queryable): Promise<string[]> {
  const { rows } = await db.query<{ reference: string; asset: Asset; amount: bigint }>(
    `SELECT p.reference, a.symbol AS asset, p.amount FROM ledger.postings p JOIN ledger.assets a ON a.code = p.asset
      WHERE p.type = 'deposit' AND NOT EXISTS (
        SELECT FROM deposits d WHERE 'deposit:' || d.chain || ':' || d.tx_hash || ':' || d.position = p.reference)
      ORDER BY p.id`,
  );
  return rows.map(
    ({ reference, asset, amount }) =>
      `The ledger credited ${amountText(asset, amount)} for ${reference}, which is no deposit.`,
  );
}

/** A transaction settles one step, except for signed authorizations, of which others may submit many at once. */
async function paymentsCountedTwice(db: Queryable): Promise<string[]> {
  const { rows } = await db.query<{ chain: string; txHash: string; ids: string[] }>(
    `SELECT chain, hash AS tx_hash, array_agg(saga_id ORDER BY saga_id) AS ids FROM chain_steps
      WHERE state = 'confirmed' AND hash IS NOT NULL AND NOT EXISTS (
        SELECT FROM chain_step_leaves l WHERE l.step_id = chain_steps.id AND l.authorization_nonce IS NOT NULL)
      GROUP BY 1, 2 HAVING count(*) > 1 ORDER BY 1, 2`,
  );
  return rows.map(
    ({ chain, txHash, ids }) => `${chain}: transaction ${txHash} is taken as the payment of ${ids.join(' and ')}.`,
  );
}

async function treesThatAreShort(db: Queryable): Promise<string[]> {
  const { rows } = await db.query<{ snapshotId: string; chain: string; asset: Asset; total: bigint; owed: bigint }>(
    `SELECT snapshot_id, chain, asset, total, owed FROM reserve_trees t JOIN reserve_snapshots s ON s.id = t.snapshot_id
      WHERE s.published_at IS NOT NULL AND t.key IS NOT NULL AND total <> owed ORDER BY 1, 2, 3`,
  );
  return rows.map(
    ({ snapshotId, chain, asset, total, owed }) =>
      `${chain}: the tree of snapshot ${snapshotId} holds ${amountText(asset, total)}, but ${amountText(asset, owed)} was owed.`,
  );
}
