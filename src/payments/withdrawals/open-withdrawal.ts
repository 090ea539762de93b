import { getAddress, type Hex, isAddressEqual } from 'viem';
import { multicallAddress, uniswap, uniswapMulticall } from '../../chains/abi.ts';
import { type Network, type Networks, tokenOf } from '../../chains/network.ts';
import { faceValue } from '../../custody/limits/value-limits.ts';
import type { Queryable, Transaction } from '../../kernel/db/database.ts';
import { type Repeated, repeatedSince } from '../../kernel/http/duplicate-guard.ts';
import { newId } from '../../kernel/ids/ids.ts';
import { wakeSaga } from '../../kernel/sagas/wake-saga.ts';
import { houseAccount } from '../../ledger/account-id.ts';
import type { Ledger } from '../../ledger/ledger.ts';
import type { Authority, Outcome } from '../../ledger/posting.ts';
import { type Amount, subtract } from '../../money/amount.ts';
import { type ChainId, chainIds, chains } from '../../money/catalogue.ts';
import { withdrawalErrors } from './errors.ts';
import { publicStatus, type WithdrawalStatus, withdrawalSaga } from './saga.ts';
import { sourceOf } from './withdrawal.ts';

export interface NewWithdrawal {
  /** Null when the operator pays out earned fees. */
  readonly accountId: bigint | null;
  readonly chain: ChainId;
  readonly address: Hex;
  readonly gross: Amount;
  readonly fee: Amount;
  /** What the gas costs at most, quoted now. A fee that does not cover it is refused last. */
  readonly gas?: Amount;
  /** The market value in millionths of a USDC. Stablecoins count at face value. */
  readonly value?: bigint | undefined;
  readonly keyId?: string;
  /** Goes with the key. */
  readonly authority?: Authority;
}

/** The newest withdrawal like this one that was neither refunded nor cancelled. */
export async function newestLike(
  db: Queryable,
  { accountId, chain, address, gross }: Pick<NewWithdrawal, 'accountId' | 'chain' | 'address' | 'gross'>,
): Promise<Repeated | undefined> {
  const { rows } = await db.query<Omit<Repeated, 'status'> & { status: WithdrawalStatus }>(
    `SELECT id, status, created_at FROM withdrawals
      WHERE account_id = $1 AND created_at > ${repeatedSince} AND chain = $2 AND lower(address) = lower($3)
        AND asset = $4 AND gross = $5 AND status NOT IN ('failed', 'cancelled')
      ORDER BY created_at DESC, id DESC LIMIT 1`,
    [accountId, chain, address, gross.asset, gross.atomic],
  );
  const [row] = rows;
  return row && { ...row, status: publicStatus(row.status) };
}

/** Refuses an unconfigured chain, a token that is not on the chain, and an address where the money would be lost. */
export async function refuseImpossible(
  db: Queryable,
  networks: Networks,
  { chain, address, gross }: Pick<NewWithdrawal, 'chain' | 'address' | 'gross'>,
): Promise<void> {
  const network = networks.get(chain);
  if (network === undefined) throw withdrawalErrors.chain_not_available();
  if (tokenOf(network, gross.asset) === undefined) {
    throw withdrawalErrors.currency_not_available(
      `${gross.asset} cannot be withdrawn on ${chains[chain].name}. Choose another chain.`,
    );
  }
  if (await isOurs(db, network, address)) throw withdrawalErrors.withdrawal_address_refused();
  if (gross.asset === chains[chain].native && (await isUsers(db, address))) {
    throw withdrawalErrors.withdrawal_address_refused(
      'This is a deposit address of this service, which does not credit native coins. Use a transfer instead.',
    );
  }
}

/** The conventional burn address. */
const deadAddress = '0x000000000000000000000000000000000000dEaD';

/** Contracts that would keep the money. Tokens of every chain are included, because people mix up chains. */
const keepers: ReadonlySet<Hex> = new Set(
  [
    deadAddress,
    multicallAddress,
    uniswapMulticall,
    ...Object.values(uniswap),
    ...chainIds.flatMap((id) => Object.values<Hex>(chains[id].tokens)),
  ].map((address) => getAddress(address)),
);

/** Deposit addresses of users are allowed: the payment becomes a deposit. */
async function isOurs(db: Queryable, network: Network, address: Hex): Promise<boolean> {
  // Precompiled contracts; no one has a key to them.
  if (BigInt(address) <= 0xffffn) return true;
  if (keepers.has(getAddress(address))) return true;
  if (network.tokens.some((token) => isAddressEqual(token.address, address))) return true;
  const { rows } = await db.query('SELECT FROM house_wallets WHERE lower(address) = lower($1) LIMIT 1', [address]);
  return rows.length > 0;
}

/** A deposit address credits tokens, but native coin would be lost there. */
async function isUsers(db: Queryable, address: Hex): Promise<boolean> {
  const { rows } = await db.query('SELECT FROM wallets WHERE address = ANY ($1) LIMIT 1', [
    [getAddress(address), address.toLowerCase()],
  ]);
  return rows.length > 0;
}

/** Row, job and, last, the posting, in the caller's commit. The caller throws if the ledger refuses. */
export async function openWithdrawal(
  tx: Transaction,
  ledger: Ledger,
  { accountId, chain, address, gross, fee, gas, value = faceValue(gross), keyId, authority }: NewWithdrawal,
): Promise<{ readonly id: string; readonly net: Amount; readonly outcome: Outcome }> {
  const id = newId('wdr');
  const net = subtract(gross, fee);
  const quoted = gas?.atomic ?? 0n;
  await tx.query(
    `INSERT INTO withdrawals (id, account_id, chain, asset, address, gross, fee, net, gas, value, key_id, status)
     VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, 'queued')`,
    [
      id,
      accountId,
      chain,
      gross.asset,
      address,
      gross.atomic,
      fee.atomic,
      net.atomic,
      quoted < fee.atomic ? quoted : fee.atomic,
      value ?? null,
      keyId ?? null,
    ],
  );
  await wakeSaga(tx, { saga: withdrawalSaga.name, id, lane: chain });
  const [posted] = await ledger.postWithin(tx, [
    {
      type: 'withdrawal',
      amount: gross,
      fee,
      entries: [
        { account: sourceOf({ accountId, gross, chain }), atomic: -gross.atomic },
        { account: houseAccount('withdrawals_in_transit', gross.asset, chain), atomic: gross.atomic },
      ],
      reference: `withdrawal:${id}`,
      details: { withdrawalId: id, chain, address },
      ...(accountId !== null && { senderId: accountId, senderEvent: 'withdrawal.created' }),
      ...(keyId !== undefined && { keyId, spentOn: id }),
      ...(authority !== undefined && { authority }),
    },
  ]);
  if (posted === undefined) throw new Error('the ledger gave no outcome');
  return { id, net, outcome: posted };
}
