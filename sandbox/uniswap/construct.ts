import { concat, type Hex, pad, toHex } from 'viem';
import { createEvmNode, type EvmNode, type RpcCall } from '../chains/evm-node.ts';
import { result } from '../chains/execute-entry.ts';
import { setCode, setStorage } from '../storage.ts';

export interface Construction {
  readonly address: Hex;
  readonly creation: Hex;
  /** The constructor's arguments, all addresses. */
  readonly given: readonly Hex[];
}

interface StateChange {
  readonly post: Readonly<Record<string, { readonly storage?: Readonly<Record<string, Hex>> }>>;
}

/**
 * The calls that place contracts as their constructors would leave them. Each constructor runs on a temporary node at the final
 * address: it returns the code with immutables, and a trace gives the storage that it wrote. The chain itself sees no
 * transaction.
 */
export async function constructAll(
  constructions: readonly Construction[],
  { chainId, by }: { readonly chainId: number; readonly by: Hex },
): Promise<RpcCall[]> {
  const node = await createEvmNode({ chainId, genesisTime: 0, richAccount: by });
  const calls: RpcCall[] = [];
  for (const construction of constructions) calls.push(...(await construct(node, construction, by)));
  return calls;
}

async function construct(node: EvmNode, { address, creation, given }: Construction, by: Hex): Promise<RpcCall[]> {
  const data = concat([creation, ...given.map((argument) => pad(argument))]);
  await result(node, 'hardhat_setCode', [address, data]);
  const call = { from: by, to: address, gas: toHex(30_000_000) };
  const code = await result<Hex>(node, 'eth_call', [call, 'latest']);
  const tracer = { tracer: 'prestateTracer', tracerConfig: { diffMode: true } };
  const { post } = await result<StateChange>(node, 'debug_traceCall', [call, 'latest', tracer]);
  const written = Object.entries(post[address.toLowerCase()]?.storage ?? {});
  return [setCode(address, code), ...written.map(([slot, value]) => setStorage(address, [BigInt(slot), value]))];
}
