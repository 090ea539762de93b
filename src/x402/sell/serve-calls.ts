import type { Database } from '../../kernel/db/database.ts';
import { houseAccount } from '../../ledger/account-id.ts';
import { type Ledger, postOrThrow } from '../../ledger/ledger.ts';
import type { Posting } from '../../ledger/posting.ts';
import type { Amount } from '../../money/amount.ts';
import { createGatherer } from './gather.ts';
import { paymentChain } from './terms.ts';

export interface ServedCall {
  readonly id: string;
  readonly holder: string;
  readonly amount: Amount;
  readonly answer: unknown;
}

/** One commit for many calls. False when another process has taken the claim over; then its answer counts. */
export function createCallServer(db: Database, ledger: Ledger): (call: ServedCall) => Promise<boolean> {
  return createGatherer<ServedCall, boolean>({
    atOnce: 100,
    mostInFlight: 2,
    run: (calls) =>
      db.transaction(
        async (tx) => {
          const sorted = calls.toSorted((a, b) => (a.id < b.id ? -1 : 1));
          const { rows } = await tx.query<{ holder: string }>(
            `UPDATE payment_claims c SET served_at = clock_timestamp(), answer = g.answer::jsonb, leased_until = NULL
               FROM unnest($1::text[], $2::uuid[], $3::text[]) g (id, holder, answer)
              WHERE c.id = g.id AND c.holder = g.holder AND c.served_at IS NULL RETURNING c.holder`,
            [
              sorted.map(({ id }) => id),
              sorted.map(({ holder }) => holder),
              sorted.map(({ answer }) => JSON.stringify(answer)),
            ],
          );
          // Not by id: a batch may have a call twice, of the request that lost its lease and of the one that took over.
          const served = new Set(rows.map(({ holder }) => holder));
          await postOrThrow(tx, ledger, sorted.filter(({ holder }) => served.has(holder)).map(receivable));
          return calls.map(({ holder }) => served.has(holder));
        },
        { kind: 'calls' },
      ),
  });
}

/** A receivable; income once the payment has arrived. */
function receivable({ id, amount }: ServedCall): Posting {
  const { asset, atomic } = amount;
  return {
    type: 'call_served',
    amount,
    reference: `call:${id}`,
    entries: [
      { account: houseAccount('receivables', asset, paymentChain), atomic: -atomic },
      { account: houseAccount('calls_in_transit', asset, paymentChain), atomic },
    ],
  };
}
