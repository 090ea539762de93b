import { concat, encodeAbiParameters, encodeEventTopics, type Hex, type Log, pad, toHex, zeroAddress } from 'viem';
import { describe, expect, test } from 'vitest';
import { tokenAbi } from '../../chains/abi.ts';
import { cctp, messageTransmitterAbi } from '../../chains/cctp.ts';
import { authorizationProof, messageProof, proofsOf } from './receipt-proofs.ts';

type ReceiptLog = Pick<Log, 'address' | 'topics' | 'data'>;

const token = '0x3c499c542cEF5E3811e1192ce70d8cC03d5c3359';
const treasury = '0x1111111111111111111111111111111111111111';
const stranger = '0x2222222222222222222222222222222222222222';
const elsewhere = '0x3333333333333333333333333333333333333333';
const nonce = (number: number) => pad(toHex(number));

function moved({ by = token, from = stranger, to = treasury, atomic = 100n }: Partial<Move> = {}): ReceiptLog {
  const topics = encodeEventTopics({ abi: tokenAbi, eventName: 'Transfer', args: { from, to } });
  return { address: by, topics: topics as ReceiptLog['topics'], data: pad(toHex(atomic)) };
}

interface Move {
  readonly by: Hex;
  readonly from: Hex;
  readonly to: Hex;
  readonly atomic: bigint;
}

function used(number: number, { by = token, authorizer = stranger }: { by?: Hex; authorizer?: Hex } = {}): ReceiptLog {
  const args = { authorizer, nonce: nonce(number) };
  const topics = encodeEventTopics({ abi: tokenAbi, eventName: 'AuthorizationUsed', args });
  return { address: by, topics: topics as ReceiptLog['topics'], data: '0x' };
}

const mint = (atomic = 100n, to: Hex = treasury) => moved({ from: zeroAddress, to, atomic });

interface Message {
  readonly by: Hex;
  readonly recipient: Hex;
  readonly burnt: bigint;
  readonly fee: bigint;
  readonly body: Hex;
}

function received(number: number, message: Partial<Message> = {}): ReceiptLog {
  const { by = cctp.messageTransmitter, recipient = treasury, burnt = 100n, fee = 0n } = message;
  const words = [pad(token), pad(recipient), burnt, pad(stranger), fee, fee, 0n];
  const body = concat([
    toHex(1, { size: 4 }),
    ...words.map((word) => pad(typeof word === 'bigint' ? toHex(word) : word)),
  ]);
  const topics = encodeEventTopics({
    abi: messageTransmitterAbi,
    eventName: 'MessageReceived',
    args: { caller: elsewhere, nonce: nonce(number), finalityThresholdExecuted: 2_000 },
  });
  const data = encodeAbiParameters(
    [{ type: 'uint32' }, { type: 'bytes32' }, { type: 'bytes' }],
    [7, pad(stranger), message.body ?? body],
  );
  return { address: by, topics: topics as ReceiptLog['topics'], data };
}

describe('an authorization', () => {
  const proof = authorizationProof(token, stranger, nonce(1));

  test('is proven by the token, just before the transfer', () => {
    expect(proofsOf([used(1), moved()], 1)).toEqual([proof]);
  });

  test('is written alike however its addresses are', () => {
    expect(authorizationProof(token.toLowerCase() as Hex, stranger, nonce(1))).toBe(proof);
  });

  test('of several in one transaction is that of its own transfer', () => {
    const logs = [used(1), moved(), used(2), moved()];
    expect(proofsOf(logs, 1)).toEqual([proof]);
    expect(proofsOf(logs, 3)).toEqual([authorizationProof(token, stranger, nonce(2))]);
  });

  test.each([
    ['another contract says so', [used(1, { by: elsewhere }), moved()], 1],
    ['somebody else has signed', [used(1, { authorizer: elsewhere }), moved()], 1],
    ['it was used for another transfer', [used(1), moved({ to: elsewhere }), moved()], 2],
    ['another token moves', [used(1), moved({ by: elsewhere })], 1],
    ['it comes after the transfer', [moved(), used(1)], 0],
    ['nothing was moved', [used(1)], 0],
    ['nothing is there', [], 0],
  ])('is not proven when %s', (_, logs, position) => {
    expect(proofsOf(logs, position)).toEqual([]);
  });
});

describe('a message', () => {
  test('is proven by the transmitter, after what it has minted', () => {
    expect(proofsOf([mint(), received(1)], 0)).toEqual([messageProof(7, nonce(1))]);
  });

  test('brings what was burnt without the fee, which is minted for somebody else', () => {
    const logs = [mint(99n), mint(1n, elsewhere), received(1, { fee: 1n })];
    expect(proofsOf(logs, 0)).toEqual([messageProof(7, nonce(1))]);
    expect(proofsOf(logs, 1)).toEqual([]);
  });

  test('of several in one transaction is the one that comes next', () => {
    const logs = [mint(), received(1), mint(50n), received(2, { burnt: 50n }), mint(), received(3)];
    expect([0, 2, 4].map((position) => proofsOf(logs, position))).toEqual(
      [1, 2, 3].map((number) => [messageProof(7, nonce(number))]),
    );
  });

  test('that somebody delivers after a gift of their own brings what was minted, and not the gift', () => {
    const logs = [moved({ atomic: 1n }), mint(), received(1)];
    expect(proofsOf(logs, 0)).toEqual([]);
    expect(proofsOf(logs, 1)).toEqual([messageProof(7, nonce(1))]);
  });

  test.each([
    ['another contract says so', [mint(), received(1, { by: elsewhere })]],
    ['it is for somebody else', [mint(), received(1, { recipient: elsewhere })]],
    ['it is about another amount', [mint(), received(1, { burnt: 101n })]],
    ['it carries no money', [mint(), received(1, { body: '0x1234' })]],
    ['it carries nothing', [mint(), received(1, { body: '0x' })]],
    ['the next one is another', [mint(), received(1, { recipient: elsewhere }), received(2)]],
  ])('is not proven when %s', (_, logs) => {
    expect(proofsOf(logs, 0)).toEqual([]);
  });

  test('is not proven when it came before', () => {
    expect(proofsOf([received(1), mint()], 1)).toEqual([]);
  });

  test('may carry what was authorized besides: then both are proven', () => {
    expect(proofsOf([used(1), moved(), received(2)], 1)).toEqual([
      authorizationProof(token, stranger, nonce(1)),
      messageProof(7, nonce(2)),
    ]);
  });
});

test('events that nobody knows prove nothing', () => {
  const unknown: ReceiptLog = { address: cctp.messageTransmitter, topics: [nonce(9)], data: '0x' };
  const anonymous: ReceiptLog = { address: token, topics: [], data: '0x' };
  expect(proofsOf([anonymous, moved(), unknown], 1)).toEqual([]);
});
