import { createPublicClient, defineChain, fallback, type Hex, type PublicClient, type Transport } from 'viem';
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
import { multicallAddress, tokenAbi } from './abi.ts';
import { type FeeCeiling, usualCeiling } from './gas-fee-ceiling.ts';
import { redactingHttp } from './redacting-transport.ts';
import { joinWitnesses, type Witness } from './witness.ts';

/** The chains that no instance has reached for a while, so that requests which need one can be refused at once. */
export type SilentChains = () => Promise<readonly ChainId[]>;

export interface Token {
  readonly asset: Asset;
  readonly address: `0x${string}`;
}

/** One node of a chain, asked without fallback to another. */
export interface ChainNode {
  /** Who runs the node, as `joinWitnesses` finds out. Nodes of one host count as one witness. */
  readonly host: string;
  readonly client: PublicClient;
}

export interface Network {
  readonly id: ChainId;
  /** Asks the first node that answers. */
  readonly client: PublicClient;
  /** The nodes that count as witnesses. */
  readonly nodes: readonly ChainNode[];
  /** Like `client`, but asks a different host first. Undefined when there is only one host. */
  readonly reviewer?: PublicClient | undefined;
  /** Blocks, counting its own, after which a transaction is final. */
  readonly confirmations: number;
  readonly pollMs: number;
  /** The tokens that we hold. Coins are held wrapped: the token called MATIC is not the native coin. */
  readonly tokens: readonly Token[];
  readonly feeCeiling: FeeCeiling;
  /**
   * Called on every attempt by code that waits for a block of this time (in seconds since the epoch) or later. A real
   * chain ignores it, because its next block comes by itself.
   */
  letTimePass(until: bigint): Promise<void>;
  /** Calls the listener when there may be a new block. Only sandbox chains have it. */
  readonly onBlock?: OnBlock | undefined;
}

type OnBlock = (listener: () => void) => BlockSubscription;

export interface BlockSubscription {
  /** The newest block that the chain has told of. Undefined while it is not known to tell of the next one. */
  newestBlock(): bigint | undefined;
  stop(): void;
}

/** Every chain that the operator has configured. */
export type Networks = ReadonlyMap<ChainId, Network>;

export interface NetworkSettings {
  /** In order of preference: the next is asked when one does not answer. */
  readonly urls: readonly string[];
  readonly confirmations: number;
  readonly pollMs: number;
  /** Overrides the catalogue, such as a EURC where Circle issues none. */
  readonly tokens?: readonly Token[];
  readonly feeCeiling?: FeeCeiling;
  /** For chains that produce no blocks by themselves: mines one once its time has come. */
  readonly letTimePass?: (client: PublicClient, until: bigint) => Promise<void>;
  /** Given where host names have been looked up; by default only the URLs are compared. */
  readonly witness?: Witness;
  readonly transport?: (url: string, timeoutMs: number) => Transport;
  readonly onBlock?: OnBlock;
}

/** Every node is tried twice, so a question is answered or given up well before a job's time limit. */
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
  const { transport = redactingHttp, witness = joinWitnesses(settings.urls.map((url) => ({ url, addresses: [] }))) } =
    settings;
  const known = settings.urls.filter((url) => witness(url) !== undefined);
  const unknown = settings.urls.filter((url) => witness(url) === undefined);
  // A node of unknown host is asked last: it may be the same as any other, and must not review itself.
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

/** The currencies of a chain, whose contracts the operator may override, and on the home chain the coins. */
function heldTokens(id: ChainId, named: readonly Token[]): readonly Token[] {
  const { tokens }: ChainFacts = chains[id];
  return assetIds.flatMap((asset) => {
    const isHeld = isCurrency(asset) || id === homeChain;
    const address = named.find((token) => token.asset === asset)?.address ?? (isHeld ? tokens[asset] : undefined);
    return address === undefined ? [] : [{ asset, address }];
  });
}

/**
 * Nodes of other hosts than the first node's, last one first; then the rest. Undefined when one host runs all of them.
 */
function reviewOrder(urls: readonly string[], witness: Witness): readonly string[] | undefined {
  const [first] = urls;
  if (first === undefined) return undefined;
  const isOther = (url: string) => witness(url) !== undefined && witness(url) !== witness(first);
  if (!urls.some(isOther)) return undefined;
  return [...urls.filter(isOther).toReversed(), ...urls.filter((url) => !isOther(url))];
}

export function tokenBalance({ client }: Network, { address }: Token, owner: Hex): Promise<bigint> {
  return client.readContract({ address, abi: tokenAbi, functionName: 'balanceOf', args: [owner] });
}

/** The same chain once per host, each asked without fallback. */
export function eachHost(network: Network): readonly Network[] {
  const hosts = new Map(network.nodes.toReversed().map(({ host, client }) => [host, client]));
  return hosts.size < 2 ? [network] : Array.from(hosts.values(), (client) => ({ ...network, client }));
}

/** For checking what the first node said: asks a different host first, if there is one. */
export function reviewed(network: Network): Network {
  return network.reviewer === undefined ? network : { ...network, client: network.reviewer };
}

export function tokenOf(network: Network, asset: Asset): Token | undefined {
  return network.tokens.find((token) => token.asset === asset);
}
