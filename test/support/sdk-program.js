import { Paywright, verifyWebhook } from '../../packages/sdk/src/index.js';

/** Uses every part of the SDK, wherever it runs. */
export async function run({ baseUrl, payer, to, webhook }) {
  const paywright = new Paywright({ baseUrl, apiKey: payer });
  const paid = await paywright.transfers.create({ to, amount: 1, currency: 'USDC' });
  const listed = [];
  for await (const { transferId } of paywright.transfers.list({ limit: 1 })) listed.push(transferId);
  const events = [];
  const search = paywright.shopping.streamProducts({ q: 'mug', website: 'demo-shop.example' });
  for await (const { event } of search) events.push(event);
  const url = `${baseUrl}/nano/quote?amount=10&currency=USDC&action=transfer`;
  const bought = await paywright.fetch(url, { maxAmount: 0.01 });
  const refused = await paywright.transfers.create({ to, amount: 1, currency: 'USDC' }).catch(({ code }) => code);
  const { type } = await verifyWebhook(webhook.body, webhook.headers, webhook.secret);
  const ofNode = ['process', 'Buffer', 'global', 'require', 'setImmediate'].filter((name) => name in globalThis);
  // As text, because it may come from another realm.
  const answer = {
    ofNode,
    paid,
    listed,
    events,
    bought: { paid: bought.paid, answer: await bought.json() },
    refused,
    type,
  };
  return JSON.stringify(answer);
}
