import { createHmac, randomUUID } from 'node:crypto';

const secretKey = `sk_test_${randomUUID()}`;
const webhookKey = `wk_test_${randomUUID()}`;
const apiKey = 'pk_test_123';

/** What MoonPay does with an address that we have signed, and with what it tells us. It is asked for nothing, so it needs no server. */
export const moonPay = {
  url: 'http://127.0.0.1:9/moonpay',
  env: {
    MOONPAY_API_KEY: apiKey,
    MOONPAY_SECRET_KEY: secretKey,
    MOONPAY_WEBHOOK_KEY: webhookKey,
    MOONPAY_URL: 'http://127.0.0.1:9/moonpay',
  },

  /** The query of a signed address; undefined when the signature is not last or not of what is before it. */
  open(address: string): Readonly<Record<string, string>> | undefined {
    const query = address.slice(address.indexOf('?'));
    const [signed = '', signature = '', ...more] = query.split('&signature=');
    const expected = createHmac('sha256', secretKey).update(signed).digest('base64');
    if (more.length > 0 || decodeURIComponent(signature) !== expected) return undefined;
    return Object.fromEntries(new URLSearchParams(signed));
  },

  sign(body: string, { atMs = Date.now(), secret = webhookKey } = {}): Record<string, string> {
    const time = Math.floor(atMs / 1_000);
    const digest = createHmac('sha256', secret).update(`${time}.${body}`).digest('hex');
    return { 'content-type': 'application/json', 'moonpay-signature-v2': `t=${time},s=${digest}` };
  },
};
