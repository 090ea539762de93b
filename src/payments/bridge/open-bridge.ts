import { planStep } from '../../custody/steps/plan-step.ts';
import { fillStep } from '../../custody/steps/spending-wallet.ts';
import { houseWallet } from '../../custody/wallets/house-wallets.ts';
import type { Queryable, Transaction } from '../../kernel/db/database.ts';
import { type Repeated, repeatedSince } from '../../kernel/http/duplicate-guard.ts';
import { newId } from '../../kernel/ids/ids.ts';
import { wakeSaga } from '../../kernel/sagas/wake-saga.ts';
import { houseAccount } from '../../ledger/account-id.ts';
import type { Ledger } from '../../ledger/ledger.ts';
import type { Authority, Outcome, Posting } from '../../ledger/posting.ts';
import type { Amount } from '../../money/amount.ts';
import { type ChainId, chains } from '../../money/catalogue.ts';
import { type Bridge, debitedAmount, sourceOf } from './bridge.ts';
import { type BridgeStatus, bridgeSaga, publicStatus } from './saga.ts';

export interface NewBridge {
  readonly accountId: bigint;
  readonly from: ChainId;
  readonly to: ChainId;
  readonly amount: Amount;
  readonly gasFee: Amount;
  /** The part of it that is kept if a frozen key stops the transfer after gas was spent. */
  readonly gasLeaving?: Amount;
  readonly origin: Bridge['origin'];
  readonly keyId?: string;
  /** Goes with the key. */
  readonly authority?: Authority;
  /** Postings of the same commit that come first. */
  readonly before?: readonly Posting[] | undefined;
  /** Writes of the same commit, after the row and before the posting. */
  readonly beside?: (id: string) => Promise<void>;
}

/** The newest transfer like this one that did not come to nothing. The gas may have changed between them. */
export async function newestLike(
  db: Queryable,
  { accountId, from, to, taken }: Pick<NewBridge, 'accountId' | 'from' | 'to'> & { readonly taken: Amount },
): Promise<Repeated | undefined> {
  const { rows } = await db.query<Omit<Repeated, 'status'> & { status: BridgeStatus }>(
    `SELECT id, status, created_at FROM bridges
      WHERE account_id = $1 AND created_at > ${repeatedSince} AND origin = 'request' AND from_chain = $2
        AND to_chain = $3 AND asset = $4 AND amount + gas_fee = $5 AND status NOT IN ('failed', 'returning')
      ORDER BY created_at DESC, id DESC LIMIT 1`,
    [accountId, from, to, taken.asset, taken.atomic],
  );
  const [row] = rows;
  return row && { ...row, status: publicStatus(row.status) };
}

/** Writes the row, the first step, the job and the posting in the caller's commit. */
export async function openBridge(
  tx: Transaction,
  ledger: Ledger,
  { accountId, from, to, amount, gasFee, gasLeaving, origin, keyId, authority, before = [], beside }: NewBridge,
): Promise<{ readonly id: string; readonly outcome: Outcome }> {
  const id = newId('brg');
  const burner = await houseWallet(tx, 'bridge', from);
  await tx.query(
    `INSERT INTO bridges (id, account_id, from_chain, to_chain, asset, amount, gas_fee, gas_leaving, origin, burner_id, key_id, status)
     VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, 'pending')`,
    [
      id,
      accountId,
      from,
      to,
      amount.asset,
      amount.atomic,
      gasFee.atomic,
      gasLeaving?.atomic ?? 0n,
      origin,
      burner.id,
      keyId ?? null,
    ],
  );
  await planStep(tx, {
    saga: bridgeSaga.name,
    ...fillStep(id),
    chain: from,
    leaves: [{ amount, recipient: burner.address, stays: true }],
  });
  await beside?.(id);
  await wakeSaga(tx, { saga: bridgeSaga.name, id, lane: from });
  const taken = debitedAmount({ amount, gasFee });
  const outcomes = await ledger.postWithin(tx, [
    ...before,
    {
      type: 'bridge',
      amount: taken,
      entries: [
        { account: sourceOf({ accountId, from, amount, origin }), atomic: -taken.atomic },
        { account: houseAccount('bridges_in_transit', amount.asset, from), atomic: taken.atomic },
      ],
      reference: `bridge:${id}`,
      description: `To ${chains[to].name}`,
      details: { bridgeId: id, fromChain: from, toChain: to },
      senderId: accountId,
      ...(keyId !== undefined && { keyId, spentOn: id }),
      ...(authority !== undefined && { authority }),
    },
  ]);
  const outcome = outcomes.find((one) => one.outcome !== 'posted') ?? outcomes[0];
  if (outcome === undefined) throw new Error('the ledger gave no outcome');
  return { id, outcome };
}
