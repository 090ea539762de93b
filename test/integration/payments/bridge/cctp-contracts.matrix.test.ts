import { concat, type Hex, keccak256, pad, parseEventLogs, size, slice, toHex, zeroAddress, zeroHash } from 'viem';
import { privateKeyToAccount } from 'viem/accounts';
import { describe, expect, test } from 'vitest';
import { attesters, feeRecipient } from '../../../../sandbox/accounts.ts';
import { attest } from '../../../../sandbox/cctp/attestation-answers.ts';
import { withBytes } from '../../../../sandbox/cctp/burn-messages.ts';
import { burnLayout, cctp, messageLayout } from '../../../../src/chains/cctp.ts';
import { type ChainId, chainIds, chains as facts } from '../../../../src/money/catalogue.ts';
import { type Burn, burnArguments, cctpAbi, useProtocol } from '../../../support/cctp.ts';
import { type Outsider, useChains } from '../../../support/chains.ts';
import { useDatabase } from '../../../support/database.ts';
import { oneOfMany } from '../../../support/matrix.ts';

const database = useDatabase();
const chains = useChains(database);
const protocol = useProtocol(chains);

const usdc = 1_000_000n;
const somebody: Hex = '0x00000000000000000000000000000000000000aa';

/** Somebody with coin on two chains, and USDC on the first. */
function burner(from: ChainId, to: ChainId, atomic = 100n * usdc): Promise<Outsider> {
  return chains.outsider({ chains: [from, to], tokens: [{ chain: from, asset: 'USDC', atomic }] });
}

function read<Result>(
  chain: ChainId,
  contract: keyof typeof cctp,
  functionName: string,
  args: readonly unknown[] = [],
) {
  const { client } = chains.network(chain);
  return client.readContract({
    abi: cctpAbi,
    address: cctp[contract],
    functionName,
    args,
  } as never) as Promise<Result>;
}

/** What the chain would say to a burn. */
function tryBurn(ada: Outsider, burn: Burn) {
  return chains.network(burn.from).client.simulateContract({
    abi: cctpAbi,
    address: cctp.tokenMessenger,
    functionName: 'depositForBurn',
    args: burnArguments(burn),
    account: ada.address,
  });
}

function tryMint(ada: Outsider, chain: ChainId, message: Hex, attestation: Hex) {
  return chains.network(chain).client.simulateContract({
    abi: cctpAbi,
    address: cctp.messageTransmitter,
    functionName: 'receiveMessage',
    args: [message, attestation],
    account: ada.address,
  });
}

for (const chain of chainIds) {
  describe(`on ${chain}`, oneOfMany({ isRepresentative: chain === 'BASE' }), () => {
    test('the protocol is set up for every other chain', async () => {
      const token = facts[chain].tokens.USDC;
      expect({
        domain: await read(chain, 'messageTransmitter', 'localDomain'),
        version: await read(chain, 'messageTransmitter', 'version'),
        setUp: await read(chain, 'messageTransmitter', 'initializedVersion'),
        threshold: await read(chain, 'messageTransmitter', 'signatureThreshold'),
        count: await read(chain, 'messageTransmitter', 'getNumEnabledAttesters'),
        attesters: [
          await read(chain, 'messageTransmitter', 'getEnabledAttester', [0n]),
          await read(chain, 'messageTransmitter', 'getEnabledAttester', [1n]),
        ],
        isAttester: await read(chain, 'messageTransmitter', 'isEnabledAttester', [attesters[1]?.address]),
        isNoAttester: await read(chain, 'messageTransmitter', 'isEnabledAttester', [somebody]),
        emptyNonce: await read(chain, 'messageTransmitter', 'usedNonces', [zeroHash]),
        paused: [await read(chain, 'messageTransmitter', 'paused'), await read(chain, 'tokenMinter', 'paused')],
        transmitter: await read(chain, 'tokenMessenger', 'localMessageTransmitter'),
        bodyVersion: await read(chain, 'tokenMessenger', 'messageBodyVersion'),
        minter: await read(chain, 'tokenMessenger', 'localMinter'),
        minFee: await read(chain, 'tokenMessenger', 'minFee'),
        fee: await read(chain, 'tokenMessenger', 'getMinFeeAmount', [0n]),
        limit: await read(chain, 'tokenMinter', 'burnLimitsPerMessage', [token]),
      }).toEqual({
        domain: facts[chain].domain,
        version: 1,
        setUp: 1n,
        threshold: 2n,
        count: 2n,
        attesters: attesters.map(({ address }) => address),
        isAttester: true,
        isNoAttester: false,
        emptyNonce: 1n,
        paused: [false, false],
        transmitter: cctp.messageTransmitter,
        bodyVersion: 1,
        minter: cctp.tokenMinter,
        minFee: 0n,
        fee: 0n,
        limit: 10_000_000n * usdc,
      });
      for (const other of chainIds) {
        const { domain, tokens } = facts[other];
        const isOther = other !== chain;
        expect(await read(chain, 'tokenMessenger', 'remoteTokenMessengers', [domain])).toBe(
          isOther ? pad(cctp.tokenMessenger).toLowerCase() : zeroHash,
        );
        expect(await read(chain, 'tokenMinter', 'getLocalToken', [domain, pad(tokens.USDC)])).toBe(
          isOther ? token : zeroAddress,
        );
      }
      await expect(read(chain, 'messageTransmitter', 'getEnabledAttester', [2n])).rejects.toThrow(
        'EnumerableSet: index out of bounds',
      );
    });
  });
}

test('what is burnt on one chain is minted on another, to the unit', async () => {
  const ada = await burner('MATIC', 'BASE', 7_000_001n);
  const supply = await totalSupply('MATIC');
  const supplyThere = await totalSupply('BASE');
  const burn: Burn = { from: 'MATIC', to: 'BASE', atomic: 7_000_001n, recipient: ada.address };
  const hash = await protocol.burn(ada, burn);
  expect(await chains.balanceOf('MATIC', 'USDC', ada.address)).toBe(0n);
  expect(await totalSupply('MATIC')).toBe(supply - 7_000_001n);

  const receipt = await chains.network('MATIC').client.getTransactionReceipt({ hash });
  const [sent] = parseEventLogs({ abi: cctpAbi, logs: receipt.logs, eventName: 'MessageSent' });
  const [deposit] = parseEventLogs({ abi: cctpAbi, logs: receipt.logs, eventName: 'DepositForBurn' });
  expect(sent?.address).toBe(cctp.messageTransmitter.toLowerCase());
  expect(size(sent?.args.message ?? '0x')).toBe(376);
  expect(deposit?.args).toEqual({
    burnToken: facts.MATIC.tokens.USDC,
    amount: 7_000_001n,
    depositor: ada.address,
    mintRecipient: pad(ada.address).toLowerCase(),
    destinationDomain: 6,
    destinationTokenMessenger: pad(cctp.tokenMessenger).toLowerCase(),
    destinationCaller: zeroHash,
    maxFee: 0n,
    minFinalityThreshold: 2_000,
    hookData: '0x',
  });

  const [attested] = await protocol.attested('MATIC', hash);
  if (attested === undefined) throw new Error('nothing was attested');
  const nonce = slice(attested.message, messageLayout.nonce, messageLayout.nonce + 32);
  // Only what the attestation service fills in differs from what the chain has told.
  expect(withBytes(withBytes(attested.message, messageLayout.nonce, zeroHash), 144, '0x00000000')).toBe(
    sent?.args.message,
  );
  expect(await read('BASE', 'messageTransmitter', 'usedNonces', [nonce])).toBe(0n);

  const minted = await protocol.mint(ada, 'BASE', attested);
  const { logs } = await chains.network('BASE').client.getTransactionReceipt({ hash: minted });
  expect(parseEventLogs({ abi: cctpAbi, logs, eventName: 'MintAndWithdraw' })[0]?.args).toEqual({
    mintRecipient: ada.address,
    amount: 7_000_001n,
    mintToken: facts.BASE.tokens.USDC,
    feeCollected: 0n,
  });
  expect(parseEventLogs({ abi: cctpAbi, logs, eventName: 'MessageReceived' })[0]?.args).toEqual({
    caller: ada.address,
    sourceDomain: 7,
    nonce,
    sender: pad(cctp.tokenMessenger).toLowerCase(),
    finalityThresholdExecuted: 2_000,
    messageBody: slice(attested.message, messageLayout.body),
  });
  expect(await chains.balanceOf('BASE', 'USDC', ada.address)).toBe(7_000_001n);
  expect(await totalSupply('BASE')).toBe(supplyThere + 7_000_001n);
  expect(await read('BASE', 'messageTransmitter', 'usedNonces', [nonce])).toBe(1n);
  await expect(tryMint(ada, 'BASE', attested.message, attested.attestation)).rejects.toThrow('Nonce already used');
});

async function totalSupply(chain: ChainId): Promise<bigint> {
  const data = await chains.rpc<Hex>(chain, 'eth_call', [
    { to: facts[chain].tokens.USDC, data: '0x18160ddd' },
    'latest',
  ]);
  return BigInt(data);
}

describe('a burn', () => {
  test('is refused in the words of the real contracts', async () => {
    const ada = await burner('ARB', 'OP');
    const burn: Burn = { from: 'ARB', to: 'OP', atomic: usdc, recipient: ada.address };
    await expect(tryBurn(ada, burn)).rejects.toThrow('ERC20: transfer amount exceeds allowance');
    await protocol.approve(ada, { ...burn, atomic: 20_000_000n * usdc });
    await expect(tryBurn(ada, burn)).resolves.toBeDefined();
    await expect(tryBurn(ada, { ...burn, atomic: 0n })).rejects.toThrow('Amount must be nonzero');
    await expect(tryBurn(ada, { ...burn, recipient: zeroAddress })).rejects.toThrow('Mint recipient must be nonzero');
    await expect(tryBurn(ada, { ...burn, maxFee: usdc })).rejects.toThrow('Max fee must be less than amount');
    await expect(tryBurn(ada, { ...burn, to: 'ARB' })).rejects.toThrow('No TokenMessenger for domain');
    await expect(tryBurn(ada, { ...burn, atomic: 101n * usdc })).rejects.toThrow('transfer amount exceeds balance');
  });

  test('of another token, or of more than the limit, is refused', async () => {
    const ada = await chains.outsider({
      chains: ['ETH'],
      tokens: [
        { chain: 'ETH', asset: 'USDC', atomic: 10_000_001n * usdc },
        { chain: 'ETH', asset: 'EURC', atomic: usdc },
      ],
    });
    const burn: Burn = { from: 'ETH', to: 'OP', atomic: 10_000_000n * usdc, recipient: ada.address };
    await protocol.approve(ada, { ...burn, atomic: 10_000_001n * usdc });
    await expect(tryBurn(ada, burn)).resolves.toBeDefined();
    await expect(tryBurn(ada, { ...burn, atomic: burn.atomic + 1n })).rejects.toThrow(
      'Burn amount exceeds per tx limit',
    );
    await ada.wallet('ETH').writeContract({
      abi: cctpAbi,
      address: facts.ETH.tokens.EURC,
      functionName: 'approve',
      args: [cctp.tokenMessenger, usdc],
      chain: null,
    });
    await expect(tryBurn(ada, { ...burn, atomic: usdc, token: facts.ETH.tokens.EURC })).rejects.toThrow(
      'Burn token not supported',
    );
  });

  test('is refused while the minter or the transmitter is paused, and for whom is on the deny list', async () => {
    const ada = await burner('AVAX', 'OP');
    const burn: Burn = { from: 'AVAX', to: 'OP', atomic: usdc, recipient: ada.address };
    await protocol.approve(ada, burn);
    for (const contract of ['tokenMinter', 'messageTransmitter'] as const) {
      await protocol.operate('AVAX', contract, 'pause');
      expect(await read('AVAX', contract, 'paused')).toBe(true);
      await expect(tryBurn(ada, burn)).rejects.toThrow('Pausable: paused');
      await protocol.operate('AVAX', contract, 'unpause');
    }
    await protocol.operate('AVAX', 'tokenMessenger', 'denylist', [ada.address]);
    expect(await read('AVAX', 'tokenMessenger', 'isDenylisted', [ada.address])).toBe(true);
    await expect(tryBurn(ada, burn)).rejects.toThrow('Denylistable: account is on denylist');
    await protocol.operate('AVAX', 'tokenMessenger', 'unDenylist', [ada.address]);
    await expect(tryBurn(ada, burn)).resolves.toBeDefined();
  });

  test('costs the minimum fee where there is one, and the mint shares it out', async () => {
    await protocol.operate('OP', 'tokenMessenger', 'setMinFee', [1_000n]);
    try {
      const ada = await burner('OP', 'AVAX');
      const feesBefore = await chains.balanceOf('AVAX', 'USDC', feeRecipient);
      expect(await read('OP', 'tokenMessenger', 'getMinFeeAmount', [50n * usdc])).toBe(5_000n);
      expect(await read('OP', 'tokenMessenger', 'getMinFeeAmount', [2n])).toBe(1n);
      await expect(read('OP', 'tokenMessenger', 'getMinFeeAmount', [1n])).rejects.toThrow('Amount too low');
      const burn: Burn = { from: 'OP', to: 'AVAX', atomic: 50n * usdc, recipient: somebody, maxFee: 4_999n };
      await protocol.approve(ada, burn);
      await expect(tryBurn(ada, burn)).rejects.toThrow('Insufficient max fee');
      const [attested] = await protocol.attested('OP', await protocol.burn(ada, { ...burn, maxFee: 6_000n }));
      if (attested === undefined) throw new Error('nothing was attested');
      const hash = await protocol.mint(ada, 'AVAX', attested);
      const { logs } = await chains.network('AVAX').client.getTransactionReceipt({ hash });
      expect(parseEventLogs({ abi: cctpAbi, logs, eventName: 'MintAndWithdraw' })[0]?.args).toMatchObject({
        amount: 50n * usdc - 5_000n,
        feeCollected: 5_000n,
      });
      expect(await chains.balanceOf('AVAX', 'USDC', somebody)).toBe(50n * usdc - 5_000n);
      expect(await chains.balanceOf('AVAX', 'USDC', feeRecipient)).toBe(feesBefore + 5_000n);
    } finally {
      await protocol.operate('OP', 'tokenMessenger', 'setMinFee', [0n]);
    }
  });

  test('and all that needs a role is refused to everybody else', async () => {
    const ada = await chains.outsider();
    const attempt = (contract: keyof typeof cctp, functionName: string, args: readonly unknown[] = []) =>
      chains.network('MATIC').client.simulateContract({
        abi: cctpAbi,
        address: cctp[contract],
        functionName,
        args,
        account: ada.address,
      } as never);
    await expect(attempt('tokenMessenger', 'setMinFee', [1n])).rejects.toThrow('Caller is not the min fee controller');
    await expect(attempt('tokenMessenger', 'denylist', [somebody])).rejects.toThrow('caller is not denylister');
    await expect(attempt('tokenMinter', 'pause')).rejects.toThrow('Pausable: caller is not the pauser');
    await expect(attempt('tokenMinter', 'setMaxBurnAmountPerMessage', [somebody, 1n])).rejects.toThrow(
      'Caller is not tokenController',
    );
    await expect(attempt('tokenMinter', 'burn', [somebody, 1n])).rejects.toThrow('Caller not local TokenMessenger');
    await expect(attempt('messageTransmitter', 'setSignatureThreshold', [1n])).rejects.toThrow(
      'Caller not attester manager',
    );
    await expect(protocol.operate('MATIC', 'messageTransmitter', 'setSignatureThreshold', [3n])).rejects.toThrow(
      'New signature threshold too high',
    );
    await expect(protocol.operate('MATIC', 'tokenMessenger', 'setMinFee', [10_000_000n])).rejects.toThrow(
      'Min fee too high',
    );
  });
});

describe('a mint', () => {
  let made = 0;

  /** A message that the chains have told nobody, but that the attesters would sign. */
  function messageFor(fields: { readonly [field: string]: Hex } = {}): Hex {
    const { nonce = keccak256(toHex(++made)), destinationCaller = zeroHash, finality = '0x000007d0' } = fields;
    const { version = '0x00000001', destination = toHex(facts.ARB.domain, { size: 4 }) } = fields;
    const { maxFee = zeroHash, feeExecuted = zeroHash, expirationBlock = zeroHash } = fields;
    const { sender = pad(cctp.tokenMessenger), recipient = pad(cctp.tokenMessenger) } = fields;
    const { burnToken = pad(facts.MATIC.tokens.USDC), bodyVersion = '0x00000001' } = fields;
    return concat([
      ...[version, toHex(facts.MATIC.domain, { size: 4 }), destination, nonce, sender, recipient, destinationCaller],
      ...['0x000007d0' as const, finality, bodyVersion, burnToken, pad(somebody), toHex(usdc, { size: 32 })],
      ...[pad(somebody), maxFee, feeExecuted, expirationBlock],
    ]);
  }
  const word = (value: bigint) => toHex(value, { size: 32 });

  const representatives = ['Invalid destination domain', 'Nonce already used', 'Fee exceeds max fee'];
  const refusals: readonly [string, { readonly [field: string]: Hex }][] = [
    ['Invalid destination domain', { destination: toHex(facts.OP.domain, { size: 4 }) }],
    ['Invalid caller for message', { destinationCaller: pad(somebody) }],
    ['Invalid message version', { version: '0x00000000' }],
    ['Nonce already used', { nonce: zeroHash }],
    ['Remote TokenMessenger unsupported', { sender: pad(somebody) }],
    ['Invalid message body version', { bodyVersion: '0x00000000' }],
    ['Message expired and must be re-signed', { expirationBlock: word(1n) }],
    ['Fee equals or exceeds amount', { feeExecuted: word(usdc), maxFee: word(usdc) }],
    ['Fee exceeds max fee', { feeExecuted: word(2n), maxFee: word(1n) }],
    ['Mint token not supported', { burnToken: pad(somebody) }],
    ['Unsupported finality threshold', { finality: '0x000001f3' }],
  ];
  for (const [reason, fields] of refusals) {
    test(`is refused: ${reason}`, oneOfMany({ isRepresentative: representatives.includes(reason) }), async () => {
      const ada = await chains.outsider({ chains: ['ARB'] });
      const message = messageFor(fields);
      await expect(tryMint(ada, 'ARB', message, await attest(message))).rejects.toThrow(reason);
      const good = messageFor();
      await expect(tryMint(ada, 'ARB', good, await attest(good))).resolves.toMatchObject({ result: true });
    });
  }

  test('needs the signatures of all attesters in the order of their addresses', async () => {
    const ada = await chains.outsider({ chains: ['ARB'] });
    const message = messageFor();
    const attestation = await attest(message);
    const [first, second] = [slice(attestation, 0, 65), slice(attestation, 65)];
    const stranger = privateKeyToAccount(keccak256('0x01'));
    const strange = await stranger.sign({ hash: keccak256(message) });
    const attempt = (signatures: readonly Hex[]) => tryMint(ada, 'ARB', message, concat(signatures));
    await expect(attempt([first, second])).resolves.toBeDefined();
    await expect(attempt([first])).rejects.toThrow('Invalid attestation length');
    await expect(attempt([first, second, first])).rejects.toThrow('Invalid attestation length');
    await expect(attempt([second, first])).rejects.toThrow('Invalid signature order or dupe');
    await expect(attempt([first, first])).rejects.toThrow('Invalid signature order or dupe');
    await expect(attempt([strange, strange])).rejects.toThrow('Invalid signature: not attester');
    await expect(attempt([withBytes(first, 64, '0x1d'), second])).rejects.toThrow("invalid signature 'v' value");
    await expect(attempt([withBytes(first, 32, `0x${'ff'.repeat(32)}`), second])).rejects.toThrow(
      "invalid signature 's' value",
    );
    await expect(attempt([withBytes(first, 0, zeroHash), second])).rejects.toThrow('ECDSA: invalid signature');
    const otherAmount = withBytes(message, messageLayout.body + burnLayout.amount, word(2n * usdc));
    await expect(tryMint(ada, 'ARB', otherAmount, attestation)).rejects.toThrow('Invalid signature');
    for (const short of [slice(message, 0, 147), slice(message, 0, 375)]) {
      await expect(tryMint(ada, 'ARB', short, await attest(short))).rejects.toThrow(
        /Invalid (burn )?message: too short/,
      );
    }
  });

  test('is made by the caller that the burn names, and by nobody else', async () => {
    const [ada, grace] = [await burner('MATIC', 'ETH'), await chains.outsider({ chains: ['ETH'] })];
    const burn: Burn = { from: 'MATIC', to: 'ETH', atomic: 5n, recipient: somebody, caller: ada.address };
    const [attested] = await protocol.attested('MATIC', await protocol.burn(ada, burn));
    if (attested === undefined) throw new Error('nothing was attested');
    await expect(protocol.mint(grace, 'ETH', attested)).rejects.toThrow('Invalid caller for message');
    await protocol.operate('ETH', 'tokenMinter', 'pause');
    await expect(protocol.mint(ada, 'ETH', attested)).rejects.toThrow('Pausable: paused');
    await protocol.operate('ETH', 'tokenMinter', 'unpause');
    await protocol.mint(ada, 'ETH', attested);
    expect(await chains.balanceOf('ETH', 'USDC', somebody)).toBe(5n);
  });

  test('before the burn is final takes another way, and counts as much', async () => {
    const ada = await chains.outsider({ chains: ['ARB'] });
    const message = messageFor({ finality: '0x000003e8', expirationBlock: word(10n ** 9n) });
    const hash = await protocol.mint(ada, 'ARB', { message, attestation: await attest(message) });
    const { logs } = await chains.network('ARB').client.getTransactionReceipt({ hash });
    expect(parseEventLogs({ abi: cctpAbi, logs, eventName: 'MessageReceived' })[0]?.args).toMatchObject({
      finalityThresholdExecuted: 1_000,
    });
    expect(parseEventLogs({ abi: cctpAbi, logs, eventName: 'MintAndWithdraw' })[0]?.args.amount).toBe(usdc);
  });
});
