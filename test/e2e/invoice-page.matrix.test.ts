import { beforeAll, describe, expect, it } from 'vitest';
import type { TestAccount } from '../support/client.ts';
import { useInvoices } from '../support/invoices.ts';
import { brightness, describeInBrowser, inEveryLook, sizes, tooWide } from '../support/pages.ts';
import { useService } from '../support/service.ts';

const service = useService();
const { funded, ask, pay, cancel } = useInvoices(() => service.client);

const hostile = `<img src=x onerror="document.title='taken'"><script>document.title='taken'</script>`;
let payer: TestAccount;
let sender: TestAccount;
beforeAll(async () => {
  payer = await funded(100);
  sender = await service.client.register({ name: `${'Wolfeschlegelsteinhausen'.repeat(4)}${hostile}` });
});

describe('the page of an invoice', () => {
  it('is there for whoever has its address, without a key, and tells nothing else', async () => {
    const email = 'somebody-quiet@example.com';
    const { body } = await ask(sender, { toEmail: email }, { description: 'Research' });
    const page = await (await fetch(body.pageUrl)).text();
    expect(page).toContain('Research');
    expect(page).toContain(sender.handle);
    for (const secret of [email, sender.email, payer.handle, 'example.com', 'recipient']) {
      expect(page.toLowerCase()).not.toContain(secret.toLowerCase());
    }
    const byHandle = (await ask(sender, { toHandle: payer.handle }, { amount: 1 })).body;
    const paid = (await pay(payer, byHandle.id)).body;
    const after = await (await fetch(byHandle.pageUrl)).text();
    expect(after).toContain('Paid');
    for (const secret of [payer.handle, payer.email, paid.transferId]) expect(after).not.toContain(secret);
  });

  it('is not found by the id of the invoice, nor by anything else', async () => {
    const { body } = await ask(sender, { toHandle: payer.handle });
    const token = body.pageUrl.split('/').at(-1);
    const turned = token.replace(/[a-z]/i, (letter: string) =>
      letter === letter.toLowerCase() ? letter.toUpperCase() : letter.toLowerCase(),
    );
    for (const wrong of [body.id, turned, token.slice(1), `${token}0`, '%00', "'--", 'x'.repeat(400), '..%2f']) {
      const reply = await fetch(`${service.url}/invoice/${wrong}`);
      expect([wrong, reply.status]).toEqual([wrong, 404]);
      expect(await reply.text()).not.toContain(sender.handle);
    }
    expect((await fetch(body.pageUrl, { method: 'HEAD' })).status).toBe(200);
    expect((await fetch(body.pageUrl, { method: 'POST' })).status).toBe(404);
  });

  it('is not counted against anybody’s limit of requests', async () => {
    const { body } = await ask(sender, { toHandle: payer.handle });
    expect((await fetch(body.pageUrl)).headers.get('ratelimit')).toBeNull();
  });
});

describeInBrowser('in a browser', (open) => {
  inEveryLook('fits a $size, $colorScheme, whatever a stranger writes into it', async ({ viewport, colorScheme }) => {
    const { body } = await ask(
      sender,
      { toHandle: payer.handle },
      {
        amount: 123_456_789.123456,
        description: `${'x'.repeat(200)} ${hostile} ${'word '.repeat(30)}`,
        dueAt: '2099-09-30T23:59:59Z',
      },
    );
    const { page, trouble, foreignTo } = await open(body.pageUrl, { viewport, colorScheme });
    expect(await trouble()).toEqual([]);
    expect(await foreignTo(service.url)).toEqual([]);
    expect(await page.title()).toContain('123,456,789.123456 USDC for Wolfeschlegel');
    expect(await page.locator('main img, main script').count()).toBe(0);
    expect(await page.locator('.amount').innerText()).toMatch(/^123,456,789\.123456\s+USDC$/);
    expect(await page.locator('.what').innerText()).toContain(hostile);
    expect(await tooWide(page)).toEqual([]);
    const code = await page.locator('svg.qr').boundingBox();
    expect(code?.width).toBeGreaterThan(150);
    expect(code?.width).toBeCloseTo(code?.height ?? 0, 0);
    if (colorScheme === 'light') expect(await brightness(page)).toBeGreaterThan(600);
    else expect(await brightness(page)).toBeLessThan(150);
  });

  it('shows what has become of it when it is looked at again', async () => {
    const open1 = async (end: (id: string) => Promise<unknown>) => {
      const { body } = await ask(sender, { toHandle: payer.handle }, { amount: 1 });
      const { page } = await open(body.pageUrl, { viewport: sizes.phone });
      const before = await page.locator('.status').innerText();
      const payable = await page.locator('figure.code').count();
      await end(body.id);
      await page.reload();
      const after = await page.locator('.status').innerText();
      const stillPayable = await page.locator('figure.code').count();
      return [before, payable, after, stillPayable];
    };
    expect(await open1((id) => pay(payer, id))).toEqual(['Waiting for payment', 1, 'Paid', 0]);
    expect(await open1((id) => cancel(sender, id))).toEqual(['Waiting for payment', 1, 'Cancelled', 0]);
  });

  it('gives a command that pays it', async () => {
    const { body } = await ask(sender, { toHandle: payer.handle }, { amount: 1 });
    const { page } = await open(body.pageUrl, { viewport: sizes.desktop, javaScriptEnabled: false });
    const command = await page.locator('figure.code code').innerText();
    const [, address = ''] = /^curl -X POST (\S+) /.exec(command) ?? [];
    const [, key = ''] = /Idempotency-Key: (\S+)"/.exec(command) ?? [];
    const send = () =>
      fetch(address, { method: 'POST', headers: { authorization: `Bearer ${payer.key}`, 'idempotency-key': key } });
    const [first, second] = [await send(), await send()];
    expect([first.status, second.status]).toEqual([200, 200]);
    expect(await second.json()).toEqual(await first.json());
  });

  it('says so in a friendly way where there is none', async () => {
    const { page } = await open(`${service.url}/invoice/nothing`, { viewport: sizes.phone });
    expect(await page.locator('h1').innerText()).toBe('Invoice not found');
    expect(await tooWide(page)).toEqual([]);
  });
});
