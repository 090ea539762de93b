import { type Hex, size, slice } from 'viem';
import { burnLayout, messageLayout } from '../../chains/cctp.ts';
import { findReceipt } from '../../chains/find-receipt.ts';
import { advanceSaga } from '../../custody/steps/advance-saga.ts';
import { requireNetwork } from '../../custody/steps/chain-step.ts';
import { nameProof } from '../../custody/steps/match-arrival.ts';
import { messageProof } from '../../custody/steps/receipt-proofs.ts';
import { houseWallet } from '../../custody/wallets/house-wallets.ts';
import { noCheckpoint } from '../../kernel/sagas/checkpoint.ts';
import type { SagaStep } from '../../kernel/sagas/run-saga.ts';
import { createTurns, type Turns } from '../../kernel/sagas/turns.ts';
import { wakeSaga } from '../../kernel/sagas/wake-saga.ts';
import { chains } from '../../money/catalogue.ts';
import type { AttestedMessage } from './attestations.ts';
import { type Bridge, burnStep, mintStep } from './bridge.ts';
import { burnAgainOrWait } from './burn-again.ts';
import { type BridgeParts, findBurner } from './parts.ts';
import { bridgeSaga } from './saga.ts';

/** The fields of a burn message. */
interface BurnMessage {
  readonly sourceDomain: number;
  readonly destinationDomain: number;
  readonly nonce: Hex;
  readonly mintRecipient: bigint;
  readonly burnToken: bigint;
  readonly amount: bigint;
  readonly messageSender: bigint;
}

/** Undefined when the message is too short for a burn. */
function readBurnMessage(message: Hex): BurnMessage | undefined {
  if (size(message) < messageLayout.body + burnLayout.hookData) return undefined;
  const bytes = (from: number, length: number) => slice(message, from, from + length);
  const word = (from: number) => BigInt(bytes(messageLayout.body + from, 32));
  return {
    sourceDomain: Number(bytes(messageLayout.sourceDomain, 4)),
    destinationDomain: Number(bytes(messageLayout.destinationDomain, 4)),
    nonce: bytes(messageLayout.nonce, 32),
    mintRecipient: word(burnLayout.mintRecipient),
    burnToken: word(burnLayout.burnToken),
    amount: word(burnLayout.amount),
    messageSender: word(burnLayout.messageSender),
  };
}

/** Polls less often the longer it takes: seconds on some chains, a quarter of an hour on others. */
const lookEvery = { from: 400, most: 20_000 };

/** How many bridges ask one source chain at once. The lane has this many slots per chain, and a few more. */
export const turnsPerSource = 2;

/** A bridge without a turn is woken when one ends. It tries by itself this much later, in case it is not woken. */
const turnPatienceMs = 10_000;

/** All bridges of this process share the turns of their source chains. */
export function attestationStep(parts: BridgeParts): (bridge: Bridge) => Promise<SagaStep> {
  const { db } = parts;
  const turns = createTurns({
    most: turnsPerSource,
    wake: (id) => wakeSaga(db, { saga: bridgeSaga.name, id, lane: 'attestation' }).catch(() => undefined),
  });
  return (bridge) => awaitAttestation(parts, bridge, turns);
}

async function awaitAttestation(parts: BridgeParts, bridge: Bridge, turns: Turns): Promise<SagaStep> {
  const { attestations, checkpoint = noCheckpoint } = parts;
  const { id, from, burnHash } = bridge;
  if (burnHash === null) throw new Error(`bridge ${id} was burnt by no transaction`);
  const found = await attestations.find({ domain: chains[from].domain, txHash: burnHash });
  if (found.state === 'not_asked')
    return { lookAgainInMs: found.lookAgainInMs, waitsFor: 'its turn to be asked about' };
  // Anybody can deliver an attested message, even if the burn is undone: another burn would mint twice.
  const mayBurnAgain = found.state === 'unknown' && bridge.messageNonce === null;
  if (mayBurnAgain) {
    const looked = await turns.take({ of: from, id }, () => lookAtBurn(parts, bridge));
    if (looked === undefined) {
      const waitsFor = `its turn: ${chains[from].name} is being asked about other burns`;
      return { lookAgainInMs: turnPatienceMs, waitsFor };
    }
    if (looked !== 'is_there') return looked;
  }
  const attested = found.state === 'known' ? found.attested : [];
  const ours = await findOurs(parts, bridge, attested);
  if (ours !== undefined) {
    await beginMinting(parts, bridge, ours);
    checkpoint('bridge.attested');
    return { lookAgainInMs: 0, waitsFor: 'its mint' };
  }
  const pending = found.state === 'known' ? found.pending : 'its burn is not known yet';
  if (pending === undefined) throw new Error('the attestation service tells of another burn than ours');
  const since = Date.parse(bridge.reached.waiting_attestation ?? '');
  const lookAgainInMs = Math.min(lookEvery.most, Math.max(lookEvery.from, (Date.now() - since) / 10));
  return { lookAgainInMs, waitsFor: `its attestation: ${pending}` };
}

interface OurMessage extends AttestedMessage {
  readonly read: BurnMessage;
}

/** Only the nonce is taken from the service. Everything else must match our burn. */
async function findOurs(
  { db }: BridgeParts,
  bridge: Bridge,
  messages: readonly AttestedMessage[],
): Promise<OurMessage | undefined> {
  const { from, to, amount, mintRecipient } = bridge;
  const burner = await findBurner(db, bridge);
  for (const attested of messages) {
    const read = readBurnMessage(attested.message);
    if (
      read !== undefined &&
      read.sourceDomain === chains[from].domain &&
      read.destinationDomain === chains[to].domain &&
      read.amount === amount.atomic &&
      read.mintRecipient === BigInt(mintRecipient ?? 0) &&
      read.burnToken === BigInt(chains[from].tokens.USDC) &&
      read.messageSender === BigInt(burner.address) &&
      // A message that is attested again keeps its nonce.
      (bridge.messageNonce === null || bridge.messageNonce === read.nonce)
    )
      return { ...attested, read };
  }
  return undefined;
}

/** From here on the arrival is recognised by the message's nonce, no matter who delivers it. */
async function beginMinting({ db, ledger }: BridgeParts, bridge: Bridge, ours: OurMessage): Promise<void> {
  const { id, from, to, amount } = bridge;
  const { message, attestation, read } = ours;
  const mints = bridge.mints + 1;
  const proof = messageProof(chains[from].domain, read.nonce);
  await db.transaction(async (tx) =>
    advanceSaga(tx, ledger, bridgeSaga, {
      id,
      from: 'waiting_attestation',
      where: { mints: bridge.mints },
      to: 'minting',
      set: { message, attestation, messageNonce: read.nonce, mints },
      alongside: () => nameProof(tx, { ...burnStep(bridge), asset: amount.asset, proof }),
      plan: [{ ...mintStep({ id, mints }), chain: to, wallet: await houseWallet(tx, 'bridge', to) }],
    }),
  );
}

/** Asks the source chain, which may not answer. */
async function lookAtBurn(parts: BridgeParts, bridge: Bridge): Promise<'is_there' | SagaStep> {
  const { from, burnHash } = bridge;
  const { client } = requireNetwork(parts.networks, from);
  const isThere = burnHash !== null && (await findReceipt(client, burnHash))?.status === 'success';
  return isThere ? 'is_there' : burnAgainOrWait(parts, bridge);
}
