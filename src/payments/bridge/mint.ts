import { encodeFunctionData, type Hex } from 'viem';
import { cctp, messageTransmitterAbi } from '../../chains/cctp.ts';
import { advanceSaga } from '../../custody/steps/advance-saga.ts';
import { findStep, requireNetwork } from '../../custody/steps/chain-step.ts';
import { type StepEnd, takeStep } from '../../custody/steps/take-step.ts';
import { noCheckpoint } from '../../kernel/sagas/checkpoint.ts';
import type { SagaStep } from '../../kernel/sagas/run-saga.ts';
import { houseAccount, userAccount } from '../../ledger/account-id.ts';
import type { Posting } from '../../ledger/posting.ts';
import { type Amount, amountOf, subtract } from '../../money/amount.ts';
import { chains, homeChain } from '../../money/catalogue.ts';
import { type Bridge, burnStep, debitedAmount, mintStep } from './bridge.ts';
import type { BridgeParts } from './parts.ts';
import { bridgeSaga } from './saga.ts';

/** Backoff after a refused mint. */
const mintAgain = { from: 2_000, most: 10 * 60_000 };

/** Minting: delivers the message, unless another party has. The arrival at the treasury decides, not our transaction. */
export async function mint(parts: BridgeParts, bridge: Bridge): Promise<SagaStep> {
  const { db, networks, checkpoint = noCheckpoint } = parts;
  const { id, to, message, attestation } = bridge;
  if (message === null || attestation === null) throw new Error(`bridge ${id} has no message to deliver`);
  const network = requireNetwork(networks, to);
  const waitForArrival = { lookAgainInMs: network.pollMs, waitsFor: 'the chain that it is minted on to be read' };
  const step = await findStep(db, mintStep(bridge));
  // Another party has delivered it: sending it again would waste gas.
  const isDelivered = step?.state === 'ready' && (await isUsed(parts, bridge));
  let end: StepEnd | undefined;
  if (!isDelivered) {
    const progress = await takeStep(parts, mintStep(bridge), (wallet) => ({
      from: wallet,
      contract: cctp.messageTransmitter,
      data: encodeFunctionData({
        abi: messageTransmitterAbi,
        functionName: 'receiveMessage',
        args: [message, attestation],
      }),
    }));
    if (progress.state === 'waiting') return progress;
    end = progress;
  }
  const arrived = await findArrived(parts, bridge);
  if (arrived !== undefined) {
    await completeBridge(parts, bridge, { ...arrived, end });
    checkpoint('bridge.completed');
    return 'rest';
  }
  if (end?.state !== 'failed' || (await isUsed(parts, bridge))) return waitForArrival;
  await askAnew(parts, bridge, end);
  const lookAgainInMs = Math.min(mintAgain.most, mintAgain.from * 2 ** Math.min(bridge.mints, 16));
  return { lookAgainInMs, waitsFor: `a new attestation: ${end.reason}`, isTrouble: true };
}

/** Whether the message was delivered, by us or by another party. */
async function isUsed({ networks }: BridgeParts, { to, messageNonce }: Bridge): Promise<boolean> {
  if (messageNonce === null) return false;
  const used = await requireNetwork(networks, to).client.readContract({
    address: cctp.messageTransmitter,
    abi: messageTransmitterAbi,
    functionName: 'usedNonces',
    args: [messageNonce],
  });
  return used > 0n;
}

interface Arrived {
  readonly minted: Amount;
  readonly hash: Hex;
}

/** The mint that the watcher has matched to the burn step by the message's nonce. */
async function findArrived({ db }: BridgeParts, bridge: Bridge): Promise<Arrived | undefined> {
  const { sagaId, step } = burnStep(bridge);
  const { rows } = await db.query<{ atomic: bigint; hash: Hex }>(
    `SELECT d.atomic, d.tx_hash AS hash FROM chain_steps s JOIN deposits d ON d.step_id = s.id
      WHERE s.saga_id = $1 AND s.step = $2`,
    [sagaId, step],
  );
  const [row] = rows;
  return row && { minted: amountOf(bridge.amount.asset, row.atomic), hash: row.hash };
}

/** Credits the owner with the minted amount, and writes the protocol's fee off the receivable. */
async function completeBridge(
  { db, ledger }: BridgeParts,
  bridge: Bridge,
  { minted, hash, end }: Arrived & { readonly end: StepEnd | undefined },
): Promise<void> {
  const { id, mints } = bridge;
  const step = mintStep(bridge);
  await db.transaction((tx) =>
    advanceSaga(tx, ledger, bridgeSaga, {
      id,
      from: 'minting',
      where: { mints },
      to: 'completed',
      set: { minted: minted.atomic, mintHash: hash },
      ...(end === undefined ? { drop: [step] } : { settle: [{ ...step, end }] }),
      post: [mintPosting(bridge, minted, hash)],
    }),
  );
}

function mintPosting(bridge: Bridge, minted: Amount, hash: Hex): Posting {
  const { id, accountId, from, to, amount, origin, burnHash } = bridge;
  const { asset } = amount;
  const kept = subtract(amount, minted);
  const { name } = chains[from];
  return {
    type: origin === 'deposit' ? 'deposit_carried_home' : 'bridge_completed',
    amount: debitedAmount(bridge),
    fee: subtract(debitedAmount(bridge), minted),
    entries: [
      { account: houseAccount('bridges_in_transit', asset, to), atomic: -amount.atomic },
      { account: userAccount(accountId, asset, to), atomic: minted.atomic },
      { account: houseAccount('receivables', asset, to), atomic: kept.atomic },
    ],
    reference: `bridge:${id}:end`,
    description: origin === 'deposit' ? `Deposited on ${name}, carried to ${chains[homeChain].name}` : `From ${name}`,
    details: { bridgeId: id, fromChain: from, toChain: to, txHashes: { burn: burnHash, mint: hash } },
    recipientId: accountId,
    recipientEvent: 'bridge.completed',
  };
}

/** The mint was refused and the message is undelivered: the attesters may have changed, so the saga asks for a new attestation. */
async function askAnew(
  { db, ledger }: BridgeParts,
  bridge: Bridge,
  end: Extract<StepEnd, { state: 'failed' }>,
): Promise<void> {
  const { id, mints } = bridge;
  await db.transaction((tx) =>
    advanceSaga(tx, ledger, bridgeSaga, {
      id,
      from: 'minting',
      where: { mints },
      to: 'waiting_attestation',
      settle: [{ ...mintStep(bridge), end }],
    }),
  );
}
