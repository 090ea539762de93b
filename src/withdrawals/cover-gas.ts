import type { ChainId } from '../chains/chains.ts';
import { smaller } from '../chains/fee-ceiling.ts';
import type { Network, Networks } from '../chains/network.ts';
import { httpErrors } from '../http/errors.ts';
import { type Amount, amountOf, toDecimalText, toJsonNumber } from '../money/amount.ts';
import { leastWithdrawalFor } from '../money/fees.ts';
import type { Market } from '../swaps/market.ts';
import { quoteOrUnavailable } from '../swaps/quote-or-unavailable.ts';
import { withdrawalErrors } from './errors.ts';
import { mostValue } from './value-limits.ts';

/** What a transfer of USDC or EURC takes at most: to an address that has none yet, through the token's proxy. */
const transferGas = 65_000n;

/** Told amounts are whole cents: nobody types millionths. */
const cent = 10_000n;

interface GasParts {
  readonly networks: Networks;
  readonly market: Market;
}

/**
 * On Ethereum a payment can cost more than its fee, and the house would pay the rest, as often as anybody likes. So the fee has to
 * be worth what the gas costs now, at what the market pays for ether. A euro counts as a dollar, as it does in every limit.
 * Elsewhere gas costs less than a cent.
 */
export async function refuseBelowGas(
  { networks, market }: GasParts,
  { chain, fee }: { readonly chain: ChainId; readonly fee: Amount },
): Promise<void> {
  const network = networks.get(chain);
  if (chain !== 'ETH' || network === undefined) return;
  const cost = await priceOfTransfer(network, market);
  if (fee.atomic >= cost) return;
  const { asset } = fee;
  const least = leastWithdrawalFor(amountOf(asset, cost));
  const told = amountOf(asset, ((least.atomic + cent - 1n) / cent) * cent);
  const gas = `The gas of this payment costs ${toDecimalText(amountOf('USDC', cost))} USDC now, and its fee is ${toDecimalText(fee)} ${asset}.`;
  if (told.atomic > mostValue) {
    throw withdrawalErrors.amount_too_small(
      `${gas} No amount pays for that at the moment: try later, or another chain.`,
      {
        members: { leastAmount: null, currency: asset },
      },
    );
  }
  throw withdrawalErrors.amount_too_small(
    `${gas} The smallest amount that pays for it is ${toDecimalText(told)} ${asset}. Other chains take less.`,
    { members: { leastAmount: toJsonNumber(told), currency: asset } },
  );
}

/** In atomic units of USDC, rounded up. */
async function priceOfTransfer(network: Network, market: Market): Promise<bigint> {
  const atomic = transferGas * (await gasPrice(network));
  if (atomic === 0n) return 0n;
  const quote = await quoteOrUnavailable(market, { from: 'ETH', to: 'USDC', atomic });
  if (quote === undefined) throw httpErrors.unavailable(undefined, tryAgain);
  return quote.amountOut + 1n;
}

const tryAgain = { headers: { 'Retry-After': '5' } };

/** What the next block asks for, with a tip that we would give: not the most that we would offer, which leaves room to rise. */
async function gasPrice({ client, feeCeiling }: Network): Promise<bigint> {
  try {
    const [block, tip] = await Promise.all([
      client.getBlock({ blockTag: 'latest' }),
      client.estimateMaxPriorityFeePerGas(),
    ]);
    return (block.baseFeePerGas ?? 0n) + smaller(tip, feeCeiling.priorityFee);
  } catch {
    throw httpErrors.unavailable(undefined, tryAgain);
  }
}
