import { afterAll, expect, it } from 'vitest';
import { violations } from '../support/axe.ts';
import { openDemoShop } from '../support/demo-shop.ts';
import { describeInBrowser, inEveryLook, sizes, tooWide } from '../support/pages.ts';
import { address } from '../support/shop-client.ts';

const { shopUrl, clientOf, close } = await openDemoShop();
afterAll(close);
const client = clientOf();

const long = 'Donaudampfschifffahrtsgesellschaft'.repeat(3);
const hostile = `<script>document.title='taken'</script>`;

/** One after the other: the newest comes first on the page. */
async function buy(itemId: string, to: Partial<typeof address> = {}): Promise<string> {
  const { body } = await client.create(itemId);
  await client.update(body.id, itemId, { to: { ...address, ...to } });
  const completed = await client.complete(body.id);
  return completed.body.order?.id ?? '';
}

describeInBrowser('the orders of the demo shop', (open) => {
  it('are none at first, and the page says so', async () => {
    const { page, trouble } = await open(`${shopUrl()}/orders`, { viewport: sizes.phone });
    expect(await page.getByRole('link', { name: 'Orders' }).getAttribute('href')).toBe('/orders');
    expect(await page.locator('h1').innerText()).toBe('No orders yet');
    expect(await violations(page, 'everything')).toEqual([]);
    expect(await tooWide(page)).toEqual([]);
    expect(await trouble()).toEqual([]);
  });

  inEveryLook('stand on the page, the newest first, on a $size, $colorScheme', async ({ viewport, colorScheme }) => {
    const first = await buy('101-1');
    const second = await buy('102-1', { first_name: hostile, last_name: '', address_locality: long });
    const { page, trouble, foreignTo } = await open(`${shopUrl()}/orders`, { viewport, colorScheme });
    const rows = page.locator('.orders li');
    expect(await rows.nth(0).innerText()).toContain(second);
    expect(await rows.nth(1).innerText()).toMatch(
      new RegExp(`Stoneware Mug, Sea\\s+${first} · Ada Lovelace, San Francisco\\s+\\$24\\.00\\s+Paid`),
    );
    expect(await tooWide(page)).toEqual([]);
    expect(await violations(page, 'everything')).toEqual([]);

    await rows.nth(1).getByRole('link').click();
    expect(await page.locator('h1').innerText()).toBe(`Order ${first}`);
    expect(await page.locator('.receipt').innerText()).toMatch(
      /Stoneware Mug, Sea\s+1 × \$24\.00\s+\$24\.00\s+Standard shipping\s+\$0\.00\s+Total, tax included\s+\$24\.00\s+Goes to\s+Ada Lovelace, San Francisco/,
    );
    expect(await page.title()).toBe(`Order ${first} – Harbour & Hearth`);
    expect(await tooWide(page)).toEqual([]);
    expect(await violations(page, 'everything')).toEqual([]);
    await page.goto(`${shopUrl()}/orders/${second}`);
    expect(await page.title(), 'what a stranger writes does not run').not.toBe('taken');
    expect(await tooWide(page)).toEqual([]);
    expect(await trouble()).toEqual([]);
    expect(await foreignTo(shopUrl())).toEqual([]);
  });
});
