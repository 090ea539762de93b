import { createPublicClient, defineChain, fallback, type PublicClient, type Transport } from 'viem';
import {
  type Asset,
  assetIds,
  type ChainFacts,
  type ChainId,
  chainIds,
  chains,
  homeChain,
  isCurrency,
} from '../money/catalogue.ts';
import { multicallAddress } from './abi.ts';
import { discreetHttp } from './discreet-transport.ts';
import { type FeeCeiling, usualCeiling } from './gas-fee-ceiling.ts';
import { joinWitnesses, type Witness } from './witness.ts';

export interface Token {
  readonly asset: Asset;
  readonly address: `0x${string}`;
}

/** One of the addresses that a chain is reached at, and asked alone: nobody answers in its place. */
export interface ChainNode {
  /** Who answers there, as `joinWitnesses` finds it: nodes of one host are one witness, because whoever runs it runs them all. */
  readonly host: string;
  readonly client: PublicClient;
}

/** One chain as this service reaches it. */
export interface Network {
  readonly id: ChainId;
  /** Asks the first node that answers. */
  readonly client: PublicClient;
  /** Those that count as witnesses. */
  readonly nodes: readonly ChainNode[];
  /** The same chain in the same way, but of another host first. Only where there is more than one. */
  readonly reviewer?: PublicClient | undefined;
  /** Blocks, counting its own, after which a transaction is final. */
  readonly confirmations: number;
  /** How often to look for something new. */
  readonly pollMs: number;
  /** What we hold there. Coins are held wrapped: the token called MATIC is no native coin. */
  readonly tokens: readonly Token[];
  /** What no transaction of ours offers more than, whatever a node says. */
  readonly feeCeiling: FeeCeiling;
  /**
   * Whoever waits for a block of this time (in seconds since the epoch) or a later one says so each time they look for it.
   * On a real chain that does nothing: there the next block comes by itself.
   */
  letTimePass(until: bigint): Promise<void>;
  /** Calls back when there may be a new block, until the function that it returns is called. Only chains of the sandbox do. */
  readonly onBlock?: ((listener: () => void) => () => void) | undefined;
}

/** Every chain that this service can reach. A chain that is not here was left off by the operator. */
export type Networks = ReadonlyMap<ChainId, Network>;

export interface NetworkSettings {
  /** Where to reach it, in order of preference: the next is asked when one does not answer. */
  readonly urls: readonly string[];
  readonly confirmations: number;
  readonly pollMs: number;
  /** Tokens beside Circle's own, such as a EURC where Circle has none. */
  readonly tokens?: readonly Token[];
  /** Instead of the usual one. */
  readonly feeCeiling?: FeeCeiling;
  /** Only where no block comes by itself: mines one if its time has come and there is none yet. */
  readonly letTimePass?: (client: PublicClient, until: bigint) => Promise<void>;
  /** Who answers at each of them, where more is known than their names say. */
  readonly witness?: Witness;
  /** Instead of the usual way to ask a node. */
  readonly transport?: (url: string, timeoutMs: number) => Transport;
  /** Only where the chain tells of its blocks. */
  readonly onBlock?: (listener: () => void) => () => void;
}

/** With every address tried twice a question is answered or given up well before a job's time is over. */
const requestTimeoutMs = 5_000;

export function createNetworks(settings: ReadonlyMap<ChainId, NetworkSettings>): Networks {
  const networks = new Map<ChainId, Network>();
  for (const id of chainIds) {
    const given = settings.get(id);
    if (given !== undefined) networks.set(id, createNetwork(id, given));
  }
  return networks;
}

function createNetwork(id: ChainId, settings: NetworkSettings): Network {
  const { confirmations, pollMs, tokens = [], feeCeiling = usualCeiling(id), letTimePass, onBlock } = settings;
  const { transport = discreetHttp, witness = joinWitnesses(settings.urls.map((url) => ({ url, addresses: [] }))) } =
    settings;
  const known = settings.urls.filter((url) => witness(url) !== undefined);
  const unknown = settings.urls.filter((url) => witness(url) === undefined);
  // A node that may be any of the others is asked last, so that none of them reviews itself.
  const urls = [...known, ...unknown];
  const { name, chainId, native } = chains[id];
  const chain = defineChain({
    id: chainId,
    name,
    nativeCurrency: { name: native, symbol: native, decimals: 18 },
    rpcUrls: { default: { http: urls } },
    contracts: { multicall3: { address: multicallAddress } },
  });
  const connect = (over: Transport) =>
    createPublicClient({ chain, transport: over, pollingInterval: pollMs, cacheTime: 0 }) as PublicClient;
  const inOrder = (some: readonly string[]) =>
    connect(
      fallback(
        some.map((url) => transport(url, requestTimeoutMs)),
        { retryCount: 1, retryDelay: 150 },
      ),
    );
  const client = inOrder(urls);
  const review = reviewOrder(urls, witness);
  return {
    id,
    client,
    nodes: (known.length === 0 ? unknown : known).map((url) => ({
      host: witness(url) ?? 'unknown',
      client: connect(transport(url, requestTimeoutMs)),
    })),
    reviewer: review && inOrder(review),
    confirmations,
    pollMs,
    tokens: heldTokens(id, tokens),
    feeCeiling,
    letTimePass: async (until) => letTimePass?.(client, until),
    onBlock,
  };
}

/** The currencies of a chain, of which the operator may name a contract, and on the home chain the coins. */
function heldTokens(id: ChainId, named: readonly Token[]): readonly Token[] {
  const { tokens }: ChainFacts = chains[id];
  return assetIds.flatMap((asset) => {
    const isHeld = isCurrency(asset) || id === homeChain;
    const address = named.find((token) => token.asset === asset)?.address ?? (isHeld ? tokens[asset] : undefined);
    return address === undefined ? [] : [{ asset, address }];
  });
}

/** Nodes of other hosts than the first one's, from the last on; then the others. Undefined when one host runs them all. */
function reviewOrder(urls: readonly string[], witness: Witness): readonly string[] | undefined {
  const [first] = urls;
  if (first === undefined) return undefined;
  const isOther = (url: string) => witness(url) !== undefined && witness(url) !== witness(first);
  if (!urls.some(isOther)) return undefined;
  return [...urls.filter(isOther).toReversed(), ...urls.filter((url) => !isOther(url))];
}

/** The same chain as each host shows it, asked alone. */
export function eachHost(network: Network): readonly Network[] {
  const hosts = new Map(network.nodes.toReversed().map(({ host, client }) => [host, client]));
  return hosts.size < 2 ? [network] : Array.from(hosts.values(), (client) => ({ ...network, client }));
}

/** For whoever checks what the first node has said: asks another one first, where there is one. */
export function reviewed(network: Network): Network {
  return network.reviewer === undefined ? network : { ...network, client: network.reviewer };
}

export function tokenOf(network: Network, asset: Asset): Token | undefined {
  return network.tokens.find((token) => token.asset === asset);
}
