import { randomUUID } from 'node:crypto';
import { Writable } from 'node:stream';
import { concat, encodeFunctionData, type Hex, toEventSelector } from 'viem';
import { afterAll, beforeAll } from 'vitest';
import { multicallAbi, multicallAddress, tokenAbi } from '../../src/chains/abi.ts';
import { type Network, tokenOf } from '../../src/chains/network.ts';
import { createKeysProvider } from '../../src/custody/adapters/keys/keys-provider.ts';
import { openHouseWallets } from '../../src/custody/wallets/house-wallets.ts';
import { keepDepositsOn } from '../../src/custody/wallets/kept-chains.ts';
import type { WalletProvider } from '../../src/custody/wallets/provider.ts';
import { assignWallet } from '../../src/custody/wallets/user-wallets.ts';
import { createAddressBook } from '../../src/custody/watch/address-book.ts';
import { createLogger, type Logger } from '../../src/kernel/log/logger.ts';
import { type Checkpoint, Ended } from '../../src/kernel/sagas/checkpoint.ts';
import { createSecrets } from '../../src/kernel/secrets/secrets.ts';
import { spendableBalances } from '../../src/ledger/balances.ts';
import { createLedger, type Ledger } from '../../src/ledger/ledger.ts';
import type { Asset, ChainId } from '../../src/money/catalogue.ts';
import { type ChainReader, createChainReader, type ReaderParts } from '../../src/payments/deposits/read-chain.ts';
import { type ChainsOptions, type Outsider, type TestChains, useChains } from './chains.ts';
import { type TestDatabase, useDatabase } from './database.ts';
import { createOwners } from './ledger.ts';

export interface DepositWorld {
  readonly database: TestDatabase;
  readonly chains: TestChains;
  readonly ledger: Ledger;
  readonly provider: WalletProvider;
  readonly log: TestLog;
  /** Somebody with an account and a wallet on Polygon. */
  newUser(): Promise<User>;
  newUsers(count: number): Promise<User[]>;
  /** Makes their cross-chain wallets, so that what arrives on that chain stays there. */
  keepOn(chain: ChainId, users: readonly User[]): Promise<void>;
  /** A watcher of one chain that takes its steps when it is told to. */
  reader(chain: ChainId, parts?: Partial<ReaderParts> & { readonly network?: Network }): ChainReader;
  /** What a user has, in atomic units. */
  balance(user: User, asset?: Asset, chain?: ChainId): Promise<bigint>;
}

export interface User {
  readonly id: bigint;
  readonly address: Hex;
}

/** A database, chains and house wallets for a test file about deposits. Its fields may be read from the first test on. */
export function useDepositWorld(options: ChainsOptions = {}): DepositWorld {
  const database = useDatabase();
  const chains = useChains(database, options);
  const log = createTestLog();
  let opened: { ledger: Ledger; provider: WalletProvider } | undefined;
  const world = () => {
    if (opened === undefined) throw new Error('the world is not open yet');
    return opened;
  };
  beforeAll(async () => {
    const { db } = database;
    const { networks } = chains;
    const provider = await createKeysProvider({
      db,
      networks,
      logger: log.logger,
      secrets: createSecrets('s'.repeat(32)),
    });
    await openHouseWallets(db, provider, networks);
    opened = { provider, ledger: createLedger({ db, logger: log.logger }) };
  });
  afterAll(() => opened?.ledger.stop());

  async function newUsers(count: number): Promise<User[]> {
    const owners = await createOwners(database.db, count);
    const { provider } = world();
    return database.db.transaction(async (tx) => {
      const users: User[] = [];
      for (const { id } of owners) {
        const wallet = await provider.createWallet({ chain: 'MATIC' });
        await assignWallet(tx, { accountId: id, chain: 'MATIC', provider: provider.name, wallet });
        users.push({ id, address: wallet.address });
      }
      return users;
    });
  }

  return {
    database,
    chains,
    log,
    get ledger() {
      return world().ledger;
    },
    get provider() {
      return world().provider;
    },
    newUsers,
    async newUser() {
      const [user] = await newUsers(1);
      if (user === undefined) throw new Error('nobody was made');
      return user;
    },
    keepOn: (chain, users) =>
      database.db.transaction(async (tx) => {
        for (const { id } of users) await keepDepositsOn(tx, chain, id);
      }),
    reader(chain, { network, ...parts } = {}) {
      const { db } = database;
      return createChainReader(
        {
          db,
          ledger: world().ledger,
          logger: log.logger,
          book: createAddressBook(db),
          holder: randomUUID(),
          leaseMs: 15_000,
          mostBlocks: 2_000n,
          ...parts,
        },
        network ?? chains.network(chain),
      );
    },
    async balance(user, asset = 'USDC', chain = 'MATIC') {
      return (await spendableBalances(database.db, user.id, chain))[asset].atomic;
    },
  };
}

/** Takes steps until there is nothing more to read. */
export async function readUp(reader: ChainReader): Promise<void> {
  for (;;) {
    const progress = await reader.step();
    if (progress === 'caught_up' || progress === 'no_block') return;
    if (progress === 'elsewhere') throw new Error('somebody else reads this chain');
  }
}

/** Pays several people in one transaction, out of tokens that are minted for it. */
export async function payAtOnce(
  chains: TestChains,
  chain: ChainId,
  payer: Outsider,
  payments: readonly (readonly [to: Hex, atomic: bigint])[],
): Promise<void> {
  const network = chains.network(chain);
  const token = tokenOf(network, 'USDC')?.address;
  if (token === undefined) throw new Error(`there is no USDC on ${chain}`);
  const total = payments.reduce((sum, [, atomic]) => sum + atomic, 0n);
  await chains.mint(chain, 'USDC', multicallAddress, total);
  const calls = payments.map((args) => ({
    target: token,
    allowFailure: false,
    callData: encodeFunctionData({ abi: tokenAbi, functionName: 'transfer', args }),
  }));
  await payer.wallet(chain).writeContract({
    abi: multicallAbi,
    address: multicallAddress,
    functionName: 'aggregate3',
    args: [calls],
    chain: network.client.chain ?? null,
  });
}

/** Lets the next process take over at once, as if this one's lease had run out. */
export async function endLeases({ db }: TestDatabase): Promise<void> {
  await db.query("UPDATE chain_cursors SET leased_until = now() - interval '1 second'");
}

/** What a process looks like that is ended at a certain point: it throws there, once. */
export function endAt(name: string): Checkpoint {
  let ended = false;
  return (reached) => {
    if (reached !== name || ended) return;
    ended = true;
    throw new Ended(name);
  };
}

interface TestLog {
  readonly logger: Logger;
  /** Lines of this level or above, as they were written. */
  lines(level: 'info' | 'warn' | 'error'): readonly Readonly<Record<string, unknown>>[];
  clear(): void;
}

const ranks = ['info', 'warn', 'error', 'fatal'];

export function createTestLog(): TestLog {
  const lines: Record<string, unknown>[] = [];
  const destination = new Writable({
    write(chunk: Buffer, _encoding, done) {
      for (const line of chunk.toString().split('\n').filter(Boolean)) lines.push(JSON.parse(line));
      done();
    },
  });
  return {
    logger: createLogger('info', destination),
    lines: (level) => lines.filter((line) => ranks.indexOf(String(line['level'])) >= ranks.indexOf(level)),
    clear: () => lines.splice(0),
  };
}

/**
 * The code of a contract that owns nothing and says whatever it is told: called with sender, recipient and value, it emits
 * the Transfer event of a token.
 */
export const liarCode: Hex = concat([
  '0x604035600052', // The value into memory,
  '0x602035600035', // recipient and sender,
  '0x7f',
  toEventSelector('Transfer(address,address,uint256)'),
  '0x60206000a300', // and the event.
]);
