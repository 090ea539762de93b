import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import type { Browser, Page } from 'playwright-core';
import { runPaywright } from '../src/app/main.ts';
import { readSettings } from '../src/app/read-settings.ts';
import { type Database, openDatabase } from '../src/kernel/db/database.ts';
import { createLogger } from '../src/kernel/log/logger.ts';
import { findBrowser, launchBrowser } from '../test/support/browser.ts';
import { type Client, createClient } from '../test/support/client.ts';
import { addressOf, askForLink, endLink, payFromWallet, type TestLink } from '../test/support/funding.ts';
import { startBenchServer } from './bench-database.ts';

/** Takes pictures of the pages that people see, in every state, for docs/images. */
const [folder = 'docs/images', every] = process.argv.slice(2);

/** What the README and the documentation show. */
const kept = new Set([
  'buy-phone-light.png',
  'paid-phone-dark.png',
  'buy-desktop-light.png',
  'home-desktop-light.png',
  'approve-phone-light.png',
]);
const sizes = { phone: { width: 375, height: 812 }, desktop: { width: 1280, height: 900 } };

const server = await startBenchServer();
const logger = createLogger('warn');
const url = await server.createDatabase('screenshots', 'empty');
const config = readSettings({ PORT: '8402', DATABASE_URL: url, RATE_LIMIT_ANONYMOUS_PER_MINUTE: '0' });
const service = await runPaywright({ config, logger, roles: { serve: true, work: true }, say: () => {} });
const db = openDatabase({ url, poolSize: 2, logger });
const found = await findBrowser();
const browser = found && (await launchBrowser(found));
try {
  if (browser === undefined) throw new Error('there is no browser here to look at pages with');
  mkdirSync(folder, { recursive: true });
  await takeAll(browser, db, service.publicUrl ?? '');
} finally {
  await browser?.close();
  await db.close();
  await service.stop();
  await server.stop();
}

async function takeAll(window: Browser, database: Database, origin: string): Promise<void> {
  const client = createClient(origin);
  const ada = await client.register({ name: 'Ada’s travel agent', email: 'ada@example.com' });
  const ask = () => askForLink(client, ada, 25);
  const take = (name: string, address: string, prepare?: (page: Page) => Promise<unknown>) =>
    takePictures(window, { name, address, ...(prepare && { prepare }) });

  await take('home', `${origin}/`);
  await takeApproval(window, client);
  const open = await ask();
  await take('buy', open.url);
  await take('card-company', open.url, (page) => page.getByRole('link', { name: 'Pay by card' }).click());
  await take('refused', open.url, async (page) => {
    await page.getByRole('link', { name: 'Pay by card' }).click();
    await page.getByRole('button', { name: 'Card declined' }).click();
    await page.locator('.progress .remark').waitFor();
  });
  await pretend(database, open, { confirmations: 11, final: false });
  await take('seen', open.url);
  await pretend(database, open, { confirmations: 32, final: true });
  await take('confirmed', open.url);
  await pretend(database, open, undefined);

  await payFromWallet(client, { to: await addressOf(client, ada), amount: 10 });
  await until(async () => (await client.get('/circle/balance', ada.key)).body.USDC === '10');
  await take('less', open.url);
  await payFromWallet(client, { to: await addressOf(client, ada), amount: 25 });
  await until(async () => (await client.get(`/circle/buy-sessions/${open.id}`, ada.key)).body.status === 'completed');
  await take('paid', open.url);
  const late = await ask();
  await endLink(database, late.id);
  await take('expired', late.url);
  await take('missing', `${origin}/buy?token=nothing`);
}

/** The owner of a shopping agent is asked about a mug. */
async function takeApproval(window: Browser, client: Client): Promise<void> {
  const owner = await client.register({ name: 'Ada', email: 'ada.lovelace@example.com' });
  await client.post('/sandbox/fund', { amount: 100 }, owner.key);
  const { id, apiKey } = (await client.post('/account/keys', { name: 'Shopping agent' }, owner.key)).body;
  const body = {
    rules: [{ effect: 'ask', counterpartyIs: 'new' }, { effect: 'allow' }],
    budgets: [{ id: 'daily', amount: 40, currency: 'USDC', window: 'day' }],
  };
  await client.request('PUT', `/account/keys/${id}/policy`, { key: owner.key, body });
  const asked = await client.post(
    '/shopping/buy',
    {
      website: 'demo-shop.example',
      productTitle: 'Stoneware Mug, Sea',
      productBrand: 'Alder Pottery',
      amount: 30,
      paymentMethod: 'usdc',
      shippingAddress: 'Ada, 1 Main St, 94105 San Francisco, US',
      note: 'The blue mug that you liked last week. It is back in stock.',
    },
    apiKey,
  );
  await takePictures(window, {
    name: 'approve',
    address: asked.body.url,
    prepare: async (page) => {
      await page.fill('#email', owner.email);
      await page.fill('#password', owner.password);
      await page.click('main .button');
      await page.waitForURL('**/approve/*');
    },
  });
}

/** On a local chain everything is final at once, so what takes minutes on a real one is written down by hand. */
async function pretend(
  database: Database,
  { id }: TestLink,
  seen: { readonly confirmations: number; readonly final: boolean } | undefined,
): Promise<void> {
  const arriving = seen === undefined ? [] : [{ txHash: '0x', atomic: '25000000', confirmations: seen.confirmations }];
  await database.query(
    `UPDATE funding_looks SET next_at = clock_timestamp() + make_interval(secs => ${seen === undefined ? 0 : 60})`,
  );
  await database.query('UPDATE funding_links SET arriving = $2, seen_tx = $3, seen_final = $4 WHERE id = $1', [
    id,
    JSON.stringify(arriving),
    seen === undefined ? null : '0x',
    seen?.final ?? false,
  ]);
}

interface Shot {
  readonly name: string;
  readonly address: string;
  readonly prepare?: (page: Page) => Promise<unknown>;
}

async function takePictures(window: Browser, { name, address, prepare }: Shot): Promise<void> {
  for (const [size, viewport] of Object.entries(sizes)) {
    for (const colorScheme of ['light', 'dark'] as const) {
      const file = `${name}-${size}-${colorScheme}.png`;
      if (every === undefined && !kept.has(file)) continue;
      const page = await window.newPage({ viewport, colorScheme, reducedMotion: 'reduce' });
      await page.goto(address);
      await prepare?.(page);
      await page.waitForTimeout(300);
      await page.screenshot({
        path: join(folder, file),
        fullPage: size === 'phone' && (every !== undefined || name === 'approve'),
      });
      await page.close();
    }
  }
}

async function until(look: () => Promise<boolean>): Promise<void> {
  for (let left = 200; left > 0; left--) {
    if (await look()) return;
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  throw new Error('waited in vain');
}
