import { setTimeout as sleep } from 'node:timers/promises';
import { getAddress, type Hex } from 'viem';
import { smaller } from '../../../chains/gas-fee-ceiling.ts';
import type { Network, Networks } from '../../../chains/network.ts';
import type { Database } from '../../../kernel/db/database.ts';
import type { Logger } from '../../../kernel/log/logger.ts';
import { type Checkpoint, noCheckpoint } from '../../../kernel/sagas/checkpoint.ts';
import type { Secrets } from '../../../kernel/secrets/secrets.ts';
import type { ChainId } from '../../../money/catalogue.ts';
import { asContractCall } from '../../wallets/as-contract-call.ts';
import { type ContractCall, type HeldWallet, ProviderError, type WalletProvider } from '../../wallets/provider.ts';
import type { SeedRotation } from '../../wallets/seed-rotation.ts';
import type { UnknownTransactions } from '../../wallets/unknown-transactions.ts';
import { catchUp, countUsed } from './catch-up.ts';
import { broadcast, followTransaction } from './follow.ts';
import { createFeeBook } from './gas-fees.ts';
import type { KeyTransaction, NewKeyTransaction } from './key-transaction.ts';
import { ChainIsAhead, findTransaction, listAttempts, lockNonces, type Signing, signAndKeep } from './outbox.ts';
import { aboveCeiling, gasTankEmpty, toProviderError } from './rpc-trouble.ts';
import { openSeeds } from './seeds.ts';
import { adoptUnknown, dismissUnknown, hasOpenUnknown, listUnknown, noteHeld, PerhapsPaid } from './unknown-book.ts';

export interface KeysProviderParts {
  readonly db: Database;
  readonly secrets: Secrets;
  readonly networks: Networks;
  readonly logger: Logger;
  /** How long a transaction may wait before it is replaced by one that pays more. */
  readonly stuckAfterMs?: number;
  readonly checkpoint?: Checkpoint;
}

export interface KeysProvider extends WalletProvider {
  readonly unknown: UnknownTransactions;
  readonly seedRotation: SeedRotation;
}

/**
 * Keys of our own: master seeds, sealed at rest with the operator's secret, and one address per user derived from them,
 * the same on every chain. Deriving is local, so a wallet costs no call to anybody.
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
      // The refusal stands under this key for good, and nothing was ever signed for it.
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
    // Everything that is asked of the chain comes before the commit: no connection waits for a node that is slow.
    const [signing, used] = await Promise.all([prepareOrRefuse(network, wanted), usedBy(network, wanted.sender)]);
    try {
      return await signAndKeep(db, wanted, signing, used).catch(async (error: unknown) => {
        if (!(error instanceof ChainIsAhead)) throw error;
        await bringUp(network, wanted.sender, error);
        return signAndKeep(db, wanted, signing, used);
      });
    } catch (error) {
      if (!(error instanceof PerhapsPaid)) throw error;
      await noteHeld(db, error.unknownId, wanted);
      throw perhapsPaid(error);
    }
  }

  const usedBy = (network: Network, sender: Hex) =>
    countUsed(network, sender).catch((error: unknown) => {
      throw retryable(toProviderError(error));
    });

  const bringUp = (network: Network, sender: Hex, ahead: Pick<ChainIsAhead, 'from' | 'to'>) =>
    catchUp({ db, logger }, network, sender, ahead).catch((error: unknown) => {
      throw retryable(toProviderError(error));
    });

  /** Asks the chain about a wallet that may have nothing to send. */
  async function look({ chain, address }: HeldWallet): Promise<void> {
    const network = networkOf(networks, chain);
    const used = await usedBy(network, address);
    const next = await db.transaction((tx) => lockNonces(tx, chain, address));
    if (used > next) await bringUp(network, address, { from: next, to: used });
  }

  /** What the contract would refuse is found out here, before a nonce is spent on it; a node may lag, so it is asked twice. */
  async function prepareOrRefuse(network: Network, wanted: NewKeyTransaction): Promise<Signing | ProviderError> {
    for (const isLast of [false, true]) {
      try {
        return await prepare(network, wanted);
      } catch (error) {
        const trouble = toProviderError(error);
        // The gas may be gone because this was sent already, before a backup was put back. `signAndKeep` finds that out.
        if (trouble.code === 'insufficient_gas') return trouble;
        if (trouble.retryable) throw trouble;
        if (isLast) return trouble;
        await sleep(network.pollMs);
      }
    }
    throw new Error('unreachable');
  }

  async function prepare(network: Network, { sender, to, data, value, walletRef, mostGas }: NewKeyTransaction) {
    const { client, feeCeiling } = network;
    const [gas, fees, balance, account] = await Promise.all([
      client.estimateGas({ account: sender, to, data, value }),
      feesOn(network),
      client.getBalance({ address: sender }),
      seeds.account(walletRef),
    ]);
    // All that is allowed can be used up, or is set aside at least: what no transaction of ours needs, nobody is given.
    if (gas > feeCeiling.gasLimit) {
      throw aboveCeiling(`${network.id} estimates ${gas} gas, and at most ${feeCeiling.gasLimit} is allowed`);
    }
    if (mostGas !== undefined && gas > mostGas) throw takesTooMuchGas();
    const gasLimit = mostGas ?? smaller((gas * 3n) / 2n, feeCeiling.gasLimit);
    // Without enough for it a nonce would be spent on what no node takes, and hold up all that come after.
    if (balance < gasLimit * fees.maxFee + value) throw gasTankEmpty();
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
      try {
        return await followTransaction({ db, seeds, logger, stuckAfterMs }, networkOf(networks, chain), transaction);
      } catch (error) {
        throw retryable(toProviderError(error));
      }
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

function takesTooMuchGas(): ProviderError {
  return new ProviderError('It takes more gas than was paid for.', { retryable: false, code: 'rejected' });
}

/** Nothing was signed, and nothing is until a person has decided. */
function perhapsPaid(cause: PerhapsPaid): ProviderError {
  return new ProviderError(`It may have been paid: ${cause.message}.`, {
    retryable: true,
    code: 'perhaps_paid',
    retryAfterMs: 60_000,
    cause,
    ...(cause.hash !== null && { hash: cause.hash }),
  });
}

function toTransaction({
  idempotencyKey: id,
  from,
  contract,
  data,
  value = 0n,
  mostGas,
}: ContractCall): NewKeyTransaction {
  return { id, chain: from.chain, sender: from.address, walletRef: from.ref, to: contract, data, value, mostGas };
}

/** Outside the question whether it would be refused, no trouble is final. */
function retryable(trouble: ProviderError): ProviderError {
  if (trouble.retryable) return trouble;
  return new ProviderError(trouble.message, { retryable: true, code: 'chain_error', cause: trouble });
}

function networkOf(networks: Networks, chain: ChainId): Network {
  const network = networks.get(chain);
  if (network !== undefined) return network;
  // Not a refusal for good: perhaps it was sent while the chain was on, and it may be on again.
  throw new ProviderError(`${chain} is off.`, { retryable: true, code: 'chain_not_available' });
}

/** A key stands for one transaction: the same key with anything else in it is a mistake that must not pass. */
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
