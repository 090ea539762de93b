import { randomUUID } from 'node:crypto';
import { type Account, createWalletClient, type Hex, http, type Transport, type WalletClient } from 'viem';
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts';
import { afterAll, beforeAll } from 'vitest';
import { type LocalChains, startLocalChains } from '../../sandbox/chains/local-chains.ts';
import type { FaucetAsset } from '../../sandbox/chains/tokens.ts';
import { tokenAbi } from '../../src/chains/abi.ts';
import { createNetworks, type Network, type Networks, tokenOf } from '../../src/chains/network.ts';
import { wrappedCoin } from '../../src/chains/wrapped-coin.ts';
import { createLogger } from '../../src/kernel/log/logger.ts';
import { type ChainId, chains as facts, homeChain } from '../../src/money/catalogue.ts';
import type { TestDatabase } from './database.ts';

/** Somebody outside with a wallet of their own. */
export interface Outsider {
  readonly address: Hex;
  readonly account: Account;
  /** A plain viem client, to sign and send whatever a test needs. */
  wallet(chain?: ChainId): WalletClient<Transport, Network['client']['chain'], Account>;
  /** Sends a token of theirs and answers with the hash once it is accepted: with automine on it is mined then. */
  sendToken(send: { chain?: ChainId; asset: FaucetAsset; to: Hex; atomic: bigint }): Promise<Hex>;
}

interface OutsiderOptions {
  /** Where they get a lot of native coin. */
  readonly chains?: readonly ChainId[];
  /** What they own besides. */
  readonly tokens?: readonly { readonly chain?: ChainId; readonly asset: FaucetAsset; readonly atomic: bigint }[];
}

export interface TestChains {
  readonly local: LocalChains;
  readonly networks: Networks;
  readonly faucet: LocalChains['faucet'];
  network(chain: ChainId): Network;
  /** Any JSON-RPC call, also those that only a local chain has: evm_snapshot, evm_revert, hardhat_mine … */
  rpc<Result = unknown>(chain: ChainId, method: string, params?: readonly unknown[]): Promise<Result>;
  /** Mines as many blocks, which makes what came before them final. */
  mine(chain: ChainId, blocks?: number): Promise<void>;
  balanceOf(chain: ChainId, asset: FaucetAsset, address: Hex): Promise<bigint>;
  /** Mints straight to an address, once per call. */
  mint(chain: ChainId, asset: FaucetAsset, to: Hex, atomic: bigint): Promise<Hex>;
  outsider(options?: OutsiderOptions): Promise<Outsider>;
  stop(): Promise<void>;
}

export interface ChainsOptions {
  /** Instead of 1, so that a reorganisation has something to undo. */
  readonly confirmations?: number;
  /** Instead of 250. */
  readonly pollMs?: number;
  /** These mine only when they are told to, so that transactions get stuck. Contracts are in place before that. */
  readonly automineOff?: readonly ChainId[];
}

export async function startChains(database: TestDatabase, options: ChainsOptions = {}): Promise<TestChains> {
  const local = await startLocalChains({ db: database.db, logger: createLogger('silent') });
  const { confirmations, pollMs } = options;
  const settings = new Map(
    [...local.settings].map(([id, given]) => [
      id,
      { ...given, ...(confirmations !== undefined && { confirmations }), ...(pollMs !== undefined && { pollMs }) },
    ]),
  );
  const networks = createNetworks(settings);

  function network(chain: ChainId): Network {
    const found = networks.get(chain);
    if (found === undefined) throw new Error(`${chain} is not running`);
    return found;
  }

  async function rpc<Result>(chain: ChainId, method: string, params: readonly unknown[] = []): Promise<Result> {
    return (await network(chain).client.request({ method, params } as never, { retryCount: 0 })) as Result;
  }

  const mint: TestChains['mint'] = (chain, asset, to, atomic) =>
    local.faucet.mint({ id: randomUUID(), chain, asset, to, atomic });

  for (const chain of options.automineOff ?? []) await rpc(chain, 'evm_setAutomine', [false]);

  return {
    local,
    networks,
    faucet: local.faucet,
    network,
    rpc,
    mint,
    async mine(chain, blocks = 1) {
      await rpc(chain, 'hardhat_mine', [`0x${blocks.toString(16)}`]);
    },
    balanceOf(chain, asset, address) {
      const { client } = network(chain);
      if (asset === facts[chain].native) return client.getBalance({ address });
      return client.readContract({
        abi: tokenAbi,
        address: addressOf(network(chain), asset),
        functionName: 'balanceOf',
        args: [address],
      });
    },
    async outsider({ chains = [homeChain], tokens = [] } = {}) {
      const account = privateKeyToAccount(generatePrivateKey());
      // Without a transaction, so that it also works on a chain that mines nothing.
      for (const chain of chains)
        await rpc(chain, 'hardhat_setBalance', [account.address, `0x${(10n ** 24n).toString(16)}`]);
      for (const { chain = homeChain, asset, atomic } of tokens) await mint(chain, asset, account.address, atomic);
      const wallet: Outsider['wallet'] = (chain = homeChain) => {
        const { client } = network(chain);
        const [url = ''] = settings.get(chain)?.urls ?? [];
        return createWalletClient({ account, chain: client.chain, transport: http(url) });
      };
      return {
        address: account.address,
        account,
        wallet,
        sendToken: ({ chain = homeChain, asset, to, atomic }) =>
          wallet(chain).writeContract({
            abi: tokenAbi,
            address: addressOf(network(chain), asset),
            functionName: 'transfer',
            args: [to, atomic],
            account,
            chain: network(chain).client.chain ?? null,
          }),
      };
    },
    stop: () => local.stop(),
  };
}

/** Also of a coin that nobody watches. MATIC is the native coin here, and WMATIC the token. */
function addressOf(network: Network, asset: FaucetAsset): Hex {
  if (network.id === homeChain && asset === 'WMATIC') return wrappedCoin;
  const token = asset === 'WMATIC' ? undefined : tokenOf(network, asset);
  if (token === undefined) throw new Error(`there is no ${asset} on ${network.id}`);
  return token.address;
}

/** Local chains for a test file's database. Their fields may be read from the first test on. */
export function useChains(database: TestDatabase, options: ChainsOptions = {}): TestChains {
  let started: TestChains | undefined;
  beforeAll(async () => {
    started = await startChains(database, options);
  });
  afterAll(() => started?.stop());
  return new Proxy({} as TestChains, {
    get(_, name) {
      if (started === undefined) throw new Error('the chains are not running yet');
      return started[name as keyof TestChains];
    },
  });
}
