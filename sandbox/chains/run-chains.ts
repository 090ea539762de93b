import type pg from 'pg';
import { monotonicClock, systemClock } from '../../src/kernel/clock.ts';
import type { Database } from '../../src/kernel/db/database.ts';
import type { Logger } from '../../src/kernel/log/logger.ts';
import { type ChainId, chainIds, homeChain } from '../../src/money/catalogue.ts';
import { type AttestationService, createAttestationService } from '../cctp/attestation-service.ts';
import { placeUniswap } from '../uniswap/place-uniswap.ts';
import { runMarketMaker } from '../uniswap/run-market-maker.ts';
import { deployContracts } from './deploy-contracts.ts';
import { createJournal, type Journal, type JournalEntry, readJournal } from './journal.ts';
import { type LocalChain, openLocalChain } from './local-chain.ts';
import { mintAccount } from './mint-account.ts';
import type { ChainUrls } from './published-urls.ts';
import { chainPath, type RpcServer, startRpcServer } from './rpc-server.ts';

export interface RunningChains {
  readonly urls: ChainUrls;
  stop(): Promise<void>;
}

export interface RunChainsOptions {
  readonly db: Database;
  /** The session that holds the lock. The chains stop when it ends. */
  readonly client: pg.Client;
  readonly logger: Logger;
  /** How long to wait for the previous port, which other processes may know. */
  readonly waitForPortMs: number;
}

interface ChainRow {
  readonly chain: ChainId;
  readonly genesis_time: string;
  readonly url: string | null;
}

/** Replays the journals, places missing contracts and serves the chains. */
export async function runChains({ db, client, logger, waitForPortMs }: RunChainsOptions): Promise<RunningChains> {
  await client.query(
    `INSERT INTO sandbox.chains (chain, genesis_time) SELECT unnest($1::text[]), $2 ON CONFLICT (chain) DO NOTHING`,
    [chainIds, Math.floor(systemClock.now() / 1000)],
  );
  const { rows } = await client.query<ChainRow>('SELECT chain, genesis_time::text, url FROM sandbox.chains');
  const journal = createJournal(client);
  const opened = await Promise.all(
    rows
      .filter(({ chain }) => chainIds.includes(chain))
      .map(async (row) => {
        const chain = await open(db, journal, row);
        await deployContracts(chain);
        await placeUniswap(chain);
        return [chain.id, chain] as const;
      }),
  );
  const chains = new Map<ChainId, LocalChain>(opened);
  const published = rows.find(({ url }) => url !== null)?.url;
  const attestations = createAttestationService({ chains, clock: monotonicClock });
  const port = Number(published && new URL(published).port);
  const server = await serve({ chains, attestations, logger, port, waitForPortMs });
  const urls = new Map(chainIds.map((id) => [id, `http://127.0.0.1:${server.port}${chainPath(id)}`]));
  try {
    await publish(client, urls);
  } catch (error) {
    await server.stop();
    throw error;
  }
  const market = chains.get(homeChain);
  const maker = market && runMarketMaker(market, logger);
  return {
    urls,
    async stop() {
      await maker?.stop();
      await server.stop();
    },
  };
}

async function open(
  db: Database,
  journal: ReturnType<typeof createJournal>,
  { chain, genesis_time }: ChainRow,
): Promise<LocalChain> {
  let length = 0;
  async function* past(): AsyncGenerator<readonly JournalEntry[]> {
    for await (const entries of readJournal(db, chain)) {
      length += entries.length;
      yield entries;
    }
    journal.startAt(chain, length);
  }
  return openLocalChain({
    id: chain,
    genesisTime: Number(genesis_time),
    richAccount: mintAccount.address,
    past: past(),
    journal: journal satisfies Journal,
    clock: systemClock,
  });
}

interface ServeOptions {
  readonly chains: ReadonlyMap<ChainId, LocalChain>;
  readonly attestations: AttestationService;
  readonly logger: Logger;
  readonly port: number;
  readonly waitForPortMs: number;
}

/** Reuses the previous port if it is free, so that saved URLs stay valid. */
async function serve({ port, waitForPortMs, ...parts }: ServeOptions): Promise<RpcServer> {
  const deadline = Date.now() + waitForPortMs;
  while (port > 0) {
    try {
      return await startRpcServer({ ...parts, port });
    } catch (error) {
      if ((error as { code?: string }).code !== 'EADDRINUSE') throw error;
      if (Date.now() > deadline) break;
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  }
  return startRpcServer({ ...parts, port: 0 });
}

async function publish(client: pg.Client, urls: ChainUrls): Promise<void> {
  await client.query(
    `UPDATE sandbox.chains SET url = given.url, served_by = pg_backend_pid()
     FROM unnest($1::text[], $2::text[]) AS given (chain, url) WHERE chains.chain = given.chain`,
    [[...urls.keys()], [...urls.values()]],
  );
}
