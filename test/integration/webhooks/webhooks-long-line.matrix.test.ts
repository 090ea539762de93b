import { describe, expect, it } from 'vitest';
import { transferEvents } from '../../../src/payments/transfers/transfer-posting.ts';
import { claimDeliveries, findDueWebhooks } from '../../../src/webhooks/claim.ts';
import { fanOut } from '../../../src/webhooks/fan-out.ts';
import { isMatrix } from '../../support/matrix.ts';
import { startReceiver } from '../../support/receiver.ts';
import { useWebhooks } from '../../support/webhooks.ts';

const world = useWebhooks();
const receiver = await startReceiver();
const other = await startReceiver();

describe('a long line', () => {
  it('of one webhook is in nobody else’s way, and is taken a few at a time', async () => {
    const { db } = world;
    const count = isMatrix ? 200_000 : 20_000;
    const [long, short] = [await world.addPayer(receiver), await world.addPayer(other)];
    // Some at a time: all of them would take longer than a statement may, where others work too.
    for (let first = 1; first <= count; first += 20_000) {
      await db.query(
        `INSERT INTO webhook_deliveries (id, account_id, webhook_id, event_id, event, body, created_at)
       SELECT 'dlv_' || n, $1, $2, 'evt_' || n, 'payment.sent', '{}', now() FROM generate_series($3::int, $3::int + 19999) n`,
        [long.id, long.webhookId, first],
      );
    }
    await world.pay(short.id, 1);
    await fanOut(db, transferEvents);
    const { due } = await findDueWebhooks(db, '');
    expect(due.map(({ id }) => id)).toEqual(expect.arrayContaining([long.webhookId, short.webhookId]));
    const wanted = [
      { webhookId: long.webhookId, most: 3 },
      { webhookId: short.webhookId, most: 3 },
    ];
    const claimed = await claimDeliveries(db, wanted, 60_000);
    expect(claimed.filter(({ webhookId }) => webhookId === long.webhookId)).toHaveLength(3);
    expect(claimed.filter(({ webhookId }) => webhookId === short.webhookId)).toHaveLength(1);
    await db.query('DELETE FROM webhook_deliveries WHERE webhook_id = ANY ($1)', [[long.webhookId, short.webhookId]]);
  });
});
