import { encodeFunctionData, type Hex, type TypedDataDefinition } from 'viem';
import { tokenAbi } from '../../chains/abi.ts';
import type { Queryable } from '../../kernel/db/database.ts';
import type { ChainId } from '../../money/catalogue.ts';

/** A transaction of one of our wallets that is on the chain and not in this database. */
export interface UnknownTransaction {
  readonly id: bigint;
  readonly chain: ChainId;
  readonly sender: Hex;
  readonly nonce: number;
  /** Undefined when no node could say which transaction used the nonce. */
  readonly sent: { readonly hash: Hex; readonly to: Hex; readonly data: Hex; readonly value: bigint } | undefined;
  /** The keys of the steps that wait for an explanation of it. */
  readonly holds: readonly string[];
}

/**
 * Transactions that our wallets sent and this database does not know, as after a restore from a backup. Steps that
 * match one wait until the operator explains it.
 */
export interface UnknownTransactions {
  /** Asks the chain what a wallet has sent. */
  look(wallet: HeldWallet): Promise<void>;
  /** Whether one of the wallet's transactions is unexplained. */
  hasOpen(wallet: HeldWallet): Promise<boolean>;
  /** The unexplained ones. */
  list(): Promise<readonly UnknownTransaction[]>;
  /**
   * It was the transaction of the step with this key, which continues from there. Throws when it did something else.
   * For an unsigned step the caller has compared the payment and names the wallet.
   */
  adopt(id: bigint, key: string, unsignedOf?: HeldWallet): Promise<void>;
  /** It paid nothing that is still to be paid. */
  dismiss(id: bigint): Promise<void>;
}

/** Moves our own keys to another seed. */
export interface SeedRotation {
  /**
   * Returns the seed that waits for its backup to be confirmed, and creates it if there is none. No wallet comes from
   * it yet.
   */
  prepare(): Promise<number>;
  /**
   * The operator has a backup: from now on wallets come from this seed. Throws for any other seed than the prepared
   * one.
   */
  confirm(seedId: number): Promise<void>;
  /**
   * The wallet that replaces another. Deterministic, so that a restore from a backup with the seed gives everyone the
   * same addresses.
   */
  renew(ref: string, seedId: number): Promise<NewWallet>;
}

/**
 * A stuck transaction's fee is raised this often, to about ten times the first fee. Beyond it, the operator decides.
 */
export const usualFeeLimit = 20;

/** The limit of one transaction, which the operator may have raised. */
export async function feeLimitOf(db: Queryable, providerRef: string): Promise<number> {
  const { rows } = await db.query<{ most: number }>('SELECT most FROM raised_fee_limits WHERE provider_ref = $1', [
    providerRef,
  ]);
  return rows[0]?.most ?? usualFeeLimit;
}

export interface NewWallet {
  /** The provider's id of the wallet. */
  readonly ref: string;
  readonly address: Hex;
}

/** A wallet whose key the provider holds. */
export interface HeldWallet extends NewWallet {
  readonly chain: ChainId;
}

/** A UUID that the caller stored before the call, so that a retry is the same call. */
interface Identified {
  readonly idempotencyKey: string;
}

interface Repeatable extends Identified {
  /**
   * Set when an earlier request may have lost its answer. A provider that may forget a key searches its own list first,
   * and returns what it took instead of sending again.
   */
  readonly askedBefore?: Omit<AskedBefore, 'quietMs'>;
}

export interface TokenSend extends Repeatable {
  readonly from: HeldWallet;
  readonly token: Hex;
  readonly to: Hex;
  readonly atomic: bigint;
}

export interface ContractCall extends Repeatable {
  readonly from: HeldWallet;
  readonly contract: Hex;
  readonly data: Hex;
  /** Native coin sent along. */
  readonly value?: bigint;
  /** The gas that the user paid for, where someone else's contract runs: our own keys set it as the gas limit. */
  readonly mostGas?: bigint;
}

/** An earlier request whose answer may have been lost. */
export interface AskedBefore {
  /** When it was first sent, or a little earlier. */
  readonly askedAt: Date;
  /** The time since the last unanswered request, by the same clock as `askedAt`. */
  readonly quietMs: number;
  /**
   * Whether a transaction of the provider belongs to another request. Asked only for transactions without a key, which
   * an identical request may have made.
   */
  readonly belongsToAnother?: (ref: string) => Promise<boolean>;
}

/** Final states never change. */
export type TransactionReport =
  | {
      readonly state: 'pending';
      /** Absent until known; a replacement has a new one. */
      readonly hash?: Hex;
      /** In words for the operator, when it waits for more than being mined. */
      readonly waitsFor?: string;
    }
  | {
      readonly state: 'confirmed';
      readonly hash: Hex;
      readonly blockNumber: bigint;
      /** In the chain's native coin. */
      readonly gasCost: bigint;
    }
  | {
      /** Reverted, or never to be mined: nothing was moved. */
      readonly state: 'failed';
      readonly reason: string;
      readonly hash?: Hex;
      readonly gasCost: bigint;
    };

/**
 * Holds the keys of our wallets. Its adapters are in custody/adapters/, and one contract test runs against each of
 * them.
 */
export interface WalletProvider {
  readonly name: string;
  createWallet(request: { readonly chain: ChainId } & Partial<Identified>): Promise<NewWallet>;
  /** The same wallet on another chain. */
  extendWallet(wallet: NewWallet, chain: ChainId): Promise<NewWallet>;
  /**
   * Both return the provider's id of the transaction, once the provider has accepted it for good. Repeated calls with
   * the same key send once; `lookUp` follows the transaction.
   */
  sendToken(send: TokenSend): Promise<string>;
  execute(call: ContractCall): Promise<string>;
  /**
   * Searches the provider's own list for a request whose answer was lost. Returns the id of the transaction, or
   * undefined when nothing was taken under this key. Only for a request that was sent before with the same contents,
   * and that is not being sent at this moment. Throws while the list does not settle it; call again later.
   */
  findTaken(asked: TokenSend | ContractCall, before: AskedBefore): Promise<string | undefined>;
  signTypedData(wallet: HeldWallet, typedData: TypedDataDefinition): Promise<Hex>;
  /** Also drives it on: sends a lost transaction again, and raises the fee of a stuck one. */
  lookUp(chain: ChainId, ref: string): Promise<TransactionReport>;
  /** Resends a confirmed transaction that a reorg has undone: the same transaction, or none. */
  sendAgain(chain: ChainId, ref: string): Promise<void>;
}

const mostReason = 500;

/** Contracts and nodes choose parts of a message, and it is stored as the reason of a refusal. */
const storable = (message: string) => message.slice(0, mostReason).replaceAll('\0', '').toWellFormed();

export class ProviderError extends Error {
  override readonly name = 'ProviderError';
  /**
   * Whether the same call may succeed later. If not, this call was refused for good and sends nothing. That says
   * nothing about an earlier call with the same key: see `provesNothingTaken`.
   */
  readonly retryable: boolean;
  /**
   * Whether the refusal proves that nothing was ever taken under the key. Our own keys record a refusal under its key,
   * which is such a proof. Without it, a refusal after an unanswered request is final only when `findTaken` finds
   * nothing.
   */
  readonly provesNothingTaken: boolean;
  readonly code: string;
  readonly retryAfterMs: number | undefined;
  readonly hash: Hex | undefined;

  constructor(
    message: string,
    options: {
      retryable: boolean;
      code: string;
      provesNothingTaken?: boolean;
      retryAfterMs?: number | undefined;
      hash?: Hex;
      cause?: unknown;
    },
  ) {
    super(storable(message), { cause: options.cause });
    this.retryable = options.retryable;
    this.provesNothingTaken = options.provesNothingTaken ?? false;
    this.code = options.code;
    this.retryAfterMs = options.retryAfterMs;
    this.hash = options.hash;
  }
}

/** A token transfer as the contract call that the chain sees. */
export function asContractCall(asked: TokenSend | ContractCall): ContractCall {
  if ('contract' in asked) return asked;
  const { token, to, atomic, ...rest } = asked;
  const data = encodeFunctionData({ abi: tokenAbi, functionName: 'transfer', args: [to, atomic] });
  return { ...rest, contract: token, data };
}
