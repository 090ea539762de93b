import { randomBytes, randomUUID } from 'node:crypto';
import { encodeFunctionData, getAddress, type Hex, isAddress, keccak256, parseSignature } from 'viem';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { multicallAbi, multicallAddress, tokenAbi } from '../../src/chains/abi.ts';
import { type HeldWallet, ProviderError, type WalletProvider } from '../../src/custody/wallets/provider.ts';
import type { ChainId } from '../../src/money/catalogue.ts';
import { type TestChains, useChains } from '../support/chains.ts';
import { type TestDatabase, useDatabase } from '../support/database.ts';
import { oneOfMany } from '../support/matrix.ts';
import { abroad, createWorkbench, home, outcome, stranger } from './workbench.ts';

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

/** What every adapter of the wallet-provider port promises. A test file calls this once for each of them. */
export function describeWalletProvider(
  name: string,
  setUp: (setup: ProviderSetup) => Promise<ProviderUnderTest>,
): void {
  const options = { ...oneOfMany({ isRepresentative: name === 'keys' }), timeout: 60_000 };
  describe(`the wallet provider ${name}`, options, () => {
    const database = useDatabase();
    const chains = useChains(database);
    let subject: ProviderUnderTest;
    let provider: WalletProvider;

    beforeAll(async () => {
      subject = await setUp({ database, chains });
      provider = subject.provider;
    });
    afterAll(() => subject?.stop?.());

    const bench = createWorkbench(chains, () => provider);
    const { newWallet, fundedWallet, fund, usdcOn, usdcSend, balance, nativeBalance, follow } = bench;

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
        const from = await fundedWallet(atomic + 7n);
        const to = stranger();
        const nativeBefore = await nativeBalance(from.address);
        const report = await follow(await provider.sendToken(usdcSend(from, to, atomic)));

        expect(report.state).toBe('confirmed');
        if (report.state !== 'confirmed') return;
        expect(await balance(to)).toBe(atomic);
        expect(await balance(from.address)).toBe(7n);
        const receipt = await chains.network(home).client.getTransactionReceipt({ hash: report.hash });
        expect(receipt.blockNumber).toBe(report.blockNumber);
        expect(receipt.gasUsed * receipt.effectiveGasPrice).toBe(report.gasCost);
        const nativeAfter = await nativeBalance(from.address);
        expect(nativeBefore - nativeAfter).toBe(report.gasCost);
      },
    );

    it('sends once for one key, however often and whenever it is asked', async () => {
      const from = await fundedWallet(100_000_000n);
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
      const from = await fundedWallet(100_000_000n);
      const to = stranger();
      const send = usdcSend(from, to, 10_000_000n);
      const refs = await Promise.all(Array.from({ length: 8 }, () => provider.sendToken(send)));
      expect(new Set(refs).size).toBe(1);
      await follow(refs[0] ?? '');
      expect(await balance(to)).toBe(10_000_000n);
      expect(await balance(from.address)).toBe(90_000_000n);
    });

    it('never takes one key for two different sends', async () => {
      const from = await fundedWallet(100_000_000n);
      const [to, other] = [stranger(), stranger()];
      const key = randomUUID();
      const ref = await provider.sendToken(usdcSend(from, to, 1_000_000n, key));
      const refusal = await outcome(provider.sendToken(usdcSend(from, other, 2_000_000n, key)));
      expect(refusal).toMatchObject({ name: 'ProviderError', code: 'idempotency_mismatch', retryable: false });
      await follow(ref);
      expect(await balance(to)).toBe(1_000_000n);
      expect(await balance(other)).toBe(0n);
    });

    it('brings many sends from one wallet at once to everybody', async () => {
      const count = 25;
      const from = await fundedWallet(1_000_000_000n);
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
      const from = await fundedWallet(9_000_000n);
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
      expect(await nativeBalance(to)).toBe(1_000_000_000_000_000_001n);

      const data = encodeFunctionData({ abi: multicallAbi, functionName: 'aggregate3', args: [[]] });
      const before = await nativeBalance(multicallAddress);
      const call = { from, contract: multicallAddress, data, value: 3n, idempotencyKey: randomUUID() } as const;
      expect(await follow(await provider.execute(call))).toMatchObject({ state: 'confirmed' });
      expect(await nativeBalance(multicallAddress)).toBe(before + 3n);
    });

    it('fails for good, and moves nothing, when the recipient takes no native coin', async () => {
      const from = await fundedWallet();
      const to = stranger();
      await chains.rpc(home, 'hardhat_setCode', [to, '0x60006000fd']);
      const before = await nativeBalance(from.address);
      const bare = { from, contract: to, data: '0x', value: 7n, idempotencyKey: randomUUID() } as const;
      const result = await outcome(provider.execute(bare).then((ref) => follow(ref)));
      if (result instanceof ProviderError) expect(result).toMatchObject({ retryable: false });
      else expect(result).toMatchObject({ state: 'failed' });
      expect(await nativeBalance(to)).toBe(0n);
      expect(before - (await nativeBalance(from.address))).toBeLessThan(10n ** 17n);

      // The wallet is not held up by it.
      const other = stranger();
      const next = { ...bare, contract: other, idempotencyKey: randomUUID() };
      expect(await follow(await provider.execute(next))).toMatchObject({ state: 'confirmed' });
      expect(await nativeBalance(other)).toBe(7n);
    });

    it('signs an authorization that the token contract accepts from somebody else', async () => {
      const from = await newWallet();
      await chains.mint(home, 'USDC', from.address, 8_000_000n);
      const to = stranger();
      const nonce = keccak256(randomBytes(32));
      const token = usdcOn(home);
      const signature = await provider.signTypedData(
        from,
        await bench.authorization({ from: from.address, to, value: 8_000_000n, nonce }),
      );
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

    it('finds by the request itself what it took, whoever lost the answer', async () => {
      const from = await fundedWallet(30_000_000n);
      const to = stranger();
      const before = { askedAt: new Date(), quietMs: 0 };
      // The same thing twice, under two keys: two requests.
      const [send, twin] = [usdcSend(from, to, 4_000_000n), usdcSend(from, to, 4_000_000n)];
      const data = encodeFunctionData({ abi: tokenAbi, functionName: 'transfer', args: [to, 4_000_000n] });
      const call = { from, contract: usdcOn(home), data, idempotencyKey: randomUUID() };
      const bare = { from, contract: to, data: '0x', value: 5n, idempotencyKey: randomUUID() } as const;
      const never = usdcSend(from, to, 1_000_000n);
      const refs = [
        await provider.sendToken(send),
        await provider.sendToken(twin),
        await provider.execute(call),
        await provider.execute(bare),
      ];
      const find = () => Promise.all([send, twin, call, bare].map((asked) => provider.findTaken(asked, before)));
      expect(await find()).toEqual(refs);
      for (const ref of refs) await follow(ref);
      expect(await find()).toEqual(refs);
      expect(await provider.findTaken(never, before)).toBeUndefined();
    });

    it('says nothing about what it took when it cannot know', async () => {
      const from = await fundedWallet(5_000_000n);
      const before = { askedAt: new Date(), quietMs: 0 };
      const send = usdcSend(from, stranger(), 5_000_000n);
      const ref = await provider.sendToken(send);
      const answer = await outcome((await subject.unreachable()).findTaken(send, before));
      // What is written down at home is known in any case.
      if (answer instanceof ProviderError) expect(answer).toMatchObject({ retryable: true });
      else expect(answer).toBe(ref);
      await follow(ref);
    });

    it('fails for good, and moves nothing, when the wallet holds too few tokens', async () => {
      const from = await fundedWallet(1_000_000n);
      const to = stranger();
      const send = usdcSend(from, to, 1_000_001n);
      const before = { askedAt: new Date(), quietMs: 0 };
      const result = await outcome(provider.sendToken(send).then((ref) => follow(ref)));
      if (result instanceof ProviderError) {
        expect(result).toMatchObject({ retryable: false });
        expect(await provider.findTaken(send, before)).toBeUndefined();
      } else expect(result).toMatchObject({ state: 'failed' });
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
      const from = await fundedWallet(5_000_000n);
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
