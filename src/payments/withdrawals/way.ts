import type { Hex } from 'viem';
import { z } from 'zod';
import { withdrawalAddress } from '../../accounts/fields.ts';
import type { Networks, SilentChains } from '../../chains/network.ts';
import { checkLimits } from '../../custody/limits/allow-list.ts';
import { limitErrors } from '../../custody/limits/errors.ts';
import type { OutgoingLimits } from '../../custody/limits/outgoing-limits.ts';
import { faceValue, refuseBeyondLimits, refuseBeyondValue } from '../../custody/limits/value-limits.ts';
import type { GasCosts } from '../../custody/treasury/gas-costs.ts';
import { chainDownErrors, refuseSilent } from '../../custody/wallets/errors.ts';
import type { Queryable } from '../../kernel/db/database.ts';
import { amountField, holding, requireAmount } from '../../kernel/http/amount-field.ts';
import type { Caller } from '../../kernel/http/define-route.ts';
import { notDuplicateOf } from '../../kernel/http/duplicate-guard.ts';
import { type Amount, subtract, toText } from '../../money/amount.ts';
import { type ChainId, chains, coins, currencies, homeChain, isCurrency } from '../../money/catalogue.ts';
import { withdrawalFee } from '../../money/fees.ts';
import { listed } from '../../money/in-words.ts';
import type { Market } from '../../money/market.ts';
import { note } from '../../policies/approvals/asks.ts';
import type { Fact, Payment } from '../../policies/consent.ts';
import type { Way } from '../../policies/way.ts';
import { quoteGas, refuseBelowGas } from './cover-gas.ts';
import { withdrawalErrors } from './errors.ts';
import { refuseImpossible } from './open-withdrawal.ts';
import { chainField } from './response.ts';

export const withdrawBody = z.strictObject({
  amount: amountField.meta({
    description: `A number or decimal string. In ${listed(currencies)} from 1 to 10000, with at most 6 decimals. In ${listed(coins)} with at most 18 decimals and a current market value of 1 to 10000 USDC; use a string for full precision.`,
  }),
  currency: holding.default('USDC'),
  address: withdrawalAddress.optional().meta({
    description: 'Defaults to your saved withdrawalAddress. A mixed-case address must have a valid EIP-55 checksum.',
  }),
  chain: chainField.default(homeChain).meta({ description: 'The chain to pay out on, from your balance there.' }),
  note,
  notDuplicateOf,
});

type WithdrawBody = z.output<typeof withdrawBody>;

/** Invalid amounts are refused before anything else, even a replay. */
export function grossOf({ currency, amount }: WithdrawBody): Amount {
  const gross = requireAmount(currency, amount);
  if (isCurrency(gross.asset)) refuseBeyondLimits(gross);
  return gross;
}

export interface WayOutParts {
  readonly db: Queryable;
  readonly networks: Networks;
  readonly silentChains: SilentChains;
  readonly market: Market;
}

interface WayOut {
  readonly payment: Payment;
  readonly address: Hex;
  /** In millionths of a USDC. */
  readonly value: bigint;
}

/** Where the money goes and what it is worth, or why it cannot go there. */
export async function readWayOut(
  { db, networks, silentChains, market }: WayOutParts,
  { accountId }: Pick<Caller, 'accountId'>,
  {
    chain,
    address: given,
    gross,
  }: { readonly chain: ChainId; readonly address: Hex | undefined; readonly gross: Amount },
): Promise<WayOut> {
  const address = given ?? (await savedAddress(db, accountId));
  await refuseImpossible(db, networks, { chain, address, gross });
  await refuseSilent(silentChains, chain);
  const value = isCurrency(gross.asset) ? (faceValue(gross) ?? 0n) : await refuseBeyondValue(market, gross);
  return {
    payment: {
      operation: 'withdraw',
      amount: gross,
      counterparty: { kind: 'address', address },
      chains: [chain],
      facts: () => withdrawalFacts(gross, chain),
    },
    address,
    value,
  };
}

function withdrawalFacts(gross: Amount, chain: ChainId): readonly Fact[] {
  const fee = withdrawalFee(gross);
  return [
    { label: 'Chain', text: chains[chain].name },
    { label: 'Fee', text: toText(fee) },
    { label: 'Arrives', text: toText(subtract(gross, fee)) },
  ];
}

async function savedAddress(db: Queryable, accountId: bigint): Promise<Hex> {
  const { rows } = await db.query<{ address: Hex | null }>(
    'SELECT withdrawal_address AS address FROM accounts WHERE id = $1',
    [accountId],
  );
  const address = rows[0]?.address;
  if (address == null) throw withdrawalErrors.withdrawal_address_required();
  return address;
}

export const withdrawRefusals = [
  withdrawalErrors.withdrawal_address_required,
  withdrawalErrors.withdrawal_address_refused,
  withdrawalErrors.chain_not_available,
  chainDownErrors.chain_not_available,
  withdrawalErrors.currency_not_available,
  withdrawalErrors.amount_too_small,
  limitErrors.daily_limit_reached,
  limitErrors.address_not_allowed,
];

interface WithdrawWayParts extends WayOutParts {
  readonly brakes: OutgoingLimits;
  readonly gasCosts: GasCosts;
}

export function withdrawWay(parts: WithdrawWayParts): Way<typeof withdrawBody> {
  return {
    operation: 'withdraw',
    scope: 'withdraw',
    body: withdrawBody,
    refusals: withdrawRefusals,
    async read(caller, body) {
      const [{ accountId }, { chain }, gross] = [caller, body, grossOf(body)];
      const { payment, address, value } = await readWayOut(parts, caller, { chain, address: body.address, gross });
      return {
        payment,
        async refuseBeyondLimits() {
          await checkLimits(parts.db, parts.brakes, { accountId, address, value });
          const quote = await quoteGas(parts.gasCosts, { chain, gross, value });
          refuseBelowGas(quote, { gross, fee: withdrawalFee(gross), value });
        },
      };
    },
  };
}
