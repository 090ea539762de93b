import type { Database } from '../../kernel/db/database.ts';
import { newId } from '../../kernel/ids/ids.ts';
import { houseAccount } from '../../ledger/account-id.ts';
import type { Ledger } from '../../ledger/ledger.ts';
import { postSurely } from '../../ledger/post-surely.ts';
import { amountOf } from '../../money/amount.ts';
import { homeOfPayments } from './terms.ts';

const atOnce = 1_000;

/** Books served calls whose payment has arrived as income: one posting, in the commit that marks them. */
export async function earnCalls({ db, ledger }: { readonly db: Database; readonly ledger: Ledger }): Promise<number> {
  return db.transaction(async (tx) => {
    const { rows } = await tx.query<{ atomic: bigint }>(
      `UPDATE payment_claims SET earned_at = clock_timestamp() WHERE id IN (
         SELECT id FROM payment_claims
          WHERE chain = $1 AND asset = 'USDC' AND served_at IS NOT NULL AND arrived_at IS NOT NULL AND earned_at IS NULL
            AND written_off_at IS NULL
          LIMIT $2 FOR UPDATE SKIP LOCKED)
       RETURNING atomic`,
      [homeOfPayments, atOnce],
    );
    if (rows.length === 0) return 0;
    const amount = amountOf(
      'USDC',
      rows.reduce((sum, { atomic }) => sum + atomic, 0n),
    );
    await postSurely(tx, ledger, [
      {
        type: 'calls_earned',
        amount,
        reference: `calls:${newId('stl')}`,
        details: { calls: rows.length },
        entries: [
          { account: houseAccount('calls_in_transit', 'USDC', homeOfPayments), atomic: -amount.atomic },
          { account: houseAccount('fees', 'USDC', homeOfPayments), atomic: amount.atomic },
        ],
      },
    ]);
    return rows.length;
  });
}
