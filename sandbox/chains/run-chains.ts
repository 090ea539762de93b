import type pg from 'pg';
import { encodeFunctionData, type Hex, parseAbi } from 'viem';
import { multicallAddress } from '../../src/chains/abi.ts';
import { cctp } from '../../src/chains/cctp.ts';
import { monotonicClock, systemClock } from '../../src/kernel/clock.ts';
import type { Database } from '../../src/kernel/db/database.ts';
import type { Logger } from '../../src/kernel/log/logger.ts';
import { type ChainId, chainIds, chains, homeChain } from '../../src/money/catalogue.ts';
import { mintAccount } from '../accounts.ts';
import { createAttestationService } from '../cctp/attestation-service.ts';
import { placeCctp } from '../cctp/place-contracts.ts';
import { setCode } from '../compiled-contracts.ts';
import { runMarketMaker } from '../uniswap/market-maker.ts';
import { placeUniswap } from '../uniswap/place-uniswap.ts';
import type { ChainUrls } from './chain-tables.ts';
import { contractCode, fiatTokenAddress, signatureCheckerAddress } from './contract-code.ts';
import type { RpcCall } from './evm-node.ts';
import { createJournal, type Journal, type JournalEntry, readJournal } from './journal.ts';
import { askChain, isFree, type LocalChain, type OpenLocalChain, openLocalChain, requestAllAs } from './local-chain.ts';
import { placeCoin, placeMintedToken, placeWrappedCoin } from './place-tokens.ts';
import { chainPath, type RpcServerOptions, startRpcServer } from './rpc-server.ts';
import { bridgedTokens, mintedTokens, wrappedCoins } from './tokens.ts';

const isMinterAbi = parseAbi(['function isMinter(address account) view returns (bool)']);

/** Places every contract that is missing, so that a later release can add more. */
async function deployContracts(chain: LocalChain): Promise<void> {
  const calls: RpcCall[] = [];
  const isMissing = (address: Hex) => isFree(chain, address);
  if (await isMissing(multicallAddress)) {
    const code = await askChain<Hex>(chain, 'eth_call', [{ data: contractCode().multicallCreation }, 'latest']);
    calls.push(setCode(multicallAddress, code));
  }
  const coin = wrappedCoins[chain.id];
  const places: [Hex, () => RpcCall[]][] = [
    [signatureCheckerAddress, () => [setCode(signatureCheckerAddress, contractCode().signatureChecker)]],
    [fiatTokenAddress, () => [setCode(fiatTokenAddress, contractCode().fiatToken)]],
    [coin.address, () => placeWrappedCoin(coin)],
    ...mintedTokens[chain.id].map((token): [Hex, () => RpcCall[]] => [token.address, () => placeMintedToken(token)]),
    ...bridgedTokens(chain.id).map((token): [Hex, () => RpcCall[]] => [token.address, () => placeCoin(token)]),
    ...placeCctp(chain.id),
  ];
  for (const [address, place] of places) if (await isMissing(address)) calls.push(...place());
  if (calls.length === 0) return;

  await requestAllAs(chain, mintAccount.address, calls, `a contract could not be placed on ${chain.id}`);
  for (const token of [...mintedTokens[chain.id], ...bridgedTokens(chain.id)]) {
    const data = encodeFunctionData({ abi: parseAbi(['function decimals() view returns (uint8)']) });
    const decimals = await askChain<Hex>(chain, 'eth_call', [{ to: token.address, data }, 'latest']);
    if (Number(decimals) !== token.decimals) throw new Error(`${token.symbol} on ${chain.id} was not set up`);
  }
  const isMinter = encodeFunctionData({ abi: isMinterAbi, args: [cctp.tokenMinter] });
  const mayMint = await askChain<Hex>(chain, 'eth_call', [
    { to: chains[chain.id].tokens.USDC, data: isMinter },
    'latest',
  ]);
  if (BigInt(mayMint) !== 1n) throw new Error(`the cross-chain protocol cannot mint on ${chain.id}`);
}

export type RunningChains = Awaited<ReturnType<typeof runChains>>;

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
export async function runChains({ db, client, logger, waitForPortMs }: RunChainsOptions) {
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
  const chains = new Map<ChainId, OpenLocalChain>(opened);
  const published = rows.find(({ url }) => url !== null)?.url;
  const attestations = createAttestationService({ chains, clock: monotonicClock });
  const port = Number(published && new URL(published).port);
  const server = await serve({ chains, attestations, logger, port }, waitForPortMs);
  const urls: ChainUrls = new Map(chainIds.map((id) => [id, `http://127.0.0.1:${server.port}${chainPath(id)}`]));
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
    async stop(): Promise<void> {
      await maker?.stop();
      await server.stop();
    },
  };
}

async function open(
  db: Database,
  journal: ReturnType<typeof createJournal>,
  { chain, genesis_time }: ChainRow,
): Promise<OpenLocalChain> {
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

/** Reuses the previous port if it is free, so that saved URLs stay valid. */
async function serve({ port, ...parts }: RpcServerOptions, waitForPortMs: number) {
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
