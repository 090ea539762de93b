// A thread in which only what every web-standard runtime has is left, before the SDK is loaded. Runs the functions that it is sent by name.
import { parentPort, workerData } from 'node:worker_threads';

const web =
  'AbortController AbortSignal Blob DOMException Event EventTarget Headers ReadableStream Request Response TextDecoder TextEncoder URL URLSearchParams atob btoa clearTimeout console crypto fetch globalThis setTimeout structuredClone'.split(
    ' ',
  );
// Node loads its own fetch at the first use, and for that it needs some of them.
await fetch('data:,');
const ofNode = Object.getOwnPropertyNames(globalThis).filter((name) => !web.includes(name) && !isOfLanguage(name));
for (const name of ofNode) delete globalThis[name];

/** What the language itself has. */
function isOfLanguage(name) {
  return /^(?:Object|Function|Array|Number|parseFloat|parseInt|Infinity|NaN|undefined|Boolean|String|Symbol|Date|Promise|RegExp|Error|\w+Error|JSON|Math|Intl|\w*Array(?:Buffer)?|DataView|Map|BigInt|Set|Weak\w+|Proxy|Reflect|FinalizationRegistry|decodeURI\w*|encodeURI\w*|escape|unescape|eval|isFinite|isNaN|Iterator|Atomics|WebAssembly)$/.test(
    name,
  );
}

const { Paywright, verifyWebhook } = await import(workerData.sdk);
const { baseUrl, payer, to, webhook } = workerData;
const paywright = new Paywright({ baseUrl, apiKey: payer });

const paid = await paywright.transfers.create({ to, amount: 1, currency: 'USDC' });
const listed = [];
for await (const { transferId } of paywright.transfers.list({ limit: 1 })) listed.push(transferId);
const events = [];
for await (const { event } of paywright.shopping.streamProducts({ q: 'mug', website: 'demo-shop.example' }))
  events.push(event);
const bought = await paywright.fetch(`${baseUrl}/nano/quote?amount=10&currency=USDC&action=transfer`, {
  maxAmount: 0.01,
});
const refused = await paywright.transfers.create({ to, amount: 1, currency: 'USDC' }).catch(({ code }) => code);
const { type } = await verifyWebhook(webhook.body, webhook.headers, webhook.secret);
parentPort.postMessage({
  removed: ofNode.filter((name) => name in globalThis === false),
  paid,
  listed,
  events,
  bought: { paid: bought.paid, answer: await bought.json() },
  refused,
  type,
});
