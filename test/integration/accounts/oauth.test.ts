import { Client as ModernClient, StreamableHTTPClientTransport as ModernTransport } from '@modelcontextprotocol/client';
import { Client as OlderClient } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport as OlderTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { agentOf } from '../../support/agents.ts';
import type { TestAccount } from '../../support/client.ts';
import { asShown, callback, connect, handClient, memoryProvider, serveDocument } from '../../support/oauth.ts';
import { type OwnerBrowser, openOwnerBrowser } from '../../support/owner.ts';
import { type Service, startService, useService } from '../../support/service.ts';

let documents: Record<string, unknown> = {};
const published = await serveDocument((id) => ({ client_id: id, ...documents }));
const env = { ALLOW_PRIVATE_HOSTS: published.host };
const service = useService({ env });

let second: Service;
let owner: TestAccount;
let browser: OwnerBrowser;

beforeAll(async () => {
  second = await startService(service.database, { env, roles: { serve: true, work: false } });
});

afterAll(async () => {
  await second.stop();
  await published.close();
});

beforeEach(async () => {
  owner = await service.client.register();
  browser = openOwnerBrowser(service.url);
  await browser.signIn(owner);
  documents = { client_name: 'Documented', redirect_uris: [callback] };
});

const ping = { jsonrpc: '2.0', id: 1, method: 'tools/list', params: {} };

const mcp = (token: string, url = service.url) =>
  fetch(`${url}/mcp`, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      authorization: `Bearer ${token}`,
    },
    body: JSON.stringify(ping),
  });

/** A client with its first tokens. */
async function connected(fields?: Readonly<Record<string, string>>, changes = {}) {
  const client = handClient(service.url);
  const { body } = await client.register();
  const id: string = body.client_id;
  const answer = await connect(browser, client.query(id, changes), fields);
  const code = answer.searchParams.get('code') ?? '';
  const tokens = await client.exchange(id, code);
  expect(tokens).toMatchObject({ status: 200 });
  return { client, id, code, answer, tokens: tokens.body, access: tokens.body.access_token as string };
}

const keys = async () => {
  const { body } = await service.client.get('/account/keys', owner.key);
  return body.keys as readonly { readonly id: string; readonly client: string | null }[];
};
const connectedKey = async () => (await keys()).find(({ client }) => client !== null);
const idOfConnected = async () => (await connectedKey())?.id ?? '';

describe('discovery', () => {
  it('begins with the refusal of /mcp', async () => {
    const reply = await mcp('pa_live_nothing');
    expect(reply.status).toBe(401);
    const asked = reply.headers.get('www-authenticate') ?? '';
    expect(asked).toBe(
      `Bearer error="invalid_token", resource_metadata="${service.url}/.well-known/oauth-protected-resource/mcp", scope="read pay"`,
    );
    const where = /resource_metadata="([^"]+)"/.exec(asked)?.[1] ?? '';
    const resource = await (await fetch(where)).json();
    expect(resource).toMatchObject({ resource: `${service.url}/mcp`, authorization_servers: [service.url] });
    const server = await (await fetch(`${service.url}/.well-known/oauth-authorization-server`)).json();
    expect(server).toMatchObject({
      issuer: service.url,
      code_challenge_methods_supported: ['S256'],
      authorization_response_iss_parameter_supported: true,
      client_id_metadata_document_supported: true,
    });
    expect((await fetch(`${service.url}/.well-known/oauth-authorization-server/other`)).status).toBe(404);
  });
});

describe('connecting a client', () => {
  it('gives it a key with the limits of the form, listed and without a secret', async () => {
    const { answer, tokens, access } = await connected();
    expect(`${answer.origin}${answer.pathname}`).toBe(callback);
    expect(answer.searchParams.get('state')).toBe('a state');
    expect(answer.searchParams.get('iss')).toBe(service.url);
    expect(tokens).toMatchObject({ token_type: 'Bearer', expires_in: 3600, scope: 'read pay' });
    const key = await connectedKey();
    const id = key?.id;
    expect(key).toMatchObject({ name: 'Test agent', client: 'this device', last4: '', scopes: ['read', 'pay'] });
    const page = await browser.get(`/app/keys/${id}`);
    expect(page.text).toMatch(/10 USDC a day/i);
    expect(page.text).toContain('Disconnect');
    expect((await browser.get('/app/keys')).text).toContain('client on this device');
    expect((await mcp(access)).status).toBe(200);
    const rotated = await service.client.post(`/account/keys/${id}/rotate`, undefined, owner.key);
    expect(rotated).toMatchObject({ status: 409, body: { code: 'key_has_no_secret' } });
  });

  it('shows who asks, what for, and where the answer goes', async () => {
    documents = { client_name: 'Evil <b>bank</b>', redirect_uris: ['https://agent.example/back?x=1'] };
    const client = handClient(service.url, { redirectUri: 'https://agent.example/back?x=1' });
    const page = await browser.get(`/oauth/authorize?${client.query(published.id)}`);
    expect(page.status).toBe(200);
    expect(page.text).toContain('Evil &lt;b&gt;bank&lt;/b&gt;');
    expect(page.text).toContain(`<strong>${published.host}</strong>`);
    expect(page.text).toContain('<strong>agent.example</strong>');
    expect(page.headers.get('content-security-policy')).toContain("form-action 'self' https://agent.example");
    const { location } = await browser.submit('/oauth/authorize', asShown);
    expect(location).toMatch(/^https:\/\/agent\.example\/back\?x=1&code=pa_code_[\w-]{43}&state=a\+state&iss=/);
  });

  it('grants nothing when the document has changed since the page was shown', async () => {
    const client = handClient(service.url);
    await browser.get(`/oauth/authorize?${client.query(published.id)}`);
    documents = { ...documents, client_name: 'Another' };
    expect(await browser.submit('/oauth/authorize', asShown)).toMatchObject({ status: 409 });
    expect(await connectedKey()).toBeUndefined();
  });

  it('grants what the owner has left, and nothing without the password', async () => {
    const client = handClient(service.url);
    const { body } = await client.register();
    const query = client.query(body.client_id, { scope: 'read pay withdraw manage unknown' });
    const page = await browser.get(`/oauth/authorize?${query}`);
    expect(page.text).toContain('scope-withdraw');
    expect(page.text).not.toContain('scope-manage');
    const { 'scope-pay': _, ...readOnly } = asShown;
    await service.database.db.query("UPDATE owner_sessions SET proved_at = now() - interval '6 minutes'");
    const unproved = await browser.submit('/oauth/authorize', { ...readOnly, 'scope-manage': 'on' });
    expect(unproved.location).toMatch(/^\/app\/confirm\?next=%2Foauth%2Fauthorize/);
    expect(await connectedKey()).toBeUndefined();
    await browser.get(unproved.location ?? '');
    const back = await browser.submit('/app/confirm', { password: owner.password });
    expect(back.location).toBe(`/oauth/authorize?${query}`);
    await browser.get(back.location ?? '');
    await browser.submit('/oauth/authorize', { ...readOnly, 'scope-manage': 'on' });
    expect(await connectedKey()).toMatchObject({ scopes: ['read'] });
  });

  it('leads through the sign-in, with every character that a browser leaves as it is', async () => {
    const client = handClient(service.url);
    const { body } = await client.register();
    const stranger = openOwnerBrowser(service.url);
    const query = client.query(body.client_id, { state: 'STATE' });
    const path = `/oauth/authorize?${query.replace('STATE', `a?b=[1]{2}|^\`()*!~`)}`;
    const first = await stranger.get(path);
    expect(first.location).toBe(`/sign-in?next=${encodeURIComponent(path)}`);
    await stranger.get(first.location ?? '');
    const { location } = await stranger.submit('/sign-in', { email: owner.email, password: owner.password });
    expect(location).toBe(path);
    expect(await stranger.get(path)).toMatchObject({ status: 200 });
    const answer = await stranger.submit('/oauth/authorize', asShown);
    expect(new URL(answer.location ?? '').searchParams.get('state')).toBe(`a?b=[1]{2}|^\`()*!~`);
  });

  it('asks for no limits where nothing can be spent', async () => {
    const client = handClient(service.url);
    const { body } = await client.register();
    const { text } = await browser.get(`/oauth/authorize?${client.query(body.client_id, { scope: 'read' })}`);
    expect(text).toContain('scope-read');
    expect(text).not.toContain('What it may spend');
    await browser.submit('/oauth/authorize', { decision: 'connect', 'scope-read': 'on', 'scope-pay': 'on' });
    expect(await connectedKey()).toMatchObject({ scopes: ['read'] });
  });

  it('tells the client when the owner says no, or nothing was chosen', async () => {
    const client = handClient(service.url);
    const { body } = await client.register();
    const answer = await connect(browser, client.query(body.client_id), { decision: 'cancel' });
    expect(Object.fromEntries(answer.searchParams)).toMatchObject({ error: 'access_denied', state: 'a state' });
    await browser.get(`/oauth/authorize?${client.query(body.client_id)}`);
    expect(await browser.submit('/oauth/authorize', { decision: 'connect', limits: 'none' })).toMatchObject({
      status: 400,
    });
    const wrong = { ...asShown, day: 'much', expires: 'tomorrow' };
    const again = await browser.submit('/oauth/authorize', wrong);
    expect(again.status).toBe(400);
    expect(again.text).toContain('value="much"');
    const unlimited = await browser.submit('/oauth/authorize', { ...asShown, day: '' });
    expect(unlimited.text).toContain('You chose limits and set none.');
    const past = await browser.submit('/oauth/authorize', { ...asShown, expires: '2020-01-01' });
    expect(past.text).toMatch(/id="expires-note">This must be in the future/);
    expect(await connectedKey()).toBeUndefined();
  });

  it('ends the key of a client that never comes for its tokens', async () => {
    const client = handClient(service.url);
    const { body } = await client.register();
    await connect(browser, client.query(body.client_id));
    const id = await idOfConnected();
    await service.database.db.query(
      "UPDATE graphile_worker._private_jobs SET run_at = now() - interval '1 minute' WHERE payload->>'keyId' = $1",
      [id],
    );
    await service.database.db.query('SELECT graphile_worker.add_job($1, $2::json)', [
      'end-untaken-grant',
      JSON.stringify({ keyId: id }),
    ]);
    await expect.poll(connectedKey, { timeout: 20_000 }).toBeUndefined();
  });
});

describe('a request that is wrong', () => {
  const refused = async (changes: Readonly<Record<string, string | undefined>>) => {
    const client = handClient(service.url);
    const { body } = await client.register();
    return browser.get(`/oauth/authorize?${client.query(body.client_id, changes)}`);
  };

  it.each([
    ['an unknown client', { client_id: 'nobody' }],
    ['no client', { client_id: undefined }],
    ['a changed client', { client_id: 'pa_client_W10.AAAA' }],
    ['a redirect URI that is not registered', { redirect_uri: 'https://evil.example/' }],
    ['a script', { redirect_uri: 'javascript:alert(1)' }],
  ])('leads nowhere: %s', async (_name, changes) => {
    const page = await refused(changes);
    expect(page.status).toBe(400);
    expect(page.text).not.toMatch(/href="(?!\/)[^"]*(evil|javascript)/);
    expect(page.text).not.toContain('Tell it what is wrong');
  });

  it.each([
    ['no PKCE', { code_challenge: undefined }, 'invalid_request'],
    ['plain PKCE', { code_challenge_method: 'plain' }, 'invalid_request'],
    ['another response type', { response_type: 'token' }, 'unsupported_response_type'],
    ['another audience', { resource: 'https://other.example/mcp' }, 'invalid_target'],
    ['the API', { resource: 'API' }, 'invalid_target'],
    ['no known scope', { scope: 'manage admin' }, 'invalid_scope'],
  ])('is told to the client by the owner alone: %s', async (_name, changes, code) => {
    const given = 'resource' in changes && changes.resource === 'API' ? { resource: `${service.url}/api` } : changes;
    const page = await refused(given);
    expect(page.status).toBe(400);
    expect(page.text).toContain(`href="${callback}?error=${code}&amp;`);
  });

  it.each([
    ['https://user@agent.example/'],
    ['http://agent.example/'],
    ['javascript:alert(1)'],
    ['data:text/html,x'],
    ['https://agent.example/#x'],
    ['agent.example'],
    ['file:///etc/passwd'],
    // A host that would end the Content-Security-Policy of the page, or one of its directives.
    ['https://agent.example,sandbox/'],
    ['https://agent.example;upgrade-insecure-requests/'],
    ['https://*/'],
    // A browser reads these as other places than we would show.
    ['https:agent.example/'],
    ['https://claude.ai%2eagent.example/'],
  ])('no client registers %s', async (uri) => {
    const reply = await handClient(service.url).register({ redirect_uris: [uri] });
    expect(reply).toMatchObject({ status: 400, body: { error: 'invalid_redirect_uri' } });
  });

  it('a body that cannot be read is refused in the words of OAuth', async () => {
    const send = async (path: string, type: string, body: string) => {
      const reply = await fetch(`${service.url}${path}`, { method: 'POST', headers: { 'content-type': type }, body });
      return { status: reply.status, body: await reply.json() };
    };
    const form = 'application/x-www-form-urlencoded';
    expect(await send('/oauth/token', 'application/json', '{}')).toEqual({
      status: 415,
      body: { error: 'invalid_request', error_description: expect.stringContaining(form) },
    });
    for (const [status, reply] of [
      [400, send('/oauth/token', form, 'refresh_token=%00')],
      [413, send('/oauth/revoke', form, `token=${'x'.repeat(70_000)}`)],
      [400, send('/oauth/register', 'application/json', '{')],
    ] as const)
      expect(await reply).toMatchObject({ status, body: { error: 'invalid_request' } });
    const missing = await handClient(service.url).register({ client_name: null });
    expect(missing.body.error_description).toBe('redirect_uris is required.');
  });

  it('an app and a program on this computer register, and the program listens on any port', async () => {
    const client = handClient(service.url, { redirectUri: 'http://127.0.0.1:33418/' });
    const { status, body } = await client.register({
      client_name: 'Editor',
      redirect_uris: ['cursor://anysphere.cursor/callback', 'http://127.0.0.1/'],
      token_endpoint_auth_method: 'client_secret_basic',
    });
    expect(status).toBe(201);
    expect(body).toMatchObject({ token_endpoint_auth_method: 'none' });
    expect(body).not.toHaveProperty('client_secret');
    const page = await browser.get(`/oauth/authorize?${client.query(body.client_id)}`);
    expect(page.status).toBe(200);
    const app = handClient(service.url, { redirectUri: 'cursor://anysphere.cursor/callback' });
    const second = await browser.get(`/oauth/authorize?${app.query(body.client_id)}`);
    expect(second.headers.get('content-security-policy')).toContain("form-action 'self' cursor:");
    for (const redirectUri of ['http://127.0.0.1:33418/other', 'http://localhost/', 'http://127.0.0.1.evil.example/']) {
      const other = handClient(service.url, { redirectUri });
      expect((await browser.get(`/oauth/authorize?${other.query(body.client_id)}`)).status).toBe(400);
    }
  });

  it('a document that is not its own, or wants a secret, is refused', async () => {
    const client = handClient(service.url);
    const page = async () => (await browser.get(`/oauth/authorize?${client.query(published.id)}`)).status;
    expect(await page()).toBe(200);
    documents = { ...documents, client_id: 'https://claude.ai/client.json' };
    expect(await page()).toBe(400);
    documents = { client_name: 'x', redirect_uris: [callback], token_endpoint_auth_method: 'client_secret_post' };
    expect(await page()).toBe(400);
    documents = { client_name: 'x', redirect_uris: ['javascript:1'] };
    expect(await page()).toBe(400);
    const other = handClient(service.url);
    expect((await browser.get(`/oauth/authorize?${other.query('http://127.0.0.1:1/client.json')}`)).status).toBe(400);
  });
});

describe('tokens', () => {
  it('are for /mcp alone', async () => {
    const { access, tokens } = await connected();
    expect((await mcp(access)).status).toBe(200);
    for (const token of [access, tokens.refresh_token]) {
      const reply = await service.client.get('/account', token);
      expect(reply).toMatchObject({ status: 401, body: { code: 'unauthorized' } });
    }
    expect((await mcp(tokens.refresh_token)).status).toBe(401);
    expect((await mcp(`${access}x`)).status).toBe(401);
    expect((await mcp(access.replace(/\.(\d+)\./, (_all, end) => `.${Number(end) + 60}.`))).status).toBe(401);
  });

  it('are refused on a second instance as soon as the key is revoked', async () => {
    const { access } = await connected();
    expect((await mcp(access, second.url)).status).toBe(200);
    const id = await idOfConnected();
    await service.client.request('DELETE', `/account/keys/${id}`, { key: owner.key });
    for (const { url } of [service, second]) expect((await mcp(access, url)).status).toBe(401);
  });

  it('end with either of them, for everyone', async () => {
    for (const which of ['access_token', 'refresh_token']) {
      const { client, id, tokens, access } = await connected();
      expect((await client.revoke({ token: 'pa_refresh_nothing.AA', client_id: id })).status).toBe(200);
      expect((await client.revoke({ token: tokens[which], client_id: 'another' })).status).toBe(200);
      expect((await mcp(access, second.url)).status).toBe(200);
      expect((await client.revoke({ token: tokens[which], client_id: id })).status).toBe(200);
      expect((await mcp(access, second.url)).status).toBe(401);
      expect(await client.refresh(id, tokens.refresh_token)).toMatchObject({ body: { error: 'invalid_grant' } });
      expect(await connectedKey()).toBeUndefined();
    }
  });

  it('are renewed once for each refresh token, and a second use disconnects the client', async () => {
    const { client, id, tokens, access } = await connected();
    const renewed = await client.refresh(id, tokens.refresh_token);
    expect(renewed).toMatchObject({ status: 200, body: { scope: 'read pay', token_type: 'Bearer' } });
    expect((await mcp(renewed.body.access_token)).status).toBe(200);
    expect(await client.refresh('another', renewed.body.refresh_token)).toMatchObject({ status: 401 });
    const reused = await client.refresh(id, tokens.refresh_token);
    expect(reused).toMatchObject({ status: 400, body: { error: 'invalid_grant' } });
    expect(await client.refresh(id, renewed.body.refresh_token)).toMatchObject({ body: { error: 'invalid_grant' } });
    for (const token of [access, renewed.body.access_token]) expect((await mcp(token, second.url)).status).toBe(401);
    expect(await connectedKey()).toBeUndefined();
    const audit = await service.client.get('/account/audit', owner.key);
    expect(JSON.stringify(audit.body)).toContain('grant.reused');
  });

  it('a copy that is used again and again disconnects the client once, and mails the owner once', async () => {
    const { client, id, code, tokens } = await connected();
    const mails = async () => (await service.database.db.query('SELECT FROM messages')).rowCount;
    const before = (await mails()) ?? 0;
    await client.refresh(id, tokens.refresh_token);
    await Promise.all(Array.from({ length: 6 }, () => client.refresh(id, tokens.refresh_token)));
    for (let use = 0; use < 3; use++) expect(await client.exchange(id, code)).toMatchObject({ status: 400 });
    const { body } = await service.client.get('/account/audit', owner.key);
    const entries = body.entries as readonly { readonly action: string }[];
    expect(entries.filter(({ action }) => action === 'grant.reused')).toHaveLength(1);
    expect(await mails()).toBe(before + 1);
  });

  it('one of two renewals at once wins', async () => {
    const { client, id, tokens } = await connected();
    const both = await Promise.all([
      client.refresh(id, tokens.refresh_token),
      client.refresh(id, tokens.refresh_token),
    ]);
    expect(both.map(({ status }) => status).sort()).toEqual([200, 400]);
  });

  it('are given for a code once, to the client that knows the verifier', async () => {
    const client = handClient(service.url);
    const { body } = await client.register();
    const id: string = body.client_id;
    const answer = await connect(browser, client.query(id));
    const code = answer.searchParams.get('code') ?? '';
    for (const changes of [
      { code_verifier: handClient(service.url).verifier },
      { code_verifier: '' },
      { redirect_uri: 'http://127.0.0.1:9/other' },
      { client_id: 'another' },
      { resource: 'https://other.example/mcp' },
      { code: `${code}x` },
      { grant_type: 'password' },
    ])
      expect((await client.exchange(id, code, changes)).status).toBeGreaterThanOrEqual(400);
    const taken = await client.exchange(id, code);
    expect(taken.status).toBe(200);
    // Whoever does not know the verifier cannot disconnect the client by using the code again.
    await client.exchange(id, code, { code_verifier: handClient(service.url).verifier });
    expect((await mcp(taken.body.access_token, second.url)).status).toBe(200);
    expect(await client.exchange(id, code)).toMatchObject({ status: 400, body: { error: 'invalid_grant' } });
    expect((await mcp(taken.body.access_token, second.url)).status).toBe(401);
  });

  it('a code ends after a minute, and with the key', async () => {
    const client = handClient(service.url);
    const { body } = await client.register();
    const late = (await connect(browser, client.query(body.client_id))).searchParams.get('code') ?? '';
    await service.database.db.query("UPDATE oauth_grants SET code_ends_at = now() - interval '1 second'");
    expect(await client.exchange(body.client_id, late)).toMatchObject({ body: { error: 'invalid_grant' } });
    await service.database.db.query("UPDATE oauth_grants SET code_ends_at = now() + interval '1 minute'");
    await service.client.request('DELETE', `/account/keys/${await idOfConnected()}`, { key: owner.key });
    expect(await client.exchange(body.client_id, late)).toMatchObject({ body: { error: 'invalid_grant' } });
  });

  it('end with the expiry of the grant', async () => {
    const { client, id, tokens } = await connected({ ...asShown, expires: '2100-01-01' });
    expect(await connectedKey()).toMatchObject({ expiresAt: expect.stringMatching(/^20/) });
    await service.database.db.query(
      "UPDATE api_keys SET expires_at = now() - interval '1 second' WHERE key_hash IS NULL AND revoked_at IS NULL",
    );
    expect(await client.refresh(id, tokens.refresh_token)).toMatchObject({ body: { error: 'invalid_grant' } });
    expect((await mcp(tokens.access_token, second.url)).status).toBe(401);
  });
});

describe('the official clients', () => {
  const open = (finish: (answer: URL) => void) => async (authorization: URL) => {
    finish(await connect(browser, authorization.search.slice(1)));
  };

  it('2.x connects by its metadata document, pays, and renews', async () => {
    documents = { ...documents, client_name: 'Official', token_endpoint_auth_method: 'none' };
    let answer: URL | undefined;
    const provider = memoryProvider(open((url) => (answer = url)));
    // The client publishes documents only under https, so it is told of this one.
    provider.kept.information = { client_id: published.id };
    const transport = () => new ModernTransport(new URL(`${service.url}/mcp`), { authProvider: provider });
    const first = transport();
    await expect(new ModernClient({ name: 'x', version: '1' }).connect(first)).rejects.toThrow();
    await first.finishAuth(answer?.searchParams ?? new URLSearchParams());
    const client = new ModernClient({ name: 'x', version: '1' });
    await client.connect(transport());
    const agent = agentOf(client);
    expect((await agent.call('get_account')).structuredContent).toMatchObject({ handle: owner.handle });
    const before = provider.kept.tokens.refresh_token;
    provider.kept.tokens = { ...provider.kept.tokens, access_token: 'pa_access_old.1.AA' };
    expect((await agent.call('get_account')).structuredContent).toMatchObject({ handle: owner.handle });
    expect(provider.kept.tokens.refresh_token).not.toBe(before);
    await agent.close();
  });

  it('1.x registers itself and connects', async () => {
    let answer: URL | undefined;
    const provider = memoryProvider(open((url) => (answer = url)));
    const transport = () => new OlderTransport(new URL(`${service.url}/mcp`), { authProvider: provider as never });
    const first = transport();
    await expect(new OlderClient({ name: 'x', version: '1' }).connect(first as never)).rejects.toThrow();
    await first.finishAuth(answer?.searchParams.get('code') ?? '');
    const client = new OlderClient({ name: 'x', version: '1' });
    await client.connect(transport() as never);
    const agent = agentOf(client);
    expect((await agent.call('get_balance')).isError).not.toBe(true);
    await agent.close();
  });
});
