import { setTimeout as sleep } from 'node:timers/promises';
import { type PublicClient, toHex } from 'viem';
import { discreetHttp } from '../../src/chains/discreet-transport.ts';
import type { NetworkSettings } from '../../src/chains/network.ts';
import type { Database } from '../../src/kernel/db/database.ts';
import type { Logger } from '../../src/kernel/log/logger.ts';
import { Refusal } from '../../src/kernel/refusal.ts';
import { type ChainId, chainIds, homeChain } from '../../src/money/catalogue.ts';
import { createChainTables } from './chain-tables.ts';
import { createFaucet, type Faucet } from './faucet.ts';
import { type BlockFollower, followBlocks } from './follow-blocks.ts';
import { keepChains } from './keep-chains.ts';
import { localHttp } from './local-transport.ts';
import { attestationUrlOf, type ChainUrls, findPublished } from './published-urls.ts';
import { eurcOnPolygon } from './tokens.ts';

/** The sandbox's chains, in this or another process. */
export interface LocalChains {
  readonly settings: ReadonlyMap<ChainId, NetworkSettings>;
  readonly faucet: Faucet;
  /** Stands in for Circle's attestation service. */
  readonly attestationUrl: string;
  stop(): Promise<void>;
}

const servedWithinMs = 30_000;

/** Runs the chains of this database, or stands by for the process that does. */
export async function startLocalChains({ db, logger }: { db: Database; logger: Logger }): Promise<LocalChains> {
  await createChainTables(db);
  const keeper = await keepChains(db, logger);
  return toLocalChains(db, keeper.urls, () => keeper.stop());
}

/** For a command that runs beside the server. */
export async function connectLocalChains({ db }: { db: Database }): Promise<LocalChains> {
  await createChainTables(db);
  const deadline = Date.now() + servedWithinMs;
  for (;;) {
    const { kept, urls } = await findPublished(db);
    if (urls !== undefined) return toLocalChains(db, urls, async () => {});
    if (!kept || Date.now() > deadline) {
      throw new Refusal('The sandbox is not running: start it with npm start.');
    }
    await sleep(100);
  }
}

function toLocalChains(db: Database, urls: ChainUrls, stop: () => Promise<void>): LocalChains {
  const settings = new Map<ChainId, NetworkSettings>();
  const followers: BlockFollower[] = [];
  for (const id of chainIds) {
    const url = urls.get(id);
    if (url === undefined) continue;
    const follower = followBlocks(url);
    followers.push(follower);
    settings.set(id, {
      urls: [url],
      confirmations: 1,
      pollMs: 250,
      letTimePass,
      // Any other URL belongs to a real node.
      transport: (asked, timeoutMs) => (asked === url ? localHttp : discreetHttp)(asked, timeoutMs),
      onBlock: follower.onBlock,
      ...(id === homeChain && { tokens: [{ asset: 'EURC', address: eurcOnPolygon }] }),
    });
  }
  return {
    settings,
    faucet: createFaucet(db, settings),
    attestationUrl: attestationUrlOf(urls),
    async stop() {
      for (const follower of followers) follower.stop();
      await stop();
    },
  };
}

async function letTimePass(client: PublicClient, until: bigint): Promise<void> {
  await client.request({ method: 'sandbox_letTimePass', params: [toHex(until)] } as never);
}
