import { invalid } from './refusal.ts';
import type { EmulatedTransaction, TransactionBook } from './transaction-book.ts';

interface Listed {
  readonly page: readonly EmulatedTransaction[];
  /** As the header Link has it. */
  readonly link: string;
}

/** What somebody who lists transactions may ask for. */
type Filter = (transaction: EmulatedTransaction, wanted: string) => boolean;

const filters: Readonly<Record<string, Filter>> = {
  blockchain: ({ wallet }, wanted) => wallet.blockchain === wanted,
  custodyType: (_, wanted) => wanted === 'DEVELOPER',
  destinationAddress: ({ described }, wanted) => sameAddress(described['destinationAddress'], wanted),
  // All tokens here are watched.
  includeAll: () => true,
  operation: ({ described }, wanted) => described['operation'] === wanted,
  state: ({ state }, wanted) => state === wanted,
  txHash: ({ txHash }, wanted) => txHash === wanted,
  txType: (_, wanted) => wanted === 'OUTBOUND',
  walletIds: ({ wallet }, wanted) => wanted.split(',').includes(wallet.id),
  from: ({ createDate }, wanted) => Date.parse(createDate) >= Date.parse(wanted),
  to: ({ createDate }, wanted) => Date.parse(createDate) <= Date.parse(wanted),
};

const paging = ['pageBefore', 'pageAfter', 'pageSize', 'order'];

/** A page of the transactions that were made long enough ago, as Circle's description has it. */
export function listTransactions(book: TransactionBook, query: URLSearchParams): Listed {
  for (const name of query.keys()) if (!(name in filters) && !paging.includes(name)) throw invalid(name);
  const wanted = Number(query.get('pageSize') ?? 10);
  if (!(Number.isInteger(wanted) && wanted >= 1 && wanted <= 50)) throw invalid('pageSize');
  const pageSize = Math.min(wanted, book.mostPerPage);
  const order = query.get('order') ?? 'DESC';
  if (order !== 'ASC' && order !== 'DESC') throw invalid('order');

  // The book is in the order of creation.
  const all = [...book.all.values()].filter(
    (transaction) =>
      Date.parse(transaction.createDate) + book.listedAfterMs <= Date.now() &&
      Object.entries(filters).every(([name, passes]) => passes(transaction, query.get(name) ?? '') || !query.has(name)),
  );
  if (order === 'DESC') all.reverse();

  const [after, before] = [placeOf(all, query.get('pageAfter')), placeOf(all, query.get('pageBefore'))];
  const start = before === undefined ? (after ?? -1) + 1 : Math.max(0, before - pageSize);
  const page = all.slice(start, before ?? start + pageSize);
  const isLast = start + page.length >= all.length;
  return { page, link: linkTo(query, isLast ? undefined : page.at(-1)) };
}

function placeOf(all: readonly EmulatedTransaction[], id: string | null): number | undefined {
  if (id === null) return undefined;
  const place = all.findIndex((transaction) => transaction.id === id);
  if (place === -1) throw invalid('there is no such transaction to page from');
  return place;
}

function linkTo(query: URLSearchParams, last: EmulatedTransaction | undefined): string {
  const to = (changed: Record<string, string>, rel: string) => {
    const next = new URLSearchParams({ ...Object.fromEntries(query), ...changed });
    return `<https://api.circle.com/v1/w3s/transactions?${next}>; rel="${rel}"`;
  };
  const links = [to({}, 'self'), ...(last === undefined ? [] : [to({ pageAfter: last.id }, 'next')])];
  return links.join(', ');
}

function sameAddress(one: unknown, other: string): boolean {
  return typeof one === 'string' && one.toLowerCase() === other.toLowerCase();
}
