import { type SettingRow, wholeNumber } from '../../kernel/settings.ts';
import { assets, chainIds, chains, type UntradedCoin, untradedCoins } from '../../money/catalogue.ts';
import { listed } from '../../money/in-words.ts';

/** The price of one coin for charging gas, in atomic units of USDC. */
export type UntradedPrices = Readonly<Record<UntradedCoin, bigint>>;

type Variable = `${UntradedCoin}_USD`;

const variableOf = (coin: UntradedCoin): Variable => `${coin}_USD`;

export const untradedNames: readonly Variable[] = untradedCoins.map(variableOf);

/** The operator sets the price of a native coin that the home chain's market does not trade. */
export const untradedVariables = Object.fromEntries(
  untradedCoins.map((coin) => [variableOf(coin), wholeNumber(1, 10_000, assets[coin].gasPrice)]),
) as Record<Variable, ReturnType<typeof wholeNumber>>;

export const untradedRows: Readonly<Record<string, SettingRow>> = Object.fromEntries(
  untradedCoins.map((coin) => {
    const paidOn = listed(chainIds.filter((id) => chains[id].native === coin).map((id) => chains[id].name));
    return [
      variableOf(coin),
      {
        usual: `\`${assets[coin].gasPrice}\``,
        does: `The price of one ${coin} in whole USDC, for charging gas on ${paidOn}. The market that prices the other coins does not trade it.`,
        change: `When the price of ${coin} has moved.`,
      },
    ];
  }),
);

export function readUntraded(env: Readonly<Record<Variable, number>>): UntradedPrices {
  const prices = untradedCoins.map((coin) => [coin, BigInt(env[variableOf(coin)]) * 1_000_000n]);
  return Object.fromEntries(prices) as UntradedPrices;
}
