import { randomBytes, randomUUID } from 'node:crypto';
import { concatHex, keccak256, type PrivateKeyAccount, toHex } from 'viem';
import { privateKeyToAccount } from 'viem/accounts';
import { CircleRefusal } from './refusal.ts';

export interface EmulatedWallet {
  readonly id: string;
  readonly walletSetId: string;
  readonly blockchain: string;
  readonly index: number;
  readonly account: PrivateKeyAccount;
  readonly createDate: string;
}

/** Wallet sets and their wallets. The keys are real, so what they sign counts on a chain. */
export interface WalletBook {
  readonly wallets: ReadonlyMap<string, EmulatedWallet>;
  createSet(): { readonly id: string; readonly createDate: string };
  create(request: { walletSetId: string; blockchains: readonly string[]; count: number }): EmulatedWallet[];
  derive(id: string, blockchain: string): { readonly wallet: EmulatedWallet; readonly existing: boolean };
  get(id: string): EmulatedWallet;
}

export function createWalletBook(): WalletBook {
  const sets = new Map<string, { seed: `0x${string}`; nextIndex: Map<string, number> }>();
  const wallets = new Map<string, EmulatedWallet>();

  function add(walletSetId: string, blockchain: string, index: number): EmulatedWallet {
    const seed = sets.get(walletSetId)?.seed ?? '0x';
    const wallet = {
      id: randomUUID(),
      walletSetId,
      blockchain,
      index,
      account: privateKeyToAccount(keccak256(concatHex([seed, toHex(index, { size: 4 })]))),
      createDate: new Date().toISOString(),
    };
    wallets.set(wallet.id, wallet);
    return wallet;
  }

  function find(walletSetId: string, blockchain: string, index: number): EmulatedWallet | undefined {
    return [...wallets.values()].find(
      (wallet) => wallet.walletSetId === walletSetId && wallet.blockchain === blockchain && wallet.index === index,
    );
  }

  const book: WalletBook = {
    wallets,
    createSet() {
      const id = randomUUID();
      sets.set(id, { seed: toHex(randomBytes(32)), nextIndex: new Map() });
      return { id, createDate: new Date().toISOString() };
    },

    /** As at Circle, every chain counts for itself: the first wallet on two chains has one and the same address. */
    create({ walletSetId, blockchains, count }) {
      const set = sets.get(walletSetId);
      if (set === undefined) throw new CircleRefusal(404, 156020, 'Cannot find target wallet set in the system.');
      return Array.from({ length: count }).flatMap(() =>
        blockchains.map((blockchain) => {
          let index = set.nextIndex.get(blockchain) ?? 1;
          while (find(walletSetId, blockchain, index) !== undefined) index++;
          set.nextIndex.set(blockchain, index + 1);
          return add(walletSetId, blockchain, index);
        }),
      );
    },

    derive(id, blockchain) {
      const { walletSetId, index } = book.get(id);
      const found = find(walletSetId, blockchain, index);
      return { wallet: found ?? add(walletSetId, blockchain, index), existing: found !== undefined };
    },

    get(id) {
      const wallet = wallets.get(id);
      if (wallet === undefined) throw new CircleRefusal(404, 156001, 'Cannot find target wallet in the system.');
      return wallet;
    },
  };
  return book;
}

export function describeWallet({ id, walletSetId, blockchain, account, createDate }: EmulatedWallet) {
  return {
    id,
    state: 'LIVE',
    walletSetId,
    custodyType: 'DEVELOPER',
    // Circle writes addresses in lower case.
    address: account.address.toLowerCase(),
    blockchain,
    accountType: 'EOA',
    createDate,
    updateDate: createDate,
  };
}
