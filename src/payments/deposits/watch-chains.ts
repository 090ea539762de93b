import { randomUUID } from 'node:crypto';
import type { Network, Networks } from '../../chains/network.ts';
import { type AddressBook, createAddressBook } from '../../custody/watch/address-book.ts';
import { createChainHolds } from '../../custody/watch/chain-cursor.ts';
import { startLoop } from '../../kernel/jobs/loop.ts';
import { noWakes, type Wakes } from '../../kernel/jobs/wakes.ts';
import type { Logger } from '../../kernel/log/logger.ts';
import type { Checkpoint } from '../../kernel/sagas/checkpoint.ts';
import type { ChainId } from '../../money/catalogue.ts';
import type { CreditParts } from './credit-deposits.ts';
import { type ChainReader, createChainReader } from './read-chain.ts';

export interface WatcherOptions extends CreditParts {
  readonly networks: Networks;
  /** Another process takes a chain over when the lease was not renewed for this long. */
  readonly leaseMs?: number;
  readonly mostBlocks?: bigint;
  /** Without an entry, reading starts at the block that is confirmed at the first start. */
  readonly startBlocks?: ReadonlyMap<ChainId, bigint>;
  readonly checkpoint?: Checkpoint;
  readonly book?: AddressBook;
  readonly wakes?: Wakes;
}

export interface Watchers {
  /** Whether this process holds the chain's lease now. */
  readonly holds: (chain: ChainId) => boolean;
  /** The error that keeps the chain from being read, if any. */
  troubleOn(chain: ChainId): string | undefined;
  stop(): Promise<void>;
}

/** How often to try for a chain that another process holds. */
const elsewhereMs = 1_000;

/** How often to look after the lease, and after a subscription that has failed, on a chain that tells of its blocks. */
const toldMs = 2_000;

/** Watches every chain for deposits. Any number of processes may run this; a lease lets one of them read each chain. */
export function startWatchers({ networks, startBlocks, ...options }: WatcherOptions): Watchers {
  const book = options.book ?? createAddressBook(options.db);
  const holder = randomUUID();
  const { leaseMs = 15_000, wakes = noWakes } = options;
  const holds = createChainHolds(options.db, { holder, leaseMs });
  const readers = new Map<ChainId, ChainReader>();
  const loops = new Map<ChainId, ReturnType<typeof watch>>();
  for (const network of networks.values()) {
    const reader = createChainReader(
      { mostBlocks: 2_000n, ...options, leaseMs, holds, book, holder, startBlock: startBlocks?.get(network.id) },
      network,
    );
    readers.set(network.id, reader);
    loops.set(network.id, watch(network, reader, { logger: options.logger, wakes }));
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

function watch(
  network: Network,
  reader: ChainReader,
  { logger, wakes }: { readonly logger: Logger; readonly wakes: Wakes },
) {
  const pauseMs = network.onBlock === undefined ? network.pollMs : Math.max(network.pollMs, toldMs);
  const blocks = network.onBlock?.(() => loop.wake());
  const loop = startLoop({
    logger,
    fields: { chain: network.id },
    trouble: 'deposits cannot be read',
    paceMs: network.pollMs,
    async run() {
      const progress = await reader.step(blocks?.newestBlock());
      if (progress === 'elsewhere') return Math.max(network.pollMs, elsewhereMs);
      return progress === 'more' ? 0 : pauseMs;
    },
  });
  const stopHearing = wakes.on(`arrivals/${network.id}`, () => {
    reader.noteArrivals();
    loop.notify();
  });
  const stopWaiting = wakes.onReturn(loop.retry);
  return {
    get trouble() {
      return loop.trouble;
    },
    stop() {
      blocks?.stop();
      stopHearing();
      stopWaiting();
      return loop.stop();
    },
  };
}
