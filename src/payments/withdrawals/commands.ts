import type { Command } from 'commander';
import { getAddress, isAddress } from 'viem';
import { recordAudit } from '../../accounts/audit/record.ts';
import { isFrozen } from '../../accounts/find-account.ts';
import { hasUnexplainedTransactions } from '../../custody/steps/unknown-calls.ts';
import { amountOrRefuse, assetOrRefuse, chainOrRefuse, inWords } from '../../custody/treasury/command-options.ts';
import type { Database, Transaction } from '../../kernel/db/database.ts';
import { commandGroup } from '../../kernel/feature.ts';
import { Problem } from '../../kernel/http/problem.ts';
import { Refusal } from '../../kernel/refusal.ts';
import { wakeSaga } from '../../kernel/sagas/wake-saga.ts';
import { houseBalance } from '../../ledger/balances.ts';
import type { Ledger } from '../../ledger/ledger.ts';
import { amountOf, toDecimalText } from '../../money/amount.ts';
import { chainIds, holdings, homeChain } from '../../money/catalogue.ts';
import { listed } from '../../money/in-words.ts';
import { failWithdrawal } from './finish-withdrawal.ts';
import { isUnwrapped } from './hold-withdrawal.ts';
import { openWithdrawal, refuseImpossible } from './open-withdrawal.ts';
import { withdrawalSaga } from './saga.ts';
import { beginWrapping } from './unwrap.ts';
import { findWithdrawal, selectWithdrawals, type Withdrawal, type WithdrawalSagaParts } from './withdrawal.ts';

type FeeParts = Pick<WithdrawalSagaParts, 'db' | 'ledger' | 'networks'>;

interface FeeOptions {
  readonly to: string;
  readonly currency: string;
  readonly chain: string;
  readonly amount?: string;
}

interface FeeTools {
  readonly withMoney: (work: (parts: FeeParts) => Promise<void>) => Promise<void>;
  readonly say: (line: string) => void;
}

export function addFeeCommand(program: Command, { withMoney, say }: FeeTools): void {
  commandGroup(program, 'treasury')
    .command('withdraw-fees')
    .description('pay out earned fees like any other withdrawal')
    .requiredOption('--to <address>', 'the receiving address')
    .option('--currency <currency>', listed(holdings, 'or'), 'USDC')
    .option('--chain <chain>', chainIds.join(', '), homeChain)
    .option('--amount <amount>', 'default: all earned fees')
    .action((options: FeeOptions) => withMoney((parts) => withdrawFees(parts, options, say)));
}

async function withdrawFees(
  { db, ledger, networks }: FeeParts,
  options: FeeOptions,
  say: FeeTools['say'],
): Promise<void> {
  const chain = chainOrRefuse(options.chain);
  const asset = assetOrRefuse(options.currency);
  if (!isAddress(options.to, { strict: /[a-f]/.test(options.to) && /[A-F]/.test(options.to.slice(2)) })) {
    throw new Refusal(
      '--to must be "0x" followed by 40 hexadecimal characters, with a valid checksum if in mixed case.',
    );
  }
  const address = getAddress(options.to);
  const earned = await houseBalance(db, 'fees', asset, chain);
  const gross = options.amount === undefined ? earned : amountOrRefuse(options.currency, options.amount);
  if (gross.atomic === 0n) throw new Refusal(`There are no earned fees in ${asset} on ${chain}.`);
  const id = await db.transaction(async (tx) => {
    await refuseImpossible(tx, networks, { chain, address, gross }).catch((error: unknown) => {
      throw error instanceof Problem ? new Refusal(error.message) : error;
    });
    const opened = await openWithdrawal(tx, ledger, {
      accountId: null,
      chain,
      address,
      gross,
      fee: amountOf(asset, 0n),
    });
    if (opened.outcome.outcome !== 'posted') throw new Refusal(`Earned fees are only ${inWords(earned)}.`);
    return opened.id;
  });
  say(`${inWords(gross)} is on its way to ${address} on ${chain}: ${id}`);
}

interface Tools {
  withMoney(work: (parts: { db: Database; ledger: Ledger }) => Promise<void>): Promise<void>;
  say(line: string): void;
  readonly operator: string;
}

export function addWithdrawalCommands(program: Command, { withMoney, say, operator }: Tools): void {
  const withdrawals = program
    .command('withdrawals')
    .description('list open withdrawals, and release or refund held ones');
  const by = { operator };

  withdrawals
    .command('list')
    .description('list all unfinished withdrawals, held ones first')
    .action(() =>
      withMoney(async ({ db }) => {
        let isAny = false;
        for await (const withdrawal of walkOpen(db)) {
          isAny = true;
          say(describe(withdrawal));
        }
        if (!isAny) say('No withdrawal is open.');
      }),
    );

  withdrawals
    .command('release <id>')
    .description('send a held withdrawal')
    .action((id: string) =>
      withMoney(async ({ db }) => {
        const { accountId, chain } = await heldOrRefuse(db, id);
        await db.transaction(async (tx) => {
          const { rowCount } = await tx.query(
            // A withdrawal that only the hourly limit held is still screened, so it does not count as released.
            `UPDATE withdrawals SET error = NULL, held_by = NULL, updated_at = now(),
                released_at = CASE WHEN held_by = 'hourly_limit' THEN released_at ELSE now() END, limit_waived_at = now(),
                status = CASE WHEN ${isUnwrapped} THEN 'unwrapped' ELSE 'awaiting_liquidity' END
              WHERE id = $1 AND status = 'held'`,
            [id],
          );
          if (rowCount === 0) throw new Refusal(`${id} is not held any more.`);
          // Lock order: the withdrawal, then its owner, as in `holdWithin`.
          if (accountId !== null && (await isFrozen(tx, accountId)))
            throw new Refusal('The account is frozen. Run "paywright account unfreeze" first.');
          await recordAudit(tx, { accountId, action: 'withdrawal.released', by, details: { withdrawalId: id } });
          await wakeSaga(tx, { saga: withdrawalSaga.name, id, lane: chain });
        });
        say(`${id} is released.`);
      }),
    );

  withdrawals
    .command('refund <id>')
    .description('refund a held withdrawal to its account')
    .action((id: string) =>
      withMoney(async (parts) => {
        const withdrawal = await heldOrRefuse(parts.db, id);
        const { accountId } = withdrawal;
        const refused = { state: 'failed', reason: 'The operator refused it.', gasCost: 0n } as const;
        const audit = async (tx: Transaction) => {
          if (await hasUnexplainedTransactions(tx, withdrawal))
            throw new Refusal(`${id} may already have been paid. Resolve it with "paywright treasury unknown" first.`);
          await recordAudit(tx, { accountId, action: 'withdrawal.refunded', by, details: { withdrawalId: id } });
        };
        if (await isToBeWrapped(parts.db, id)) {
          if (!(await beginWrapping(parts, withdrawal, { neverAsked: refused.reason }, audit)))
            throw new Refusal(`${id} is not held any more.`);
          await wakeSaga(parts.db, { saga: withdrawalSaga.name, id, lane: withdrawal.chain });
          say(`${id} will be refunded after its native coin is wrapped again.`);
          return;
        }
        if (!(await failWithdrawal(parts, withdrawal, refused, audit))) {
          throw new Refusal(`${id} is not held any more.`);
        }
        say(`${id} is refunded.`);
      }),
    );
}

const pageSize = 1_000;

/** Paged without a limit, so that many withdrawals of one account cannot hide the others. */
async function* walkOpen(db: Database): AsyncGenerator<Withdrawal> {
  for (const isHeld of [true, false]) {
    let after = '';
    for (;;) {
      const page = await selectWithdrawals(
        db,
        `WHERE finished_at IS NULL AND (status = 'held') = $1 AND id > $2 ORDER BY id LIMIT $3`,
        [isHeld, after, pageSize],
      );
      yield* page;
      const last = page[pageSize - 1];
      if (last === undefined) break;
      after = last.id;
    }
  }
}

async function isToBeWrapped(db: Database, id: string): Promise<boolean> {
  const { rows } = await db.query(`SELECT FROM withdrawals WHERE id = $1 AND ${isUnwrapped}`, [id]);
  return rows.length > 0;
}

async function heldOrRefuse(db: Database, id: string): Promise<Withdrawal> {
  const withdrawal = await findWithdrawal(db, id);
  if (withdrawal === undefined) throw new Refusal(`There is no withdrawal ${id}.`);
  if (withdrawal.status !== 'held') throw new Refusal(`${id} is not held. Its status is ${withdrawal.status}.`);
  return withdrawal;
}

function describe({ id, status, net, chain, address, accountId, createdAt, heldBecause }: Withdrawal): string {
  const owner = accountId === null ? 'the house' : `account ${accountId}`;
  // A released withdrawal keeps its old reason in the row.
  const reason = status !== 'held' || heldBecause === null ? '' : `   ${heldBecause}`;
  return `${id}   ${status.padEnd(18)} ${toDecimalText(net)} ${net.asset} on ${chain} to ${address} from ${owner} since ${createdAt.toISOString()}${reason}`;
}
