import type { Hex, TypedDataDefinition } from 'viem';
import type { ChainId } from '../../money/catalogue.ts';

export interface NewWallet {
  /** How the provider knows the wallet. */
  readonly ref: string;
  readonly address: Hex;
}

/** A wallet that the provider holds the key of. */
export interface HeldWallet extends NewWallet {
  readonly chain: ChainId;
}

/** What a call is known by: a UUID that the caller wrote down before it called, so that calling again is the same call. */
interface Identified {
  readonly idempotencyKey: string;
}

/** What is to be sent, perhaps once more. */
interface Repeatable extends Identified {
  /**
   * Only when it was asked before and the answer may have been lost. A provider that may forget a key looks at its list first, and
   * answers with what it has taken instead of sending again.
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
  /** Native coin that goes along. */
  readonly value?: bigint;
  /** The gas that was paid for, where a stranger's contract runs: with our own keys it cannot use more. */
  readonly mostGas?: bigint;
}

/** What is known of a request that was asked before, and whose answer may have been lost. */
export interface AskedBefore {
  /** When it was asked for the first time, or a little earlier. */
  readonly askedAt: Date;
  /** How long it is since it was last asked without an answer, by the clock that `askedAt` was read from. */
  readonly quietMs: number;
  /**
   * Whether a transaction of the provider's is known to be another request's. It is asked only about those that carry no
   * key: another request for the very same thing may have made them.
   */
  readonly belongsToAnother?: (ref: string) => Promise<boolean>;
}

/** Where a transaction is. Final states never change again. */
export type TransactionReport =
  | {
      readonly state: 'pending';
      /** Absent until it is known; a replacement has another one. */
      readonly hash?: Hex;
      /** In words for the operator, where it is not just to be mined. */
      readonly waitsFor?: string;
    }
  | {
      readonly state: 'confirmed';
      readonly hash: Hex;
      readonly blockNumber: bigint;
      /** What was paid for it, in the chain's native coin. */
      readonly gasCost: bigint;
    }
  | {
      /** It was mined and undone, or will never be mined: nothing was moved. */
      readonly state: 'failed';
      readonly reason: string;
      readonly hash?: Hex;
      readonly gasCost: bigint;
    };

/** Who holds the keys of our wallets. Its adapters are in custody/adapters/; one contract test runs against each of them. */
export interface WalletProvider {
  readonly name: string;
  createWallet(request: { readonly chain: ChainId } & Partial<Identified>): Promise<NewWallet>;
  /** The same wallet on another chain. */
  extendWallet(wallet: NewWallet, chain: ChainId): Promise<NewWallet>;
  /**
   * Both answer with how the provider knows the transaction, once it has taken it over for good. From then on it is
   * followed by `lookUp`, however often this was called with one key.
   */
  sendToken(send: TokenSend): Promise<string>;
  execute(call: ContractCall): Promise<string>;
  /**
   * What the provider's own list has of a request whose answer was lost: how it knows the transaction, or undefined when
   * it has taken nothing under this key. Only for a request that was asked before with the very same contents, and that
   * nobody asks at this moment. As long as the list does not settle it, it throws, and is to be called again later.
   */
  findTaken(asked: TokenSend | ContractCall, before: AskedBefore): Promise<string | undefined>;
  signTypedData(wallet: HeldWallet, typedData: TypedDataDefinition): Promise<Hex>;
  /** Also drives it on: what was lost on the way is sent again, and what is stuck is given a higher fee. */
  lookUp(chain: ChainId, ref: string): Promise<TransactionReport>;
  /** Sends once more what was confirmed, and what a reorganisation has undone since: the same transaction, or none. */
  sendAgain(chain: ChainId, ref: string): Promise<void>;
}

/** A provider that did not do what it was asked. */
export class ProviderError extends Error {
  override readonly name = 'ProviderError';
  /**
   * Whether the same call may succeed later. Otherwise this call was refused for good, and nothing was or will be sent
   * because of it. That says nothing about an earlier call with the same key: see `provesNothingTaken`.
   */
  readonly retryable: boolean;
  /**
   * Whether the refusal proves by itself that nothing was ever taken under the key, however often it was asked before: our
   * own keys write a refusal down under its key. Without such a proof, a refusal of what was asked before and not answered
   * is final only when `findTaken` finds nothing.
   */
  readonly provesNothingTaken: boolean;
  readonly code: string;
  readonly retryAfterMs: number | undefined;
  /** The transaction that it is about, where one is known. */
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
    super(message, { cause: options.cause });
    this.retryable = options.retryable;
    this.provesNothingTaken = options.provesNothingTaken ?? false;
    this.code = options.code;
    this.retryAfterMs = options.retryAfterMs;
    this.hash = options.hash;
  }
}
