import { BaseError, ContractFunctionRevertedError } from 'viem';
import { cctp, messageTransmitterAbi, tokenMessengerAbi, tokenMinterAbi } from '../../chains/cctp.ts';
import type { Network } from '../../chains/network.ts';
import { httpErrors } from '../../kernel/http/errors.ts';
import { type Amount, amountOf, toDecimalText } from '../../money/amount.ts';
import { chains } from '../../money/catalogue.ts';
import { bridgeErrors } from './errors.ts';

/** The protocol's terms on the source chain. */
export interface ProtocolTerms {
  readonly paused: boolean;
  /** The maximum per message, in atomic units. */
  readonly burnLimit: bigint;
  /** The protocol's minimum fee, in atomic units. */
  readonly minFee: bigint;
}

/** The protocol may keep 1 % at most. Circle charges nothing today for transfers that wait for finality. */
const mostKept = 100n;

/** The reason why the protocol's fee is too high; undefined when it is not. */
export function feeTooHigh({ minFee }: Pick<ProtocolTerms, 'minFee'>, { asset, atomic }: Amount): string | undefined {
  if (minFee * mostKept <= atomic) return undefined;
  const kept = toDecimalText(amountOf(asset, minFee));
  return `The cross-chain protocol currently charges ${kept} ${asset}, which is more than 1 % of the amount.`;
}

/** Refuses a transfer that the protocol would not accept now, before the balance is debited. Answers the protocol's fee. */
export async function requireBridgeable(from: Network, to: Network, amount: Amount): Promise<Amount> {
  const [terms, isPausedThere] = await Promise.all([askTerms(from, amount), isPaused(to)]).catch((error: unknown) => {
    if (!(error instanceof BaseError)) throw error;
    throw httpErrors.unavailable(undefined, { headers: { 'Retry-After': '5' } });
  });
  if (terms.paused || isPausedThere) throw bridgeErrors.bridge_paused(undefined, { headers: { 'Retry-After': '60' } });
  if (amount.atomic > terms.burnLimit) {
    const most = toDecimalText(amountOf(amount.asset, terms.burnLimit));
    throw bridgeErrors.bridge_limit_exceeded(
      `CCTP’s limit per transfer from ${chains[from.id].name} is ${most} ${amount.asset}. Split the amount into smaller transfers.`,
    );
  }
  const trouble = feeTooHigh(terms, amount);
  if (trouble !== undefined) throw bridgeErrors.bridge_fee_too_high(trouble);
  return amountOf(amount.asset, terms.minFee);
}

export async function askTerms(network: Network, { atomic }: Amount): Promise<ProtocolTerms> {
  const token = chains[network.id].tokens.USDC;
  const minter = { address: cctp.tokenMinter, abi: tokenMinterAbi } as const;
  const transmitter = { address: cctp.messageTransmitter, abi: messageTransmitterAbi } as const;
  const [minterPaused, transmitterPaused, burnLimit, minFee] = await network.client.multicall({
    contracts: [
      { ...minter, functionName: 'paused' },
      { ...transmitter, functionName: 'paused' },
      { ...minter, functionName: 'burnLimitsPerMessage', args: [token] },
      { address: cctp.tokenMessenger, abi: tokenMessengerAbi, functionName: 'getMinFeeAmount', args: [atomic] },
    ],
    allowFailure: true,
  });
  for (const { error } of [minterPaused, transmitterPaused, burnLimit]) if (error !== undefined) throw error;
  return {
    paused: minterPaused.result === true || transmitterPaused.result === true,
    burnLimit: burnLimit.result ?? 0n,
    minFee: minFee.result ?? feeWithoutAnswer(minFee.error, atomic),
  };
}

/**
 * The first contracts of this version have no minimum fee, and revert without data. Later ones revert with a reason when the fee would
 * consume the whole amount.
 */
function feeWithoutAnswer(error: Error | undefined, atomic: bigint): bigint {
  const refused = error instanceof BaseError && error.walk((inner) => inner instanceof ContractFunctionRevertedError);
  const hasWords = refused instanceof ContractFunctionRevertedError && refused.data !== undefined;
  return hasWords ? atomic : 0n;
}

async function isPaused({ client }: Network): Promise<boolean> {
  const answers = await client.multicall({
    contracts: [
      { address: cctp.tokenMinter, abi: tokenMinterAbi, functionName: 'paused' },
      { address: cctp.messageTransmitter, abi: messageTransmitterAbi, functionName: 'paused' },
    ],
    allowFailure: false,
  });
  return answers.some((paused) => paused);
}
