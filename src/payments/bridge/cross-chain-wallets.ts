import type { Networks } from '../../chains/network.ts';
import { orUnavailable } from '../../custody/wallets/errors.ts';
import { depositTokens, keepDepositsOn, keptChains } from '../../custody/wallets/kept-chains.ts';
import type { WalletProvider } from '../../custody/wallets/provider.ts';
import { openUserWallet, type UserWallet } from '../../custody/wallets/user-wallets.ts';
import type { Database, Queryable, Transaction } from '../../kernel/db/database.ts';
import { heldAccount, userAccount } from '../../ledger/account-id.ts';
import { balancesOf } from '../../ledger/balances.ts';
import type { Posting } from '../../ledger/posting.ts';
import { type Amount, amountOf } from '../../money/amount.ts';
import { type ChainId, type Currency, chains, homeChain } from '../../money/catalogue.ts';

export interface CrossChainWallet {
  readonly wallet: UserWallet;
  /** Whether arriving USDC stays here. Otherwise it is moved to the home chain. */
  readonly keeps: boolean;
  readonly usdc: Amount;
  /** Null where the chain has no EURC. */
  readonly eurc: Amount | null;
  /** Deposits that wait to be moved to the home chain. */
  readonly waiting: Amount;
}

/**
 * From now on arriving USDC stays on this chain, and deposits that wait to be moved become spendable here. Answers the postings for the
 * caller's commit.
 */
export async function keepHere(tx: Transaction, accountId: bigint, chain: ChainId): Promise<Posting[]> {
  if (chain === homeChain) return [];
  await keepDepositsOn(tx, chain, accountId);
  const { rows } = await tx.query<{ id: string; atomic: bigint }>(
    `UPDATE deposits SET kept_at = now() WHERE id = ANY (ARRAY(
       SELECT id FROM deposits WHERE account_id = $1 AND chain = $2 AND home_bound AND bridge_id IS NULL AND kept_at IS NULL
        ORDER BY id FOR UPDATE))
     RETURNING id, atomic`,
    [accountId, chain],
  );
  if (rows.length === 0) return [];
  const atomic = rows.reduce((sum, row) => sum + row.atomic, 0n);
  return [
    {
      type: 'deposit_kept',
      amount: amountOf('USDC', atomic),
      entries: [
        { account: heldAccount(accountId, 'USDC', chain), atomic: -atomic },
        { account: userAccount(accountId, 'USDC', chain), atomic },
      ],
      reference: `deposit_kept:${rows.map(({ id }) => id).sort()[0]}`,
      description: `Stays on ${chains[chain].name}`,
      recipientId: accountId,
    },
  ];
}

/** The chains that the account keeps, and those where it has a balance. On a disabled chain only the latter. */
export async function listCrossChainWallets(
  parts: { readonly db: Database; readonly networks: Networks; readonly provider: WalletProvider },
  accountId: bigint,
): Promise<CrossChainWallet[]> {
  const { db, networks } = parts;
  const [kept, balances, waiting] = [
    await keptChains(db, accountId),
    await balancesOf(db, accountId),
    await waitingOn(db, accountId),
  ];
  const spendable = (chain: ChainId, asset: Currency) =>
    balances.find(({ account }) => account === userAccount(accountId, asset, chain))?.balance ?? amountOf(asset, 0n);
  const filled = balances.filter(({ balance }) => balance.atomic > 0n).map(({ chain }) => chain);
  const listed = [...new Set([...kept, ...filled])].filter((chain) => networks.has(chain) || filled.includes(chain));
  return Promise.all(
    listed.map(async (chain) => {
      const network = networks.get(chain);
      const eurc = spendable(chain, 'EURC');
      const hasEurc = network !== undefined && depositTokens(network).some(({ asset }) => asset === 'EURC');
      const { wallet } = await orUnavailable(openUserWallet(parts, accountId, chain));
      return {
        wallet,
        keeps: kept.includes(chain),
        usdc: spendable(chain, 'USDC'),
        eurc: hasEurc || eurc.atomic > 0n ? eurc : null,
        waiting: waiting.get(chain) ?? amountOf('USDC', 0n),
      };
    }),
  );
}

async function waitingOn(db: Queryable, accountId: bigint): Promise<ReadonlyMap<ChainId, Amount>> {
  const { rows } = await db.query<{ chain: ChainId; atomic: bigint }>(
    `SELECT chain, sum(atomic) AS atomic FROM deposits WHERE account_id = $1 AND home_bound AND bridge_id IS NULL AND kept_at IS NULL
      GROUP BY chain`,
    [accountId],
  );
  return new Map(rows.map(({ chain, atomic }) => [chain, amountOf('USDC', atomic)]));
}
