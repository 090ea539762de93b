import { randomUUID } from 'node:crypto';
import { formatEther, type Hex, keccak256 } from 'viem';
import type { ChainDoor, Payload } from './chain-door.ts';
import { CircleRefusal } from './refusal.ts';
import type { EmulatedWallet } from './wallet-book.ts';

export type TransactionState =
  | 'INITIATED'
  | 'CLEARED'
  | 'QUEUED'
  | 'SENT'
  | 'STUCK'
  | 'CONFIRMED'
  | 'COMPLETE'
  | 'FAILED'
  | 'DENIED'
  | 'CANCELLED';

/** What becomes of a transaction. One that is stuck goes on once it is accelerated. */
type Fate = 'complete' | 'stuck' | 'failed' | 'denied' | 'cancelled';

export interface EmulatedTransaction {
  readonly id: string;
  readonly wallet: EmulatedWallet;
  readonly payload: Payload;
  readonly described: Readonly<Record<string, unknown>>;
  readonly createDate: string;
  state: TransactionState;
  fate: Fate;
  accelerations: number;
  txHash?: Hex;
  blockHeight?: number;
  blockHash?: Hex;
  networkFee?: string;
  /** What it offers for a unit of gas, in gwei. */
  maxFee?: string;
  errorReason?: string;
}

const finalStates: readonly TransactionState[] = ['COMPLETE', 'FAILED', 'DENIED', 'CANCELLED'];

export interface TransactionBook {
  readonly all: ReadonlyMap<string, EmulatedTransaction>;
  /** The fates of the next transactions, in order. Whoever comes after them is completed. */
  readonly fates: Fate[];
  /** While it is on, nothing moves by itself. */
  paused: boolean;
  /** How long it takes until a transaction is in the list. */
  listedAfterMs: number;
  /** A page of the list has no more than these, whatever was asked for. */
  mostPerPage: number;
  add(wallet: EmulatedWallet, payload: Payload, described: Readonly<Record<string, unknown>>): EmulatedTransaction;
  get(id: string): EmulatedTransaction;
  accelerate(id: string): void;
  /** Moves every transaction on by one state. */
  step(): Promise<void>;
  stop(): void;
}

export function createTransactionBook(chain: ChainDoor, tickMs: number): TransactionBook {
  const all = new Map<string, EmulatedTransaction>();
  const fates: Fate[] = [];
  let stopped = false;
  let stepping = Promise.resolve();

  async function move(transaction: EmulatedTransaction): Promise<void> {
    const { wallet, payload, fate } = transaction;
    switch (transaction.state) {
      case 'INITIATED':
        transaction.state = fate === 'denied' ? 'DENIED' : fate === 'cancelled' ? 'CANCELLED' : 'CLEARED';
        return;
      case 'CLEARED':
        transaction.state = 'QUEUED';
        return;
      case 'QUEUED':
        if (fate === 'failed') {
          transaction.state = 'FAILED';
          transaction.errorReason = 'FAILED_ON_CHAIN';
          return;
        }
        // A stuck one has a hash that no chain will ever see; the accelerated one has another.
        transaction.txHash = fate === 'stuck' ? keccak256(payload.data) : await chain.send(wallet, payload);
        transaction.state = fate === 'stuck' ? 'STUCK' : 'SENT';
        return;
      case 'SENT':
        return confirm(transaction);
      case 'CONFIRMED':
        transaction.state = 'COMPLETE';
        return;
      default:
    }
  }

  async function confirm(transaction: EmulatedTransaction): Promise<void> {
    const mined = transaction.txHash && (await chain.find(transaction.wallet.blockchain, transaction.txHash));
    if (mined === undefined) return;
    transaction.blockHeight = mined.blockHeight;
    transaction.blockHash = mined.blockHash;
    transaction.networkFee = formatEther(mined.networkFee);
    transaction.state = mined.succeeded ? 'CONFIRMED' : 'FAILED';
    if (!mined.succeeded) transaction.errorReason = 'FAILED_ON_CHAIN';
  }

  const book: TransactionBook = {
    all,
    fates,
    paused: false,
    listedAfterMs: 0,
    mostPerPage: 50,
    add(wallet, payload, described) {
      const transaction: EmulatedTransaction = {
        id: randomUUID(),
        wallet,
        payload,
        described,
        createDate: new Date().toISOString(),
        state: 'INITIATED',
        fate: fates.shift() ?? 'complete',
        accelerations: 0,
      };
      all.set(transaction.id, transaction);
      return transaction;
    },
    get(id) {
      const transaction = all.get(id);
      if (transaction === undefined) throw new CircleRefusal(404, 156003, 'Cannot find target transaction.');
      return transaction;
    },
    accelerate(id) {
      const transaction = book.get(id);
      if (transaction.state !== 'STUCK' && transaction.state !== 'SENT') {
        throw new CircleRefusal(400, 155229, 'Transaction is not eligible for operation.');
      }
      transaction.accelerations++;
      if (transaction.state === 'SENT') return;
      transaction.fate = 'complete';
      transaction.state = 'QUEUED';
    },
    step() {
      // One step after the other, or a transaction could be sent twice.
      stepping = stepping.then(async () => {
        const moving = [...all.values()].filter(({ state }) => !finalStates.includes(state));
        // The tests' own deadlines tell when a chain went away; until then the emulator only waits for it.
        await Promise.all(moving.map((transaction) => move(transaction).catch(() => {})));
      });
      return stepping;
    },
    stop() {
      stopped = true;
    },
  };

  const tick = async () => {
    if (stopped) return;
    if (!book.paused) await book.step();
    setTimeout(() => void tick(), tickMs).unref();
  };
  void tick();
  return book;
}

export function describeTransaction(transaction: EmulatedTransaction) {
  const { id, wallet, described, createDate, state } = transaction;
  const { txHash, blockHeight, blockHash, networkFee, maxFee, errorReason } = transaction;
  return {
    id,
    blockchain: wallet.blockchain,
    walletId: wallet.id,
    sourceAddress: wallet.account.address.toLowerCase(),
    transactionType: 'OUTBOUND',
    custodyType: 'DEVELOPER',
    state,
    ...described,
    createDate,
    updateDate: new Date().toISOString(),
    ...(txHash !== undefined && { txHash }),
    ...(blockHeight !== undefined && { blockHeight }),
    ...(blockHash !== undefined && { blockHash }),
    ...(networkFee !== undefined && { networkFee }),
    ...(maxFee !== undefined && { estimatedFee: { maxFee } }),
    ...(errorReason !== undefined && { errorReason }),
  };
}
