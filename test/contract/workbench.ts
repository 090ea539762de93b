import { randomUUID } from 'node:crypto';
import { type Hex, parseEther, type TypedDataDefinition, toHex } from 'viem';
import { generatePrivateKey, privateKeyToAddress } from 'viem/accounts';
import { tokenAbi } from '../../src/chains/abi.ts';
import { tokenOf } from '../../src/chains/network.ts';
import type { HeldWallet, TokenSend, TransactionReport, WalletProvider } from '../../src/custody/wallets/provider.ts';
import { type ChainId, chains as facts } from '../../src/money/catalogue.ts';
import type { TestChains } from '../support/chains.ts';

/** The chain that most happens on, and another one. */
export const home: ChainId = 'MATIC';
export const abroad: ChainId = 'BASE';

const deadlineMs = 25_000;

/** Wallets of a provider, money for them, and a look at what became of it. */
export interface Workbench {
  newWallet(chain?: ChainId): Promise<HeldWallet>;
  /** A wallet with native coin for gas, and USDC if asked for. */
  fundedWallet(usdc?: bigint): Promise<HeldWallet>;
  fund(wallet: HeldWallet, usdc: bigint): Promise<void>;
  usdcOn(chain: ChainId): Hex;
  usdcSend(from: HeldWallet, to: Hex, atomic: bigint, idempotencyKey?: string): TokenSend;
  /** In USDC. */
  balance(address: Hex, chain?: ChainId): Promise<bigint>;
  nativeBalance(address: Hex): Promise<bigint>;
  /** Waits until a transaction is final. */
  follow(ref: string, chain?: ChainId): Promise<TransactionReport>;
  /** What a wallet signs so that somebody else may move its USDC (EIP-3009). */
  authorization(transfer: { from: Hex; to: Hex; value: bigint; nonce: Hex }): Promise<TypedDataDefinition>;
}

export function createWorkbench(chains: TestChains, provider: () => WalletProvider): Workbench {
  const bench: Workbench = {
    newWallet: async (chain = home) => ({ ...(await provider().createWallet({ chain })), chain }),

    async fundedWallet(usdc = 0n) {
      const wallet = await bench.newWallet();
      await bench.fund(wallet, usdc);
      return wallet;
    },

    async fund({ chain, address }, usdc) {
      await chains.rpc(chain, 'hardhat_setBalance', [address, toHex(parseEther('10'))]);
      if (usdc > 0n) await chains.mint(chain, 'USDC', address, usdc);
    },

    usdcOn(chain) {
      const token = tokenOf(chains.network(chain), 'USDC');
      if (token === undefined) throw new Error(`no USDC on ${chain}`);
      return token.address;
    },

    usdcSend: (from, to, atomic, idempotencyKey = randomUUID()) => ({
      from,
      to,
      atomic,
      token: bench.usdcOn(from.chain),
      idempotencyKey,
    }),

    balance: (address, chain = home) => chains.balanceOf(chain, 'USDC', address),
    nativeBalance: (address) => chains.balanceOf(home, facts[home].native, address),

    async follow(ref, chain = home) {
      const until = performance.now() + deadlineMs;
      for (;;) {
        const report = await provider().lookUp(chain, ref);
        if (report.state !== 'pending') return report;
        if (performance.now() > until) throw new Error(`${ref} is still pending`);
        await new Promise((resolve) => setTimeout(resolve, 100));
      }
    },

    async authorization({ from, to, value, nonce }) {
      const contract = { abi: tokenAbi, address: bench.usdcOn(home) } as const;
      const { client } = chains.network(home);
      return {
        domain: {
          name: await client.readContract({ ...contract, functionName: 'name' }),
          version: await client.readContract({ ...contract, functionName: 'version' }),
          chainId: facts[home].chainId,
          verifyingContract: contract.address,
        },
        types: {
          TransferWithAuthorization: [
            { name: 'from', type: 'address' },
            { name: 'to', type: 'address' },
            { name: 'value', type: 'uint256' },
            { name: 'validAfter', type: 'uint256' },
            { name: 'validBefore', type: 'uint256' },
            { name: 'nonce', type: 'bytes32' },
          ],
        },
        primaryType: 'TransferWithAuthorization',
        message: { from, to, value, validAfter: 0n, validBefore: 4_000_000_000n, nonce },
      };
    },
  };
  return bench;
}

/** An address that nobody has seen before. */
export function stranger(): Hex {
  return privateKeyToAddress(generatePrivateKey());
}

/** What a promise gave, or what it threw. */
export function outcome(promise: Promise<unknown>): Promise<unknown> {
  return promise.catch((error: unknown) => error);
}
