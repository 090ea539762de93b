import { encodeFunctionData, type Hex, keccak256, recoverAddress, size, slice, zeroHash } from 'viem';
import { publicKeyToAddress } from 'viem/utils';
import { afterEach, describe, expect, test } from 'vitest';
import { z } from 'zod';
import { attesters } from '../../../../sandbox/accounts.ts';
import { createAttestationService } from '../../../../sandbox/cctp/attestation-service.ts';
import type { LocalChain } from '../../../../sandbox/chains/local-chain.ts';
import { connectLocalChains } from '../../../../sandbox/chains/local-chains.ts';
import { multicallAbi, multicallAddress } from '../../../../src/chains/abi.ts';
import { cctp, messageLayout } from '../../../../src/chains/cctp.ts';
import { type ChainId, chains as facts } from '../../../../src/money/catalogue.ts';
import { type Attested, type Burn, burnArguments, cctpAbi, useProtocol } from '../../../support/cctp.ts';
import { useChains } from '../../../support/chains.ts';
import { useDatabase } from '../../../support/database.ts';
import { until } from '../../../support/until.ts';

const database = useDatabase();
const chains = useChains(database);
const protocol = useProtocol(chains);

const recipient: Hex = '0x00000000000000000000000000000000000000aa';

/** The fields of the published description, and no others. */
const address = z.string().regex(/^0x[a-f0-9]{40}$/);
const hex = z.templateLiteral(['0x', z.string().regex(/^([a-f0-9]{2})*$/)]);
const digits = z.string().regex(/^\d+$/);
const finality = z.enum(['1000', '2000']);
const completeMessage = z.strictObject({
  message: hex,
  eventNonce: hex,
  attestation: hex,
  decodedMessage: z.strictObject({
    sourceDomain: digits,
    destinationDomain: digits,
    nonce: hex,
    sender: address,
    recipient: address,
    destinationCaller: address,
    minFinalityThreshold: finality,
    finalityThresholdExecuted: finality,
    messageBody: hex,
    decodedMessageBody: z.strictObject({
      burnToken: address,
      mintRecipient: address,
      amount: digits,
      messageSender: address,
      maxFee: digits,
      feeExecuted: digits,
      expirationBlock: digits,
      hookData: hex,
    }),
  }),
  cctpVersion: z.literal('2'),
  status: z.literal('complete'),
  delayReason: z.null(),
});

async function burnt(from: ChainId = 'MATIC', to: ChainId = 'BASE') {
  const ada = await chains.outsider({ chains: [from, to], tokens: [{ chain: from, asset: 'USDC', atomic: 1_000n }] });
  const burn: Burn = { from, to, atomic: 250n, recipient, maxFee: 3n };
  return { ada, hash: await protocol.burn(ada, burn) };
}

/** A service with a clock of its own, which asks the same chains. */
function serviceAt(clock: { ms: number }) {
  const reached = (['MATIC', 'BASE'] as const).map((id): [ChainId, LocalChain] => [
    id,
    {
      id,
      request: async ({ method, params }) => ({ result: await chains.rpc(id, method, params) }),
      requestAll: () => Promise.reject(new Error('nothing is written here')),
    },
  ]);
  const service = createAttestationService({ chains: new Map(reached), clock: { now: () => clock.ms } });
  return {
    behave: service.behave,
    async ask(path: string) {
      const answer = await service.answer(new URL(path, 'http://attestations'));
      if (typeof answer === 'string') throw new Error(answer);
      return { status: answer.status, body: JSON.parse(answer.body) };
    },
  };
}

afterEach(() => protocol.attestationsBehave({}));

const notFound = { status: 404, body: { code: 404, message: 'Not found.' } };

describe('a burn', () => {
  test('is unknown at first, then waits for confirmations, then is attested', async () => {
    const { ada, hash } = await burnt();
    const clock = { ms: 5_000 };
    const { ask, behave } = serviceAt(clock);
    const path = `/v2/messages/7?transactionHash=${hash}`;
    expect(await ask(path)).toEqual(notFound);
    clock.ms += 150;
    const pending = {
      message: '0x',
      eventNonce: '0x',
      attestation: 'PENDING',
      decodedMessage: null,
      cctpVersion: '2',
      status: 'pending_confirmations',
      delayReason: null,
    };
    expect(await ask(path)).toEqual({ status: 200, body: { messages: [pending] } });
    clock.ms += 250;
    const { body } = await ask(path);
    expect(body.messages).toHaveLength(1);
    const { message, attestation, eventNonce, decodedMessage } = completeMessage.parse(body.messages[0]);
    expect(size(message)).toBe(376);
    expect(eventNonce).toBe(slice(message, messageLayout.nonce, messageLayout.nonce + 32));
    expect(decodedMessage).toEqual({
      sourceDomain: '7',
      destinationDomain: '6',
      nonce: eventNonce,
      sender: cctp.tokenMessenger.toLowerCase(),
      recipient: cctp.tokenMessenger.toLowerCase(),
      destinationCaller: `0x${'00'.repeat(20)}`,
      minFinalityThreshold: '2000',
      finalityThresholdExecuted: '2000',
      messageBody: slice(message, messageLayout.body),
      decodedMessageBody: {
        burnToken: facts.MATIC.tokens.USDC.toLowerCase(),
        mintRecipient: recipient,
        amount: '250',
        messageSender: ada.address.toLowerCase(),
        maxFee: '3',
        feeExecuted: '0',
        expirationBlock: '0',
        hookData: '0x',
      },
    });
    const signers = [0, 65].map((from) =>
      recoverAddress({ hash: keccak256(message), signature: slice(attestation, from, from + 65) }),
    );
    expect(await Promise.all(signers)).toEqual(attesters.map((attester) => attester.address));

    // By its nonce it is found too, and another service says the same of it.
    expect(await ask(`/v2/messages/7?nonce=${eventNonce}`)).toEqual({ status: 200, body });
    expect(await protocol.attested('MATIC', hash)).toEqual(body.messages);

    behave({ neverAttests: true, delayReason: 'insufficient_fee' });
    clock.ms += 10_000_000;
    expect((await ask(path)).body).toEqual({ messages: [{ ...pending, delayReason: 'insufficient_fee' }] });
  });

  test('that is one of several in a transaction has a nonce of its own, in the order of the logs', async () => {
    await chains.mint('MATIC', 'USDC', multicallAddress, 10n);
    const ada = await chains.outsider();
    const call = (target: Hex, callData: Hex) => ({ target, callData, allowFailure: false });
    const burn = (atomic: bigint) =>
      call(
        cctp.tokenMessenger,
        encodeFunctionData({
          abi: cctpAbi,
          functionName: 'depositForBurn',
          args: burnArguments({ from: 'MATIC', to: 'BASE', atomic, recipient }),
        }),
      );
    const approval = { abi: cctpAbi, functionName: 'approve', args: [cctp.tokenMessenger, 10n] } as const;
    const telling = encodeFunctionData({
      abi: cctpAbi,
      functionName: 'sendMessage',
      args: [6, `0x${'22'.repeat(32)}`, zeroHash, 1_000, '0x1234'],
    });
    const hash = await ada.wallet().writeContract({
      abi: multicallAbi,
      address: multicallAddress,
      functionName: 'aggregate3',
      args: [
        [
          call(facts.MATIC.tokens.USDC, encodeFunctionData(approval)),
          burn(7n),
          call(cctp.messageTransmitter, telling),
          burn(3n),
        ],
      ],
      chain: null,
    });
    await protocol.attestationsBehave({ copies: 2 });
    const messages = await protocol.attested('MATIC', hash);
    expect(messages).toHaveLength(6);
    expect(messages[0]).toEqual(messages[1]);
    const told = messages.filter((_, index) => index % 2 === 0).map(({ decodedMessage }) => decodedMessage);
    expect(told).toMatchObject([
      { decodedMessageBody: { amount: '7' } },
      { messageBody: '0x1234', minFinalityThreshold: '1000', decodedMessageBody: null },
      { decodedMessageBody: { amount: '3' } },
    ]);
    const nonces = told.map(({ nonce }) => nonce);
    expect(new Set(nonces).size).toBe(3);
    await protocol.attestationsBehave({ unseenMs: 0, pendingMs: 0 });
    const { body } = await protocol.ask(`/v2/messages/7?nonce=${nonces[2]}`);
    expect(body).toMatchObject({ messages: [{ eventNonce: nonces[2] }] });
  });

  test('that a reorganisation undoes is unknown again, and has the same nonce when it comes back', async () => {
    await protocol.attestationsBehave({ unseenMs: 0, pendingMs: 0 });
    const ada = await chains.outsider({ chains: ['OP'], tokens: [{ chain: 'OP', asset: 'USDC', atomic: 9n }] });
    const burn: Burn = { from: 'OP', to: 'BASE', atomic: 9n, recipient };
    await protocol.approve(ada, burn);
    const data = encodeFunctionData({ abi: cctpAbi, functionName: 'depositForBurn', args: burnArguments(burn) });
    const raw = await ada.account.signTransaction?.({
      type: 'eip1559',
      chainId: facts.OP.chainId,
      to: cctp.tokenMessenger,
      data,
      nonce: 1,
      gas: 300_000n,
      maxFeePerGas: 3_000_000_000n,
      maxPriorityFeePerGas: 1n,
    });
    const snapshot = await chains.rpc('OP', 'evm_snapshot');
    const hash = await chains.rpc<Hex>('OP', 'eth_sendRawTransaction', [raw]);
    const before = await protocol.attested('OP', hash);
    await chains.rpc('OP', 'evm_revert', [snapshot]);
    expect(await protocol.askMessages('OP', hash)).toMatchObject(notFound);
    await chains.mine('OP', 3);
    await chains.rpc('OP', 'eth_sendRawTransaction', [raw]);
    expect(await protocol.attested('OP', hash)).toEqual(before);
  });
});

describe('the service', () => {
  test('is found by every process that uses the chains', async () => {
    expect((await connectLocalChains(database)).attestationUrl).toBe(chains.local.attestationUrl);
  });

  test('has the keys that the signatures are checked with', async () => {
    const { status, headers, body } = await protocol.ask('/v2/publicKeys');
    expect([status, headers.get('content-type')]).toEqual([200, 'application/json']);
    expect(headers.get('x-request-id')).toMatch(/^[\da-f-]{36}$/);
    const { publicKeys } = body as { publicKeys: { publicKey: Hex; cctpVersion: string }[] };
    expect(publicKeys.map(({ publicKey }) => publicKeyToAddress(publicKey))).toEqual(
      attesters.map((attester) => attester.address),
    );
    expect(publicKeys.every(({ cctpVersion }) => cctpVersion === '2')).toBe(true);
  });

  test('knows what a burn costs', async () => {
    await protocol.operate('AVAX', 'tokenMessenger', 'setMinFee', [1_500n]);
    const fees = (minimumFee: number) => ({
      data: [
        { finalityThreshold: 1_000, minimumFee },
        { finalityThreshold: 2_000, minimumFee },
      ],
    });
    expect((await protocol.ask('/v2/burn/USDC/fees/1/6')).body).toEqual(fees(1.5));
    expect((await protocol.ask('/v2/burn/USDC/fees/6/1')).body).toEqual(fees(0));
    expect(await protocol.ask('/v2/burn/USDC/fees/6/99')).toMatchObject(notFound);
    await protocol.operate('AVAX', 'tokenMessenger', 'setMinFee', [0n]);
  });

  test.each([
    ['/v2/messages/7', 400],
    ['/v2/messages/polygon?transactionHash=0x12', 400],
    ['/v2/messages/7?transactionHash=0x12', 400],
    ['/v2/messages/7?nonce=9682', 400],
    [`/v2/messages/99?transactionHash=0x${'ab'.repeat(32)}`, 404],
    [`/v2/messages/7?transactionHash=0x${'ab'.repeat(32)}`, 404],
    [`/v2/messages/7?nonce=0x${'ab'.repeat(32)}`, 404],
    ['/v2/nothing', 404],
  ])('answers %s with %i', async (path, status) => {
    const message = status === 400 ? 'Bad request.' : 'Not found.';
    expect(await protocol.ask(path)).toMatchObject({ status, body: { code: status, message } });
  });

  test('answers nobody for five minutes after the thirty-sixth request of a second', async () => {
    const clock = { ms: 1_000_000 };
    const { ask, behave } = serviceAt(clock);
    const status = async () => (await ask('/v2/publicKeys')).status;
    const statuses = async (count: number) => new Set(await Promise.all(Array.from({ length: count }, status)));
    expect(await statuses(35)).toEqual(new Set([200]));
    clock.ms += 1_000;
    expect(await statuses(35)).toEqual(new Set([200]));
    clock.ms += 999;
    expect(await ask('/v2/publicKeys')).toEqual({ status: 429, body: { code: 429, message: 'Too many requests.' } });
    clock.ms += 299_999;
    expect(await status()).toBe(429);
    clock.ms += 1;
    expect(await status()).toBe(200);
    behave({ mostPerSecond: 1, blockedMs: 10 });
    expect([await status(), await status()]).toEqual([200, 429]);
    clock.ms += 1_010;
    expect(await status()).toBe(200);
  });

  test('has the faults that it is told to have, as often as it is told', async () => {
    const { ada, hash } = await burnt();
    const [good] = await protocol.attested('MATIC', hash);
    const ready = { unseenMs: 0, pendingMs: 0 };
    const firstWith = async (fault: string) => {
      await protocol.attestationsBehave({ ...ready, fault, faults: 1 });
      return protocol.askMessages('MATIC', hash);
    };
    expect(await firstWith('error')).toMatchObject({ status: 500, body: { code: 500 } });
    expect((await protocol.askMessages('MATIC', hash)).body).toEqual({ messages: [good] });
    expect(await firstWith('blocked')).toMatchObject({ status: 429 });
    expect((await firstWith('empty')).body).toEqual({ messages: [] });
    expect((await firstWith('other_fields')).body).not.toHaveProperty('messages');
    await expect(firstWith('malformed')).rejects.toThrow('JSON');
    await expect(firstWith('disconnect')).rejects.toThrow('fetch failed');
    await protocol.attestationsBehave({ ...ready, fault: 'hang' });
    const url = new URL(`/v2/messages/7?transactionHash=${hash}`, chains.local.attestationUrl);
    const patience = new AbortController();
    const answer = fetch(url, { signal: patience.signal });
    answer.catch(() => {});
    // Only who was heard can be left without an answer.
    await until('it to be asked', async () => (await protocol.attestationsAsked()).total > 0);
    const first = await Promise.race([answer, protocol.attestationsAsked()]);
    expect(first).toEqual({ total: 1, mostInOneSecond: 1 });
    patience.abort(new Error('nobody answers'));
    await expect(answer).rejects.toThrow('nobody answers');

    // What is wrong in itself no chain takes, so that no fault makes money.
    for (const fault of ['foreign_message', 'wrong_signatures']) {
      const { messages } = (await firstWith(fault)).body as { messages: [Attested] };
      expect(messages).not.toEqual([good]);
      await expect(protocol.mint(ada, 'BASE', messages[0])).rejects.toThrow('Invalid signature');
    }
    await expect(protocol.attestationsBehave({ fault: 'unheard of' })).rejects.toThrow('400');
  });
});
