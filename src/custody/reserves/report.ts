import { eachHost, type Network, type Networks, type Token } from '../../chains/network.ts';
import type { ReadDatabase } from '../../kernel/db/database.ts';
import type { Logger } from '../../kernel/log/logger.ts';
import { amountOf, toDecimalText } from '../../money/amount.ts';
import type { Asset, ChainId } from '../../money/catalogue.ts';
import { depositTokens } from '../wallets/kept-chains.ts';
import { readTaken } from './open-steps.ts';
import { type BalancesAt, BlockIsGone, readBalances, requireBlock } from './read-balances.ts';
import { type Book, type Position, readPosition } from './read-position.ts';
import { readShown } from './uncredited-arrivals.ts';

/** What we hold and owe of one asset on one chain, at one block and one moment of the ledger. Decimal text. */
export interface ReserveRow {
  readonly chain: ChainId;
  readonly asset: Asset;
  /** Null, like the two that derive from it, while the chain cannot be asked. */
  readonly onChain: string | null;
  readonly owed: string;
  readonly inFlight: string | null;
  readonly difference: string | null;
  readonly blockNumber: number | null;
  /** Why the chain could not be asked. */
  readonly unavailable?: string;
}

export interface ReservesReport {
  readonly reserves: ReserveRow[];
  readonly at: string;
}

export interface ReportParts {
  readonly db: ReadDatabase;
  readonly networks: Networks;
  readonly logger: Logger;
  /**
   * A chain that answers nothing for this long is reported as unavailable, as is one that takes several times as long
   * in all.
   */
  readonly chainTimeoutMs: number;
}

/**
 * Compares the ledger with the chains. Ledger, cursors and open steps are read at one moment; then each chain is asked
 * for our balances at exactly the block that was read. With several hosts each one is asked, so that the node that
 * reported the deposits is not the only witness.
 */
export async function reportReserves(parts: ReportParts): Promise<ReservesReport> {
  const position = await parts.db.atOneMoment(readPosition);
  const rows = await Promise.all(
    [...parts.networks.values()].map(async (network) =>
      leastShown(parts.logger, await Promise.all(eachHost(network).map((host) => reportChain(parts, host, position)))),
    ),
  );
  return { reserves: rows.flat(), at: position.at.toISOString() };
}

/** The lowest balance that any host shows, so that none can hide a shortfall. Hosts that do not answer are skipped. */
function leastShown(logger: Logger, reports: readonly ReserveRow[][]): ReserveRow[] {
  const [first = [], ...others] = reports;
  return first.map((row, index) => {
    const shown = [row, ...others.flatMap((other) => other[index] ?? [])].filter(
      ({ difference }) => difference !== null,
    );
    const [least = row] = shown.toSorted((a, b) => Number(a.onChain) - Number(b.onChain));
    if (shown.some(({ onChain }) => onChain !== least.onChain)) {
      logger.error({ chain: row.chain, asset: row.asset }, 'the nodes of a chain disagree about our balance');
    }
    return least;
  });
}

async function reportChain(
  { logger, chainTimeoutMs }: ReportParts,
  network: Network,
  position: Position,
): Promise<ReserveRow[]> {
  const books = heldTokens(network, position.books);
  const cursor = position.cursors.get(network.id);
  if (cursor === undefined) {
    // Nothing was credited there, so there is nothing to compare unless the ledger says otherwise.
    return books
      .filter(({ book }) => !isEmpty(book))
      .map((held) => unavailable(held, null, 'The chain has not been read yet.'));
  }
  const blockNumber = Number(cursor.blockNumber);
  try {
    return await whileAnswering(chainTimeoutMs, async (patience) => {
      await requireBlock(network, cursor);
      const holdings = await readHoldings(network, books, position, { blockNumber: cursor.blockNumber, ...patience });
      return books.map((held, index) => toRow(held, holdings[index] as Holding, blockNumber));
    });
  } catch (error) {
    logger.warn({ err: error, chain: network.id }, 'reading the reserves of a chain failed');
    const reason =
      error instanceof BlockIsGone ? 'A reorg replaced the block that was read.' : 'The chain does not answer.';
    return books.map((held) => unavailable(held, blockNumber, reason));
  }
}

interface HeldToken {
  readonly token: Token;
  readonly book: Book;
}

/** The tokens that are credited when they arrive, and any others with ledger entries. */
export function heldTokens(network: Network, books: readonly Book[]): HeldToken[] {
  const credited = new Set(depositTokens(network).map(({ asset }) => asset as Asset));
  return network.tokens
    .map((token) => ({ token, book: bookOf(books, network.id, token.asset) }))
    .filter(({ token, book }) => credited.has(token.asset) || !isEmpty(book));
}

function bookOf(books: readonly Book[], chain: ChainId, asset: Asset): Book {
  const found = books.find((book) => book.chain === chain && book.asset === asset);
  return found ?? { chain, asset, users: 0n, owed: 0n, inTransit: 0n, ahead: 0n };
}

function isEmpty({ owed, inTransit, ahead, users }: Book): boolean {
  return owed === 0n && inTransit === 0n && ahead === 0n && users === 0n;
}

export interface Holding {
  readonly onChain: bigint;
  /** What steps took on the chain and the books do not show yet. */
  readonly taken: bigint;
  /** Arrivals that are owed to no one: held, rejected or reversed. */
  readonly unowed: bigint;
}

async function readHoldings(
  network: Network,
  books: readonly HeldToken[],
  { houseAddresses, unsweptAddresses, openSteps, doubted }: Position,
  at: BalancesAt,
): Promise<Holding[]> {
  const { blockNumber, signal } = at;
  const holdings: Holding[] = [];
  for (const { token } of books) {
    signal?.throwIfAborted();
    const unowed = await readShown(network, token, doubted, blockNumber);
    const wallets = new Set([
      ...houseAddresses,
      ...unowed.map(({ address }) => address),
      ...(unsweptAddresses.get(`${network.id}/${token.asset}`) ?? []),
    ]);
    const balances = await readBalances(network, token, [...wallets], at);
    const open = openSteps.filter(({ chain, asset }) => chain === network.id && asset === token.asset);
    holdings.push({
      onChain: total(balances),
      taken: await readTaken(network, token, open, blockNumber),
      unowed: total(unowed.map(({ atomic }) => atomic)),
    });
  }
  return holdings;
}

function toRow({ token: { asset }, book }: HeldToken, holding: Holding, blockNumber: number): ReserveRow {
  const { onChain } = holding;
  const { inFlight, difference } = compare(book, holding);
  const text = (atomic: bigint) => toDecimalText(amountOf(asset, atomic));
  return {
    chain: book.chain,
    asset,
    onChain: text(onChain),
    owed: text(book.owed),
    inFlight: text(inFlight),
    difference: text(difference),
    blockNumber,
  };
}

/** We should hold what we owe and what is in flight; the rest is the difference, and should be zero. */
export function compare(
  { owed, inTransit, ahead }: Book,
  { onChain, taken, unowed }: Holding,
): { readonly inFlight: bigint; readonly difference: bigint } {
  const inFlight = inTransit - taken + ahead + unowed;
  return { inFlight, difference: onChain - owed - inFlight };
}

function unavailable({ token, book }: HeldToken, blockNumber: number | null, reason: string): ReserveRow {
  return {
    chain: book.chain,
    asset: token.asset,
    onChain: null,
    owed: toDecimalText(amountOf(token.asset, book.owed)),
    inFlight: null,
    difference: null,
    blockNumber,
    unavailable: reason,
  };
}

export function total(amounts: readonly bigint[]): bigint {
  return amounts.reduce((sum, amount) => sum + amount, 0n);
}

const mostPatience = 5;

/**
 * Aborts the work when nothing was answered for `timeoutMs`, or when the whole takes several times as long: thousands
 * of wallets take time, and a chain that keeps answering is reachable. Pending requests are aborted, so that they do
 * not pile up on a slow chain.
 */
async function whileAnswering<Result>(
  timeoutMs: number,
  work: (patience: Required<Pick<BalancesAt, 'signal' | 'onAnswer'>>) => Promise<Result>,
): Promise<Result> {
  const ending = new AbortController();
  const { signal } = ending;
  const giveUp = () => ending.abort(new Error(`no answer within ${timeoutMs} ms`));
  const silence = setTimeout(giveUp, timeoutMs);
  const whole = setTimeout(giveUp, mostPatience * timeoutMs);
  const tooLate = new Promise<never>((_resolve, reject) => {
    signal.addEventListener('abort', () => reject(signal.reason as Error), { once: true });
  });
  return Promise.race([work({ signal, onAnswer: () => silence.refresh() }), tooLate]).finally(() => {
    clearTimeout(silence);
    clearTimeout(whole);
  });
}
