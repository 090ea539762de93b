import { createHash } from 'node:crypto';
import type { AccountId } from '../account-id.ts';
import { pairOf } from '../account-id.ts';
import {
  type ArchivedBalance,
  type ArchivedEntry,
  type ArchivedPosting,
  type ArchiveFooter,
  type ArchiveHeader,
  type ArchiveLine,
  entriesOf,
  parseLine,
} from './archive-line.ts';

/** Where an account stands after the lines so far. */
export interface Standing {
  readonly balance: bigint;
  /** The time of its last entry. */
  readonly at: string;
}

export interface ArchiveCheck {
  /** Takes the next line, without its end. */
  take(line: Buffer): void;
  /** After the last line. */
  end(): void;
  /** Whole sentences, at most a hundred; none while the file is sound. */
  readonly problems: readonly string[];
  readonly header: ArchiveHeader | undefined;
  /** The footer that belongs to the lines so far. */
  footer(): ArchiveFooter;
  readonly standings: ReadonlyMap<number, Standing>;
}

const parts = ['header', 'opening', 'posting', 'closing', 'footer'] as const;
type Part = (typeof parts)[number];

const mostProblems = 100;

/**
 * Follows an archived month line by line: every posting balances, every balance follows from the one before, times rise,
 * and the sums are right. It keeps one balance for each account, however many postings there are.
 */
export function createArchiveCheck(): ArchiveCheck {
  const problems: string[] = [];
  const standings = new Map<number, Standing>();
  const hash = createHash('sha256');
  let header: ArchiveHeader | undefined;
  let part: Part | undefined;
  let number = 0;
  let postings = 0;
  let entries = 0;
  let closed = 0;
  let lastAccount = Number.NEGATIVE_INFINITY;
  let last = { at: '', id: '' };

  function report(text: string): void {
    if (problems.length < mostProblems) problems.push(`Line ${number}: ${text}`);
  }

  function footer(): ArchiveFooter {
    return { postings, entries, accounts: standings.size, sha256: hash.copy().digest('hex') };
  }

  /** Lines come in the order of their parts, and one header comes first. */
  function enter(next: Part): void {
    const isRepeated = next === part && (next === 'header' || next === 'footer');
    if (part === undefined ? next !== 'header' : isRepeated || parts.indexOf(next) < parts.indexOf(part))
      report(`a ${next} cannot be here.`);
    if (next !== part) lastAccount = Number.NEGATIVE_INFINITY;
    part = next;
  }

  function takeBalance(account: number): void {
    if (account <= lastAccount) report(`account ${account} is out of order.`);
    lastAccount = account;
  }

  function takeOpening([account, balance, at]: ArchivedBalance): void {
    takeBalance(account);
    if (header?.from === null || at >= (header?.from ?? '')) report(`account ${account} moved before the month began.`);
    standings.set(account, { balance: BigInt(balance), at });
  }

  function takePosting(posting: ArchivedPosting): void {
    const { id, at } = posting;
    postings += 1;
    if (at < last.at || (at === last.at && id <= last.id)) report(`posting ${id} is out of order.`);
    last = { at, id };
    if (header !== undefined && (at >= header.to || (header.from !== null && at < header.from)))
      report(`posting ${id} of ${at} does not belong to the month.`);
    const own = entriesOf(posting);
    const isWhole =
      posting.payer === null ? posting.payee === null && posting.feeTo === null : posting.entries.length === 0;
    if (own.length < 2 || !isWhole) report(`posting ${id} has not the entries of a posting.`);
    const sums = new Map<number, bigint>();
    for (const entry of own) {
      const pair = pairOf(entry.account as AccountId);
      sums.set(pair, (sums.get(pair) ?? 0n) + entry.amount);
      takeEntry(posting, entry);
    }
    for (const [pair, sum] of sums)
      if (sum !== 0n) report(`posting ${id} sums to ${sum} in asset ${pair & 15} on chain ${pair >> 4}.`);
  }

  function takeEntry({ id, at }: ArchivedPosting, { account, amount, after }: ArchivedEntry): void {
    entries += 1;
    const before = standings.get(account) ?? { balance: 0n, at: '' };
    if (at <= before.at) report(`posting ${id} changed account ${account} at ${at}, which is not after ${before.at}.`);
    if (before.balance + amount !== after)
      report(`posting ${id} changed account ${account} by ${amount}, from ${before.balance} to ${after}.`);
    if (after < 0n && ((account >> 8) & 63) < 32) report(`account ${account} is below zero with ${after}.`);
    standings.set(account, { balance: after, at });
  }

  function takeClosing([account, balance, at]: ArchivedBalance): void {
    takeBalance(account);
    closed += 1;
    const standing = standings.get(account);
    if (standing?.balance !== BigInt(balance) || standing.at !== at)
      report(
        `account ${account} closes with ${balance} at ${at}, but its entries lead to ${standing?.balance ?? 0n} at ${standing?.at || 'no time'}.`,
      );
  }

  function takeFooter(said: ArchiveFooter): void {
    const found = footer();
    if (said.postings !== postings) report(`the footer counts ${said.postings} postings, but there are ${postings}.`);
    if (said.entries !== entries) report(`the footer counts ${said.entries} entries, but there are ${entries}.`);
    if (said.accounts !== standings.size || closed !== standings.size)
      report(`the footer counts ${said.accounts} accounts and ${closed} are closed, but there are ${standings.size}.`);
    if (said.sha256 !== found.sha256)
      report(`the footer has the digest ${said.sha256}, but the lines have ${found.sha256}.`);
  }

  function takePart(line: ArchiveLine): void {
    enter(parts.find((one) => one in line) ?? 'header');
    if ('posting' in line) takePosting(line.posting);
    else if ('opening' in line) takeOpening(line.opening);
    else if ('closing' in line) takeClosing(line.closing);
    else if ('footer' in line) takeFooter(line.footer);
    else header = line.header;
  }

  return {
    take(line) {
      number += 1;
      const parsed = parseLine(line);
      if (parsed === undefined) report('is not a line of an archive.');
      else takePart(parsed);
      hash.update(line).update('\n');
    },
    end() {
      if (part !== 'footer') report('the file ends without a footer.');
    },
    problems,
    get header() {
      return header;
    },
    footer,
    standings,
  };
}
