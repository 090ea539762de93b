import type { Command } from 'commander';
import { namesOf } from '../../accounts/find-account.ts';
import type { Network, Networks } from '../../chains/network.ts';
import { amountOrRefuse, chainOrRefuse, inWords } from '../../custody/treasury/command-options.ts';
import { createAddressBook } from '../../custody/watch/address-book.ts';
import { findCursor } from '../../custody/watch/chain-cursor.ts';
import type { OnDeposits } from '../../custody/watch/on-deposits.ts';
import { type BlockRange, readInRanges } from '../../custody/watch/read-transfers.ts';
import { createLogger } from '../../kernel/log/logger.ts';
import { Refusal } from '../../kernel/refusal.ts';
import { amountOf } from '../../money/amount.ts';
import { type Asset, chainIds, homeChain } from '../../money/catalogue.ts';
import { type BookParts, bookMissed } from './book-transfers.ts';
import { type BookedDeposit, findBooked, listLost } from './booked-deposit.ts';
import type { CreditParts } from './credit-deposits.ts';
import { findHeld, type HeldDeposit, listHeld, rejectHeld, releaseHeld } from './held-deposit.ts';
import { type ReverseParts, refuseIfShown, reverseBooked } from './reverse-deposit.ts';
import { restoreBooked, settleReversal } from './settle-reversal.ts';

/** The command's options, unparsed. */
interface RereadRequest {
  readonly chain: string;
  readonly from: string;
  readonly to: string;
}

interface ReadAgainResult {
  readonly range: BlockRange;
  readonly transfers: number;
  /** How many of them the ledger did not have. */
  readonly missed: number;
}

/**
 * Re-reads blocks at the operator's request and books missing transfers. Blocks beyond the cursor are refused: they are
 * not final, or the watcher is about to read them.
 */
async function readAgain(
  parts: Omit<BookParts, 'book'> & { readonly networks: Networks },
  request: RereadRequest,
): Promise<ReadAgainResult> {
  const network = findNetwork(parts.networks, request.chain);
  const range = { from: blockNumber('--from', request.from), to: blockNumber('--to', request.to) };
  if (range.from > range.to) throw new Refusal(`--from ${range.from} is after --to ${range.to}.`);
  const cursor = await findCursor(parts.db, network.id);
  if (cursor === undefined || range.to > cursor.number) {
    throw new Refusal(
      cursor === undefined
        ? `${network.id} has not been read yet, so there is nothing to re-read.`
        : `${network.id} has been read up to block ${cursor.number}. --to must not be later.`,
    );
  }
  const book = createAddressBook(parts.db);
  await book.refresh();
  let [transfers, missed] = [0, 0];
  for await (const piece of readInRanges(network, range, book)) {
    transfers += piece.transfers.length;
    missed += (await bookMissed({ ...parts, book }, network, piece.transfers)).length;
  }
  return { range, transfers, missed };
}

function findNetwork(networks: Networks, chain: string): Network {
  const id = chainOrRefuse(chain);
  const network = networks.get(id);
  if (network === undefined) throw new Refusal(`${id} is not configured. Set RPC_URLS_${id} to read it.`);
  return network;
}

function blockNumber(option: string, text: string): bigint {
  if (!/^\d{1,15}$/.test(text)) throw new Refusal(`${option} must be a block number, not ${text}.`);
  return BigInt(text);
}

export interface DepositParts extends ReverseParts {
  readonly networks: Networks;
}

type Settings = Pick<CreditParts, 'oneNodeLimit'>;
type WithMoney = (work: (parts: DepositParts, settings: Settings) => Promise<void>) => Promise<void>;
type Say = (line: string) => void;

export function addDepositCommands(
  program: Command,
  { withMoney, say, onDeposits }: { readonly withMoney: WithMoney; readonly say: Say; readonly onDeposits: OnDeposits },
): void {
  const deposits = program.command('deposits').description('review held and lost deposits, and re-read blocks');

  deposits
    .command('list')
    .description('list held, rejected, lost and reversed deposits, with reasons and debts')
    .option('--held', 'only deposits that wait for a second node or for your decision')
    .action(({ held: onlyHeld = false }: { held?: boolean }) => withMoney((parts) => list(parts, say, { onlyHeld })));

  deposits
    .command('release <id>')
    .description('credit a held or reversed deposit that you have verified on the chain yourself')
    .action((id: string) => withMoney((parts) => release(parts, id, say)));

  deposits
    .command('reverse <id>')
    .description('reject a held deposit permanently, or reverse a credited one that is no longer on the chain')
    .option('--force', 'even if the chain shows it or no node answers')
    .action((id: string, { force = false }: { force?: boolean }) =>
      withMoney((parts) => reverse(parts, id, say, { force })),
    );

  deposits
    .command('settle <id>')
    .description('settle the debt for a deposit that was reversed after it was spent')
    .option('--collect', "collect it from the owner's balance, as far as that covers it")
    .option('--write-off', 'write it off against the equity of the house')
    .option('--amount <amount>', 'settle only this amount')
    .option('--chain <chain>', `the chain of the balance to collect from: ${chainIds.join(', ')}`, homeChain)
    .action((id: string, options: SettleOptions) => withMoney((parts) => settle(parts, id, options, say)));

  deposits
    .command('read')
    .description('re-read blocks and book missing deposits; booked deposits stay unchanged')
    .requiredOption('--chain <chain>', 'the chain, such as MATIC')
    .requiredOption('--from <block>', 'the first block')
    .requiredOption('--to <block>', 'the last block; the service must have read it before')
    .action((request: RereadRequest) =>
      withMoney(async (parts, { oneNodeLimit }) => {
        const logger = createLogger('error');
        const { range, transfers, missed } = await readAgain({ ...parts, logger, onDeposits, oneNodeLimit }, request);
        say(
          `Blocks ${range.from} to ${range.to} have ${transfers} transfers to our wallets. Missing from the ledger: ${missed}.`,
        );
        if (missed > 0) say('They are now booked or held: see `paywright deposits list`.');
      }),
    );
}

interface SettleOptions {
  readonly collect?: boolean;
  readonly writeOff?: boolean;
  readonly amount?: string;
  readonly chain: string;
}

async function list({ db }: DepositParts, say: Say, { onlyHeld }: { readonly onlyHeld: boolean }): Promise<void> {
  const held = (await listHeld(db)).filter(({ rejectedAt }) => !onlyHeld || rejectedAt === null);
  const lost = onlyHeld ? [] : await listLost(db);
  const names = await namesOf(db, [
    ...held.map(({ arrival }) => arrival.accountId),
    ...lost.map(({ accountId }) => accountId),
  ]);
  const owner = (id: bigint | null) => (id === null ? 'the house' : (names.get(id)?.handle ?? `account ${id}`));
  for (const one of held) say(describeHeld(one, owner(one.arrival.accountId)));
  for (const one of lost) say(describeLost(one, owner(one.accountId)));
  if (held.length + lost.length === 0) say(onlyHeld ? 'No deposit is held.' : 'No deposit is held or lost.');
}

function describeHeld(
  { id, chain, arrival, because, seenAt, releasedAt, rejectedAt }: HeldDeposit,
  owner: string,
): string {
  const { asset, atomic, txHash, position } = arrival;
  const state = rejectedAt !== null ? 'rejected' : releasedAt !== null ? 'released' : 'held';
  const reason = state === 'held' ? `   ${because}` : '';
  const place = `${txHash}, log ${position}`;
  return `${id}   ${state.padEnd(9)} ${inWords(amountOf(asset, atomic))} on ${chain} for ${owner} since ${seenAt.toISOString()} (${place})${reason}`;
}

function describeLost({ id, chain, amount, reversedAt, owed, txHash }: BookedDeposit, owner: string): string {
  const debt = owed.atomic > 0n ? `   ${owner} owes ${inWords(owed)}` : '';
  const state = reversedAt === null ? 'lost' : 'reversed';
  const rest = reversedAt === null ? '   no longer on the chain' : debt;
  return `${id}   ${state.padEnd(9)} ${inWords(amount)} on ${chain} of ${owner} (${txHash})${rest}`;
}

async function release({ db, ledger }: DepositParts, id: string, say: Say): Promise<void> {
  if ((await findHeld(db, id)) === undefined) {
    await restoreBooked({ db, ledger }, id);
    say(`${id} is credited again.`);
    return;
  }
  await releaseHeld(db, id);
  say(`${id} is released. The running service credits it on its next check.`);
}

async function reverse(
  { db, ledger, networks }: DepositParts,
  id: string,
  say: Say,
  { force }: { readonly force: boolean },
): Promise<void> {
  const held = await findHeld(db, id);
  const deposit = held ?? (await findBooked(db, id));
  if (deposit === undefined) throw new Refusal(`There is no deposit ${id}.`);
  const isDecided = 'reversedAt' in deposit ? deposit.reversedAt !== null : deposit.rejectedAt !== null;
  if (!force && !isDecided) {
    const asserted = 'arrival' in deposit ? deposit.arrival : { ...deposit, ...deposit.amount };
    await refuseIfShown(networks.get(deposit.chain), asserted);
  }
  if (held !== undefined) {
    await rejectHeld(db, id);
    say(`${id} is rejected and will not be credited.`);
    return;
  }
  const { taken, owed } = await reverseBooked({ db, ledger }, id);
  say(`${id} is reversed: ${inWords(taken)} was taken from the balance, ${inWords(owed)} is owed.`);
}

async function settle({ db, ledger }: DepositParts, id: string, options: SettleOptions, say: Say): Promise<void> {
  const { collect = false, writeOff = false } = options;
  const deposit = await findBooked(db, id);
  if (deposit === undefined) throw new Refusal(`There is no deposit ${id}.`);
  if (collect === writeOff) {
    throw new Refusal(`${inWords(deposit.owed)} is owed for ${id}. Choose either --collect or --write-off.`);
  }
  const chain = chainOrRefuse(options.chain);
  const atomic = options.amount === undefined ? undefined : atomicOrRefuse(deposit.amount.asset, options.amount);
  const kind = collect ? 'collected' : 'written_off';
  const { settled, stillOwed } = await settleReversal({ db, ledger }, id, { kind, chain, atomic });
  const what = collect
    ? `collected from the owner's balance on ${chain}`
    : 'written off against the equity of the house';
  say(`${inWords(settled)} of the debt for ${id} is ${what}. ${inWords(stillOwed)} is still owed.`);
}

function atomicOrRefuse(asset: Asset, given: string): bigint {
  const { atomic } = amountOrRefuse(asset, given);
  if (atomic === 0n) throw new Refusal('--amount must be more than 0.');
  return atomic;
}
