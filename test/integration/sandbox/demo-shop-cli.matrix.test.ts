// @module-tag thorough
import { execFile } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { openDemoShop } from '../../support/demo-shop.ts';
import { oneOfMany } from '../../support/matrix.ts';
import { address, paymentWith } from '../../support/shop-client.ts';

const program = fileURLToPath(new URL('../../../node_modules/@shopify/ucp-cli/dist/bin.js', import.meta.url));
const shop = await openDemoShop();
let home: string;
beforeAll(async () => {
  home = await mkdtemp(join(tmpdir(), 'ucp-cli-'));
});
afterAll(async () => {
  await shop.close();
  await rm(home, { recursive: true, force: true });
});

// biome-ignore lint/suspicious/noExplicitAny: whatever it prints
type Told = any;

/** Shopify's own command line, as a stranger has it: with nothing of this machine but a folder of its own. */
function ucp(...args: string[]): Promise<{ code: number; told: Told; output: string }> {
  const env = {
    PATH: process.env['PATH'] ?? '',
    HOME: home,
    XDG_CONFIG_HOME: home,
    XDG_CACHE_HOME: home,
    UCP_HOME: join(home, 'ucp'),
    UCP_STRICT_SCHEMA: '1',
    UCP_TEST_ALLOW_INSECURE_LOCALHOST: 'true',
    NO_COLOR: '1',
  };
  return new Promise((resolve) => {
    execFile(
      process.execPath,
      [program, ...args, '--format', 'json'],
      { env, cwd: home, timeout: 60_000 },
      (error, stdout, stderr) => {
        const output = stdout + stderr;
        let told: Told;
        try {
          told = JSON.parse(stdout);
        } catch {
          told = undefined;
        }
        resolve({ code: error === null ? 0 : 1, told, output });
      },
    );
  });
}

describe.each(['2026-08-25', '2026-04-08'] as const)('Shopify’s command line, speaking %s', (version) => {
  const isRepresentative = version === '2026-08-25';
  const at = () => ['--business', shop.shopUrl(), '--profile', `agent-${version}`];

  beforeAll(async () => {
    const path = version === '2026-04-08' ? '/.well-known/ucp/2026-04-08' : '/.well-known/ucp';
    const made = await ucp(
      'profile',
      'init',
      '--name',
      `agent-${version}`,
      '--version',
      version,
      '--profile-url',
      `${shop.service.url}${path}`,
    );
    expect(made.code, made.output).toBe(0);
  });

  test('finds a thing, begins, pays, looks and cancels', oneOfMany({ isRepresentative }), async () => {
    const run = async (...args: string[]) => {
      const { code, told, output } = await ucp(...args, ...at());
      expect(code, output).toBe(0);
      return told.result ?? told;
    };
    const found = await run('catalog', 'search', '--set', '/query=Stoneware Mug, Sea');
    expect(found.products[0]).toMatchObject({ title: 'Stoneware Mug, Sea' });
    const itemId = found.products[0].variants[0].id;
    const looked = await run('catalog', 'lookup', '--input', JSON.stringify({ ids: [itemId, 'nothing'] }));
    expect(looked.products[0].variants[0]).toMatchObject({ id: itemId, inputs: [{ id: itemId, match: 'exact' }] });
    expect((await run('catalog', 'get_product', found.products[0].id)).product.title).toBe('Stoneware Mug, Sea');

    const line_items = [{ item: { id: itemId }, quantity: 1 }];
    const method = { type: 'shipping', destinations: [address] };
    const begun = await run(
      'checkout',
      'create',
      '--input',
      JSON.stringify({ line_items, fulfillment: { methods: [method] } }),
    );
    expect(begun.status).toBe('incomplete');
    const chosen = { ...method, groups: [{ id: 'parcel', selected_option_id: 'standard' }] };
    const input = {
      line_items: begun.line_items.map(({ id }: { id: string }) => ({ id, ...line_items[0] })),
      fulfillment: { methods: [chosen] },
    };
    const ready = await run('checkout', 'update', begun.id, '--input', JSON.stringify(input));
    expect([ready.id, ready.status]).toEqual([begun.id, 'ready_for_complete']);
    const paid = await run('checkout', 'complete', begun.id, '--input', JSON.stringify(paymentWith(`tok_${version}`)));
    expect(paid).toMatchObject({ id: begun.id, status: 'completed', order: { id: expect.stringMatching(/^HH-/) } });
    expect(shop.service.asked.at(-1)).toMatchObject({ verified: true, body: { checkout_id: begun.id, amount: 2400 } });
    expect((await run('checkout', 'get', begun.id)).order).toEqual(paid.order);
    const other = await run('checkout', 'create', '--input', JSON.stringify({ line_items }));
    expect((await run('checkout', 'cancel', other.id)).status).toBe('canceled');
  });

  test.each(['', 'zzzzqqq'])('finds nothing for "%s"', oneOfMany({ isRepresentative: false }), async (query) => {
    const { told, output } = await ucp('catalog', 'search', '--set-string', `/query=${query}`, ...at());
    expect((told?.result ?? told)?.products, output).toEqual([]);
  });
});
