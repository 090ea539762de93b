import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { afterAll, expect, test } from 'vitest';
import { startPayingService } from '../support/paying-service.ts';
import { temporaryDataDir } from '../support/process.ts';
import { createShopClient } from '../support/shop-client.ts';
import { until } from '../support/until.ts';

const script = fileURLToPath(new URL('../support/shop-process.mjs', import.meta.url));
const closers: (() => unknown)[] = [];
afterAll(() => Promise.all(closers.map((close) => close())));

/** A shop that comes back after a power cut, and somebody who buys there. */
async function openMortalShop() {
  const dataDir = temporaryDataDir();
  let url = '';
  let child: ChildProcess | undefined;
  const service = await startPayingService({ shopUrl: () => url });
  closers.push(
    () => child?.kill('SIGKILL'),
    () => service.close(),
  );
  return {
    service,
    client: createShopClient({ shopUrl: () => url, service, version: '2026-08-25' }),
    async start() {
      const env = { PATH: process.env['PATH'], DATA_DIR: dataDir, PUBLIC_URL: service.url };
      child = spawn(process.execPath, [script], { env, stdio: ['ignore', 'pipe', 'inherit'] });
      const [line] = (await once(child.stdout as NonNullable<ChildProcess['stdout']>, 'data')) as [Buffer];
      url = line.toString().trim();
    },
    async kill() {
      const ended = once(child as ChildProcess, 'exit');
      child?.kill('SIGKILL');
      await ended;
    },
    async setStock(stock: number) {
      const body = JSON.stringify({ products: { 'stoneware-mug-sea': { stock } } });
      const headers = { 'Content-Type': 'application/json' };
      expect((await fetch(`${url}/switches`, { method: 'POST', headers, body })).status).toBe(200);
    },
    orders: async () =>
      [...(await (await fetch(`${url}/orders`)).text()).matchAll(/href="\/orders\/(HH-\d+)"/g)].length,
  };
}

const mug = '101-1';

test('a shop that is killed while it sells goes on where it was, and has an order for every payment', async () => {
  const shop = await openMortalShop();
  await shop.start();
  await shop.setStock(5);
  const ids = await Promise.all(Array.from({ length: 10 }, () => shop.client.ready(mug)));

  // Two are paid and told so, one is paid and the answer is lost, two hear nothing at all.
  let count = 0;
  shop.service.answerWith((redemption) => {
    count += 1;
    if (count > 3) return 'silence';
    const reply = shop.service.pay(redemption);
    return count === 3 ? 'silence' : reply;
  });
  for (const id of ids) shop.client.complete(id).catch(() => {});
  // Not counting those that are asked for once more because nobody has answered.
  await until('five to be asked for', async () => new Set(shop.service.asked.map(({ key }) => key)).size === 5);
  await shop.kill();

  shop.service.answerWith();
  await shop.start();
  const states = await until('everything to be known', async () => {
    const shown = await Promise.all(ids.map(async (id) => (await shop.client.show(id)).body.status));
    return shown.every((status) => status !== 'complete_in_progress') && shown;
  });
  expect(states.filter((status) => status === 'completed')).toHaveLength(5);
  expect(states.filter((status) => status === 'incomplete')).toHaveLength(5);
  expect(new Set(shop.service.asked.map(({ key }) => key)).size, 'nothing is asked for under a second key').toBe(5);
  expect(await shop.orders()).toBe(5);

  // The shop shows what it is about to write down. What it had not written is paid for again, under the same key.
  await shop.kill();
  await shop.start();
  await until('the orders to be there again', async () => (await shop.orders()) === 5);
  expect(new Set(shop.service.asked.map(({ key }) => key)).size).toBe(5);
});
