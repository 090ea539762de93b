import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { generatePrivateKey, privateKeyToAddress } from 'viem/accounts';
import { startLocalChains } from '../sandbox/chains/local-chains.ts';
import { createPasswords } from '../src/accounts/passwords/passwords.ts';
import { createNetworks } from '../src/chains/network.ts';
import { createKeysProvider } from '../src/custody/adapters/keys/keys-provider.ts';
import { openHouseWallets } from '../src/custody/wallets/house-wallets.ts';
import { assignWallet } from '../src/custody/wallets/user-wallets.ts';
import { openDatabase } from '../src/kernel/db/database.ts';
import { createLogger } from '../src/kernel/log/logger.ts';
import { createSecrets } from '../src/kernel/secrets/secrets.ts';
import { createLedger } from '../src/ledger/ledger.ts';
import { startWatchers } from '../src/payments/deposits/watch-chains.ts';
import { call, register } from './api.ts';
import { startServer } from './http.ts';
import { middle } from './measure.ts';
import { benchSecret, createPeople } from './people.ts';

export interface CustodyFigures {
  /** Milliseconds of a registration beyond its password hash, the middle one. */
  readonly registrationBeyondHashMs: number;
  /** Seconds until that many withdrawals, submitted at once, were all complete. */
  readonly withdrawals: { readonly count: number; readonly seconds: number };
  /** Seconds to credit that many deposits, found in that many blocks after a while away. */
  readonly catchUp: { readonly deposits: number; readonly blocks: number; readonly seconds: number };
}

const quiet = createLogger('silent');

export async function measureCustody(
  createDatabase: (name: string) => Promise<string>,
  say: (line: string) => void,
): Promise<CustodyFigures> {
  say('Registering and withdrawing …');
  const server = await startServer(await createDatabase('custody'));
  const api = `http://127.0.0.1:${server.port}/api`;
  try {
    const registrationBeyondHashMs = await measureRegistration(api);
    const withdrawals = await measureWithdrawals(api, 200);
    say('Catching up …');
    const catchUp = await measureCatchUp(await createDatabase('catch_up'), { deposits: 1_000, blocks: 10_000 });
    return { registrationBeyondHashMs, withdrawals, catchUp };
  } finally {
    await server.stop();
  }
}

async function measureRegistration(api: string): Promise<number> {
  const { hash } = createPasswords();
  const time = async (work: () => Promise<unknown>) => {
    const begun = performance.now();
    await work();
    return performance.now() - begun;
  };
  const hashes: number[] = [];
  const registrations: number[] = [];
  // In turns, so that both meet the same machine.
  for (let run = 0; run < 30; run++) {
    hashes.push(await time(() => hash('correct horse', 'here')));
    registrations.push(await time(() => register(api)));
  }
  return middle(registrations) - middle(hashes);
}

async function measureWithdrawals(api: string, count: number) {
  const { apiKey } = await register(api);
  await call(`${api}/sandbox/fund`, { amount: count * 2 }, apiKey);
  const begun = performance.now();
  await Promise.all(
    Array.from({ length: count }, () =>
      call(`${api}/circle/withdraw`, { amount: 1, address: privateKeyToAddress(generatePrivateKey()) }, apiKey),
    ),
  );
  for (;;) {
    const { withdrawals: last } = await call(`${api}/circle/withdrawals?limit=1&status=failed`, undefined, apiKey);
    if (last.length > 0) throw new Error('a withdrawal failed');
    let complete = 0;
    for (let cursor = ''; ; ) {
      const query = `status=complete&limit=100${cursor && `&cursor=${cursor}`}`;
      const page = await call(`${api}/circle/withdrawals?${query}`, undefined, apiKey);
      complete += page.withdrawals.length;
      if (page.nextCursor === null) break;
      cursor = page.nextCursor;
    }
    if (complete === count) break;
    await sleep(250);
  }
  return { count, seconds: (performance.now() - begun) / 1_000 };
}

async function measureCatchUp(url: string, { deposits, blocks }: { deposits: number; blocks: number }) {
  const db = openDatabase({ url, poolSize: 10, logger: quiet });
  const local = await startLocalChains({ db, logger: quiet });
  const matic = new Map([...local.settings].filter(([id]) => id === 'MATIC'));
  const networks = createNetworks(matic);
  const { client } = networks.get('MATIC') ?? {};
  if (client === undefined) throw new Error('there is no Polygon');
  const ledger = createLedger({ db, logger: quiet });
  const provider = await createKeysProvider({ db, secrets: createSecrets(benchSecret), networks, logger: quiet });
  await openHouseWallets(db, provider, networks);
  const cursor = async () => {
    const { rows } = await db.query<{ blockNumber: bigint }>('SELECT block_number FROM chain_cursors');
    return rows[0]?.blockNumber ?? 0n;
  };
  const watchUntil = async (block: bigint) => {
    const watchers = startWatchers({ db, ledger, networks, logger: quiet });
    while ((await cursor()) < block) await sleep(20);
    await watchers.stop();
  };
  try {
    const people = await createPeople(db, deposits);
    await watchUntil(await client.getBlockNumber());
    const addresses = await db.transaction(async (tx) => {
      const made: `0x${string}`[] = [];
      for (const { id } of people) {
        const wallet = await provider.createWallet({ chain: 'MATIC' });
        await assignWallet(tx, { accountId: id, chain: 'MATIC', provider: 'keys', wallet });
        made.push(wallet.address);
      }
      return made;
    });
    const emptyBlocks = BigInt(blocks / deposits - 1);
    for (const to of addresses) {
      await local.faucet.mint({ id: randomUUID(), chain: 'MATIC', asset: 'USDC', to, atomic: 1_000_000n });
      await client.request({ method: 'hardhat_mine', params: [`0x${emptyBlocks.toString(16)}`] } as never);
    }
    const head = await client.getBlockNumber();
    const begun = performance.now();
    await watchUntil(head);
    const seconds = (performance.now() - begun) / 1_000;
    const { rows } = await db.query<{ count: bigint }>('SELECT count(*) FROM deposits');
    if (rows[0]?.count !== BigInt(deposits)) throw new Error(`only ${rows[0]?.count} deposits were credited`);
    return { deposits, blocks, seconds };
  } finally {
    await ledger.stop();
    await local.stop();
    await db.close();
  }
}
