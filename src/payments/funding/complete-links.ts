import type { CreditedDeposit } from '../../custody/watch/on-deposits.ts';
import type { Transaction } from '../../kernel/db/database.ts';
import { recordEvent } from '../../ledger/events.ts';
import type { ChainId } from '../../money/catalogue.ts';
import { describeCompletion } from './events.ts';
import { matchArrivals } from './match-arrivals.ts';
import { lockOpenLinks } from './open-links.ts';

/** Completes links in the commit that credits their deposits, so that balance and link always agree. */
export async function completeLinks(
  tx: Transaction,
  chain: ChainId,
  deposits: readonly CreditedDeposit[],
): Promise<void> {
  const links = await lockOpenLinks(tx, chain, [...new Set(deposits.map(({ accountId }) => accountId))]);
  for (const [link, deposit] of matchArrivals(links, deposits.toSorted(byPlaceOnChain))) {
    await tx.query(
      `UPDATE funding_links SET deposit_id = $2, completed_at = clock_timestamp(), arriving = '[]', seen_tx = NULL,
         seen_final = false WHERE id = $1`,
      [link.id, deposit.id],
    );
    const { accountId } = link;
    await recordEvent(tx, { accountId, type: 'funding.completed', data: describeCompletion(link, chain, deposit) });
  }
}

function byPlaceOnChain(one: CreditedDeposit, other: CreditedDeposit): number {
  return Number(one.blockNumber - other.blockNumber) || one.position - other.position;
}
