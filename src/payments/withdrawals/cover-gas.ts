import { mostValue } from '../../custody/limits/value-limits.ts';
import type { GasCosts, GasWork } from '../../custody/treasury/gas-costs.ts';
import { toAmountValue } from '../../kernel/http/amount-field.ts';
import { type Amount, amountOf, toDecimalText } from '../../money/amount.ts';
import { isCurrency } from '../../money/catalogue.ts';
import { leastWithdrawalFor } from '../../money/fees.ts';
import { withdrawalErrors } from './errors.ts';
import { mostGas } from './native-coin.ts';
import type { Withdrawal } from './withdrawal.ts';

/** Worst case of a USDC or EURC transfer: through the token's proxy, to an address that holds none yet. */
const transferWork: GasWork = { gas: 65_000n, bytes: 200n };

/** Native coin is unwrapped and then sent, possibly to a contract that uses all the gas it is given. */
const coinWork: GasWork = { gas: 60_000n + mostGas, bytes: 600n };

/** Messages round up to whole cents. */
const cent = 10_000n;

type Wanted = Pick<Withdrawal, 'gross' | 'fee'> & { readonly value: bigint };

export interface GasQuote {
  /** In atomic units of USDC. */
  readonly cost: bigint;
  /** The same in the asset of the withdrawal. A euro counts as a dollar, as in every limit. */
  readonly needed: Amount;
}

export async function quoteGas(
  gasCosts: GasCosts,
  { chain, gross, value }: Pick<Withdrawal, 'chain'> & Omit<Wanted, 'fee'>,
): Promise<GasQuote> {
  const { asset } = gross;
  const cost = await gasCosts.inUsdc(chain, isCurrency(asset) ? transferWork : coinWork);
  return { cost, needed: amountOf(asset, isCurrency(asset) ? cost : (cost * gross.atomic + value - 1n) / value) };
}

/**
 * The fee must cover the current gas cost on every chain. Otherwise anyone could make the house pay the difference, any
 * number of times.
 */
export function refuseBelowGas({ cost, needed }: GasQuote, { gross, fee, value }: Wanted): void {
  const { asset } = fee;
  if (fee.atomic >= needed.atomic) return;
  const least = leastWithdrawalFor(needed);
  const told = isCurrency(asset) ? amountOf(asset, ((least.atomic + cent - 1n) / cent) * cent) : least;
  const gas = `The gas for this withdrawal currently costs ${toDecimalText(amountOf('USDC', cost))} USDC, and its fee of ${toDecimalText(fee)} ${asset} does not cover it.`;
  if ((told.atomic * value) / gross.atomic > mostValue) {
    throw withdrawalErrors.amount_too_small(
      `${gas} Currently no allowed amount covers it. Try again later, or use another chain.`,
      {
        members: { leastAmount: null, currency: asset },
      },
    );
  }
  throw withdrawalErrors.amount_too_small(
    `${gas} Withdraw at least ${toDecimalText(told)} ${asset}, or use another chain.`,
    { members: { leastAmount: toAmountValue(told), currency: asset } },
  );
}
