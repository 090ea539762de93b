import type { Hex } from 'viem';
import type { Network } from '../../chains/network.ts';
import type { Transaction } from '../../kernel/db/database.ts';
import type { Asset, ChainId } from '../../money/catalogue.ts';
import type { Cursor } from './ask-chain.ts';
import { readShown } from './doubted-arrivals.ts';
import { readTaken } from './open-steps.ts';
import { readBalances } from './read-balances.ts';
import { type Position, readHouseAddresses } from './read-position.ts';
import { amountText } from './reconcile-books.ts';
import { compare, heldTokens, total } from './report.ts';

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
  const unswept = await tx.query<Omit<Unswept, 'atomic' | 'carried'> & { atomic: bigint; carried: bigint }>(
    `SELECT d.chain, d.asset, lower(d.address) AS address, sum(d.atomic) AS atomic,
            coalesce(sum(d.atomic) FILTER (WHERE d.sweep_id IS NOT NULL), 0) AS carried
       FROM deposits d JOIN chain_cursors c ON c.chain = d.chain AND d.block_number <= c.block_number
      WHERE d.swept_at IS NULL GROUP BY 1, 2, 3`,
  );
  return {
    house: ofHouse,
    users: users.rows.map(({ address }) => address).filter((address) => !ofHouse.has(address)),
    unswept: unswept.rows.map((row) => ({ ...row, atomic: row.atomic, carried: row.carried })),
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
