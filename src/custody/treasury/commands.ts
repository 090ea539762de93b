import type { Command } from 'commander';
import type { Database } from '../../kernel/db/database.ts';
import { commandGroup } from '../../kernel/feature.ts';
import { Refusal } from '../../kernel/refusal.ts';
import { wakeSaga } from '../../kernel/sagas/wake-saga.ts';
import { houseBalances } from '../../ledger/balances.ts';
import { walkDues } from '../../ledger/claimants.ts';
import { amountOf, toDecimalText } from '../../money/amount.ts';
import { chainIds, chains, holdings, homeChain } from '../../money/catalogue.ts';
import { feeLimitOf, type SeedRotation, usualFeeLimit, type WalletProvider } from '../wallets/provider.ts';
import { addFloat, type FloatParts } from './add-float.ts';
import { amountOrRefuse, chainOrRefuse, inWords as text } from './command-options.ts';
import { treasuryOverview } from './overview.ts';
import { rotateSeed } from './rotate-seed.ts';
import { explainUnknown, showUnknown, type UnknownParts } from './unknown-transactions.ts';

const mostFees = 100;

/**
 * Raises the limit of fee increases for a saga's open transactions, to `times` in all for each of them. Idempotent. The
 * ceiling on the fee itself (FEE_CEILING_GWEI) stays.
 */
export async function raiseFee(
  db: Database,
  { sagaId, times }: { readonly sagaId: string; readonly times: string | undefined },
  say: (line: string) => void,
): Promise<void> {
  const open = await listUnderWay(db, sagaId);
  if (open.length === 0) throw new Refusal(`${sagaId} has no open transaction.`);
  const limits = await Promise.all(open.map(({ ref }) => feeLimitOf(db, ref)));
  if (times === undefined) {
    const shown = open.map(({ step, tried }, place) => `${step}: fee ${tried} of ${limits[place]}`).join(', ');
    throw new Refusal(`Open transactions of ${sagaId}: ${shown}. Set with --times how many fees may be tried in all.`);
  }
  const most = /^\d{1,3}$/.test(times) ? Number(times) : 0;
  if (most <= usualFeeLimit || most > mostFees)
    throw new Refusal(`--times must be a number from ${usualFeeLimit + 1} to ${mostFees}.`);
  await db.transaction(async (tx) => {
    for (const { saga, ref, chain } of open) {
      await tx.query(
        `INSERT INTO raised_fee_limits AS l (provider_ref, most) VALUES ($1, $2)
         ON CONFLICT (provider_ref) DO UPDATE SET most = greatest(l.most, excluded.most), raised_at = clock_timestamp()`,
        [ref, most],
      );
      await wakeSaga(tx, { saga, id: sagaId, lane: chain });
    }
  });
  for (const { step, tried, ref } of open) {
    const limit = await feeLimitOf(db, ref);
    say(`${sagaId} ${step}: ${tried} fees were tried, and up to ${limit} are allowed. FEE_CEILING_GWEI still applies.`);
  }
}

interface UnderWay {
  readonly saga: string;
  readonly step: string;
  readonly chain: string;
  readonly ref: string;
  /** The number of fees that it was sent with so far. */
  readonly tried: number;
}

async function listUnderWay(db: Database, sagaId: string): Promise<readonly UnderWay[]> {
  const { rows } = await db.query<UnderWay>(
    `SELECT s.saga, s.step, s.chain, s.provider_ref AS ref,
            ((SELECT count(*) FROM key_transaction_attempts a WHERE a.transaction_id::text = s.provider_ref)
             + (SELECT count(*) FROM circle_accelerations c WHERE c.transaction_id::text = s.provider_ref))::int AS tried
       FROM chain_steps s WHERE s.saga_id = $1 AND s.settled_at IS NULL AND s.provider_ref IS NOT NULL ORDER BY s.created_at`,
    [sagaId],
  );
  return rows;
}

export interface TreasuryParts extends FloatParts, UnknownParts {
  readonly provider: WalletProvider;
  /** Only with our own keys. */
  readonly seedRotation: SeedRotation | undefined;
}

type WithTreasury = (work: (parts: TreasuryParts) => Promise<void>) => Promise<void>;
type Say = (line: string) => void;

export function addTreasuryCommands(program: Command, withTreasury: WithTreasury, say: Say): void {
  const treasury = commandGroup(program, 'treasury').description('manage the house wallets and the money in them');

  treasury
    .command('show')
    .description('show the balance and gas of each house wallet, and what the house has earned')
    .action(() => withTreasury((parts) => show(parts, say)));

  treasury
    .command('dues')
    .description('show what is owed to parties without an account')
    .action(() => withTreasury((parts) => showDues(parts, say)));

  treasury
    .command('add-float')
    .description('book money that you sent to a house wallet as your own')
    .requiredOption('--amount <amount>', 'the amount')
    .option(
      '--currency <currency>',
      `${holdings.filter((asset) => asset !== chains[homeChain].native).join(', ')}, or the chain's native coin for gas`,
      'USDC',
    )
    .option('--chain <chain>', chainIds.join(', '), homeChain)
    .action((options: { readonly amount: string; readonly currency: string; readonly chain: string }) =>
      withTreasury(async (parts) => {
        const chain = chainOrRefuse(options.chain);
        const amount = amountOrRefuse(options.currency, options.amount);
        await addFloat(parts, { chain, amount });
        say(`${toDecimalText(amount)} ${amount.asset} on ${chain} is booked as yours.`);
      }),
    );

  treasury
    .command('rotate-seed')
    .description(
      'create a new seed; after you confirm its backup, give every account a wallet from it and sweep the old ones',
    )
    .option('--backed-up <seed>', 'confirms that a backup contains this seed and that you have tested it')
    .action((options: { backedUp?: string }) => withTreasury((parts) => rotate(parts, options, say)));

  treasury
    .command('unknown')
    .description(
      'after a restore from a backup: list transactions of the house wallets that this database does not know',
    )
    .action(() => withTreasury((parts) => showUnknown(parts, say)));

  treasury
    .command('explain <number>')
    .description('say what an unknown transaction was, so that waiting payments continue')
    .option('--paid <saga>', 'it paid this withdrawal, bridge or other saga')
    .option('--unrelated', 'it paid nothing that is still to be paid')
    .action((id: string, options: { paid?: string; unrelated?: boolean }) =>
      withTreasury((parts) => explainUnknown(parts, { id, ...options }, say)),
    );

  treasury
    .command('raise-fee <saga>')
    .description('allow more fee increases for the stuck transaction of a withdrawal, bridge or other saga')
    .option('--times <number>', 'how many fees may be tried in all; without it, shows how many were tried')
    .action((sagaId: string, { times }: { times?: string }) =>
      withTreasury(({ db }) => raiseFee(db, { sagaId, times }, say)),
    );
}

const mirrors: ReadonlySet<string> = new Set(['custody', 'gas_tank', 'gas_lent']);

async function show({ db, networks }: TreasuryParts, say: Say): Promise<void> {
  for (const { wallet, content } of await treasuryOverview(db, networks)) {
    const held =
      content === undefined ? ['the chain does not answer'] : [...content.tokens.map(text), `gas ${text(content.gas)}`];
    if (wallet.retired) held.push('retired');
    if (content?.gasIsLow) held.push('GAS IS LOW: send native coin to this address');
    say(`${wallet.chain.padEnd(6)}${wallet.purpose.padEnd(10)}${wallet.address}   ${held.join('   ')}`);
  }
  say('');
  // Above is what we hold, here is whose it is. `gas` is what remains of the operator's funding.
  const balances = (await houseBalances(db)).filter(({ balance }) => balance.atomic !== 0n);
  const own = balances.filter(({ kind }) => !mirrors.has(kind));
  for (const { chain, kind, balance } of own) say(`${chain.padEnd(6)}${kind.padEnd(24)}${text(balance)}`);
  if (own.length === 0) say('The house has earned nothing yet.');
  for (const { chain, balance } of balances.filter(({ kind }) => kind === 'gas_lent')) {
    say(`${chain.padEnd(6)}${'lent to users for gas'.padEnd(24)}${text(amountOf(balance.asset, -balance.atomic))}`);
  }
}

async function showDues({ db }: TreasuryParts, say: Say): Promise<void> {
  let isAny = false;
  for await (const { claimant, chain, amount, changedAt } of walkDues(db)) {
    isAny = true;
    const since = changedAt.toISOString();
    say(`${chain.padEnd(6)}${text(amount).padEnd(24)}${claimant.kind} ${claimant.name}   last changed ${since}`);
  }
  if (!isAny) say('Nothing is owed to parties without an account.');
}

async function rotate(parts: TreasuryParts, given: { readonly backedUp?: string }, say: Say): Promise<void> {
  const { seedRotation } = parts;
  if (seedRotation === undefined)
    throw new Refusal('There is no seed to rotate: with WALLET_PROVIDER=circle, Circle holds the keys.');
  const onProgress = (accounts: number) => say(`${accounts} accounts …`);
  const backedUp = given.backedUp === undefined ? {} : { backedUp: seedNumberOrRefuse(given.backedUp) };
  const done = await rotateSeed({ ...parts, seedRotation, onProgress }, backedUp);
  if ('needsBackupOf' in done) {
    const { needsBackupOf: seed } = done;
    say(`Seed ${seed} is created. No wallet uses it yet, and nothing was moved.`);
    say('Back up the database now: a restore from an older backup would lose everything that moves to the new seed.');
    say(`Then run "paywright treasury rotate-seed --backed-up ${seed}".`);
    return;
  }
  const { seedId, accounts, houseWallets, kept } = done;
  say(`Seed ${seedId} is in use: ${accounts} accounts and ${houseWallets} house wallets have new addresses.`);
  for (const { purpose, chain, address } of kept)
    say(
      `${chain} ${purpose} ${address} stays in use: explain its transactions with "paywright treasury unknown", then run this again.`,
    );
  say('The running service moves what the old house wallets hold, and sweeps and watches the old addresses.');
  say('New house wallets need native coin for gas: see "paywright treasury show".');
}

function seedNumberOrRefuse(given: string): number {
  if (/^[1-9][0-9]{0,8}$/.test(given)) return Number(given);
  throw new Refusal('--backed-up must be the number of the seed that "paywright treasury rotate-seed" printed.');
}
