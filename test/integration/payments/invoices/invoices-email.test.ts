import { beforeAll, describe, expect, test } from 'vitest';
import { freshEmail, type TestAccount } from '../../../support/client.ts';
import { useInvoices } from '../../../support/invoices.ts';
import { useService } from '../../../support/service.ts';

const service = useService({ env: { SANDBOX_AUTO_VERIFY: 'false' } });
const { funded, ask, pay, cancel, see, list, balanceOf } = useInvoices(() => service.client);

async function verify({ key }: TestAccount): Promise<void> {
  const { body } = await service.client.get('/sandbox/messages', key);
  const code = body.messages[0].text.slice(0, 6);
  expect((await service.client.post('/account/email/verify', { code }, key)).status).toBe(200);
}

let ada: TestAccount;
beforeAll(async () => {
  ada = await service.client.register({ name: 'Ada' });
});

describe('an invoice to an email', () => {
  test('waits for whoever registers and verifies it, and is theirs to pay then', async () => {
    const email = freshEmail();
    const { status, body } = await ask(ada, { toEmail: email.toUpperCase() }, { amount: 5 });
    expect([status, body.status, body.toEmail, body.toHandle]).toEqual([201, 'pending', email, null]);

    const grace = await service.client.register({ email });
    expect((await service.client.post('/sandbox/fund', { amount: 10 }, grace.key)).status).toBe(200);
    for (const reply of [await see(grace, body.id), await pay(grace, body.id)]) {
      expect([reply.status, reply.body.code]).toEqual([404, 'invoice_not_found']);
    }
    expect(await list(grace)).toEqual([]);

    await verify(grace);
    expect((await see(grace, body.id)).body).toEqual({ ...body, direction: 'received' });
    expect(await list(grace, '?direction=received&status=pending')).toEqual([{ ...body, direction: 'received' }]);
    expect(await list(grace, '?direction=sent')).toEqual([]);
    const paid = await pay(grace, body.id);
    expect(paid.body).toMatchObject({ status: 'paid', toHandle: grace.handle, toEmail: email });
    expect((await see(ada, body.id)).body).toMatchObject({ status: 'paid', toHandle: grace.handle });
    expect(await balanceOf(grace)).toMatchObject({ USDC: '5', EURC: '0' });
  });

  test('does not tell its sender whether anybody has that email', async () => {
    const [verified, unverified] = [await service.client.register(), await service.client.register()];
    await verify(verified);
    const replies = [];
    for (const toEmail of [freshEmail(), unverified.email, verified.email]) replies.push(await ask(ada, { toEmail }));
    const shapes = replies.map(({ status, headers, body }) => ({
      status,
      headers: [...headers.keys()],
      body: { ...body, id: '', toEmail: '', createdAt: '', pageUrl: '' },
    }));
    expect(shapes[1]).toEqual(shapes[0]);
    expect(shapes[2]).toEqual(shapes[0]);
    const again = await Promise.all(replies.map(({ body }) => see(ada, body.id)));
    expect(again.map(({ body }) => body)).toEqual(replies.map(({ body }) => body));
    expect(again.map(({ body }) => body.toHandle)).toEqual([null, null, null]);
  });

  test('is cancelled without anybody having seen it, and is seen as cancelled later', async () => {
    const email = freshEmail();
    const { id } = (await ask(ada, { toEmail: email })).body;
    expect((await cancel(ada, id)).body).toMatchObject({ status: 'cancelled', toHandle: null });
    const grace = await service.client.register({ email });
    await verify(grace);
    expect((await see(grace, id)).body.status).toBe('cancelled');
    expect((await pay(grace, id)).body.code).toBe('invoice_already_cancelled');
  });

  test('of one’s own is refused, also before it is verified', async () => {
    const { status, body } = await ask(ada, { toEmail: ada.email });
    expect([status, body.code]).toEqual([400, 'self_invoice']);
  });

  test('goes with the email while it is pending, and stays with who paid it', async () => {
    const { db } = service.database;
    const email = freshEmail();
    const [first, second] = [await funded(20), await funded(20)];
    // The interface has no way to change an email yet; an operator has.
    const give = async (account: TestAccount, to: string) =>
      void (await db.query('UPDATE accounts SET email = $2, email_verified_at = now() WHERE handle = $1', [
        account.handle,
        to,
      ]));
    await give(first, email);
    const paid = (await ask(ada, { toEmail: email }, { amount: 1 })).body.id;
    const open = (await ask(ada, { toEmail: email }, { amount: 2 })).body.id;
    expect((await pay(first, paid)).status).toBe(200);

    await give(first, freshEmail());
    await give(second, email);
    expect((await list(first)).map(({ id }) => id)).toEqual([paid]);
    expect((await list(second)).map(({ id }) => id)).toEqual([open]);
    for (const reply of [
      await see(second, paid),
      await pay(second, paid),
      await see(first, open),
      await pay(first, open),
    ]) {
      expect([reply.status, reply.body.code]).toEqual([404, 'invoice_not_found']);
    }
    expect((await pay(second, open)).body).toMatchObject({ status: 'paid', toHandle: second.handle });
    expect((await see(ada, paid)).body.toHandle).toBe(first.handle);
  });

  test('that has come to its sender in the end is not paid to oneself', async () => {
    const [email, sender] = [freshEmail(), await funded(20)];
    const { id } = (await ask(sender, { toEmail: email })).body;
    await service.database.db.query('UPDATE accounts SET email = $2, email_verified_at = now() WHERE handle = $1', [
      sender.handle,
      email,
    ]);
    const { status, body } = await pay(sender, id);
    expect([status, body.code]).toEqual([403, 'not_invoice_recipient']);
    expect((await list(sender)).map((one) => [one.id, one.direction])).toEqual([[id, 'sent']]);
    expect((await cancel(sender, id)).status).toBe(200);
  });
});
