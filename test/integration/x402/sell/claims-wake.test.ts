import { randomBytes } from 'node:crypto';
import { type Hex, toHex } from 'viem';
import { expect, onTestFinished, test } from 'vitest';
import { startWakes } from '../../../../src/kernel/jobs/wakes.ts';
import { createLogger } from '../../../../src/kernel/log/logger.ts';
import { amountOf } from '../../../../src/money/amount.ts';
import { claimsTopic, createClaimer, type NewClaim } from '../../../../src/x402/sell/claim-payments.ts';
import { useDatabase } from '../../../support/database.ts';

const { db, url } = useDatabase();

const random = (bytes: number): Hex => toHex(randomBytes(bytes));

function newClaim(mostCredit: bigint): NewClaim {
  return {
    protocol: 'x402',
    chain: 'MATIC',
    token: random(20),
    amount: amountOf('USDC', 5n),
    authorization: {
      from: random(20),
      to: random(20),
      atomic: 5n,
      validAfter: 0n,
      validBefore: 2_000_000_000n,
      nonce: random(32),
      signature: random(65),
    },
    resource: '/nano/quote',
    fingerprint: randomBytes(32),
    identifier: undefined,
    submittedElsewhere: false,
    mostCredit,
    holding: { atomic: 100n, settledBefore: 0n },
    clearsDebt: false,
  };
}

test.each([
  { is: 'claimed', mostCredit: 100n },
  { is: 'prepaid', mostCredit: 0n },
])('a payment that is $is wakes the loop that settles', async ({ is, mostCredit }) => {
  const wakes = await startWakes({ url, logger: createLogger('silent') });
  onTestFinished(() => wakes.stop());
  const woken = new Promise<void>((resolve) => void wakes.on(claimsTopic, resolve));
  expect(await createClaimer(db)(newClaim(mostCredit))).toMatchObject({ is });
  await woken;
});
