import { randomBytes, randomUUID } from 'node:crypto';
import { createWalletClient, encodeFunctionData, getAddress, type Hex, http, parseAbi } from 'viem';
import { generatePrivateKey, type PrivateKeyAccount, privateKeyToAccount } from 'viem/accounts';
import { afterEach, beforeAll, expect } from 'vitest';
import { connectLocalChains } from '../../sandbox/chains/local-chains.ts';
import { features } from '../../src/app/features.ts';
import { sagasOf } from '../../src/app/listed-feature.ts';
import { multicallAddress, tokenAbi } from '../../src/chains/abi.ts';
import { encodeSubmission, type SignedAuthorization, toTypedData } from '../../src/chains/authorization.ts';
import { createNetworks, type Network, type Networks } from '../../src/chains/network.ts';
import { reconcile } from '../../src/custody/reserves/reconcile.ts';
import { verifyLedger } from '../../src/ledger/verify.ts';
import { decodeHeader, encodeHeader } from '../../src/x402/wire/header.ts';
import type { Terms1, Terms2 } from '../../src/x402/wire/messages.ts';
import type { Client, Reply } from './client.ts';
import type { TestDatabase } from './database.ts';
import { type StartOptions, useService } from './service.ts';
import { until } from './until.ts';

/** A call that costs a hundredth of a cent and asks nobody outside. */
export const quotePath = '/nano/quote?amount=50&currency=USDC&action=transfer';

export interface Shopfront {
  readonly network: Network;
  readonly networks: Networks;
  /** A wallet outside with so much USDC. */
  payer(atomic: bigint): Promise<PrivateKeyAccount>;
  mint(to: Hex, atomic: bigint): Promise<void>;
  held(address: Hex): Promise<bigint>;
  /** Anybody may submit an authorization: this is somebody who has nothing to do with it. */
  submit(signed: SignedAuthorization): Promise<Hex>;
  /** A transaction of this wallet, which is given gas for it. */
  send(from: PrivateKeyAccount, call: { readonly to: Hex; readonly data: Hex }): Promise<Hex>;
  /** Moves everything away, as somebody would who does not want to pay. */
  empty(payer: PrivateKeyAccount): Promise<void>;
  cancel(payer: PrivateKeyAccount, nonce: Hex): Promise<void>;
  /** By the clock of the chain. */
  passTime(seconds: number): Promise<void>;
}

const cancelAbi = parseAbi([
  'function cancelAuthorization(address authorizer, bytes32 nonce, uint8 v, bytes32 r, bytes32 s)',
]);

/** The chain that calls are paid on, beside a service that runs. */
export async function openShopfront(database: TestDatabase): Promise<Shopfront> {
  const { faucet, settings } = await connectLocalChains(database);
  const networks = createNetworks(settings);
  const network = networks.get('MATIC');
  if (network === undefined) throw new Error('Polygon is not running');
  const mint = async (to: Hex, atomic: bigint) => {
    await faucet.mint({ id: randomUUID(), chain: 'MATIC', asset: 'USDC', to, atomic });
  };
  const send: Shopfront['send'] = async (account, { to, data }) => {
    const gas = { id: randomUUID(), chain: 'MATIC', asset: 'MATIC', to: account.address, atomic: 10n ** 18n } as const;
    await faucet.mint(gas);
    const transport = http(settings.get('MATIC')?.urls[0]);
    const wallet = createWalletClient({ account, transport });
    const hash = await wallet.sendTransaction({ to, data, chain: network.client.chain ?? null });
    await network.client.waitForTransactionReceipt({ hash });
    return hash;
  };
  const held = (address: Hex) =>
    network.client.readContract({ address: usdc, abi: tokenAbi, functionName: 'balanceOf', args: [address] });
  return {
    network,
    networks,
    mint,
    send,
    held,
    async empty(payer) {
      const args = ['0x000000000000000000000000000000000000bEEF', await held(payer.address)] as const;
      await send(payer, { to: usdc, data: encodeFunctionData({ abi: tokenAbi, functionName: 'transfer', args }) });
    },
    async cancel(payer, nonce) {
      const signature = await payer.signTypedData({
        domain: { name: 'USD Coin', version: '2', chainId: 137, verifyingContract: usdc },
        types: {
          CancelAuthorization: [
            { name: 'authorizer', type: 'address' },
            { name: 'nonce', type: 'bytes32' },
          ],
        },
        primaryType: 'CancelAuthorization',
        message: { authorizer: payer.address, nonce },
      });
      const [r, s] = [`0x${signature.slice(2, 66)}`, `0x${signature.slice(66, 130)}`] as const;
      const args = [payer.address, nonce, Number.parseInt(signature.slice(130), 16), r, s] as const;
      const data = encodeFunctionData({ abi: cancelAbi, functionName: 'cancelAuthorization', args });
      await send(payer, { to: usdc, data });
    },
    async passTime(seconds) {
      await network.client.request({ method: 'evm_increaseTime', params: [seconds] } as never);
      await network.client.request({ method: 'evm_mine', params: [] } as never);
    },
    submit: (signed) =>
      send(privateKeyToAccount(generatePrivateKey()), {
        to: multicallAddress,
        data: encodeSubmission(usdc, [signed]),
      }),
    async payer(atomic) {
      const account = privateKeyToAccount(generatePrivateKey());
      if (atomic > 0n) await mint(account.address, atomic);
      return account;
    },
  };
}

export const usdc = '0x3c499c542cEF5E3811e1192ce70d8cC03d5c3359';

export interface Terms {
  readonly first: Terms1;
  readonly second: Terms2;
}

/** What a call asks for, in both versions. */
export function termsOf({ status, headers, body }: Reply): Terms & { readonly error: string } {
  if (status !== 402) throw new Error(`a price was expected, not ${status}: ${JSON.stringify(body)}`);
  const required = decodeHeader(headers.get('payment-required') ?? '') as { accepts: Terms2[]; error: string };
  return { first: body.accepts[0], second: required.accepts[0] as Terms2, error: body.error };
}

export async function askPrice(client: Client, path = quotePath): Promise<Terms> {
  return termsOf(await client.get(path));
}

export interface Signing {
  /** Instead of what the terms and the moment say. */
  readonly changes?: Partial<Omit<SignedAuthorization, 'signature'>>;
  readonly domain?: { readonly chainId?: number; readonly verifyingContract?: Hex; readonly name?: string };
}

export async function sign(
  payer: PrivateKeyAccount,
  { second }: Terms,
  { changes, domain }: Signing = {},
): Promise<SignedAuthorization> {
  const now = BigInt(Math.floor(Date.now() / 1_000));
  const authorization = {
    from: payer.address,
    to: getAddress(second.payTo),
    atomic: BigInt(second.amount),
    nonce: `0x${randomBytes(32).toString('hex')}` as Hex,
    validAfter: now - 60n,
    validBefore: now + BigInt(second.maxTimeoutSeconds),
    ...changes,
  };
  const bound = { name: 'USD Coin', version: '2', chainId: 137, verifyingContract: usdc as Hex, ...domain };
  const signature = await payer.signTypedData(toTypedData(bound, authorization) as never);
  return { ...authorization, signature };
}

function wireForm({ signature, from, to, atomic, validAfter = 0n, validBefore, nonce }: SignedAuthorization) {
  return {
    signature,
    authorization: {
      from,
      to,
      value: atomic.toString(),
      validAfter: validAfter.toString(),
      validBefore: validBefore.toString(),
      nonce,
    },
  };
}

export interface PaymentForm {
  readonly version?: 1 | 2;
  /** Of the extension payment-identifier. */
  readonly identifier?: string;
  /** Instead of the terms that were offered. */
  readonly accepted?: Partial<Terms2>;
}

/** Valid for longer than usual: the chain's clock is ahead of ours after a test has let time pass. */
export const validForLong = () => ({ changes: { validBefore: BigInt(Math.floor(Date.now() / 1_000)) + 10_700n } });

export const debtPath = ({ address }: PrivateKeyAccount) => `/nano/debt/${address}`;

/** The header that carries a payment. */
export function paymentHeader(
  signed: SignedAuthorization,
  { second }: Terms,
  { version = 2, identifier, accepted }: PaymentForm = {},
): Record<string, string> {
  const payload = wireForm(signed);
  if (version === 1) {
    const content = { x402Version: 1, scheme: 'exact', network: 'polygon', payload };
    return { 'x-payment': encodeHeader(content) };
  }
  const extensions =
    identifier === undefined ? {} : { 'payment-identifier': { info: { required: false, id: identifier }, schema: {} } };
  const content = { x402Version: 2, accepted: { ...second, ...accepted }, payload, extensions };
  return { 'payment-signature': encodeHeader(content) };
}

/** Asks for the price, signs and pays. */
export async function pay(
  client: Client,
  payer: PrivateKeyAccount,
  { path = quotePath, ...how }: Signing & PaymentForm & { readonly path?: string } = {},
): Promise<Reply> {
  const terms = await askPrice(client, path);
  const signed = await sign(payer, terms, how);
  return client.request('GET', path, { headers: paymentHeader(signed, terms, how) });
}

export interface TestReceipt {
  readonly success: boolean;
  readonly transaction: string;
  readonly network: string;
  readonly payer: Hex;
  readonly paymentId: string;
}

export function receiptsOf({ headers }: Reply): { readonly first: TestReceipt; readonly second: TestReceipt } {
  const read = (name: string) => decodeHeader(headers.get(name) ?? '') as TestReceipt;
  return { first: read('x-payment-response'), second: read('payment-response') };
}

/**
 * From here on no settlement takes what is paid, so that whatever has to come before one does, however slow the machine.
 * Answers how to let them go on.
 */
export async function holdSettlements({ db }: TestDatabase): Promise<() => Promise<void>> {
  await db.query(`CREATE OR REPLACE FUNCTION hold_claim() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN NEW.retry_at := clock_timestamp() + interval '1 hour'; RETURN NEW; END $$`);
  await db.query('CREATE TRIGGER held BEFORE INSERT ON payment_claims FOR EACH ROW EXECUTE FUNCTION hold_claim()');
  return async () => {
    await db.query('DROP TRIGGER held ON payment_claims');
    await db.query(
      "UPDATE payment_claims SET retry_at = NULL WHERE retry_at > clock_timestamp() + interval '30 minutes'",
    );
  };
}

/** A service that sells calls, and wallets outside that pay for them. What it gives may be used from the first test on. */
export function useNano({ env, ...options }: StartOptions = {}) {
  const service = useService({
    settings: { nano: { settleSeconds: 1 } },
    ...options,
    env: { NANO_PAYER_PER_MINUTE: '0', ...env },
  });
  let opened: Shopfront | undefined;
  beforeAll(async () => {
    opened = await openShopfront(service.database);
  });
  afterEach(() => service.database.db.query('DROP TRIGGER IF EXISTS held ON payment_claims'));
  const client = later(() => service.client);
  return {
    service,
    client,
    shop: later(() => {
      if (opened === undefined) throw new Error('the shop is not open yet');
      return opened;
    }),
    /** Everything that was served is in the books as it should be. */
    async expectSound(): Promise<void> {
      const { db } = service.database;
      await until('everything to be earned', async () => {
        const { rows } = await db.query(
          'SELECT FROM payment_claims WHERE served_at IS NOT NULL AND earned_at IS NULL AND written_off_at IS NULL',
        );
        return rows.length === 0;
      });
      expect((await verifyLedger(db)).problems).toEqual([]);
      expect(await reconcile({ db, networks: opened?.networks ?? new Map(), sagas: sagasOf(features) })).toEqual([]);
    },
    /** Waits until the payment that a call was answered with has come to this. */
    reaches: (reply: Reply, status: string) =>
      until(`a payment to be ${status}`, async () => {
        const { paymentId } = receiptsOf(reply).second;
        const { body } = await client.get(`/nano/payments/${paymentId}`);
        return body.status === status ? body : undefined;
      }),
  };
}

function later<Thing extends object>(find: () => Thing): Thing {
  return new Proxy({} as Thing, { get: (_, name) => Reflect.get(find(), name) });
}
