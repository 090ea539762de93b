import { randomInt } from 'node:crypto';
import type { Hex } from 'viem';
import type { Network, Networks, Token } from '../../chains/network.ts';
import { readTaken } from '../../custody/reserves/open-steps.ts';
import { balancesPerRequest, readTokenWallets, type TokenWallet } from '../../custody/reserves/read-balances.ts';
import { readShown } from '../../custody/reserves/uncredited-arrivals.ts';
import { depositTokens } from '../../custody/wallets/kept-chains.ts';
import type { AddressBook } from '../../custody/watch/address-book.ts';
import { findCursor, firstBlockRead } from '../../custody/watch/chain-cursor.ts';
import { readInRanges } from '../../custody/watch/read-transfers.ts';
import { type Loop, startLoop } from '../../kernel/jobs/loop.ts';
import type { Asset, ChainId } from '../../money/catalogue.ts';
import { type BookParts, bookMissed } from './book-transfers.ts';
import { type ExpectedHoldings, readExpected } from './expected-holdings.ts';

/** Wallets that hold more of an asset than the ledger expects. */
interface Suspect {
  readonly key: string;
  readonly asset: Asset;
  /** In lower case. */
  readonly addresses: readonly Hex[];
  readonly excess: bigint;
  readonly isHouse: boolean;
}

/** The search depth when no earlier matching block is known: fifty requests. */
const mostBlocksBack = 100_000n;

/**
 * Searches for missing transfers from the newest block back to the last one at which the wallets matched, and books
 * them. Returns and logs the suspects whose excess stays unexplained.
 */
async function findMissing(
  parts: BookParts,
  network: Network,
  search: { readonly suspects: readonly Suspect[]; readonly to: bigint; readonly since: bigint | undefined },
): Promise<readonly Suspect[]> {
  const { suspects, to, since } = search;
  if (suspects.length === 0) return [];
  const left = new Map(suspects.map((suspect) => [suspect, suspect.excess]));
  const book = narrow(parts.book, new Set(suspects.flatMap(({ addresses }) => addresses)));
  const first = (await firstBlockRead(parts.db, network.id)) ?? to;
  const wanted = (since ?? to - mostBlocksBack) + 1n;
  const from = wanted > first ? wanted : first;
  for await (const { transfers } of readInRanges(network, { from, to }, book)) {
    // `bookMissed` needs the whole address book to recognise our own wallets as senders.
    for (const { recipient, asset, atomic } of await bookMissed(parts, network, transfers)) {
      const suspect = suspects.find(
        (one) => one.asset === asset && one.addresses.includes(recipient.toLowerCase() as Hex),
      );
      if (suspect !== undefined) left.set(suspect, (left.get(suspect) ?? 0n) - atomic);
    }
    if ([...left.values()].every((excess) => excess <= 0n)) break;
  }
  const unexplained = suspects.filter((suspect) => (left.get(suspect) ?? 0n) > 0n);
  for (const { addresses, asset, excess, isHouse } of unexplained) {
    parts.logger.error(
      { chain: network.id, asset, atomic: String(excess), ...(isHouse ? { house: true } : { wallet: addresses[0] }) },
      `a wallet holds more than the ledger expects, and blocks ${from} to ${to} do not explain it: re-read earlier ones with \`paywright deposits read\``,
    );
  }
  return unexplained;
}

function narrow(book: AddressBook, addresses: ReadonlySet<Hex>): AddressBook {
  return {
    addresses: [...addresses],
    find: (address) => (addresses.has(address.toLowerCase() as Hex) ? book.find(address) : undefined),
    refresh: () => book.refresh(),
  };
}

export interface WalletCheck {
  /** Compares all house wallets and the next batch of user wallets with the ledger. */
  turn(): Promise<void>;
}

const everyMs = 60_000;

/**
 * Compares wallet balances with the ledger in the background. A node can omit logs for longer than the watcher re-reads
 * blocks; balances come from the chain's state and reveal the gap.
 */
export function startCheckingWallets(
  parts: BookParts,
  networks: Networks,
  mayAct: (chain: ChainId) => boolean,
): readonly Loop[] {
  return [...networks.values()].map((network) => {
    const check = createWalletCheck(parts, network);
    let hasStarted = false;
    return startLoop({
      logger: parts.logger,
      fields: { chain: network.id },
      trouble: 'wallet balances cannot be compared with the ledger',
      async run() {
        if (hasStarted && mayAct(network.id)) await check.turn();
        hasStarted = true;
        return everyMs;
      },
    });
  });
}

/**
 * A turn costs one request for any number of accounts: all house wallets, plus as many user wallets as fit. Each
 * process starts at a random user wallet, so that short-lived processes reach all of them equally often.
 */
export function createWalletCheck(parts: BookParts, network: Network): WalletCheck {
  const { db, book } = parts;
  const { id: chain } = network;
  const tokens: readonly Token[] = depositTokens(network);
  const told = new Map<string, bigint>();
  let next: number | undefined;
  let checkedAt: bigint | undefined;
  /** The last block at which the house wallets matched the ledger. */
  let houseRightAt: bigint | undefined;
  /** Where this and the previous round over all user wallets began. A process's first round is partial. */
  let round: { readonly began: bigint | undefined; readonly before: bigint | undefined } = {
    began: undefined,
    before: undefined,
  };

  function takeUsers(room: number, blockNumber: bigint): readonly Hex[] {
    const count = book.addresses.length;
    if (count === 0) return [];
    next ??= randomInt(count);
    const end = Math.min(next + Math.max(1, Math.floor(room / tokens.length)), count);
    const users = book.addresses.slice(next, end).filter((address) => book.find(address)?.accountId !== null);
    if (end === count) round = { began: blockNumber, before: round.began };
    next = end === count ? 0 : end;
    return users;
  }

  async function turn(): Promise<void> {
    const cursor = await findCursor(db, chain);
    if (cursor === undefined || cursor.number === checkedAt || tokens.length === 0) return;
    await book.refresh();
    const houses = book.addresses.filter((address) => book.find(address)?.accountId === null).length;
    const usersRightAt = round.before;
    const users = takeUsers(balancesPerRequest - houses * tokens.length, cursor.number);
    const assets = tokens.map(({ asset }) => asset);
    const expected = await db.atOneMoment((tx) => readExpected(tx, chain, { assets, users }));
    if (expected === undefined) return;
    const suspects = (await compare(expected, users)).filter(({ key, excess }) => told.get(key) !== excess);
    const to = expected.blockNumber;
    const house = suspects.filter(({ isHouse }) => isHouse);
    const others = suspects.filter(({ isHouse }) => !isHouse);
    const unexplained = [
      ...(await findMissing(parts, network, { suspects: house, since: houseRightAt, to })),
      ...(await findMissing(parts, network, { suspects: others, since: usersRightAt, to })),
    ];
    for (const { key, excess } of unexplained) told.set(key, excess);
    if (house.length === 0) houseRightAt = to;
    checkedAt = expected.blockNumber;
  }

  async function compare(expected: ExpectedHoldings, users: readonly Hex[]): Promise<readonly Suspect[]> {
    const wallets = tokens.flatMap((token) =>
      [...new Set([...expected.houseAddresses, ...(expected.sweeping.get(token.asset) ?? []), ...users])].map(
        (address) => ({ token, address }),
      ),
    );
    const balances = await readTokenWallets(network, wallets, { blockNumber: expected.blockNumber });
    const isOfUser = new Set(users);
    const ofUsers = wallets.flatMap(({ token: { asset }, address }, index) => {
      const key = `${address}/${asset}`;
      const excess = (balances[index] ?? 0n) - (expected.users.get(key) ?? 0n);
      return isOfUser.has(address) && excess > 0n ? [{ key, asset, addresses: [address], excess, isHouse: false }] : [];
    });
    const ofHouse = await Promise.all(tokens.map((token) => compareHouse(expected, token, { wallets, balances })));
    return [...ofHouse.flat(), ...ofUsers];
  }

  /** The same comparison as the reserves, but only with user wallets that a sweep is emptying. */
  async function compareHouse(
    expected: ExpectedHoldings,
    token: Token,
    { wallets, balances }: { readonly wallets: readonly TokenWallet[]; readonly balances: readonly bigint[] },
  ): Promise<readonly Suspect[]> {
    const { asset } = token;
    const addresses = [...new Set([...expected.houseAddresses, ...(expected.sweeping.get(asset) ?? [])])];
    const held = addresses.reduce((sum, address) => {
      const index = wallets.findIndex((one) => one.token === token && one.address === address);
      return sum + (balances[index] ?? 0n);
    }, 0n);
    const open = expected.openSteps.filter((step) => step.asset === asset);
    const taken = await readTaken(network, token, open, expected.blockNumber);
    const excess = held - ((expected.house.get(asset) ?? 0n) - taken);
    if (excess <= 0n) return [];
    const doubted = expected.doubted.filter(({ address }) => addresses.includes(address));
    const shown = await readShown(network, token, doubted, expected.blockNumber);
    const missing = excess - shown.reduce((sum, { atomic }) => sum + atomic, 0n);
    return missing > 0n ? [{ key: `house/${asset}`, asset, addresses, excess: missing, isHouse: true }] : [];
  }

  return { turn };
}
