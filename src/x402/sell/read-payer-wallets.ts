import type { Hex } from 'viem';
import type { WaitingPayment, Wallet } from './choose-payments.ts';
import type { EndingParts } from './end-unpayable.ts';
import { readUnderWay, readWallets } from './funds.ts';

type LookingParts = Pick<EndingParts, 'db' | 'network'> & { readonly token: Hex };

/** One chain call for all balances and used nonces. */
export async function readPayerWallets(parts: LookingParts, waiting: readonly Omit<WaitingPayment, 'isUsed'>[]) {
  const { network, token } = parts;
  const payers = [...new Set(waiting.map(({ payer }) => payer))];
  const books = await readBooks(parts, payers);
  const { balances, used } = await readWallets(network, token, payers, waiting);
  const wallets = new Map<Hex, Wallet>();
  for (const payer of payers) {
    const { open, ...known } = books.get(payer) ?? unknown(payer);
    const wallet = { ...known, balance: balances.get(payer) ?? 0n };
    // If the balance does not cover everything open, payments that have moved but are not booked yet make a difference.
    const isClose = wallet.balance < open && wallet.underWay.count > 0;
    wallets.set(payer, isClose ? await lookClosely(parts, payer, wallet) : wallet);
  }
  return { payments: waiting.map((one, index) => ({ ...one, isUsed: used[index] === true })), wallets };
}

/** Payments that have already moved are no longer deducted. */
async function lookClosely({ db, network, token }: LookingParts, payer: Hex, wallet: Wallet): Promise<Wallet> {
  const { underWay } = await readUnderWay(db, { chain: network.id, token, payer }, 'in settlements');
  const { balances, used } = await readWallets(
    network,
    token,
    [payer],
    underWay.map(({ nonce }) => ({ payer, nonce })),
  );
  const moved = underWay.filter((_, index) => used[index] === true);
  const still = underWay.filter((_, index) => used[index] !== true);
  return {
    ...wallet,
    balance: balances.get(payer) ?? 0n,
    credit: wallet.credit - sum(moved.filter(({ prepaid }) => !prepaid)),
    underWay: {
      count: underWay.length,
      atomic: sum(still),
      prepaid: sum(still.filter(({ prepaid }) => prepaid)),
    },
  };
}

function sum(payments: readonly { readonly atomic: bigint }[]): bigint {
  return payments.reduce((total, { atomic }) => total + atomic, 0n);
}

type Book = Omit<Wallet, 'balance' | 'underWay'> &
  Wallet['underWay'] & { readonly address: Hex; readonly open: bigint };

/** Read before the chain, so that a payment that arrives in between makes a wallet look poorer, never richer. */
async function readBooks({ db, network, token }: LookingParts, payers: readonly Hex[]) {
  const { rows } = await db.query<Book>(
    `SELECT p.address, p.credit, p.credit + p.prepaying AS open, p.arrivals::float8, p.failed_since IS NOT NULL AS has_failed,
            count(c.id)::integer AS count, coalesce(sum(c.atomic), 0) AS atomic,
            coalesce(sum(c.atomic) FILTER (WHERE c.prepaid), 0) AS prepaid
       FROM payers p LEFT JOIN payment_claims c ON (c.chain, c.token, c.payer) = (p.chain, p.token, p.address)
        AND c.settlement_id IS NOT NULL AND c.arrived_at IS NULL AND c.written_off_at IS NULL AND c.lapsed_at IS NULL
      WHERE p.chain = $1 AND p.token = lower($2) AND p.address = ANY ($3) GROUP BY p.chain, p.token, p.address`,
    [network.id, token, payers],
  );
  return new Map(
    rows.map(({ address, count, atomic, prepaid, ...book }) => [
      address,
      { ...book, underWay: { count, atomic, prepaid } },
    ]),
  );
}

function unknown(payer: Hex): never {
  throw new Error(`there is no payer ${payer}`);
}
