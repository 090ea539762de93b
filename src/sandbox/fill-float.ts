import { z } from 'zod';
import { homeChain } from '../chains/chains.ts';
import { defineJob, handleJob } from '../jobs/define-job.ts';
import type { Schedule } from '../jobs/worker.ts';
import { houseAccount } from '../ledger/account-id.ts';
import { amountOf } from '../money/amount.ts';
import { houseWallet } from '../wallets/house-wallets.ts';
import type { FillGasParts } from './fill-gas.ts';

/** What the house itself puts into the wallet that pays sellers. */
export const sandboxFloat = amountOf('USDC', 1_000_000_000n);

const name = 'float:purchases';

const bookJob = defineJob({ name: 'book_float', payload: z.unknown(), maxAttempts: 1 });

/** It can be taken into the books only when it was seen to arrive. */
export function bookFloatSchedule(parts: FillGasParts): Schedule {
  return { at: '* * * * *', handler: handleJob(bookJob, () => bookFloat(parts)) };
}

/** In the sandbox nobody has to send a float to the wallet that pays sellers: it is minted, once. After a rotation it moves along. */
export async function mintFloat({ db, faucet }: FillGasParts): Promise<void> {
  const earlier = await faucet.find(name);
  const to = earlier?.to ?? (await houseWallet(db, 'purchases', homeChain)).address;
  await faucet.mint({ id: name, chain: homeChain, asset: 'USDC', to, atomic: sandboxFloat.atomic });
}

/** Like what an operator sends to a house wallet, it is surplus when it arrives, and then the house's own. */
async function bookFloat({ ledger }: FillGasParts): Promise<void> {
  await ledger.post({
    type: 'float',
    amount: sandboxFloat,
    entries: [
      { account: houseAccount('surplus', 'USDC', homeChain), atomic: -sandboxFloat.atomic },
      { account: houseAccount('equity', 'USDC', homeChain), atomic: sandboxFloat.atomic },
    ],
    reference: name,
  });
}
