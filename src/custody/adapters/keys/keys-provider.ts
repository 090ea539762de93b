import { setTimeout as sleep } from 'node:timers/promises';
import { getAddress, type Hex } from 'viem';
import { smaller } from '../../../chains/gas-fee-ceiling.ts';
import type { Network, Networks } from '../../../chains/network.ts';
import type { Database } from '../../../kernel/db/database.ts';
import type { Logger } from '../../../kernel/log/logger.ts';
import { type Checkpoint, noCheckpoint } from '../../../kernel/sagas/checkpoint.ts';
import type { Secrets } from '../../../kernel/secrets/secrets.ts';
import type { ChainId } from '../../../money/catalogue.ts';
import {
  asContractCall,
  type ContractCall,
  type HeldWallet,
  ProviderError,
  type SeedRotation,
  type UnknownTransactions,
  type WalletProvider,
} from '../../wallets/provider.ts';
import { findSent } from './find-sent.ts';
import { broadcast, type FollowParts, followTransaction } from './follow.ts';
import { createFeeBook } from './gas-fees.ts';
import type { KeyTransaction, NewKeyTransaction } from './key-transaction.ts';
import {
  ChainIsAhead,
  findTransaction,
  lastBlockBefore,
  listAttempts,
  lockNonces,
  type Signing,
  signAndKeep,
} from './outbox.ts';
import { aboveCeiling, insufficientGas, toProviderError } from './rpc-errors.ts';
import { openSeeds } from './seeds.ts';
import {
  adoptUnknown,
  dismissUnknown,
  hasOpenUnknown,
  keepUnknown,
  listUnknown,
  noteHeld,
  PossiblyPaid,
} from './unknown-book.ts';

/** Nonces per commit: a long gap is closed in pieces and survives an interruption. */
const atOnce = 20;

/**
 * Raises a wallet's next nonce to the chain's, and records the transactions that this database does not know. Only
 * final ones count: a nonce that a reorg frees would leave a gap that blocks all later ones. A lying node could cause
 * such a gap too, so a node's count is not believed: only a transaction signed by our own key proves that its nonce,
 * and all before it, were used.
 */
async function catchUp(
  { db, logger }: Pick<FollowParts, 'db' | 'logger'>,
  network: Network,
  sender: Hex,
  { from, to }: Pick<ChainIsAhead, 'from' | 'to'>,
): Promise<void> {
  const { id: chain, client, confirmations } = network;
  const head = await client.getBlockNumber({ cacheTime: 0 });
  const until = head - BigInt(confirmations) + 1n;
  const final = await client.getTransactionCount({ address: sender, blockNumber: until < 0n ? 0n : until });
  if (final < to) throw chainIsAhead('it is not final yet');
  for (let first = from; first < to; ) {
    const since = await lastBlockBefore(db, chain, sender, first);
    const found = await findSent(network, { sender, from: first, to: Math.min(to, first + atOnce), since, until });
    if (found.size === 0) throw chainIsAhead(`no node in RPC_URLS_${chain} knows the transaction with nonce ${first}`);
    const last = Math.max(...found.keys()) + 1;
    await db.transaction(async (tx) => {
      // A concurrent catch-up may have come as far or further.
      if ((await lockNonces(tx, chain, sender)) !== first) return;
      for (let nonce = first; nonce < last; nonce++) await keepUnknown(tx, { chain, sender, nonce }, found.get(nonce));
      await tx.query('UPDATE key_nonces SET next = $3 WHERE chain = $1 AND sender = $2', [chain, sender, last]);
    });
    first = last;
  }
  logger.error(
    { chain, sender, from, to },
    'a wallet has sent transactions that are not in this database, which must come from a backup: see "paywright treasury unknown"',
  );
}

function chainIsAhead(why: string): ProviderError {
  return new ProviderError(`The wallet has sent a transaction that is not in this database, and ${why}.`, {
    retryable: true,
    code: 'chain_is_ahead',
    retryAfterMs: 10_000,
  });
}

export interface KeysProviderParts {
  readonly db: Database;
  readonly secrets: Secrets;
  readonly networks: Networks;
  readonly logger: Logger;
  /** How long a transaction may wait before a replacement with a higher fee. */
  readonly stuckAfterMs?: number;
  readonly checkpoint?: Checkpoint;
}

export interface KeysProvider extends WalletProvider {
  readonly unknown: UnknownTransactions;
  readonly seedRotation: SeedRotation;
}

/**
 * Our own keys: master seeds, encrypted at rest with the operator's secret, and one derived address per user, the same
 * on every chain. Derivation is local, so creating a wallet calls no service.
 */
export async function createKeysProvider(parts: KeysProviderParts): Promise<KeysProvider> {
  const { db, secrets, networks, logger, stuckAfterMs = 60_000, checkpoint = noCheckpoint } = parts;
  const seeds = await openSeeds(db, secrets);
  const feesOn = createFeeBook();

  async function execute(call: ContractCall): Promise<string> {
    const network = networkOf(networks, call.from.chain);
    const wanted = toTransaction(call);
    const { id } = wanted;
    const transaction = (await findTransaction(db, id)) ?? (await sign(network, wanted));
    refuseOther(transaction, wanted);
    if (transaction.nonce === null) {
      // The refusal is stored under this key for good, and nothing was ever signed for it.
      throw new ProviderError(transaction.reason ?? 'It was refused.', {
        retryable: false,
        code: 'rejected',
        provesNothingTaken: true,
      });
    }
    checkpoint('transaction.signed');
    const [newest] = await listAttempts(db, id);
    if (transaction.state === 'pending' && newest !== undefined) await broadcast(network, newest.raw, logger);
    checkpoint('transaction.sent');
    return id;
  }

  async function sign(network: Network, wanted: NewKeyTransaction): Promise<KeyTransaction> {
    // All questions to the chain come before the transaction, so that no connection waits for a slow node.
    const [signing, used] = await Promise.all([prepareOrRefuse(network, wanted), usedBy(network, wanted.sender)]);
    try {
      return await signAndKeep(db, wanted, signing, used).catch(async (error: unknown) => {
        if (!(error instanceof ChainIsAhead)) throw error;
        await bringUp(network, wanted.sender, error);
        return signAndKeep(db, wanted, signing, used);
      });
    } catch (error) {
      if (!(error instanceof PossiblyPaid)) throw error;
      await noteHeld(db, error.unknownId, wanted);
      throw perhapsPaid(error);
    }
  }

  /** The nonces that the chain has used, including pending transactions. */
  const usedBy = ({ client }: Network, address: Hex) =>
    orRetryable(client.getTransactionCount({ address, blockTag: 'pending' }));

  const bringUp = (network: Network, sender: Hex, ahead: Pick<ChainIsAhead, 'from' | 'to'>) =>
    orRetryable(catchUp({ db, logger }, network, sender, ahead));

  /** Catches up with the chain for a wallet that may have nothing to send. */
  async function look({ chain, address }: HeldWallet): Promise<void> {
    const network = networkOf(networks, chain);
    const used = await usedBy(network, address);
    const next = await db.transaction((tx) => lockNonces(tx, chain, address));
    if (used > next) await bringUp(network, address, { from: next, to: used });
  }

  /** Estimating finds what the contract would refuse before a nonce is spent; a node may lag, so it is asked twice. */
  async function prepareOrRefuse(
    network: Network,
    wanted: NewKeyTransaction,
    attempt = 1,
  ): Promise<Signing | ProviderError> {
    try {
      return await prepare(network, wanted);
    } catch (error) {
      const trouble = toProviderError(error);
      // The gas may be gone because this was already sent, before a backup was restored. `signAndKeep` finds that out.
      if (trouble.code === 'insufficient_gas') return trouble;
      if (trouble.retryable) throw trouble;
      if (attempt === 2) return trouble;
      await sleep(network.pollMs);
      return prepareOrRefuse(network, wanted, attempt + 1);
    }
  }

  async function prepare(network: Network, { sender, to, data, value, walletRef, mostGas }: NewKeyTransaction) {
    const { client, feeCeiling } = network;
    const [gas, fees, balance, account] = await Promise.all([
      client.estimateGas({ account: sender, to, data, value }),
      feesOn(network),
      client.getBalance({ address: sender }),
      seeds.account(walletRef),
    ]);
    // A contract may use the whole gas limit, so no transaction gets more than ours ever need.
    if (gas > feeCeiling.gasLimit) {
      throw aboveCeiling(`${network.id} estimates ${gas} gas, and at most ${feeCeiling.gasLimit} is allowed`);
    }
    if (mostGas !== undefined && gas > mostGas)
      throw new ProviderError('It needs more gas than was paid for.', { retryable: false, code: 'rejected' });
    const gasLimit = mostGas ?? smaller((gas * 3n) / 2n, feeCeiling.gasLimit);
    // A transaction without enough gas would occupy a nonce that no node accepts, and block all later ones.
    if (balance < gasLimit * fees.maxFee + value) throw insufficientGas();
    return { account, fees, gasLimit };
  }

  return {
    name: 'keys',
    async createWallet() {
      const { ref, account } = await seeds.next();
      return { ref, address: account.address };
    },
    extendWallet: async (wallet) => wallet,
    execute,
    sendToken: (send) => execute(asContractCall(send)),
    async findTaken(asked) {
      const wanted = toTransaction(asContractCall(asked));
      const kept = await findTransaction(db, wanted.id);
      if (kept === undefined) return undefined;
      refuseOther(kept, wanted);
      return kept.nonce === null ? undefined : kept.id;
    },
    async signTypedData({ ref }, typedData) {
      return (await seeds.account(ref)).signTypedData(typedData);
    },
    async lookUp(chain, ref) {
      const transaction = await findTransaction(db, ref);
      if (transaction === undefined) throw new Error(`no transaction is known as ${ref}`);
      const network = networkOf(networks, chain);
      return orRetryable(followTransaction({ db, seeds, logger, stuckAfterMs }, network, transaction));
    },
    async sendAgain(chain, ref) {
      for (const { raw } of await listAttempts(db, ref)) await broadcast(networkOf(networks, chain), raw, logger);
    },
    unknown: {
      look,
      hasOpen: (wallet) => hasOpenUnknown(db, wallet),
      list: () => listUnknown(db),
      adopt: (id, key, unsignedOf) => adoptUnknown(db, id, key, unsignedOf),
      dismiss: (id) => dismissUnknown(db, id),
    },
    seedRotation: seeds,
  };
}

/** Nothing is signed until the operator has decided. */
function perhapsPaid(cause: PossiblyPaid): ProviderError {
  return new ProviderError(`It may have been paid: ${cause.message}.`, {
    retryable: true,
    code: 'perhaps_paid',
    retryAfterMs: 60_000,
    cause,
    ...(cause.hash !== null && { hash: cause.hash }),
  });
}

function toTransaction(call: ContractCall): NewKeyTransaction {
  const { idempotencyKey: id, from, contract: to, data, value = 0n, mostGas } = call;
  return { id, chain: from.chain, sender: from.address, walletRef: from.ref, to, data, value, mostGas };
}

/** Only an estimate can refuse for good; every other error is retryable. */
function orRetryable<Result>(asked: Promise<Result>): Promise<Result> {
  return asked.catch((error: unknown) => {
    const trouble = toProviderError(error);
    if (trouble.retryable) throw trouble;
    throw new ProviderError(trouble.message, { retryable: true, code: 'chain_error', cause: trouble });
  });
}

function networkOf(networks: Networks, chain: ChainId): Network {
  const network = networks.get(chain);
  if (network !== undefined) return network;
  // Not refused for good: it may have been sent while the chain was on, and the chain may come back.
  throw new ProviderError(`${chain} is not configured.`, { retryable: true, code: 'chain_not_available' });
}

/** An idempotency key stands for one transaction; the same key with different contents is a mistake. */
function refuseOther(kept: KeyTransaction, wanted: NewKeyTransaction): void {
  const same =
    kept.chain === wanted.chain &&
    getAddress(kept.sender) === getAddress(wanted.sender) &&
    getAddress(kept.to) === getAddress(wanted.to) &&
    kept.value === wanted.value &&
    kept.data === wanted.data.toLowerCase();
  if (same) return;
  throw new ProviderError('This idempotency key was used for another transaction.', {
    retryable: false,
    code: 'idempotency_mismatch',
  });
}
