import { randomUUID } from 'node:crypto';
import { type Hex, parseAbi, zeroAddress } from 'viem';
import { describe, expect, test } from 'vitest';
import { keeperName } from '../../../sandbox/chains/keep-chains.ts';
import { connectLocalChains, type LocalChains, startLocalChains } from '../../../sandbox/chains/local-chains.ts';
import { bridgedTokens, mintedTokens, wrappedCoins } from '../../../sandbox/chains/tokens.ts';
import { multicallAbi, multicallAddress, tokenAbi } from '../../../src/chains/abi.ts';
import { createLogger } from '../../../src/kernel/log/logger.ts';
import { type ChainId, chainIds } from '../../../src/money/catalogue.ts';
import { startChains, type TestChains, useChains } from '../../support/chains.ts';
import { useDatabase } from '../../support/database.ts';
import { isMatrix, oneOfMany } from '../../support/matrix.ts';

const database = useDatabase();
const chains = useChains(database);

const metadataAbi = parseAbi([
  'function symbol() view returns (string)',
  'function decimals() view returns (uint8)',
  'function deposit() payable',
]);

function freshAddress(): Hex {
  return `0x${randomUUID().replaceAll('-', '').padEnd(40, '0')}`;
}

for (const chain of chainIds) {
  describe(`on ${chain}`, oneOfMany({ isRepresentative: chain === 'MATIC' }), () => {
    test('every token is what its clients expect', async () => {
      const { client } = chains.network(chain);
      for (const { asset, address, name, symbol, decimals } of mintedTokens[chain]) {
        expect([
          await client.readContract({ abi: tokenAbi, address, functionName: 'name' }),
          await client.readContract({ abi: tokenAbi, address, functionName: 'version' }),
          await client.readContract({ abi: metadataAbi, address, functionName: 'symbol' }),
          await client.readContract({ abi: metadataAbi, address, functionName: 'decimals' }),
        ]).toEqual([name, '2', symbol, decimals]);
        const to = freshAddress();
        await chains.mint(chain, asset, to, 5_000_000n);
        const balance = client.readContract({ abi: tokenAbi, address, functionName: 'balanceOf', args: [to] });
        expect(await balance).toBe(5_000_000n);
      }
    });

    test('what came over a bridge is minted by its depositor, and has no version', async () => {
      const { client } = chains.network(chain);
      for (const { asset, address, name, symbol, decimals } of bridgedTokens(chain)) {
        expect([
          await client.readContract({ abi: tokenAbi, address, functionName: 'name' }),
          await client.readContract({ abi: metadataAbi, address, functionName: 'symbol' }),
          await client.readContract({ abi: metadataAbi, address, functionName: 'decimals' }),
        ]).toEqual([name, symbol, decimals]);
        await expect(client.readContract({ abi: tokenAbi, address, functionName: 'version' })).rejects.toThrow();
        const to = freshAddress();
        await chains.mint(chain, asset, to, 5_000_000n);
        expect(await chains.balanceOf(chain, asset, to)).toBe(5_000_000n);
      }
    });

    test('native coin is wrapped by paying it in', async () => {
      const { client } = chains.network(chain);
      const { address, name, symbol } = wrappedCoins[chain];
      const ada = await chains.outsider({ chains: [chain] });
      await ada.wallet(chain).writeContract({
        abi: metadataAbi,
        address,
        functionName: 'deposit',
        value: 3n,
        account: ada.account,
        chain: null,
      });
      expect([
        await client.readContract({ abi: tokenAbi, address, functionName: 'name' }),
        await client.readContract({ abi: metadataAbi, address, functionName: 'symbol' }),
        await client.readContract({ abi: metadataAbi, address, functionName: 'decimals' }),
        await client.readContract({ abi: tokenAbi, address, functionName: 'balanceOf', args: [ada.address] }),
      ]).toEqual([name, symbol, 18, 3n]);
    });

    test('many calls are made in one', async () => {
      const { client, tokens } = chains.network(chain);
      const [usdc] = tokens;
      if (usdc === undefined) throw new Error('there is no USDC');
      const results = await client.readContract({
        abi: multicallAbi.map((item) => ({ ...item, stateMutability: 'view' as const })),
        address: multicallAddress,
        functionName: 'aggregate3',
        args: [[{ target: usdc.address, allowFailure: false, callData: '0x06fdde03' }]],
      });
      expect(JSON.stringify(results)).toContain(Buffer.from('USD Coin').toString('hex'));
    });
  });
}

test('EIP-3009: whoever is shown an authorization can make the transfer', async () => {
  const [ada, grace] = [await chains.outsider({ tokens: [{ asset: 'USDC', atomic: 10n }] }), await chains.outsider()];
  const { client, tokens } = chains.network('MATIC');
  const address = tokens.find(({ asset }) => asset === 'USDC')?.address ?? zeroAddress;
  const message = {
    from: ada.address,
    to: grace.address,
    value: 10n,
    validAfter: 0n,
    validBefore: BigInt(Math.floor(Date.now() / 1000) + 60),
    nonce: `0x${'01'.repeat(32)}` as Hex,
  };
  const signature = await ada.wallet().signTypedData({
    account: ada.account,
    domain: { name: 'USD Coin', version: '2', chainId: 137, verifyingContract: address },
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
    message,
  });
  const [r, s, v] = [
    `0x${signature.slice(2, 66)}`,
    `0x${signature.slice(66, 130)}`,
    Number(`0x${signature.slice(130)}`),
  ];
  const { request } = await client.simulateContract({
    abi: tokenAbi,
    address,
    functionName: 'transferWithAuthorization',
    args: [...Object.values(message), v, r, s] as never,
    account: grace.account,
  });
  await grace.wallet().writeContract({ ...request, chain: null });
  expect(await chains.balanceOf('MATIC', 'USDC', grace.address)).toBe(10n);
  await expect(client.simulateContract(request as never)).rejects.toThrow('FiatTokenV2: authorization is used');
});

describe('the faucet', () => {
  test('mints once per id, however often it is asked', async () => {
    const mint = { id: randomUUID(), chain: 'MATIC', asset: 'USDC', to: freshAddress(), atomic: 7n } as const;
    const hashes = await Promise.all(Array.from({ length: 20 }, () => chains.faucet.mint(mint)));
    expect(new Set(hashes).size).toBe(1);
    expect(await chains.balanceOf('MATIC', 'USDC', mint.to)).toBe(7n);
    await expect(chains.faucet.mint({ ...mint, atomic: 8n })).rejects.toMatchObject({ fault: 'other_mint' });
  });

  test('serves many at once, from two processes', { tags: ['longer'] }, async () => {
    const other = await connectLocalChains(database);
    const to = freshAddress();
    const count = isMatrix ? 60 : 12;
    await Promise.all(
      Array.from({ length: count }, (_, n) =>
        (n % 2 === 0 ? chains.local : other).faucet.mint({
          id: randomUUID(),
          chain: 'BASE',
          asset: 'EURC',
          to,
          atomic: 1n,
        }),
      ),
    );
    expect(await chains.balanceOf('BASE', 'EURC', to)).toBe(BigInt(count));
  });

  test('gives native coin', async () => {
    const to = freshAddress();
    for (const [chain, asset] of [
      ['MATIC', 'MATIC'],
      ['BASE', 'ETH'],
      ['AVAX', 'AVAX'],
    ] as const) {
      await chains.mint(chain, asset, to, 5n);
      expect(await chains.balanceOf(chain, asset, to)).toBe(5n);
    }
  });

  test('gives MATIC as a token when it is asked for WMATIC', async () => {
    const to = freshAddress();
    await chains.mint('MATIC', 'WMATIC', to, 5n);
    expect([await chains.balanceOf('MATIC', 'WMATIC', to), await chains.balanceOf('MATIC', 'MATIC', to)]).toEqual([
      5n,
      0n,
    ]);
  });

  test('says what it cannot do', async () => {
    await expect(chains.mint('ETH', 'WMATIC', freshAddress(), 1n)).rejects.toMatchObject({ fault: 'unknown_asset' });
    await expect(chains.mint('MATIC', 'DAI', zeroAddress, 1n)).rejects.toMatchObject({ fault: 'refused' });
    await expect(chains.mint('ARB', 'DAI', freshAddress(), 1n)).rejects.toMatchObject({ fault: 'unknown_asset' });
    await expect(chains.mint('ARB', 'USDC', zeroAddress, 1n)).rejects.toMatchObject({ fault: 'refused' });
  });

  test('sends again what a reorganisation undid', async () => {
    const [first, second] = [freshAddress(), freshAddress()];
    const snapshot = await chains.rpc('OP', 'evm_snapshot');
    await chains.mint('OP', 'USDC', first, 1n);
    await chains.rpc('OP', 'evm_revert', [snapshot]);
    expect(await chains.balanceOf('OP', 'USDC', first)).toBe(0n);
    await chains.mint('OP', 'USDC', second, 2n);
    expect(await chains.balanceOf('OP', 'USDC', first)).toBe(1n);
    expect(await chains.balanceOf('OP', 'USDC', second)).toBe(2n);
  });
});

describe('JSON-RPC', () => {
  const post = async (body: string, path = '/matic', method = 'POST') => {
    const url = chains.local.settings.get('MATIC')?.urls[0] ?? '';
    const headers = { 'content-type': 'application/json' };
    const response = await fetch(new URL(path, url), { method, headers, ...(method === 'POST' && { body }) });
    const text = await response.text();
    return { status: response.status, body: text === '' ? undefined : JSON.parse(text) };
  };

  test('answers one request, and many in the order asked', async () => {
    const request = (id: number, method: string) => ({ jsonrpc: '2.0', id, method, params: [] });
    expect((await post(JSON.stringify(request(7, 'eth_chainId')))).body).toEqual({
      jsonrpc: '2.0',
      id: 7,
      result: '0x89',
    });
    const { body } = await post(
      JSON.stringify([request(1, 'net_version'), request(2, 'eth_no'), request(3, 'eth_chainId')]),
    );
    expect(body).toEqual([
      { jsonrpc: '2.0', id: 1, result: '137' },
      { jsonrpc: '2.0', id: 2, error: { code: -32601, message: 'the method eth_no does not exist' } },
      { jsonrpc: '2.0', id: 3, result: '0x89' },
    ]);
    expect((await post('{"jsonrpc":"2.0","method":"eth_chainId"}')).status).toBe(204);
  });

  test.each([
    ['{', '/matic', 'POST', 400, -32700],
    ['[]', '/matic', 'POST', 400, -32600],
    ['5', '/matic', 'POST', 200, -32600],
    ['{"id":1,"method":5}', '/matic', 'POST', 200, -32600],
    ['{"id":1,"method":"eth_chainId","params":{}}', '/matic', 'POST', 200, -32600],
    ['{"id":1,"method":"eth_sendRawTransaction","params":["x"]}', '/matic', 'POST', 200, -32602],
    ['{"id":1,"method":"eth_sendRawTransaction","params":["0x12"]}', '/matic', 'POST', 200, undefined],
    ['{"id":1,"method":"evm_mine","params":[1]}', '/matic', 'POST', 200, -32602],
    ['{}', '/doge', 'POST', 404, -32600],
    ['', '/matic', 'GET', 405, -32600],
    [`"${'x'.repeat(1024 * 1024)}"`, '/matic', 'POST', 413, -32600],
  ])('%.60s to %s by %s is refused', async (body, path, method, status, code) => {
    const answer = await post(body, path, method);
    expect(answer.status).toBe(status);
    expect(answer.body.error).toMatchObject({ code: code ?? expect.any(Number), message: expect.any(String) });
  });

  test('a revert carries its reason, as clients decode it', async () => {
    const { client, tokens } = chains.network('MATIC');
    const call = { abi: tokenAbi, address: tokens[0]?.address ?? zeroAddress, functionName: 'transfer' } as const;
    await expect(
      client.simulateContract({ ...call, args: [freshAddress(), 1n], account: freshAddress() }),
    ).rejects.toThrow('ERC20: transfer amount exceeds balance');
  });

  test('a transaction that comes early or cheap waits, as on a real chain', async () => {
    const ada = await chains.outsider();
    const { client } = chains.network('MATIC');
    const send = (nonce: number, maxFeePerGas = 2_000_000_000n) =>
      ada.wallet().sendTransaction({
        to: freshAddress(),
        nonce,
        value: 1n,
        gas: 21_000n,
        maxFeePerGas,
        maxPriorityFeePerGas: maxFeePerGas,
        chain: null,
      });
    const isMined = async (hash: Hex) => (await client.getTransaction({ hash })).blockNumber !== null;
    const [third, second] = [await send(2), await send(1)];
    expect([await isMined(third), await isMined(second)]).toEqual([false, false]);
    const cheap = await send(0, 5n);
    expect([await isMined(cheap), await isMined(second)]).toEqual([false, false]);
    const first = await send(0);
    expect([await isMined(first), await isMined(second), await isMined(third)]).toEqual([true, true, true]);
    await expect(send(1)).rejects.toThrow(/nonce/i);
  });

  test('what is sent again is known, and not written down again', async () => {
    const ada = await chains.outsider();
    const signed = await ada.wallet().signTransaction({
      to: freshAddress(),
      nonce: 0,
      gas: 21_000n,
      maxFeePerGas: 2_000_000_000n,
      type: 'eip1559',
      chain: chains.network('MATIC').client.chain,
    } as never);
    await chains.rpc('MATIC', 'eth_sendRawTransaction', [signed]);
    const before = await journalLength();
    await expect(chains.rpc('MATIC', 'eth_sendRawTransaction', [signed])).rejects.toThrow('already known');
    expect(await journalLength()).toBe(before);
  });
});

async function journalLength(): Promise<bigint> {
  const { rows } = await database.db.query<{ count: bigint }>('SELECT count(*) FROM sandbox.chain_journal');
  return rows[0]?.count ?? 0n;
}

interface Head {
  readonly hash: Hex;
  readonly stateRoot: Hex;
  readonly receiptsRoot: Hex;
}

const headOf = (running: TestChains, chain: ChainId) =>
  running.rpc<Head>(chain, 'eth_getBlockByNumber', ['latest', false]);

/** Last, as these stop and start the chains that the others use. */
describe('the chains', () => {
  const logger = createLogger('silent');

  test('are the same after a stop and a start, at the same address', async () => {
    const heads = await Promise.all(chainIds.map((chain) => headOf(chains, chain)));
    const url = chains.local.settings.get('MATIC')?.urls[0];
    await chains.stop();
    const again = await startChains(database);
    expect(await Promise.all(chainIds.map((chain) => headOf(again, chain)))).toEqual(heads);
    expect(again.local.settings.get('MATIC')?.urls[0]).toBe(url);
    await again.stop();
  });

  test('make good what was written down and not yet done when the process died', async () => {
    const first = await startChains(database);
    const ada = await first.outsider();
    const to = freshAddress();
    const raw = await ada.wallet().signTransaction({
      to,
      value: 9n,
      nonce: 0,
      gas: 21_000n,
      maxFeePerGas: 2_000_000_000n,
      type: 'eip1559',
      chain: first.network('MATIC').client.chain,
    } as never);
    await first.stop();
    await database.db.query(
      `INSERT INTO sandbox.chain_journal
       SELECT 'MATIC', max(seq) + 1, extract(epoch FROM now())::bigint, 'eth_sendRawTransaction', $1
       FROM sandbox.chain_journal WHERE chain = 'MATIC'`,
      [JSON.stringify([raw])],
    );
    const second = await startChains(database);
    expect(await second.balanceOf('MATIC', 'MATIC', to)).toBe(9n);
    await second.stop();
  });

  test('lose nothing that was answered when the database ends their session', async () => {
    const running = await startChains(database);
    const to = freshAddress();
    const ada = await running.outsider({ tokens: [{ asset: 'USDC', atomic: 1_000n }] });
    const answered: Hex[] = [];
    const sending = (async () => {
      for (let n = 0; n < 40; n++) {
        const hash = await ada.sendToken({ asset: 'USDC', to, atomic: 1n }).catch(() => undefined);
        if (hash !== undefined) answered.push(hash);
      }
    })();
    await expect.poll(() => answered.length).toBeGreaterThan(3);
    await database.db.query(
      'SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = $1 AND datname = current_database()',
      [keeperName],
    );
    await sending;
    await expect.poll(() => headOf(running, 'MATIC').catch(() => undefined)).toBeDefined();
    const { client } = running.network('MATIC');
    for (const hash of answered) expect((await client.getTransactionReceipt({ hash })).status).toBe('success');
    expect(await running.balanceOf('MATIC', 'USDC', to)).toBeGreaterThanOrEqual(BigInt(answered.length));
    await running.stop();
  });

  test('are run by one process, and taken over by the next', async () => {
    await expect(connectLocalChains(database)).rejects.toThrow('The sandbox is not running: start it with npm start.');
    const [first, second] = await Promise.all([
      startLocalChains({ ...database, logger }),
      startLocalChains({ ...database, logger }),
    ]);
    const addresses = ({ settings }: LocalChains) => [...settings].map(([id, { urls }]) => [id, urls]);
    expect(addresses(second)).toEqual(addresses(first));
    expect(addresses(await connectLocalChains(database))).toEqual(addresses(first));
    const to = freshAddress();
    await second.faucet.mint({ id: 'a', chain: 'ETH', asset: 'USDC', to, atomic: 1n });
    await first.stop();
    const mintAgain = () => second.faucet.mint({ id: 'b', chain: 'ETH', asset: 'USDC', to, atomic: 1n });
    await expect.poll(() => mintAgain().catch(() => undefined)).toMatch(/^0x/);
    await second.stop();
  });
});
