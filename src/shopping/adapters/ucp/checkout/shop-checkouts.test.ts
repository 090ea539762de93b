import { describe, expect, it } from 'vitest';
import { useParser } from '../../../../../test/support/parser.ts';
import { createSigningKey } from '../../../../kernel/signing/signing-key.ts';
import { describeAgent } from '../../../search/agent.ts';
import { createRobotsCache } from '../../../search/merchant-site.ts';
import { createUcpCheckouts } from './shop-checkouts.ts';

const version = '2026-08-25';
const clock = { now: () => 0 };
const parser = useParser();

/** Sites that all serve this profile, and how often each was requested. */
function sitesWith(profile: object) {
  const asked: string[] = [];
  const key = createSigningKey();
  const checkouts = createUcpCheckouts({
    clock,
    parser,
    robots: createRobotsCache({ clock }),
    agent: () => describeAgent('https://pay.example'),
    signingKey: async () => key,
    publicUrl: () => 'https://pay.example',
    outgoing: {
      explainRefusal: () => undefined,
      close: async () => {},
      request: async ({ url }) => {
        const isProfile = url.endsWith('/.well-known/ucp');
        if (isProfile) asked.push(new URL(url).host);
        return {
          status: isProfile ? 200 : 404,
          headers: { 'content-type': 'application/json' },
          body: Buffer.from(JSON.stringify(profile)),
          durationMs: 1,
        };
      },
    },
  });
  const siteOf = (name: string) => ({ origin: `https://${name}`, name });
  return { checkouts, asked, siteOf };
}

describe('the keys of sites', () => {
  it('are remembered as long as there is room for them, whoever fills it', async () => {
    const { checkouts, asked, siteOf } = sitesWith({ ucp: { version }, keys: [{ kid: 'x'.repeat(1_000_000) }] });
    for (let count = 0; count < 12; count++) {
      await checkouts.keysOf(siteOf(`shop${count}.example`), 'may be remembered');
    }
    await checkouts.keysOf(siteOf('shop11.example'), 'may be remembered');
    expect(asked).toHaveLength(12);
    await checkouts.keysOf(siteOf('shop0.example'), 'may be remembered');
    expect(asked).toHaveLength(13);
  });
});

describe('the gate', () => {
  const profileOf = ({ endpoint = 'https://shop.example/ucp', id = 'pw' }) => ({
    ucp: {
      version,
      services: { 'dev.ucp.shopping': [{ version, transport: 'rest', endpoint }] },
      capabilities: { 'dev.ucp.shopping.checkout': [{ version }] },
      payment_handlers: { 'example.pay.paywright': [{ id }] },
    },
  });

  it.each([
    ['an address', { endpoint: `https://shop.example/${'x'.repeat(3_000)}` }],
    ['an address that nobody can write down', { endpoint: 'https://shop.example/\0' }],
    ['a name', { id: 'x'.repeat(1_000) }],
    ['a name that nobody can write down', { id: 'pw\ud83d' }],
  ])('is closed where %s is none', async (_what, strange) => {
    const open = sitesWith(profileOf({}));
    expect(await open.checkouts.find(open.siteOf('shop.example'))).toMatchObject({ handlerId: 'pw' });
    const { checkouts, siteOf } = sitesWith(profileOf(strange));
    expect(await checkouts.find(siteOf('shop.example'))).toBeUndefined();
  });
});
