import type { Hex } from 'viem';
import { findReceipt } from '../../chains/find-receipt.ts';
import { findSpender } from '../../chains/find-spender.ts';
import { advanceSaga } from '../../custody/steps/advance-saga.ts';
import { type ChainStep, findStep, requireNetwork } from '../../custody/steps/chain-step.ts';
import { endArrivals } from '../../custody/steps/match-arrival.ts';
import type { SagaStep } from '../../kernel/sagas/run-saga.ts';
import { type Bridge, burnStep } from './bridge.ts';
import { burnPosting, stepToBurn } from './burn.ts';
import { type BridgeParts, findBurner } from './parts.ts';
import { bridgeSaga } from './saga.ts';

const patienceMs = 10_000;

/** How many blocks earlier a reorg may have moved the burn. */
const mostMoved = 100n;

/**
 * A reorg deeper than the confirmations has undone the burn. While its account nonce is free, the same transaction is sent again. Only
 * when another transaction has used the nonce, in a block that counts as final, can the burn never come back: then the amount is burned
 * again.
 */
export async function burnAgainOrWait(parts: BridgeParts, bridge: Bridge): Promise<SagaStep> {
  const { provider } = parts;
  const { from, burnNonce } = bridge;
  const wait = { lookAgainInMs: patienceMs, waitsFor: 'its burn to come back to the chain', isTrouble: true };
  const step = await findStep(parts.db, burnStep(bridge));
  if (burnNonce === null || step?.providerRef == null || step.blockNumber === null) return wait;
  const { client, confirmations } = requireNetwork(parts.networks, from);
  const { address } = await findBurner(parts.db, bridge);
  const spender = await findSpender(client, {
    address,
    nonce: burnNonce,
    from: step.blockNumber - mostMoved,
    to: (await client.getBlockNumber()) - BigInt(confirmations - 1),
  });
  if (spender === 'unclear') return wait;
  if (spender === 'free') {
    await provider.sendAgain(from, step.providerRef);
    return wait;
  }
  if (await isOurs(parts, step, spender)) {
    const receipt = await findReceipt(client, spender);
    if (receipt === undefined) return wait;
    if (receipt.status === 'success') return follow(parts, bridge, spender);
  }
  await burnAgain(parts, bridge, spender);
  return { lookAgainInMs: 0, waitsFor: 'its second burn' };
}

/** A stuck burn is resubmitted with a higher fee, and any of these transactions may be on the chain now. */
async function isOurs({ db }: BridgeParts, { id }: ChainStep, hash: Hex): Promise<boolean> {
  const { rows } = await db.query(
    `SELECT FROM chain_steps WHERE id = $1 AND (hash = $2 OR $2 = ANY (hashes))
     UNION ALL SELECT FROM key_transaction_attempts WHERE transaction_id = $1 AND hash = $2`,
    [id, hash],
  );
  return rows.length > 0;
}

async function follow({ db }: BridgeParts, { id, burnHash }: Bridge, hash: Hex): Promise<SagaStep> {
  await db.query('UPDATE bridges SET burn_hash = $2 WHERE id = $1 AND burn_hash = $3', [id, hash, burnHash]);
  return { lookAgainInMs: patienceMs, waitsFor: 'its attestation' };
}

async function burnAgain(parts: BridgeParts, bridge: Bridge, spender: Hex): Promise<void> {
  const { db, ledger, logger } = parts;
  const { id, from: chain, burnHash, mintRecipient } = bridge;
  if (mintRecipient === null) throw new Error(`bridge ${id} does not know what to burn for`);
  const burns = bridge.burns + 1;
  await db.transaction(async (tx) =>
    advanceSaga(tx, ledger, bridgeSaga, {
      id,
      from: 'waiting_attestation',
      where: { burns: bridge.burns },
      to: 'burning',
      set: { burns, burnHash: null, burnNonce: null },
      alongside: () => endArrivals(tx, burnStep(bridge)),
      plan: [await stepToBurn(tx, { ...bridge, burns }, mintRecipient)],
      post: [burnPosting(bridge, 'undone')],
    }),
  );
  logger.error(
    { bridge: id, chain, txHash: burnHash, spender },
    'a burn was permanently removed from the chain: burning again',
  );
}
