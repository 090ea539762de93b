import type { Command } from 'commander';
import { namesOf } from '../../accounts/find-account.ts';
import type { Networks } from '../../chains/network.ts';
import type { OnDeposits } from '../../custody/watch/on-deposits.ts';
import type { Database } from '../../kernel/db/database.ts';
import { createLogger } from '../../kernel/log/logger.ts';
import { Refusal } from '../../kernel/refusal.ts';
import type { Ledger } from '../../ledger/ledger.ts';
import { type Amount, amountOf, toDecimalText } from '../../money/amount.ts';
import { type Asset, chainIds, homeChain } from '../../money/catalogue.ts';
import { amountFromText } from '../../money/parse-amount.ts';
import { type BookedDeposit, findBooked, listLost } from './booked-deposit.ts';
import type { CreditParts } from './credit-deposits.ts';
import { rejectHeld, releaseHeld } from './decide-held.ts';
import { findHeld, type HeldDeposit, listHeld } from './held-deposit.ts';
import { type ReadAgainRequest, readAgain } from './read-again.ts';
import { restoreBooked } from './restore-deposit.ts';
import { refuseIfShown, reverseBooked } from './reverse-deposit.ts';
import { settleReversal } from './settle-reversal.ts';

export interface DepositParts {
  readonly db: Database;
  readonly ledger: Ledger;
  readonly networks: Networks;
}

type Settings = Pick<CreditParts, 'oneNodeLimit'>;
type WithMoney = (work: (parts: DepositParts, settings: Settings) => Promise<void>) => Promise<void>;
type Say = (line: string) => void;

interface DepositTools {
  readonly withMoney: WithMoney;
  readonly say: Say;
  readonly onDeposits: OnDeposits;
}

/** `paywright deposits …`: what one node alone has told of, what a chain has lost, and blocks that are to be read again. */
export function addDepositCommands(program: Command, { withMoney, say, onDeposits }: DepositTools): void {
  const deposits = program
    .command('deposits')
    .description('decide about deposits that are held or lost, and read blocks again');

  deposits
    .command('list')
    .description('what is held and why, what was rejected, what a chain has lost, and what was taken back and is owed')
    .option('--held', 'only what waits for a second node or for you')
    .action(({ held: onlyHeld = false }: { held?: boolean }) => withMoney((parts) => list(parts, say, { onlyHeld })));

  deposits
    .command('release <id>')
    .description(
      'credit a held deposit, or one that was taken back, because you have seen by yourself that it is on the chain',
    )
    .action((id: string) => withMoney((parts) => release(parts, id, say)));

  deposits
    .command('reverse <id>')
    .description('reject a held deposit for good, or take back a credited one that the chain has lost')
    .option('--force', 'although the chain shows it, or nobody can be asked')
    .action((id: string, { force = false }: { force?: boolean }) =>
      withMoney((parts) => reverse(parts, id, say, { force })),
    );

  deposits
    .command('settle <id>')
    .description('settle what is owed for a deposit that was taken back after it was spent')
    .option('--collect', 'take it from the balance of its owner, as far as that goes')
    .option('--write-off', 'the house bears it: it is taken from the equity of the house')
    .option('--amount <amount>', 'only so much of it')
    .option('--chain <chain>', `the balance to collect from: ${chainIds.join(', ')}`, homeChain)
    .action((id: string, options: SettleOptions) => withMoney((parts) => settle(parts, id, options, say)));

  deposits
    .command('read')
    .description(
      'read blocks of a chain again, and book the deposits in them that are missing; what is booked stays as it is',
    )
    .requiredOption('--chain <chain>', 'the chain, such as MATIC')
    .requiredOption('--from <block>', 'the first block')
    .requiredOption('--to <block>', 'the last block, at most the last one that the service has read')
    .action((request: ReadAgainRequest) =>
      withMoney(async (parts, { oneNodeLimit }) => {
        const logger = createLogger('error');
        const { range, transfers, missed } = await readAgain({ ...parts, logger, onDeposits, oneNodeLimit }, request);
        say(
          `Blocks ${range.from} to ${range.to} have ${transfers} transfers to our wallets. Missing from the books: ${missed}.`,
        );
        if (missed > 0) say('They are booked now, or held: see `paywright deposits list`.');
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
  return `${id}   ${state.padEnd(9)} ${text(amountOf(asset, atomic))} on ${chain} for ${owner} since ${seenAt.toISOString()} (${place})${reason}`;
}

function describeLost({ id, chain, amount, reversedAt, owed, txHash }: BookedDeposit, owner: string): string {
  const debt = owed.atomic > 0n ? `   ${owner} owes ${text(owed)}` : '';
  const state = reversedAt === null ? 'lost' : 'reversed';
  const rest = reversedAt === null ? '   the chain does not have it any more' : debt;
  return `${id}   ${state.padEnd(9)} ${text(amount)} on ${chain} of ${owner} (${txHash})${rest}`;
}

async function release({ db, ledger }: DepositParts, id: string, say: Say): Promise<void> {
  if ((await findHeld(db, id)) === undefined) {
    await restoreBooked({ db, ledger }, id);
    say(`${id} is credited again.`);
    return;
  }
  await releaseHeld(db, id);
  say(`${id} is released: the running service credits it with its next look.`);
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
    say(`${id} is rejected: it is never credited.`);
    return;
  }
  const { taken, owed } = await reverseBooked({ db, ledger }, id);
  say(`${id} is taken back: ${text(taken)} from the balance, ${text(owed)} is owed.`);
}

async function settle({ db, ledger }: DepositParts, id: string, options: SettleOptions, say: Say): Promise<void> {
  const { collect = false, writeOff = false } = options;
  const deposit = await findBooked(db, id);
  if (deposit === undefined) throw new Refusal(`There is no deposit ${id}.`);
  if (collect === writeOff) {
    throw new Refusal(`${text(deposit.owed)} is owed for ${id}. Say either --collect or --write-off.`);
  }
  const chain = chainIds.find((one) => one === options.chain.toUpperCase());
  if (chain === undefined) throw new Refusal(`The chain must be one of ${chainIds.join(', ')}.`);
  const atomic = options.amount === undefined ? undefined : atomicOrRefuse(deposit.amount.asset, options.amount);
  const kind = collect ? 'collected' : 'written_off';
  const { settled, stillOwed } = await settleReversal({ db, ledger }, id, { kind, chain, atomic });
  const what = collect
    ? `collected from the balance of its owner on ${chain}`
    : 'written off, and taken from the equity of the house';
  say(`${text(settled)} of the debt for ${id} is ${what}. ${text(stillOwed)} is still owed.`);
}

function atomicOrRefuse(asset: Asset, given: string): bigint {
  const parsed = amountFromText(asset, given);
  if (!parsed.ok) throw new Refusal(`--amount ${parsed.message}.`);
  if (parsed.amount.atomic === 0n) throw new Refusal('--amount must be more than 0.');
  return parsed.amount.atomic;
}

function text(amount: Amount): string {
  return `${toDecimalText(amount)} ${amount.asset}`;
}
