import { randomUUID } from 'node:crypto';
import type { Network, Networks } from '../../chains/network.ts';
import { type AddressBook, createAddressBook } from '../../custody/watch/address-book.ts';
import type { OnDeposits } from '../../custody/watch/on-deposits.ts';
import type { Database } from '../../kernel/db/database.ts';
import { startLoop } from '../../kernel/jobs/loop.ts';
import type { Logger } from '../../kernel/log/logger.ts';
import type { Checkpoint } from '../../kernel/sagas/checkpoint.ts';
import type { Ledger } from '../../ledger/ledger.ts';
import type { ChainId } from '../../money/catalogue.ts';
import type { OneNodeLimit } from './one-node-limit.ts';
import { type ChainReader, createChainReader } from './read-chain.ts';

export interface WatcherOptions {
  readonly db: Database;
  readonly ledger: Ledger;
  readonly networks: Networks;
  readonly logger: Logger;
  /** After this long without a sign of life another process takes a chain over. */
  readonly leaseMs?: number;
  readonly mostBlocks?: bigint;
  /** The first block ever to read, per chain; without one, what is confirmed from the first start on. */
  readonly startBlocks?: ReadonlyMap<ChainId, bigint>;
  readonly checkpoint?: Checkpoint;
  /** One of its own, unless others use it too: it has every address of ours. */
  readonly book?: AddressBook;
  readonly onDeposits?: OnDeposits;
  readonly oneNodeLimit?: OneNodeLimit | undefined;
}

export interface Watchers {
  /** Whether this process reads the chain at this moment. */
  holds(chain: ChainId): boolean;
  /** What keeps a chain from being read at this moment. */
  troubleOn(chain: ChainId): string | undefined;
  stop(): Promise<void>;
}

/** How often to ask whether a chain that another process reads has become free. */
const elsewhereMs = 1_000;

/** How often to look at a chain that tells of its blocks, in case it does not. */
const toldMs = 2_000;

/** Watches every chain for deposits. Any number of processes may do so: each chain is read by one of them at a time. */
export function startWatchers({ networks, startBlocks, ...options }: WatcherOptions): Watchers {
  const book = options.book ?? createAddressBook(options.db);
  const holder = randomUUID();
  const readers = new Map<ChainId, ChainReader>();
  const loops = new Map<ChainId, ReturnType<typeof watch>>();
  for (const network of networks.values()) {
    const reader = createChainReader(
      { leaseMs: 15_000, mostBlocks: 2_000n, ...options, book, holder, startBlock: startBlocks?.get(network.id) },
      network,
    );
    readers.set(network.id, reader);
    loops.set(network.id, watch(network, reader, options.logger));
  }

  return {
    holds: (chain) => readers.get(chain)?.holds ?? false,
    troubleOn: (chain) => loops.get(chain)?.trouble,
    async stop() {
      await Promise.all([...loops.values()].map((loop) => loop.stop()));
      await Promise.all([...readers.values()].map((reader) => reader.release().catch(() => {})));
    },
  };
}

function watch(network: Network, reader: ChainReader, logger: Logger) {
  const pauseMs = network.onBlock === undefined ? network.pollMs : Math.max(network.pollMs, toldMs);
  const loop = startLoop({
    logger,
    fields: { chain: network.id },
    trouble: 'deposits cannot be read',
    async run() {
      const progress = await reader.step();
      if (progress === 'elsewhere') return Math.max(network.pollMs, elsewhereMs);
      return progress === 'more' ? 0 : pauseMs;
    },
  });
  const stopListening = network.onBlock?.(() => loop.wake());
  return {
    get trouble() {
      return loop.trouble;
    },
    stop() {
      stopListening?.();
      return loop.stop();
    },
  };
}
