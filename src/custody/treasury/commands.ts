import type { Command } from 'commander';
import type { Networks } from '../../chains/network.ts';
import { commandGroup } from '../../kernel/command-group.ts';
import type { Database } from '../../kernel/db/database.ts';
import { Refusal } from '../../kernel/refusal.ts';
import { houseBalances } from '../../ledger/balances.ts';
import { walkDues } from '../../ledger/claimants.ts';
import type { Ledger } from '../../ledger/ledger.ts';
import { amountOf, toDecimalText } from '../../money/amount.ts';
import { chainIds, chains, holdings, homeChain } from '../../money/catalogue.ts';
import type { WalletProvider } from '../wallets/provider.ts';
import type { SeedRotation } from '../wallets/seed-rotation.ts';
import type { UnknownTransactions } from '../wallets/unknown-transactions.ts';
import { addFloat } from './add-float.ts';
import { explainUnknown, showUnknown } from './explain-unknown.ts';
import { amountOrRefuse, chainOrRefuse, inWords as text } from './given-amount.ts';
import { treasuryOverview } from './overview.ts';
import { raiseFee } from './raise-fee.ts';
import { rotateSeed } from './rotate-seed.ts';

export interface TreasuryParts {
  readonly db: Database;
  readonly ledger: Ledger;
  readonly networks: Networks;
  readonly provider: WalletProvider;
  /** Only with our own keys. */
  readonly seedRotation: SeedRotation | undefined;
  readonly unknownTransactions: UnknownTransactions | undefined;
}

type WithTreasury = (work: (parts: TreasuryParts) => Promise<void>) => Promise<void>;
type Say = (line: string) => void;

export function addTreasuryCommands(program: Command, withTreasury: WithTreasury, say: Say): void {
  const treasury = commandGroup(program, 'treasury').description('look after the wallets and the money of the house');

  treasury
    .command('show')
    .description('what each house wallet holds, the gas that is left, and what the house has earned')
    .action(() => withTreasury((parts) => show(parts, say)));

  treasury
    .command('dues')
    .description('what is owed to those who have no account yet')
    .action(() => withTreasury((parts) => showDues(parts, say)));

  treasury
    .command('add-float')
    .description('take money that you sent to a house wallet into the books as your own')
    .requiredOption('--amount <amount>', 'how much')
    .option(
      '--currency <currency>',
      `${holdings.filter((asset) => asset !== chains[homeChain].native).join(', ')}, or the chain's native coin for gas`,
      'USDC',
    )
    .option('--chain <chain>', chainIds.join(', '), homeChain)
    .action((options: FloatOptions) =>
      withTreasury(async (parts) => {
        const chain = chainOrRefuse(options.chain);
        const amount = amountOrRefuse(options.currency, options.amount);
        await addFloat(parts, { chain, amount });
        say(`${toDecimalText(amount)} ${amount.asset} on ${chain} is in the books as yours.`);
      }),
    );

  treasury
    .command('rotate-seed')
    .description(
      'make a new seed; once you have confirmed its backup, give everybody wallets from it and sweep the old ones',
    )
    .option('--backed-up <seed>', 'you have made a backup that holds this seed, and have read it back')
    .action((options: { backedUp?: string }) => withTreasury((parts) => rotate(parts, options, say)));

  treasury
    .command('unknown')
    .description('after a restore from a backup: what the wallets have sent that this database does not know')
    .action(() => withTreasury((parts) => showUnknown(parts, say)));

  treasury
    .command('explain <number>')
    .description('say what an unknown transaction was, so that what waits for that goes on')
    .option('--paid <saga>', 'it has paid this withdrawal, bridge or other saga')
    .option('--unrelated', 'it has paid nothing that is still to be paid')
    .action((id: string, options: { paid?: string; unrelated?: boolean }) =>
      withTreasury((parts) => explainUnknown(parts, { id, ...options }, say)),
    );

  treasury
    .command('raise-fee <saga>')
    .description('let a higher fee be offered for the stuck transaction of a withdrawal, bridge or other saga')
    .option('--times <number>', 'how many fees may be tried for it in all; without it you are told how many were')
    .action((sagaId: string, { times }: { times?: string }) =>
      withTreasury(({ db }) => raiseFee(db, { sagaId, times }, say)),
    );
}

interface FloatOptions {
  readonly amount: string;
  readonly currency: string;
  readonly chain: string;
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
  const own = (await houseBalances(db)).filter(({ kind, balance }) => !mirrors.has(kind) && balance.atomic !== 0n);
  for (const { chain, kind, balance } of own) say(`${chain.padEnd(6)}${kind.padEnd(24)}${text(balance)}`);
  if (own.length === 0) say('The house has earned nothing yet.');
  const lent = (await houseBalances(db)).filter(({ kind, balance }) => kind === 'gas_lent' && balance.atomic !== 0n);
  for (const { chain, balance } of lent) {
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
  if (!isAny) say('Nothing is owed to anybody without an account.');
}

async function rotate(parts: TreasuryParts, given: { readonly backedUp?: string }, say: Say): Promise<void> {
  const { seedRotation } = parts;
  if (seedRotation === undefined)
    throw new Refusal('The wallet provider holds the keys: there is no seed here to rotate.');
  const onProgress = (accounts: number) => say(`${accounts} accounts …`);
  const backedUp = given.backedUp === undefined ? {} : { backedUp: seedNumberOrRefuse(given.backedUp) };
  const done = await rotateSeed({ ...parts, seedRotation, onProgress }, backedUp);
  if ('needsBackupOf' in done) {
    const { needsBackupOf: seed } = done;
    say(`Seed ${seed} is in the database. No wallet comes from it yet, and nothing has moved.`);
    say(
      'Make a backup of the database now: a restore from an older one would lose everything that moves to the new seed.',
    );
    say(`Then run "paywright treasury rotate-seed --backed-up ${seed}".`);
    return;
  }
  const { seedId, accounts, houseWallets, kept } = done;
  say(`Seed ${seedId} is in use: ${accounts} accounts and ${houseWallets} house wallets have new addresses.`);
  for (const { purpose, chain, address } of kept)
    say(
      `${chain} ${purpose} ${address} stays: decide with "paywright treasury unknown" what it has sent, and run this again.`,
    );
  say('The running service moves what the old house wallets hold, and sweeps and watches the old addresses.');
  say('New house wallets need native coin for gas: see "paywright treasury show".');
}

function seedNumberOrRefuse(given: string): number {
  if (/^[1-9][0-9]{0,8}$/.test(given)) return Number(given);
  throw new Refusal('--backed-up must be the number of the seed, as "paywright treasury rotate-seed" told it.');
}
