import { randomBytes, randomUUID } from 'node:crypto';
import {
  encodeFunctionData,
  getAddress,
  type Hex,
  isAddress,
  keccak256,
  parseEther,
  parseSignature,
  type TypedDataDefinition,
  toHex,
} from 'viem';
import { generatePrivateKey, privateKeyToAddress } from 'viem/accounts';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { multicallAbi, multicallAddress, tokenAbi } from '../../src/chains/abi.ts';
import { type ChainId, chains as facts } from '../../src/chains/chains.ts';
import { tokenOf } from '../../src/chains/network.ts';
import {
  type HeldWallet,
  ProviderError,
  type TokenSend,
  type TransactionReport,
  type WalletProvider,
} from '../../src/wallets/provider.ts';
import { type TestChains, useChains } from '../support/chains.ts';
import { type TestDatabase, useDatabase } from '../support/database.ts';

/** An adapter, set up on a test file's own database and local chains. */
export interface ProviderUnderTest {
  readonly provider: WalletProvider;
  /** The same provider with the same database, when nobody it depends on can be reached. */
  unreachable(): Promise<WalletProvider>;
  stop?(): Promise<void>;
}

export interface ProviderSetup {
  readonly database: TestDatabase;
  readonly chains: TestChains;
}

const home: ChainId = 'MATIC';
const abroad: ChainId = 'BASE';
const deadlineMs = 25_000;

/** What every adapter of the wallet-provider port promises. A test file calls this once for each of them. */
export function describeWalletProvider(
  name: string,
  setUp: (setup: ProviderSetup) => Promise<ProviderUnderTest>,
): void {
  describe(`the wallet provider ${name}`, { timeout: 60_000 }, () => {
    const database = useDatabase();
    const chains = useChains(database);
    let subject: ProviderUnderTest;
    let provider: WalletProvider;

    beforeAll(async () => {
      subject = await setUp({ database, chains });
      provider = subject.provider;
    });
    afterAll(() => subject?.stop?.());

    async function newWallet(chain: ChainId = home): Promise<HeldWallet> {
      return { ...(await provider.createWallet({ chain })), chain };
    }

    /** A wallet with native coin for gas, and USDC if asked for. */
    async function fundedWallet({ usdc = 0n, chain = home }: { usdc?: bigint; chain?: ChainId } = {}) {
      const wallet = await newWallet(chain);
      await fund(wallet, usdc);
      return wallet;
    }

    async function fund({ chain, address }: HeldWallet, usdc: bigint): Promise<void> {
      await chains.rpc(chain, 'hardhat_setBalance', [address, toHex(parseEther('10'))]);
      if (usdc > 0n) await chains.mint(chain, 'USDC', address, usdc);
    }

    function usdcSend(from: HeldWallet, to: Hex, atomic: bigint, idempotencyKey: string = randomUUID()): TokenSend {
      return { from, to, atomic, token: usdcOn(from.chain), idempotencyKey };
    }

    function usdcOn(chain: ChainId): Hex {
      const token = tokenOf(chains.network(chain), 'USDC');
      if (token === undefined) throw new Error(`no USDC on ${chain}`);
      return token.address;
    }

    const balance = (address: Hex, chain: ChainId = home) => chains.balanceOf(chain, 'USDC', address);

    async function follow(ref: string, chain: ChainId = home): Promise<TransactionReport> {
      const until = Date.now() + deadlineMs;
      for (;;) {
        const report = await provider.lookUp(chain, ref);
        if (report.state !== 'pending') return report;
        if (Date.now() > until) throw new Error(`${ref} is still pending`);
        await new Promise((resolve) => setTimeout(resolve, 100));
      }
    }

    it('makes wallets that are all different and have valid addresses', async () => {
      const wallets = await Promise.all(Array.from({ length: 5 }, () => provider.createWallet({ chain: home })));
      expect(new Set(wallets.map(({ ref }) => ref)).size).toBe(5);
      expect(new Set(wallets.map(({ address }) => address.toLowerCase())).size).toBe(5);
      for (const { address } of wallets) {
        expect(isAddress(address)).toBe(true);
        expect(address).toBe(getAddress(address));
      }
    });

    it('gives no wallet of one chain the address of another wallet on another chain', async () => {
      const order: readonly ChainId[] = [home, abroad, home, abroad, 'ETH'];
      const addresses: Hex[] = [];
      for (const chain of order) addresses.push((await provider.createWallet({ chain })).address);
      expect(new Set(addresses).size).toBe(order.length);
    });

    it('extends a wallet to another chain at the same address, as often as it is asked to, and spends from it', async () => {
      const wallet = await newWallet();
      const first = await provider.extendWallet(wallet, abroad);
      const second = await provider.extendWallet(wallet, abroad);
      expect(first.address).toBe(wallet.address);
      expect(second).toEqual(first);

      const extended: HeldWallet = { ...first, chain: abroad };
      await fund(extended, 5_000_000n);
      const to = stranger();
      const ref = await provider.sendToken(usdcSend(extended, to, 3_000_001n));
      expect(await follow(ref, abroad)).toMatchObject({ state: 'confirmed' });
      expect(await balance(to, abroad)).toBe(3_000_001n);
      expect(await balance(to, home)).toBe(0n);
    });

    it.each([1n, 1_000_000n, 1_234_567n, 123_456_789_012_345n])(
      'sends exactly %s atomic units and reports hash, block and cost',
      async (atomic) => {
        const from = await fundedWallet({ usdc: atomic + 7n });
        const to = stranger();
        const nativeBefore = await chains.balanceOf(home, facts[home].native, from.address);
        const report = await follow(await provider.sendToken(usdcSend(from, to, atomic)));

        expect(report.state).toBe('confirmed');
        if (report.state !== 'confirmed') return;
        expect(await balance(to)).toBe(atomic);
        expect(await balance(from.address)).toBe(7n);
        const receipt = await chains.network(home).client.getTransactionReceipt({ hash: report.hash });
        expect(receipt.blockNumber).toBe(report.blockNumber);
        expect(receipt.gasUsed * receipt.effectiveGasPrice).toBe(report.gasCost);
        const nativeAfter = await chains.balanceOf(home, facts[home].native, from.address);
        expect(nativeBefore - nativeAfter).toBe(report.gasCost);
      },
    );

    it('sends once for one key, however often and whenever it is asked', async () => {
      const from = await fundedWallet({ usdc: 100_000_000n });
      const to = stranger();
      const send = usdcSend(from, to, 10_000_000n);
      const first = await provider.sendToken(send);
      const second = await provider.sendToken(send);
      await follow(first);
      const third = await provider.sendToken(send);
      expect([second, third]).toEqual([first, first]);
      expect(await follow(third)).toEqual(await follow(first));
      expect(await balance(to)).toBe(10_000_000n);
      expect(await balance(from.address)).toBe(90_000_000n);
    });

    it('sends once for one key that several use at the same time', async () => {
      const from = await fundedWallet({ usdc: 100_000_000n });
      const to = stranger();
      const send = usdcSend(from, to, 10_000_000n);
      const refs = await Promise.all(Array.from({ length: 8 }, () => provider.sendToken(send)));
      expect(new Set(refs).size).toBe(1);
      await follow(refs[0] ?? '');
      expect(await balance(to)).toBe(10_000_000n);
      expect(await balance(from.address)).toBe(90_000_000n);
    });

    it('never takes one key for two different sends', async () => {
      const from = await fundedWallet({ usdc: 100_000_000n });
      const [to, other] = [stranger(), stranger()];
      const key = randomUUID();
      const ref = await provider.sendToken(usdcSend(from, to, 1_000_000n, key));
      const refusal = await outcome(provider.sendToken(usdcSend(from, other, 2_000_000n, key)));
      expect(refusal).toMatchObject({ name: 'ProviderError', retryable: false });
      await follow(ref);
      expect(await balance(to)).toBe(1_000_000n);
      expect(await balance(other)).toBe(0n);
    });

    it('brings many sends from one wallet at once to everybody', async () => {
      const count = 25;
      const from = await fundedWallet({ usdc: 1_000_000_000n });
      const recipients = Array.from({ length: count }, stranger);
      const refs = await Promise.all(
        recipients.map((to, place) => provider.sendToken(usdcSend(from, to, BigInt(place + 1)))),
      );
      expect(new Set(refs).size).toBe(count);
      const reports = await Promise.all(refs.map((ref) => follow(ref)));
      expect(reports.map(({ state }) => state)).toEqual(Array.from({ length: count }, () => 'confirmed'));
      const received = await Promise.all(recipients.map((to) => balance(to)));
      expect(received).toEqual(recipients.map((_, place) => BigInt(place + 1)));
    });

    it('calls a contract, once for one key', async () => {
      const from = await fundedWallet({ usdc: 9_000_000n });
      const to = stranger();
      const data = encodeFunctionData({ abi: tokenAbi, functionName: 'transfer', args: [to, 4_000_000n] });
      const call = { from, contract: usdcOn(home), data, idempotencyKey: randomUUID() };
      const ref = await provider.execute(call);
      expect(await provider.execute(call)).toBe(ref);
      expect(await follow(ref)).toMatchObject({ state: 'confirmed' });
      expect(await balance(to)).toBe(4_000_000n);
      expect(await balance(from.address)).toBe(5_000_000n);
    });

    it('sends native coin, with a call and without one', async () => {
      const from = await fundedWallet();
      const to = stranger();
      const bare = {
        from,
        contract: to,
        data: '0x',
        value: 1_000_000_000_000_000_001n,
        idempotencyKey: randomUUID(),
      } as const;
      expect(await follow(await provider.execute(bare))).toMatchObject({ state: 'confirmed' });
      expect(await chains.balanceOf(home, facts[home].native, to)).toBe(1_000_000_000_000_000_001n);

      const data = encodeFunctionData({ abi: multicallAbi, functionName: 'aggregate3', args: [[]] });
      const before = await chains.balanceOf(home, facts[home].native, multicallAddress);
      const call = { from, contract: multicallAddress, data, value: 3n, idempotencyKey: randomUUID() } as const;
      expect(await follow(await provider.execute(call))).toMatchObject({ state: 'confirmed' });
      expect(await chains.balanceOf(home, facts[home].native, multicallAddress)).toBe(before + 3n);
    });

    it('signs an authorization that the token contract accepts from somebody else', async () => {
      const from = await newWallet();
      await chains.mint(home, 'USDC', from.address, 8_000_000n);
      const to = stranger();
      const nonce = keccak256(randomBytes(32));
      const token = usdcOn(home);
      const signature = await provider.signTypedData(from, await authorization({ from: from.address, to, nonce }));
      const { r, s, yParity } = parseSignature(signature);

      const payer = await chains.outsider();
      const { client } = chains.network(home);
      const hash = await payer.wallet().writeContract({
        abi: tokenAbi,
        address: token,
        functionName: 'transferWithAuthorization',
        args: [from.address, to, 8_000_000n, 0n, 4_000_000_000n, nonce, 27 + yParity, r, s],
        account: payer.account,
        chain: client.chain ?? null,
      });
      expect((await client.waitForTransactionReceipt({ hash })).status).toBe('success');
      expect(await balance(to)).toBe(8_000_000n);
      expect(signature).toMatch(/(?:1b|1c)$/);
    });

    async function authorization({
      from,
      to,
      nonce,
    }: {
      from: Hex;
      to: Hex;
      nonce: Hex;
    }): Promise<TypedDataDefinition> {
      const contract = { abi: tokenAbi, address: usdcOn(home) } as const;
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
        message: { from, to, value: 8_000_000n, validAfter: 0n, validBefore: 4_000_000_000n, nonce },
      };
    }

    it('fails for good, and moves nothing, when the wallet holds too few tokens', async () => {
      const from = await fundedWallet({ usdc: 1_000_000n });
      const to = stranger();
      const send = usdcSend(from, to, 1_000_001n);
      const result = await outcome(provider.sendToken(send).then((ref) => follow(ref)));
      if (result instanceof ProviderError) expect(result).toMatchObject({ retryable: false });
      else expect(result).toMatchObject({ state: 'failed' });
      expect(await balance(to)).toBe(0n);
      expect(await balance(from.address)).toBe(1_000_000n);

      // The wallet is not held up by it.
      expect(await follow(await provider.sendToken(usdcSend(from, to, 999_999n)))).toMatchObject({
        state: 'confirmed',
      });
      expect(await balance(to)).toBe(999_999n);
    });

    it('only waits when there is no native coin for gas, and sends once there is', async () => {
      const from = await newWallet();
      await chains.mint(home, 'USDC', from.address, 2_000_000n);
      const to = stranger();
      const send = usdcSend(from, to, 2_000_000n);
      // An adapter may take it over and keep it, or ask to be asked again.
      const early = await outcome(provider.sendToken(send).then((ref) => provider.lookUp(home, ref)));
      if (early instanceof ProviderError) expect(early).toMatchObject({ retryable: true });
      else expect(early).toMatchObject({ state: 'pending' });
      await fund(from, 0n);
      expect(await follow(await provider.sendToken(send))).toMatchObject({ state: 'confirmed' });
      expect(await balance(to)).toBe(2_000_000n);
    });

    it('may be asked again when it could not be reached, and then sends once', async () => {
      const from = await fundedWallet({ usdc: 5_000_000n });
      const to = stranger();
      const send = usdcSend(from, to, 5_000_000n);
      const away = await subject.unreachable();
      expect(await outcome(away.sendToken(send))).toMatchObject({ name: 'ProviderError', retryable: true });
      expect(await balance(to)).toBe(0n);
      const ref = await provider.sendToken(send);
      expect(await outcome(away.lookUp(home, ref))).toMatchObject({ name: 'ProviderError', retryable: true });
      expect(await follow(ref)).toMatchObject({ state: 'confirmed' });
      expect(await balance(to)).toBe(5_000_000n);
    });
  });
}

/** An address that nobody has seen before. */
function stranger(): Hex {
  return privateKeyToAddress(generatePrivateKey());
}

/** What a promise gave, or what it threw. */
function outcome(promise: Promise<unknown>): Promise<unknown> {
  return promise.catch((error: unknown) => error);
}
