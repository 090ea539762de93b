import { z } from 'zod';
import type { Networks, SilentChains } from '../../chains/network.ts';
import type { GasCosts } from '../../custody/treasury/gas-costs.ts';
import { chainDownErrors, refuseSilent, requireNetwork, walletErrors } from '../../custody/wallets/errors.ts';
import { amountField, type GivenAmount, requireAmount } from '../../kernel/http/amount-field.ts';
import { notDuplicateOf } from '../../kernel/http/duplicate-guard.ts';
import { type Amount, amountOf, subtract, toDecimalText, toText } from '../../money/amount.ts';
import { type ChainId, chains } from '../../money/catalogue.ts';
import { note } from '../../policies/approvals/asks.ts';
import type { Fact, Payment } from '../../policies/consent.ts';
import type { Way } from '../../policies/way.ts';
import { requireBridgeable } from './ask-protocol.ts';
import { bridgeErrors } from './errors.ts';
import { type GasFee, gasBetween } from './gas-fee.ts';
import { chainField } from './response.ts';

export const bridgeBody = z.strictObject({
  from: chainField,
  to: chainField,
  amount: amountField,
  maxGasFee: amountField.optional().meta({
    description: 'A number or decimal string. The transfer is refused if its gas currently costs more.',
  }),
  note,
  notDuplicateOf,
});

/** What the request says by itself. Errors here are reported before anything else, even a replay. */
export function readAmounts({ from, to, amount, maxGasFee }: z.output<typeof bridgeBody>) {
  const taken = requireAmount('USDC', amount);
  const mostGas = maxGasFee === undefined ? undefined : feeOrRefuse(maxGasFee);
  if (from === to) throw bridgeErrors.same_chain();
  return { taken, mostGas };
}

export interface CrossingParts {
  readonly networks: Networks;
  readonly silentChains: SilentChains;
  readonly gasCosts: GasCosts;
}

interface Crossing {
  readonly payment: Payment;
  /** The amount that is burned. */
  readonly amount: Amount;
  readonly gasFee: Amount;
  readonly gasLeaving: Amount;
  readonly protocolFee: Amount;
}

/** The fees of the way, or why it cannot be taken now. */
export async function readCrossing(parts: CrossingParts, asked: Asked): Promise<Crossing> {
  const { networks, silentChains, gasCosts } = parts;
  const { from, to, taken } = asked;
  const [source, target] = [requireNetwork(networks, from), requireNetwork(networks, to)];
  await refuseSilent(silentChains, from, to);
  const { fee: gasFee, leaving: gasLeaving } = await gasOrRefuse(gasCosts, asked);
  const amount = subtract(taken, gasFee);
  const protocolFee = await requireBridgeable(source, target, amount);
  const arrives = subtract(amount, protocolFee);
  const facts = () => crossingFacts({ from, to, arrives, gasFee });
  const payment: Payment = { operation: 'bridge', amount: taken, chains: [from, to], facts };
  return { payment, amount, gasFee, gasLeaving, protocolFee };
}

/** The gas changes all the time, so a fifth more of it is allowed for. */
function crossingFacts({ from, to, arrives, gasFee }: CrossingFacts): readonly Fact[] {
  const least = arrives.atomic - gasFee.atomic / 5n;
  return [
    { label: 'From', text: chains[from].name },
    { label: 'To', text: chains[to].name },
    {
      label: 'Arrives at least',
      text: toText(amountOf(arrives.asset, least)),
      promise: { least, actual: arrives.atomic },
    },
  ];
}

interface CrossingFacts {
  readonly from: ChainId;
  readonly to: ChainId;
  readonly arrives: Amount;
  readonly gasFee: Amount;
}

export const bridgeRefusals = [
  bridgeErrors.same_chain,
  walletErrors.chain_not_available,
  chainDownErrors.chain_not_available,
  bridgeErrors.bridge_limit_exceeded,
  bridgeErrors.bridge_amount_too_small,
  bridgeErrors.bridge_fee_too_high,
  bridgeErrors.bridge_paused,
];

export function bridgeWay(parts: CrossingParts): Way<typeof bridgeBody> {
  return {
    operation: 'bridge',
    scope: 'pay',
    body: bridgeBody,
    refusals: bridgeRefusals,
    read: (_caller, body) => readCrossing(parts, { ...readAmounts(body), from: body.from, to: body.to }),
  };
}

interface Asked {
  readonly from: ChainId;
  readonly to: ChainId;
  readonly taken: Amount;
  readonly mostGas: Amount | undefined;
}

async function gasOrRefuse(gasCosts: GasCosts, { from, to, taken, mostGas }: Asked): Promise<GasFee> {
  const quoted = await gasBetween(gasCosts, from, to);
  const { fee, minimum } = quoted;
  const gas = `The gas for this transfer currently costs ${toDecimalText(fee)} USDC.`;
  if (mostGas !== undefined && fee.atomic > mostGas.atomic) {
    throw bridgeErrors.bridge_fee_too_high(
      `${gas} That exceeds your maxGasFee of ${toDecimalText(mostGas)} USDC. Raise it, or try again later.`,
      {
        members: { gasFee: toDecimalText(fee) },
      },
    );
  }
  if (taken.atomic < minimum.atomic) {
    throw bridgeErrors.bridge_amount_too_small(
      `${gas} The minimum amount between these chains is ${toDecimalText(minimum)} USDC.`,
      { members: { gasFee: toDecimalText(fee), leastAmount: toDecimalText(minimum) } },
    );
  }
  return quoted;
}

/** Unlike an amount, a limit may be 0. */
function feeOrRefuse(limit: GivenAmount): Amount {
  return limit.toJSON() === 0 ? amountOf('USDC', 0n) : requireAmount('USDC', limit, 'maxGasFee');
}
