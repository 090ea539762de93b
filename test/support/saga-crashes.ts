import { randomUUID } from 'node:crypto';
import type { Hex } from 'viem';
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts';
import { describe, expect, test } from 'vitest';
import { connectLocalChains } from '../../sandbox/chains/local-chains.ts';
import { features } from '../../src/app/features.ts';
import { sagasOf } from '../../src/app/listed-feature.ts';
import type { Saga } from '../../src/kernel/sagas/define-saga.ts';
import { listOpenSagas } from '../../src/kernel/sagas/list-sagas.ts';
import type { Amount } from '../../src/money/amount.ts';
import { complaintsAbout } from '../emulators/circle/published.ts';
import { useChains } from './chains.ts';
import { useCircleWorld } from './circle-world.ts';
import { type TestDatabase, useDatabase } from './database.ts';
import { isMatrix } from './matrix.ts';
import { type MortalService, useMortalServices } from './mortal-service.ts';
import { receiptsOf } from './nano.ts';
import { runCommand } from './process.ts';
import { checkBudget, checkMoney, makeAgent, mintedFor, rehearse, rehearseCall } from './rehearsals.ts';
import { until } from './until.ts';

// Every saga that is listed, and every place that it declares. A new saga needs no new line here.
//
// What it costs is starts of the service: with keys one for each place and two more in some sagas, with another provider three,
// and one that comes to the end. A start is a second or two of one core, most of it loading code, and hardly anything is waited
// for besides: a saga is taken up before its process is ready. So what makes a start cheaper makes this test cheaper by the same
// share, and `npm test` takes one saga of each provider, at a few places.
const sagas = sagasOf(features);
const providers = ['keys', 'circle'] as const;
const rehearsals = sagas.flatMap((saga) =>
  [{ ...saga.rehearsal, checkpoints: saga.checkpoints }, ...(saga.otherRehearsals ?? [])].map((rehearsal, index) => ({
    saga,
    rehearsal,
    isFirst: index === 0,
    minted: mintedFor(rehearsal),
  })),
);

/**
 * A step is the same code in every saga: what a provider does is tried once for each thing it is asked to do, to pay, to call and
 * to sign.
 */
const stepsOfProviders = new Map([
  ['withdrawal', 'withdrawal.pay'],
  ['bridge', 'bridge.burn'],
  ['sweep', 'sweep.submit'],
]);

/**
 * With keys of our own every place that is declared, and the two where they sign and send. Another provider makes a difference
 * only where it is asked and answers.
 */
function placesOf(
  { name }: Saga,
  { checkpoints }: { readonly checkpoints: readonly string[] },
  provider: string,
): readonly string[] {
  const step = stepsOfProviders.get(name);
  if (provider !== 'keys')
    return checkpoints.filter((place) => /\.(asked|taken|confirmed)$/.test(place) && place.startsWith(`${step}.`));
  return checkpoints.flatMap((place) =>
    place === `${step}.asked` ? [place, 'transaction.signed', 'transaction.sent'] : [place],
  );
}

/**
 * Where `npm test` ends the process: just before the books and a provider part ways, and after a transaction was signed and before
 * anybody else has it. A sweep signs as well, so the first place is one of the saga's own.
 */
const representatives: Partial<Record<string, readonly string[]>> = {
  'keys withdrawal USDC': ['withdrawal.reserved', 'transaction.signed'],
};

/** So that several processes share the work: two groups by name, and whatever else there is. */
export type Group = 'bridges and swaps' | 'withdrawals and purchases' | 'all others';

const groups: Readonly<Record<string, Group>> = {
  bridge: 'bridges and swaps',
  swap: 'bridges and swaps',
  withdrawal: 'withdrawals and purchases',
  purchase: 'withdrawals and purchases',
  order: 'withdrawals and purchases',
};

/** Ends the process of every saga of a group at each of its places. */
export function describeCrashes(group: Group): void {
  describe.each(providers)('with %s', (provider) => {
    const able = rehearsals
      .filter(({ saga }) => (groups[saga.name] ?? 'all others') === group)
      .filter(({ rehearsal }) => !rehearsal.notWith?.includes(provider))
      .filter(({ saga, isFirst }) => provider === 'keys' || (isFirst && stepsOfProviders.has(saga.name)))
      .map((row) => ({ ...row, few: representatives[`${provider} ${row.saga.name} ${row.minted.asset}`] }));

    describe.each(able)('a $saga.name of $minted.asset', ({ saga, rehearsal, minted, few }) => {
      const every = placesOf(saga, rehearsal, provider);
      const places = isMatrix ? every : every.filter((place) => few?.includes(place));
      const where = isMatrix || few === undefined ? 'every place' : 'a few places';
      const database = useDatabase();
      const world = provider === 'circle' ? useCircleWorld(database) : undefined;
      // Chains go on when a service ends, here as anywhere; and whoever joins them has less to start.
      if (world === undefined) useChains(database);
      const start = world?.start ?? useMortalServices(database);

      const options = { tags: [few === undefined ? ('matrix' as const) : ('longer' as const)], timeout: 600_000 };
      test(`survives the end of its process at ${where}, and nothing is lost or doubled`, options, async () => {
        if (!isMatrix) expect(places).toEqual(few);
        const outsider = privateKeyToAccount(generatePrivateKey());
        const outside = outsider.address;
        // How the money comes in passes no place of what is asked for only then, so one process serves for both.
        const first = await start('commands' in rehearsal ? 'never' : (places[0] ?? ''));
        const begun = await fund(database, first, minted, 'call' in rehearsal ? outside : undefined);
        if (!('deposit' in rehearsal || 'call' in rehearsal)) await isSwept(database);
        const request = 'request' in rehearsal ? rehearse(rehearsal.request, begun.agent, outside) : undefined;
        const call = 'call' in rehearsal ? await rehearseCall(first.client, rehearsal.call, outsider) : undefined;

        let service = begun.service;
        // Its answer may be lost with the process, or have left just before.
        await request?.(service.client).catch(() => {});
        await call?.(service.client).catch(() => {});
        if ('commands' in rehearsal) {
          const env = { DATABASE_URL: database.url };
          for (const command of rehearsal.commands)
            expect(await runCommand(command, { dataDir: '', env })).toMatchObject({ code: 0 });
          await service.kill();
          service = await start(places[0] ?? '');
        }
        expect(await service.ended, places[0]).toBe('SIGKILL');
        for (const place of places.slice(1)) {
          const next = await start(place);
          if (call !== undefined) {
            // Nobody but whoever calls goes on with what was claimed and not served, once it is nobody's any more.
            await database.db.query(
              'UPDATE payment_claims SET leased_until = clock_timestamp() WHERE served_at IS NULL',
            );
            void call(next.client).catch(() => {});
          }
          expect(await next.ended, place).toBe('SIGKILL');
        }

        const last = await start('never');
        await until(
          'everything to be finished',
          async () => (await listOpenSagas(database.db, sagas)).length === 0,
          90_000,
        );
        const { rows } = await database.db.query<{ id: string; status: string }>(
          `SELECT id, status FROM ${saga.table}`,
        );
        expect(rows.length).toBeGreaterThan(0);
        expect(rows.filter(({ status }) => status !== rehearsal.endsAs)).toEqual([]);
        if (request !== undefined) {
          const again = await request(last.client);
          expect(again.status).toBe(200);
          expect(valuesIn(again.body)).toContain(rows[0]?.id);
          expect(rows).toHaveLength(1);
        }
        if (call !== undefined) {
          // Sent again with the same payment it is answered again, and was settled once.
          const again = await call(last.client);
          expect(again.status).toBe(200);
          expect(receiptsOf(again).second.transaction).toMatch(/^0x[0-9a-f]{64}$/);
          expect(rows).toHaveLength(1);
        }
        await checkMoney(database, last.client, { outside: [outside], minted });
        if (request !== undefined) await checkBudget(last.client, { key: begun.agent, minted });
        if (world !== undefined) expect(complaintsAbout(world.emulator.exchanges)).toEqual([]);
      });
    });
  });
}

/** Somebody with money, which came in as all money does; or somebody outside, who keeps it. */
async function fund(
  database: TestDatabase,
  service: MortalService,
  { asset, atomic }: Amount,
  outside: Hex | undefined,
) {
  const { key } = await service.client.register();
  const agent = await makeAgent(service.client, key);
  const depositAddress = outside ?? (await service.client.get('/account', key)).body.depositAddress;
  const { faucet } = await connectLocalChains(database);
  // At the faucet MATIC is the native coin.
  const token = asset === 'MATIC' ? 'WMATIC' : asset;
  await faucet.mint({ id: randomUUID(), chain: 'MATIC', asset: token, to: depositAddress, atomic });
  return { agent: agent.apiKey, service };
}

function isSwept({ db }: TestDatabase) {
  return until('the deposit to be swept', async () => {
    const { rows } = await db.query('SELECT FROM deposits WHERE swept_at IS NOT NULL');
    return rows.length > 0;
  });
}

/** Everything that an answer says, however deep. */
function valuesIn(body: unknown): unknown[] {
  return typeof body === 'object' && body !== null ? Object.values(body).flatMap(valuesIn) : [body];
}
