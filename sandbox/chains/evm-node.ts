import type { EdrContext, Provider } from '@nomicfoundation/edr';
import { type Hex, hexToBytes } from 'viem';
import { Refusal } from '../../src/kernel/refusal.ts';

export interface RpcCall {
  readonly method: string;
  readonly params: readonly unknown[];
}

export type RpcOutcome = { readonly result: unknown } | { readonly error: RpcError };

interface RpcError {
  readonly code: number;
  readonly message: string;
  /** For a revert, the contract's reason in encoded form. */
  readonly data?: unknown;
}

export type EvmNode = Awaited<ReturnType<typeof createEvmNode>>;

export interface EvmNodeOptions {
  readonly chainId: number;
  /** In seconds. Together with the other options it determines the hash of the genesis block. */
  readonly genesisTime: number;
  /** Owns all native coin at genesis. */
  readonly richAccount: Hex;
}

type Edr = typeof import('@nomicfoundation/edr');

const blockGasLimit = 60_000_000n;

/** The gas of a call that names none. */
export const usualGas = 16_777_216n;

const baseFee = 1_000_000_000n;
const richBalance = 2n ** 200n;

let loading: Promise<{ edr: Edr; context: EdrContext }> | undefined;

/** Loaded once and only when a sandbox needs it, because the package is optional. */
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

/** One chain in memory. It has no clock of its own: the caller passes the block time. */
export async function createEvmNode({ chainId, genesisTime, richAccount }: EvmNodeOptions) {
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
      // Nearly empty blocks would lower the base fee to zero within minutes. It is kept constant, so that gas costs something.
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

  const timed = ({ blockTime, method, params }: TimedCall) => [
    { method: 'evm_setNextBlockTimestamp', params: [blockTime] },
    { method, params },
  ];
  return {
    call: async (method: string, params: readonly unknown[] = []): Promise<RpcOutcome> =>
      toOutcome(await ask(provider, { method, params })),
    /** Like `call`, with the timestamp of the block that it mines. */
    async callAt(blockTime: number, method: string, params: readonly unknown[] = []): Promise<RpcOutcome> {
      const answer = await ask(provider, timed({ blockTime, method, params }));
      return 'error' in answer ? toOutcome(answer) : { result: (answer.result as unknown[])[1] };
    },
    /** Runs the calls in order and stops at the first error. Returns whether all succeeded. */
    async callAllAt(calls: readonly TimedCall[]): Promise<boolean> {
      return !('error' in (await ask(provider, calls.flatMap(timed))));
    },
  };
}

type TimedCall = RpcCall & { readonly blockTime: number };

async function ask(provider: Provider, request: unknown): Promise<RpcOutcome> {
  const response = await provider.handleRequest(JSON.stringify(request));
  return typeof response.data === 'string' ? JSON.parse(response.data) : response.data;
}

/** Reports a revert as other nodes do: code 3 with the contract's raw data. */
function toOutcome(answer: RpcOutcome): RpcOutcome {
  if (!('error' in answer)) return { result: answer.result };
  const { code, message, data } = answer.error;
  const reason = (data as { data?: unknown } | null)?.data;
  if (typeof reason === 'string')
    return { error: { code: 3, message: `execution reverted: ${message}`, data: reason } };
  return { error: { code, message, ...(data !== null && data !== undefined && { data }) } };
}
