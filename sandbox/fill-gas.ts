import { z } from 'zod';
import type { OpenSandboxOptions } from '../src/app/sandbox-port.ts';
import { gasFloat } from '../src/custody/treasury/add-float.ts';
import { type HouseWallet, listHouseWallets } from '../src/custody/wallets/house-wallets.ts';
import { defineJob, handleJob } from '../src/kernel/jobs/define-job.ts';
import type { Schedule } from '../src/kernel/jobs/worker.ts';
import { amountOf } from '../src/money/amount.ts';
import { chains } from '../src/money/catalogue.ts';
import type { Faucet } from './chains/faucet.ts';

type FillGasParts = Pick<OpenSandboxOptions, 'db' | 'ledger'> & { readonly faucet: Faucet };

/** Enough for some hundred million transactions at the local gas price. */
const fillAtomic = 10_000n * 10n ** 18n;

const fillGasJob = defineJob({ name: 'fill_gas', payload: z.unknown(), maxAttempts: 1 });

/** A rotation of the seed creates new house wallets. */
export function fillGasSchedule(parts: FillGasParts): Schedule {
  return { at: '* * * * *', handler: handleJob(fillGasJob, () => fillGas(parts)) };
}

/** Gives each new house wallet native coin for gas and posts it to the ledger. */
export async function fillGas(parts: FillGasParts): Promise<void> {
  const wallets = (await listHouseWallets(parts.db)).filter(({ retired }) => !retired);
  const { rows } = await parts.db.query<{ reference: string }>(
    'SELECT reference FROM ledger.posting_references WHERE reference = ANY ($1)',
    [wallets.map(nameOf)],
  );
  const filled = new Set(rows.map(({ reference }) => reference));
  await Promise.all(wallets.filter((wallet) => !filled.has(nameOf(wallet))).map((wallet) => fill(parts, wallet)));
}

/** The mint and its posting share this name, so the next start finishes an interrupted one. */
const nameOf = ({ chain, address }: HouseWallet) => `gas:${chain}:${address}`;

async function fill({ ledger, faucet }: FillGasParts, wallet: HouseWallet): Promise<void> {
  const { chain, address } = wallet;
  const name = nameOf(wallet);
  const { native } = chains[chain];
  await faucet.mint({ id: name, chain, asset: native, to: address, atomic: fillAtomic });
  const { outcome } = await ledger.post(gasFloat(chain, amountOf(native, fillAtomic), name));
  if (outcome !== 'posted' && outcome !== 'duplicate') throw new Error(`a float was not posted: ${outcome}`);
}
