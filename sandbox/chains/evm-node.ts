import type { EdrContext, Provider } from '@nomicfoundation/edr';
import { type Hex, hexToBytes } from 'viem';
import { Refusal } from '../../src/kernel/refusal.ts';

export interface RpcCall {
  readonly method: string;
  readonly params: readonly unknown[];
}

/** What a node says to one call. */
export type RpcOutcome = { readonly result: unknown } | { readonly error: RpcError };

interface RpcError {
  readonly code: number;
  readonly message: string;
  /** For a revert what the contract gave as its reason, as clients decode it. */
  readonly data?: unknown;
}

/** One chain in memory. It knows no clock that counts: whoever mines tells it the time. */
export interface EvmNode {
  call(method: string, params?: readonly unknown[]): Promise<RpcOutcome>;
  /** The same, with the time of the block that the call mines. */
  callAt(blockTime: number, method: string, params?: readonly unknown[]): Promise<RpcOutcome>;
  /** Several of these one after the other, up to the first that is refused; whether none was. */
  callAllAt(calls: readonly (RpcCall & { readonly blockTime: number })[]): Promise<boolean>;
}

export interface EvmNodeOptions {
  readonly chainId: number;
  /** Seconds since the epoch. With the rest of the options it decides the hash of the first block. */
  readonly genesisTime: number;
  /** It owns all native coin at the beginning. */
  readonly richAccount: Hex;
}

type Edr = typeof import('@nomicfoundation/edr');

const blockGasLimit = 60_000_000n;

/** What a call gets that does not say how much. */
export const usualGas = 16_777_216n;

const baseFee = 1_000_000_000n;
const richBalance = 2n ** 200n;

let loading: Promise<{ edr: Edr; context: EdrContext }> | undefined;

/** The package is optional: it is loaded when a sandbox needs it, and once for the whole process. */
function load(): Promise<{ edr: Edr; context: EdrContext }> {
  loading ??= (async () => {
    let edr: Edr;
    try {
      edr = await import('@nomicfoundation/edr');
    } catch (error) {
      throw new Refusal(`The sandbox's chains need @nomicfoundation/edr: ${(error as Error).message.split('\n')[0]}.`);
    }
    const context = new edr.EdrContext();
    await context.registerProviderFactory(edr.L1_CHAIN_TYPE, edr.l1ProviderFactory());
    return { edr, context };
  })();
  return loading;
}

export async function createEvmNode({ chainId, genesisTime, richAccount }: EvmNodeOptions): Promise<EvmNode> {
  const { edr, context } = await load();
  const hardfork = edr.PRAGUE;
  const provider = await context.createProvider(
    edr.L1_CHAIN_TYPE,
    {
      chainId: BigInt(chainId),
      networkId: BigInt(chainId),
      hardfork,
      allowBlocksWithSameTimestamp: true,
      allowUnlimitedContractSize: true,
      bailOnCallFailure: true,
      bailOnTransactionFailure: false,
      coinbase: new Uint8Array(20),
      defaultTransactionGasLimit: usualGas,
      genesisState: [
        { address: hexToBytes(richAccount), balance: richBalance },
        ...edr.l1GenesisState(edr.l1HardforkFromString(hardfork)),
      ],
      initialBaseFeePerGas: baseFee,
      // Hardly filled blocks would let the fee sink to nothing within minutes. It stays, so that gas costs something.
      baseFeeConfig: [{ activation: { blockNumber: 0n }, maxChangeDenominator: 10n ** 12n, elasticityMultiplier: 2n }],
      initialParentBeaconBlockRoot: new Uint8Array(32),
      minGasPrice: 0n,
      mining: { autoMine: true, blockGasLimit, memPool: { order: edr.MineOrdering.Priority } },
      network: {
        genesisBlockGasLimit: blockGasLimit,
        genesisBlockTime: BigInt(genesisTime),
        genesisBlobGas: { gasUsed: 0n, excessGas: 0n },
      },
      observability: {},
      ownedAccounts: [],
      precompileOverrides: [],
    },
    { enable: false, decodeConsoleLogInputsCallback: () => [], printLineCallback: () => {} },
    { subscriptionCallback: () => {} },
    new edr.ContractDecoder(),
  );

  return {
    call: async (method, params = []) => toOutcome(await ask(provider, { method, params })),
    async callAt(blockTime, method, params = []) {
      const answer = await ask(provider, [
        { method: 'evm_setNextBlockTimestamp', params: [blockTime] },
        { method, params },
      ]);
      return 'error' in answer ? toOutcome(answer) : { result: (answer.result as unknown[])[1] };
    },
    async callAllAt(calls) {
      const requests = calls.flatMap(({ blockTime, method, params }) => [
        { method: 'evm_setNextBlockTimestamp', params: [blockTime] },
        { method, params },
      ]);
      return !('error' in (await ask(provider, requests)));
    },
  };
}

type Answer = { readonly result: unknown } | { readonly error: RpcError };

async function ask(provider: Provider, request: unknown): Promise<Answer> {
  const response = await provider.handleRequest(JSON.stringify(request));
  return typeof response.data === 'string' ? JSON.parse(response.data) : response.data;
}

/** A revert is reported as other nodes do it: code 3, and the contract's bytes as they are. */
function toOutcome(answer: Answer): RpcOutcome {
  if (!('error' in answer)) return { result: answer.result };
  const { code, message, data } = answer.error;
  const reason = (data as { data?: unknown } | null)?.data;
  if (typeof reason === 'string')
    return { error: { code: 3, message: `execution reverted: ${message}`, data: reason } };
  return { error: { code, message, ...(data !== null && data !== undefined && { data }) } };
}
