import { Refusal } from '../../kernel/refusal.ts';
import { type Amount, toDecimalText } from '../../money/amount.ts';
import { type Asset, assetIds, type ChainId, chainIds } from '../../money/catalogue.ts';
import { amountFromText } from '../../money/parse-amount.ts';

export function inWords(amount: Amount): string {
  return `${toDecimalText(amount)} ${amount.asset}`;
}

export function chainOrRefuse(chain: string): ChainId {
  const found = chainIds.find((id) => id === chain.toUpperCase());
  if (found === undefined) throw new Refusal(`The chain must be one of ${chainIds.join(', ')}, not "${chain}".`);
  return found;
}

export function assetOrRefuse(currency: string): Asset {
  const found = assetIds.find((asset) => asset === currency.toUpperCase());
  if (found === undefined) throw new Refusal(`The currency must be one of ${assetIds.join(', ')}, not "${currency}".`);
  return found;
}

export function amountOrRefuse(currency: string, given: string): Amount {
  const parsed = amountFromText(assetOrRefuse(currency), given);
  if (!parsed.ok) throw new Refusal(`--amount ${parsed.message}.`);
  return parsed.amount;
}
