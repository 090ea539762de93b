import type { Command } from 'commander';
import { isAddress } from 'viem';
import type { Database } from '../../kernel/db/database.ts';
import { Refusal } from '../../kernel/refusal.ts';
import { amountOf, toDecimalText } from '../../money/amount.ts';

/** Anyone can create wallets, so there may be any number of debtors. */
const mostDebtors = 1_000;

export function addNanoCommands(
  program: Command,
  withDatabase: (work: (db: Database) => Promise<void>) => Promise<void>,
  say: (line: string) => void,
): void {
  const nano = program.command('nano').description('pay-per-call: list and forgive debts');

  nano
    .command('debtors')
    .description('list wallets whose payments could not be collected, largest debt first')
    .action(() =>
      withDatabase(async (db) => {
        const { rows } = await db.query<{ address: string; debt: bigint; open: bigint; failedSince: Date | null }>(
          `SELECT address, debt, credit + prepaying AS open, failed_since FROM payers
            WHERE failed_since IS NOT NULL OR debt > 0 ORDER BY debt DESC, address LIMIT ${mostDebtors + 1}`,
        );
        if (rows.length === 0) say('No wallet owes anything.');
        for (const { address, debt, open, failedSince } of rows.slice(0, mostDebtors)) {
          const waits = failedSince === null ? '' : `, ${usdc(open)} not collected since ${failedSince.toISOString()}`;
          say(`${address}  ${usdc(debt)} written off${waits}`);
        }
        if (rows.length > mostDebtors) say(`Only the ${mostDebtors} largest debts are shown.`);
      }),
    );

  nano
    .command('forgive')
    .description('clear the debt of a wallet, so that it can pay for calls again')
    .argument('<address>')
    .action((address: string) =>
      withDatabase(async (db) => {
        if (!isAddress(address, { strict: false })) throw new Refusal(`${address} is not an address.`);
        const { rows } = await db.query<{ debt: bigint }>(
          `UPDATE payers p SET debt = 0 FROM payers earlier
            WHERE (p.chain, p.token, p.address) = (earlier.chain, earlier.token, earlier.address)
              AND p.address = lower($1) AND earlier.debt > 0 RETURNING earlier.debt`,
          [address],
        );
        if (rows.length === 0) throw new Refusal(`${address} owes nothing.`);
        for (const { debt } of rows) say(`The debt of ${address} is cleared: ${usdc(debt)}.`);
      }),
    );
}

function usdc(atomic: bigint): string {
  return `${toDecimalText(amountOf('USDC', atomic))} USDC`;
}
