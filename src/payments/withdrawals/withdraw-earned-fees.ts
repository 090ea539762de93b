import type { Command } from 'commander';
import { getAddress, isAddress } from 'viem';
import { amountOrRefuse, assetOrRefuse, chainOrRefuse, inWords } from '../../custody/treasury/given-amount.ts';
import { commandGroup } from '../../kernel/command-group.ts';
import { Problem } from '../../kernel/http/problem.ts';
import { Refusal } from '../../kernel/refusal.ts';
import { houseBalance } from '../../ledger/balances.ts';
import { amountOf } from '../../money/amount.ts';
import { chainIds, holdings, homeChain } from '../../money/catalogue.ts';
import { listed } from '../../money/in-words.ts';
import { openWithdrawal, refuseImpossible } from './open-withdrawal.ts';
import type { WithdrawalSagaParts } from './parts.ts';

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
    if (opened.outcome !== 'posted') throw new Refusal(`Earned fees are only ${inWords(earned)}.`);
    return opened.id;
  });
  say(`${inWords(gross)} is on its way to ${address} on ${chain}: ${id}`);
}
