import { randomUUID } from 'node:crypto';
import { generatePrivateKey, privateKeyToAddress } from 'viem/accounts';
import { describe, expect, test } from 'vitest';
import { features } from '../../src/app/features.ts';
import { sagasOf } from '../../src/app/listed-feature.ts';
import { tokenAbi } from '../../src/chains/abi.ts';
import { chains } from '../../src/chains/chains.ts';
import { createNetworks, type Networks } from '../../src/chains/network.ts';
import { verifyLedger } from '../../src/ledger/verify.ts';
import { reconcile } from '../../src/reserves/reconcile.ts';
import { listOpenSagas } from '../../src/sagas/list-sagas.ts';
import { connectLocalChains } from '../../src/sandbox/chains/local-chains.ts';
import { complaintsAbout } from '../emulators/circle/published.ts';
import { useCircleWorld } from '../support/circle-world.ts';
import type { Client } from '../support/client.ts';
import { type TestDatabase, useDatabase } from '../support/database.ts';
import { type MortalService, useMortalServices } from '../support/mortal-service.ts';
import { runCommand } from '../support/process.ts';
import { until } from '../support/until.ts';

// Every saga that is listed, and every place that it declares. A new saga needs no new line here.
//
// What it costs is starts of the service: with each provider one for each place and one that comes to the end, where a
// step's `.asked` counts three times with keys. A start is two to three seconds of one core, more than half of it loading
// code, and little is waited for besides: a saga is mostly taken up before its process is ready. So a saga of ten places
// costs the suite some fifty seconds of one core, and a cheaper start makes this test cheaper by the same share.
const sagas = sagasOf(features);
const providers = ['keys', 'circle'] as const;
const minted = 100_000_000n;

describe.each(providers)('with %s', (provider) => {
  const able = sagas.filter(({ rehearsal }) => !rehearsal.notWith?.includes(provider));

  describe.each(able)('a $name', (saga) => {
    const database = useDatabase();
    const world = provider === 'circle' ? useCircleWorld(database) : undefined;
    const start = world?.start ?? useMortalServices(database);

    test('survives the end of its process at every place, and nothing is lost or doubled', async () => {
      const outside = privateKeyToAddress(generatePrivateKey());
      const places = saga.checkpoints.flatMap((place) =>
        // Keys of our own sign and send between being asked and having taken it.
        provider === 'keys' && place.endsWith('.asked') ? [place, 'transaction.signed', 'transaction.sent'] : [place],
      );
      const { rehearsal } = saga;
      // How the money comes in passes no place of what is asked for only then, so one process serves for both.
      const begun = await fund(database, await start('command' in rehearsal ? 'never' : (places[0] ?? '')));
      if (!('deposit' in rehearsal)) await isSwept(database);
      const request = 'request' in rehearsal ? rehearse(rehearsal.request, begun.key, outside) : undefined;

      let service = begun.service;
      // Its answer may be lost with the process, or have left just before.
      await request?.(service.client).catch(() => {});
      if ('command' in rehearsal) {
        // The command needs the chains until it is done, and these end with the service.
        const env = { DATABASE_URL: database.url };
        expect(await runCommand(rehearsal.command, { dataDir: '', env })).toMatchObject({ code: 0 });
        await service.kill();
        service = await start(places[0] ?? '');
      }
      expect(await service.ended, places[0]).toBe('SIGKILL');
      for (const place of places.slice(1)) expect(await (await start(place)).ended, place).toBe('SIGKILL');

      const last = await start('never');
      await until(
        'everything to be finished',
        async () => (await listOpenSagas(database.db, sagas)).length === 0,
        90_000,
      );
      const { rows } = await database.db.query<{ id: string; status: string }>(`SELECT id, status FROM ${saga.table}`);
      expect(rows.length).toBeGreaterThan(0);
      expect(rows.filter(({ status }) => status !== rehearsal.endsAs)).toEqual([]);
      if (request !== undefined) {
        const again = await request(last.client);
        expect(again.status).toBe(200);
        expect(Object.values(again.body)).toContain(rows[0]?.id);
        expect(rows).toHaveLength(1);
      }
      await checkMoney(database, last.client, outside);
      if (world !== undefined) expect(complaintsAbout(world.emulator.exchanges)).toEqual([]);
    }, 300_000);
  });
});

/** Somebody with 100 USDC, which came in as all money does. */
async function fund(database: TestDatabase, service: MortalService) {
  const { key } = await service.client.register();
  const { depositAddress } = (await service.client.get('/account', key)).body;
  const { faucet } = await connectLocalChains(database);
  await faucet.mint({ id: randomUUID(), chain: 'MATIC', asset: 'USDC', to: depositAddress, atomic: minted });
  return { key, service };
}

function isSwept({ db }: TestDatabase) {
  return until('the deposit to be swept', async () => {
    const { rows } = await db.query('SELECT FROM deposits WHERE swept_at IS NOT NULL');
    return rows.length > 0;
  });
}

/** Always the same request, as somebody sends it who has got no answer. */
function rehearse(request: { path: string; body: object }, key: string, outside: string) {
  const body = JSON.parse(JSON.stringify(request.body).replaceAll('{outside}', outside));
  const headers = { 'idempotency-key': 'the-only-one' };
  return (client: Client) => client.request('POST', request.path, { key, body, headers });
}

/** What was minted is with those who own it, here or outside, to the last unit; and the books and the chains agree. */
async function checkMoney(database: TestDatabase, client: Client, outside: `0x${string}`): Promise<void> {
  interface Row {
    readonly asset: string;
    readonly owed: string;
    readonly inFlight: string;
    readonly difference: string;
  }
  const networks = createNetworks((await connectLocalChains(database)).settings);
  const reserves = await until('the reserves to be told anew', async () => {
    const { body } = await client.get('/reserves');
    const rows = body.reserves as Row[];
    return rows.every(({ inFlight }) => inFlight === '0') ? rows : undefined;
  });
  expect(reserves.map(({ difference }) => difference)).toEqual(reserves.map(() => '0'));
  const owed = reserves
    .filter(({ asset }) => asset === 'USDC')
    .reduce((sum, row) => sum + BigInt(Math.round(Number(row.owed) * 1e6)), 0n);
  expect(owed + (await heldBy(networks, outside))).toBe(minted);
  expect((await verifyLedger(database.db)).problems).toEqual([]);
  expect(await reconcile({ db: database.db, networks, sagas })).toEqual([]);
}

async function heldBy(networks: Networks, address: `0x${string}`): Promise<bigint> {
  let sum = 0n;
  for (const [id, { client }] of networks) {
    const token = { address: chains[id].tokens.USDC, abi: tokenAbi } as const;
    sum += await client.readContract({ ...token, functionName: 'balanceOf', args: [address] });
  }
  return sum;
}
