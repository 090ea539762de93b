import { BaseError, ContractFunctionRevertedError } from 'viem';
import { cctp, messageTransmitterAbi, tokenMessengerAbi, tokenMinterAbi } from '../../chains/cctp.ts';
import type { Network } from '../../chains/network.ts';
import { httpErrors } from '../../kernel/http/errors.ts';
import { type Amount, amountOf, toDecimalText } from '../../money/amount.ts';
import { chains } from '../../money/catalogue.ts';
import { bridgeErrors } from './errors.ts';

/** What the protocol says on the chain where something is to be burnt, in one question. */
export interface ProtocolTerms {
  readonly paused: boolean;
  /** The most that one message may carry, in atomic units. */
  readonly burnLimit: bigint;
  /** What it keeps at least, in atomic units. */
  readonly minFee: bigint;
}

/** Of what is burnt, the protocol may keep a hundredth. Circle takes nothing today for transfers that wait for finality. */
const mostKept = 100n;

/** Why the protocol is too dear now, undefined when it is not. */
export function tooDear({ minFee }: Pick<ProtocolTerms, 'minFee'>, { asset, atomic }: Amount): string | undefined {
  if (minFee * mostKept <= atomic) return undefined;
  const kept = toDecimalText(amountOf(asset, minFee));
  return `The cross-chain protocol currently charges ${kept} ${asset}, which is more than 1 % of the amount.`;
}

/** Refuses what the protocol would not carry now. Asked before anything is taken from anybody. Answers what it would keep. */
export async function refuseUnbridgeable(from: Network, to: Network, amount: Amount): Promise<Amount> {
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
  const trouble = tooDear(terms, amount);
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
 * The first contracts of this version take no minimum fee, and do not know the question. Later ones refuse it with words when
 * the amount is so small that the fee would be all of it.
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
