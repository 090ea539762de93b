import { isAddress, isAddressEqual } from 'viem';
import type { Database, Transaction } from '../../kernel/db/database.ts';
import { amountFromText } from '../../money/parse-amount.ts';
import { type Link, type LinkRow, linkColumns, linkTables, toLink } from './link.ts';
import type { CardUpdate } from './on-ramp.ts';

/** `known`: a replay. `strange`: the notice does not match the purchase that we started. */
export type Noted =
  | { readonly is: 'noted' }
  | { readonly is: 'known' }
  | { readonly is: 'strange'; readonly why: StrangeNotice };

type StrangeNotice = 'no_such_link' | 'other_amount' | 'other_currency' | 'other_address' | 'link_is_over';

/** For the page only. Notices may arrive twice, late or out of order, so `sent` and `failed` are final. */
export async function noteCardUpdate(db: Database, provider: string, update: CardUpdate): Promise<Noted> {
  return db.transaction(async (tx) => {
    const found = await findForUpdate(tx, update.reference);
    const why = found === undefined ? 'no_such_link' : strangeness(found, update);
    if (why !== undefined) return { is: 'strange', why };
    const { rowCount } = await tx.query(
      `INSERT INTO funding_card_payments AS c (provider, payment_id, link_id, state, reason) VALUES ($1, $2, $3, $4, $5)
       ON CONFLICT (provider, payment_id) DO UPDATE
         SET state = excluded.state, reason = excluded.reason, updated_at = clock_timestamp()
         WHERE c.state = 'pending' AND excluded.state <> 'pending' AND c.link_id = excluded.link_id`,
      [provider, update.paymentId, update.reference, update.state, update.reason ?? null],
    );
    return rowCount === 1 ? { is: 'noted' } : { is: 'known' };
  });
}

interface FoundLink extends Link {
  readonly address: string | null;
}

async function findForUpdate(tx: Transaction, linkId: string): Promise<FoundLink | undefined> {
  const { rows } = await tx.query<LinkRow & { address: string | null }>(
    `SELECT ${linkColumns}, w.address FROM ${linkTables}
       LEFT JOIN wallets w ON w.account_id = l.account_id AND w.chain = l.chain AND w.retired_at IS NULL
      WHERE l.id = $1`,
    [linkId],
  );
  return rows[0] && { ...toLink(rows[0]), address: rows[0].address };
}

function strangeness(link: FoundLink, { amount, asset, address }: CardUpdate): StrangeNotice | undefined {
  if (asset !== undefined && asset !== link.amount.asset) return 'other_currency';
  if (amount !== undefined && !isSameAmount(link, amount)) return 'other_amount';
  if (address !== undefined && !isSameAddress(link, address)) return 'other_address';
  return link.status === 'completed' || link.status === 'expired' ? 'link_is_over' : undefined;
}

function isSameAmount(link: Link, text: string): boolean {
  const parsed = amountFromText(link.amount.asset, text);
  return parsed.ok && parsed.amount.atomic === link.amount.atomic;
}

function isSameAddress({ address }: FoundLink, other: string): boolean {
  return isAddress(other, { strict: false }) && address !== null && isAddressEqual(other, address as `0x${string}`);
}
