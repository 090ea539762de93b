import type { Hex } from 'viem';
import { findReceipt } from '../../chains/find-receipt.ts';
import type { Network } from '../../chains/network.ts';
import type { Transaction } from '../../kernel/db/database.ts';
import { type Asset, type ChainId, chains } from '../../money/catalogue.ts';
import { hashesOf, readTaken } from './open-steps.ts';
import { type Cursor, readBalances } from './read-balances.ts';
import { type Position, readHouseAddresses } from './read-position.ts';
import { amountText } from './reconcile-books.ts';
import { compare, heldTokens, total } from './report.ts';
import { readShown } from './uncredited-arrivals.ts';

/** A user's native coin in a house wallet: a saga has unwrapped it, and its next step is not settled. */
export interface Unwrapped {
  readonly wallet: Hex;
  readonly atomic: bigint;
  /** The transactions that its next step may have become. */
  readonly hashes: readonly Hex[];
}

/** Read it at the same moment as the position. */
export async function readUnwrapped(tx: Transaction, { id: chain }: Network): Promise<readonly Unwrapped[]> {
  const { rows } = await tx.query<Unwrapped>(
    `SELECT lower(w.address) AS wallet, l.atomic, ARRAY(SELECT unnest(${hashesOf('o')}) FROM chain_steps o
              WHERE o.saga_id = u.saga_id AND o.settled_at IS NULL) AS hashes
       FROM chain_steps u JOIN chain_step_leaves l ON l.step_id = u.id AND l.asset = $2
       JOIN house_wallets w ON w.id = u.wallet_id
      WHERE u.chain = $1 AND u.step = 'unwrap' AND u.state = 'confirmed'
        AND EXISTS (SELECT FROM chain_steps o WHERE o.saga_id = u.saga_id AND o.settled_at IS NULL)`,
    [chain, chains[chain].native],
  );
  return rows;
}

/**
 * Native coin unwrapped for a withdrawal or a swap belongs to a user until it leaves. Each wallet must hold at least
 * that much; the operator's gas lies there as well.
 */
export async function reconcileUnwrapped(
  network: Network,
  { blockNumber }: Cursor,
  open: readonly Unwrapped[],
): Promise<string[]> {
  const { native } = chains[network.id];
  const text = (atomic: bigint) => amountText(native, atomic);
  const findings: string[] = [];
  const owed = new Map<Hex, bigint>();
  for (const { wallet, atomic, hashes } of open) {
    if (!(await hasLeft(network, hashes, blockNumber))) owed.set(wallet, (owed.get(wallet) ?? 0n) + atomic);
  }
  for (const [address, atomic] of owed) {
    const held = await network.client.getBalance({ address, blockNumber });
    if (held >= atomic) continue;
    findings.push(
      `${network.id}: house wallet ${address} holds ${text(held)} as native coin, but ${text(atomic)} was unwrapped there for users.`,
    );
  }
  return findings;
}

async function hasLeft({ client }: Network, hashes: readonly Hex[], blockNumber: bigint): Promise<boolean> {
  for (const hash of hashes) {
    const receipt = await findReceipt(client, hash);
    if (receipt?.status === 'success' && receipt.blockNumber <= blockNumber) return true;
  }
  return false;
}

/** Unswept deposits to a user's wallet, in blocks up to the cursor. */
interface Unswept {
  readonly chain: ChainId;
  readonly asset: Asset;
  readonly address: Hex;
  readonly atomic: bigint;
  /** The part that an open sweep carries, which may have left already. */
  readonly carried: bigint;
}

/** Every wallet we ever had, and what users' wallets should hold. Addresses are in lower case. */
export interface Wallets {
  readonly house: ReadonlySet<Hex>;
  readonly users: readonly Hex[];
  readonly unswept: readonly Unswept[];
}

/**
 * Read it at the same moment as the position. A key has the same address everywhere, so every chain is asked about
 * each.
 */
export async function readWallets(tx: Transaction): Promise<Wallets> {
  const ofHouse = new Set(await readHouseAddresses(tx));
  const users = await tx.query<{ address: Hex }>(
    'SELECT lower(address) AS address FROM wallets UNION SELECT lower(address) FROM deposits',
  );
  const unswept = await tx.query<Unswept>(
    `SELECT d.chain, d.asset, lower(d.address) AS address, sum(d.atomic) AS atomic,
            coalesce(sum(d.atomic) FILTER (WHERE d.sweep_id IS NOT NULL), 0) AS carried
       FROM deposits d JOIN chain_cursors c ON c.chain = d.chain AND d.block_number <= c.block_number
      WHERE d.swept_at IS NULL GROUP BY 1, 2, 3`,
  );
  return {
    house: ofHouse,
    users: users.rows.map(({ address }) => address).filter((address) => !ofHouse.has(address)),
    unswept: unswept.rows,
  };
}

/**
 * Makes the report's comparison over every wallet there ever was, and compares each user's wallet with its deposits.
 */
export async function reconcileWallets(
  network: Network,
  position: Position,
  { blockNumber }: Cursor,
  wallets: Wallets,
): Promise<string[]> {
  const findings: string[] = [];
  const house = [...wallets.house];
  for (const { token, book } of heldTokens(network, position.books)) {
    const { asset } = token;
    const balances = await readBalances(network, token, [...wallets.users, ...house], { blockNumber });
    const open = position.openSteps.filter((one) => one.chain === network.id && one.asset === asset);
    const taken = await readTaken(network, token, open, blockNumber);
    const onChain = total(balances);
    const shown = await readShown(network, token, position.doubted, blockNumber);
    const { inFlight, difference } = compare(book, {
      onChain,
      taken,
      unowed: total(shown.map(({ atomic }) => atomic)),
    });
    const text = (atomic: bigint) => amountText(asset, atomic);
    if (difference !== 0n) {
      findings.push(
        `${network.id}: our wallets hold ${text(onChain)} at block ${blockNumber}, but ${text(book.owed)} is owed and ${text(inFlight)} in flight: a difference of ${text(difference)}.`,
      );
    }
    const expected = new Map(
      wallets.unswept.filter((one) => one.chain === network.id && one.asset === asset).map((one) => [one.address, one]),
    );
    for (const [index, address] of wallets.users.entries()) {
      const held = balances[index] as bigint;
      const { atomic = 0n, carried = 0n } = expected.get(address) ?? {};
      const unowed = total(shown.filter((one) => one.address === address).map((one) => one.atomic));
      if (held - unowed <= atomic && held - unowed >= atomic - carried) continue;
      findings.push(
        `${network.id}: wallet ${address} holds ${text(held)}, but its deposits that were not swept come to ${text(atomic)}.`,
      );
    }
  }
  return findings;
}
